/**
 * Carries an error that the server returned: a JSON-RPC error, or an HTTP error without one.
 *
 * @see https://www.jsonrpc.org/specification#error_object
 *
 * @example
 * const error = await client.callTool('missing').catch((thrown) => thrown)
 * if (error instanceof RpcError) console.log(error.code, error.status)
 */
export class RpcError extends Error {
  /** Always `RpcError`. */
  override readonly name = 'RpcError'
  /** The JSON-RPC code; 0 for an HTTP error without one. */
  readonly code: number
  /** Status of the HTTP response. */
  readonly status: number
  /** The member `data` of the JSON-RPC error; `undefined` without it. */
  readonly data: unknown

  constructor(message: string, options: { code: number; status: number; data?: unknown }) {
    super(message)
    this.code = options.code
    this.status = options.status
    this.data = options.data
  }
}
