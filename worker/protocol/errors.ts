/**
 * All errors that this server sends: name, JSON-RPC code and HTTP status in 2026-07-28. Older protocol versions use other codes for a few:
 * see revisions/.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/transports
 * @see https://www.jsonrpc.org/specification#error_object
 */
export const errorTable = {
  parse_error: { code: -32700, status: 400 },
  invalid_request: { code: -32600, status: 400 },
  method_not_found: { code: -32601, status: 404 },
  invalid_params: { code: -32602, status: 200 },
  /** The `_meta` that describes the client, or a handshake, is missing or has a wrong type. */
  invalid_envelope: { code: -32602, status: 400 },
  /** A member of a request exceeds its bound: see bounds.ts. */
  out_of_bounds: { code: -32602, status: 400 },
  resource_not_found: { code: -32602, status: 200 },
  /** A handle or a task id is unknown, expired, or of another principal. One error for all cases, so that it reveals nothing. */
  invalid_handle: { code: -32602, status: 200 },
  /** The `requestState` of a `singleUse` tool was used before, with other answers. */
  request_state_used: { code: -32602, status: 200 },
  internal_error: { code: -32603, status: 200 },
  /** The Durable Object of the call was lost, and running the call again could repeat a side effect. */
  call_interrupted: { code: -32603, status: 200 },
  /** The user must complete a page first. Only 2025-11-25 has a code for it; later clients get an input request. */
  url_elicitation_required: { code: -32600, status: 200 },
  /** The client answered an input request with an error. */
  client_error: { code: -32600, status: 200 },
  header_mismatch: { code: -32020, status: 400 },
  missing_client_capability: { code: -32021, status: 400 },
  unsupported_version: { code: -32022, status: 400 },

  // Refusals of the HTTP request itself. JSON-RPC has no codes of its own for them.
  session_required: { code: -32600, status: 400 },
  unauthorized: { code: -32600, status: 401 },
  forbidden: { code: -32600, status: 403 },
  insufficient_scope: { code: -32600, status: 403 },
  session_not_found: { code: -32600, status: 404 },
  method_not_allowed: { code: -32600, status: 405 },
  not_acceptable: { code: -32600, status: 406 },
  request_timeout: { code: -32600, status: 408 },
  too_many_requests: { code: -32600, status: 429 },
  content_too_large: { code: -32600, status: 413 },
  unsupported_media_type: { code: -32600, status: 415 },
  /** A service that this server depends on does not respond. */
  unavailable: { code: -32603, status: 503 },
} as const satisfies Record<string, ErrorNumbers>

/** Names an error that the server sends. */
export type ErrorKind = keyof typeof errorTable

/** Whether a value names an error that the server sends. */
export const isErrorKind = (value: unknown): value is ErrorKind =>
  typeof value === 'string' && Object.hasOwn(errorTable, value)

/** A JSON-RPC code, and the HTTP status of a response that contains only this error. */
export type ErrorNumbers = { code: number; status: number }

/**
 * Carries an error to the client: its message and data are sent unchanged. Any other error that a handler or an interceptor throws is
 * replaced.
 *
 * @see https://www.jsonrpc.org/specification#error_object
 *
 * @example
 * server.tool('note', { description: 'Read a note', inputSchema: z.object({ id: z.string() }) }, ({ id }) => {
 *   if (id === '') throw new McpError('invalid_params', 'id must not be empty')
 *   return `Note ${id}`
 * })
 */
export class McpError extends Error {
  /** Always `McpError`. */
  override readonly name = 'McpError'
  /** The kind of error, which decides the JSON-RPC code and the HTTP status. */
  readonly kind: ErrorKind
  /** The JSON-RPC code, for an error of an extension that has one of its own. Default: that of the kind. */
  declare readonly ownCode?: number
  /** The member `data` of the JSON-RPC error; `undefined` without data. */
  readonly data: unknown
  /** Headers of the HTTP response, when the error rejects the request. */
  readonly headers: Readonly<Record<string, string>> | undefined

  /**
   * @param kind the kind of error, such as `invalid_params`
   * @param message what is wrong and, if it helps, what to do
   * @param data the member `data` of the error, JSON
   * @param headers of the HTTP response, when the error rejects the request
   * @throws TypeError for a kind that does not exist
   */
  constructor(kind: ErrorKind, message: string, data?: unknown, headers?: Readonly<Record<string, string>>) {
    super(message)
    if (!isErrorKind(kind)) {
      throw new TypeError(`McpError has no kind "${kind}": use ${Object.keys(errorTable).join(', ')}`)
    }
    this.kind = kind
    this.data = data
    this.headers = headers
  }
}

/**
 * Lets the model read a message: a tool that throws it has a result with `isError: true`, whatever `handlerErrors` of `serve()` is.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/server/tools#error-handling
 *
 * @example
 * const totals = new Map([['order-1', '12 EUR']])
 * server.tool('total', { description: 'Add up an order', inputSchema: z.object({ id: z.string() }) }, ({ id }) => {
 *   const total = totals.get(id)
 *   if (!total) throw new ToolError(`There is no order "${id}"`)
 *   return total
 * })
 */
export class ToolError extends Error {
  /** Always `ToolError`. */
  override readonly name = 'ToolError'
}

/**
 * Describes a mistake in the code or the configuration of the server, such as a return value that is not a result. `handlerErrors` of `serve()`
 * decides whether clients read its message.
 */
export class DeveloperError extends McpError {
  constructor(message: string) {
    super('internal_error', message)
  }
}

/** A class of errors. */
export type Failure = new (message: string, options?: ErrorOptions) => Error

/** The message of anything that was thrown. */
export const messageOf = (thrown: unknown): string => (thrown instanceof Error ? thrown.message : String(thrown))

/** Refuses a call beyond a limit. @param reason names the limit */
export const tooManyRequests = (message: string, retryAfterSeconds: number, reason: string): McpError =>
  new McpError(
    'too_many_requests',
    message,
    { retryAfter: retryAfterSeconds, reason },
    { 'Retry-After': String(retryAfterSeconds) },
  )

/** Refuses a request to a server whose circuit breaker is open. */
export const serverUnavailable = (host: string, retryAfterSeconds: number): McpError =>
  new McpError(
    'unavailable',
    `The server at ${host} is unavailable: its last requests failed. Retry in ${retryAfterSeconds} s`,
    { reason: 'circuit_breaker', retryAfter: retryAfterSeconds },
    { 'Retry-After': String(retryAfterSeconds) },
  )

/**
 * Converts any thrown value into an error for the client. Reports internal errors. The message of a value that is no `McpError` is not
 * sent.
 */
export function asMcpError(thrown: unknown, report: (problem: unknown) => void): McpError {
  const error = mcpErrorOf(thrown)
  if (error && (error.kind !== 'internal_error' || isReported(error))) return error
  report(thrown)
  return error ?? new McpError('internal_error', 'Internal error')
}

const reportedErrors = new WeakSet<McpError>()

/** Marks an error that has been reported, so that `asMcpError` does not report it again. */
export function markReported(error: McpError): McpError {
  reportedErrors.add(error)
  return error
}

export const isReported = (error: McpError): boolean => reportedErrors.has(error)

/** Returns the `McpError` that was thrown here or in a Durable Object; `undefined` for any other value. */
export const mcpErrorOf = (thrown: unknown): McpError | undefined =>
  isA(McpError, thrown) && isErrorKind(thrown.kind) ? thrown : isA(Error, thrown) ? remoteError(thrown) : undefined

/** Like `instanceof`, also for a proxy that throws. */
export function isA<T>(type: new (...args: never[]) => T, value: unknown): value is T {
  try {
    return value instanceof type
  } catch {
    return false
  }
}

/**
 * Restores an `McpError` that a Durable Object threw: RPC keeps its members, and loses its class.
 *
 * @see https://developers.cloudflare.com/workers/runtime-apis/rpc/error-handling/
 */
function remoteError(
  thrown: Error & { remote?: unknown } & Partial<Pick<McpError, 'kind' | 'data' | 'headers'>>,
): McpError | undefined {
  const { remote, name, kind, message, data, headers } = thrown
  return remote === true && name === 'McpError' && isErrorKind(kind)
    ? new McpError(kind, message, data, headers ?? undefined)
    : undefined
}

/**
 * Carries the error with which a client responded to an input request. Input requests of `ctx` throw it; handlers can catch it.
 *
 * @see https://modelcontextprotocol.io/specification/2025-11-25/client/sampling#error-handling
 *
 * @example
 * server.tool('summary', { description: 'Summarize the notes' }, async (_, ctx) => {
 *   try {
 *     return (await ctx.sample('summary', { prompt: 'Summarize: …', maxTokens: 200 })).text
 *   } catch (error) {
 *     if (error instanceof ClientError && error.code === -1) return 'The user rejected the request.'
 *     throw error
 *   }
 * })
 */
export class ClientError extends McpError {
  /** The code of the client's error: -1, for example, means that the user rejected a sampling request. */
  readonly code: number
  /** The message of the client's error. `message` has a text before it. */
  readonly clientMessage: string

  constructor(key: string, { code, message, data }: { code: number; message: string; data?: unknown }) {
    super('client_error', `The client returned an error for "${key}": ${message}`, data)
    this.code = code
    this.clientMessage = message
  }
}
