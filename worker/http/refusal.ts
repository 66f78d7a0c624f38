import { errorTable, McpError } from '../protocol/errors.ts'
import { errorText } from '../protocol/jsonrpc.ts'
import type { RequestId } from '../protocol/types.ts'
import { jsonResponse } from './reply.ts'

/** A request that was not served, as a JSON-RPC error with the status of its kind. */
export function refusal(error: McpError, id?: RequestId): Response {
  const numbers = errorTable[error.kind]
  const headers: Record<string, string> = error.kind === 'unauthorized' ? { 'WWW-Authenticate': 'Bearer' } : {}
  return jsonResponse({ status: numbers.status, text: errorText(id, error, numbers) }, headers)
}

export function notAllowed(methods: string): Response {
  const response = refusal(new McpError('method_not_allowed', `Use ${methods}`))
  response.headers.set('Allow', methods)
  return response
}

export const noBatches = (date: string): McpError =>
  new McpError('invalid_request', `Revision ${date} has no batches: send one message at a time`)
