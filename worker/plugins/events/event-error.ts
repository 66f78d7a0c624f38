import { McpError } from '../../protocol/errors.ts'

/** Codes of the errors of events. */
const codes = {
  not_found: -32011,
  forbidden: -32012,
  exhausted: -32013,
  unsupported: -32014,
  callback: -32015,
} as const

/**
 * An error of a method of events, with a code of its own.
 *
 * @see https://github.com/modelcontextprotocol/experimental-ext-triggers-events
 */
export class EventError extends McpError {
  override readonly ownCode: number

  constructor(what: keyof typeof codes, message: string, data?: unknown) {
    super('invalid_params', message, data)
    this.ownCode = codes[what]
  }
}
