/**
 * Every error this server puts on the wire, in one closed table: name → JSON-RPC code and HTTP status of 2026-07-28.
 * Older revisions renumber a few (see revisions/).
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/transports
 * @see https://www.jsonrpc.org/specification#error_object
 */
export const errorTable = {
  parse_error: { code: -32700, status: 400 },
  invalid_request: { code: -32600, status: 400 },
  method_not_found: { code: -32601, status: 404 },
  invalid_params: { code: -32602, status: 200 },
  /** What says who asks, an envelope or a handshake, is missing or ill-typed. */
  invalid_envelope: { code: -32602, status: 400 },
  /** A member of a request exceeds its bound: see bounds.ts. */
  out_of_bounds: { code: -32602, status: 400 },
  resource_not_found: { code: -32602, status: 200 },
  /** A handle or a task id that is unknown, expired, or of another principal: one error for all, which reveals nothing. */
  invalid_handle: { code: -32602, status: 200 },
  /** The `requestState` of a `singleUse` tool was used before, with other answers. */
  request_state_used: { code: -32602, status: 200 },
  internal_error: { code: -32603, status: 200 },
  /** The object that ran the call was lost, and running it again could do something twice. */
  call_interrupted: { code: -32603, status: 200 },
  /** The person has to go to a page first. Only 2025-11-25 has a code for it; later clients are asked. */
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
  /** What this server needs to answer does not answer itself. */
  unavailable: { code: -32603, status: 503 },
} as const satisfies Record<string, ErrorNumbers>

export type ErrorKind = keyof typeof errorTable

export const isErrorKind = (value: unknown): value is ErrorKind =>
  typeof value === 'string' && Object.hasOwn(errorTable, value)

/** A JSON-RPC code and the HTTP status it travels with when nothing has been sent yet. */
export type ErrorNumbers = { code: number; status: number }

/** An error that a client is told about, word for word. Anything else that is thrown becomes `internal_error`. */
export class McpError extends Error {
  override readonly name = 'McpError'
  readonly kind: ErrorKind
  readonly data: unknown
  readonly headers: Readonly<Record<string, string>> | undefined

  /**
   * @param kind a row of the table above
   * @param message what was wrong and, if it helps, what would be right
   * @param data the error's `data` member, JSON
   * @param headers of the response, when it is one that refuses the request
   */
  constructor(kind: ErrorKind, message: string, data?: unknown, headers?: Readonly<Record<string, string>>) {
    super(message)
    this.kind = kind
    this.data = data
    this.headers = headers
  }
}

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

/** What the client may know of anything that was thrown. The cause stays on this side, reported. */
export function asMcpError(thrown: unknown, report: (problem: unknown) => void): McpError {
  const error = thrown instanceof McpError ? thrown : remoteError(thrown)
  if (error) return error
  report(thrown)
  return new McpError('internal_error', 'Internal error')
}

/**
 * The `McpError` that a Durable Object threw: on its way out of the object it keeps its members, and loses its class.
 *
 * @see https://developers.cloudflare.com/workers/runtime-apis/rpc/error-handling/
 */
function remoteError(thrown: unknown): McpError | undefined {
  if (!(thrown instanceof Error && thrown.name === 'McpError' && 'remote' in thrown && thrown.remote === true))
    return undefined
  // Its name says that it was one.
  const { kind, data, headers } = thrown as Error & Partial<Pick<McpError, 'kind' | 'data' | 'headers'>>
  return isErrorKind(kind) ? new McpError(kind, thrown.message, data, headers ?? undefined) : undefined
}

/**
 * The error with which a client answered a question. `code` and `data` are the client's own: `-1`, for example, says that the
 * user rejected a sampling request.
 *
 * @see https://modelcontextprotocol.io/specification/2025-11-25/client/sampling#error-handling
 */
export class ClientError extends McpError {
  readonly code: number
  /** The message of the client's error, without the text that `message` puts before it. */
  readonly clientMessage: string

  constructor(key: string, { code, message, data }: { code: number; message: string; data?: unknown }) {
    super('client_error', `The client returned an error for "${key}": ${message}`, data)
    this.code = code
    this.clientMessage = message
  }
}
