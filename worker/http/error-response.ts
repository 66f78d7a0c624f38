import { errorTable, McpError } from '../protocol/errors.ts'
import { errorReply, isRequest, type Message } from '../protocol/jsonrpc.ts'
import type { RequestId } from '../protocol/types.ts'
import { jsonResponse } from './json-response.ts'

/** Rejects a request: a JSON-RPC error with the HTTP status of its kind. */
export function errorResponse(error: McpError, id?: RequestId): Response {
  return jsonResponse({
    ...errorReply(id, error, errorTable[error.kind]),
    headers: { ...(error.kind === 'unauthorized' && { 'WWW-Authenticate': 'Bearer' }), ...error.headers },
  })
}

export function notAllowed(methods: string): Response {
  const response = errorResponse(new McpError('method_not_allowed', `Use ${methods}`))
  response.headers.set('Allow', methods)
  return response
}

/** @param reason why the request needs a session */
export const sessionRequired = (reason: string): McpError =>
  new McpError(
    'session_required',
    `Missing header Mcp-Session-Id: ${reason}. Send initialize, then its Mcp-Session-Id with every request`,
  )

export const noBatches = (date: string): McpError =>
  new McpError('invalid_request', `Protocol version ${date} has no batches: send one message at a time`)

/** Returns the id for an error response: that of the only request. The ids of responses are those of this server's requests. */
export function idOf(messages: readonly Message[]): RequestId | undefined {
  const [first] = messages
  return first && messages.length === 1 && isRequest(first) ? first.id : undefined
}

/**
 * Returns the same 404 for a forged, expired, ended or foreign session id, so that a response never reveals whether a session exists.
 */
export function unknownSession(messages: readonly Message[]): Response {
  return errorResponse(new McpError('session_not_found', 'Session not found: send initialize again'), idOf(messages))
}
