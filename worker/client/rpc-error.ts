/** A JSON-RPC error that the server answered, or an HTTP refusal without one (then `code` is 0). */
export class RpcError extends Error {
  override readonly name = 'RpcError'
  readonly code: number
  readonly status: number
  readonly data: unknown

  constructor(message: string, options: { code: number; status: number; data?: unknown }) {
    super(message)
    this.code = options.code
    this.status = options.status
    this.data = options.data
  }
}
