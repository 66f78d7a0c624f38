import { McpError } from '../protocol/errors.ts'

/** The client's response to an input request has the wrong shape. */
export class InvalidInputResponse extends McpError {
  /** Key of the input request. */
  readonly key: string

  constructor(key: string, message: string) {
    super('invalid_params', message)
    this.key = key
  }
}
