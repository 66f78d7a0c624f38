import { McpError } from '../protocol/errors.ts'

/** The client's response to an input request is not what was requested. */
export class InvalidInputResponse extends McpError {
  /** Of the request. */
  readonly key: string

  constructor(key: string, message: string) {
    super('invalid_params', message)
    this.key = key
  }
}
