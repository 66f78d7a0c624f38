/** Rejects a POST because of its body or its headers, before its messages are looked up. */
import { errorTable, type McpError } from '../protocol/errors.ts'
import { type Message, messagesIn, type Parsed, responseIdsIn } from '../protocol/jsonrpc.ts'
import type { RequestId } from '../protocol/types.ts'
import type { IncomingRequest } from '../request-hooks.ts'
import { Access, decideAccess } from './access.ts'
import { errorResponse } from './error-response.ts'
import type { Host } from './host.ts'

/**
 * Rejects the messages of a POST. The audit log names their methods all the same. Calls of the session that wait for a response among them
 * end with the error: the client sends no other response.
 *
 * @param id of the only request
 * @param refuseResponses passes errors in the place of the responses on to the session, if there is one
 */
export async function rejectMessages(
  parsed: Parsed,
  error: McpError,
  id: RequestId | undefined,
  host: Host,
  incoming: IncomingRequest,
  refuseResponses: (errors: Message[], access: Access) => Promise<void>,
): Promise<Response> {
  const { code } = errorTable[error.kind]
  const message = `The server refused the response: ${error.message}`
  const responses = responseIdsIn(parsed).map((id) => ({ jsonrpc: '2.0' as const, id, error: { code, message } }))
  if (responses.length > 0) {
    const access = await decideAccess(responses, host, incoming)
    if (access instanceof Access) await refuseResponses(responses, access)
  }
  incoming.messages = messagesIn(parsed)
  incoming.rejection = error
  return errorResponse(error, id)
}
