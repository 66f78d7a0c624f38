/** Rejects a POST because of its body or its headers, before its messages are looked up. */
import { errorTable, type McpError } from '../protocol/errors.ts'
import { type Message, messagesIn, type Parsed, responseIdsIn } from '../protocol/jsonrpc.ts'
import type { RequestId } from '../protocol/types.ts'
import type { IncomingRequest } from '../request-hooks.ts'
import { Access, decideAccess } from './access.ts'
import { errorResponse } from './error-response.ts'
import type { Host } from './host.ts'
import { postToSession, type SessionPost } from './session-object.ts'

/**
 * Rejects the messages of a POST. The audit log names their methods all the same. Calls of the session that wait for a response among them
 * end with the error: the client sends no other response.
 *
 * @param id of the only request
 * @param readPost returns the POST of the session with other messages; `undefined` if there is no session
 */
export async function rejectMessages(
  parsed: Parsed,
  error: McpError,
  id: RequestId | undefined,
  host: Host,
  incoming: IncomingRequest,
  readPost: (messages: Message[]) => Promise<SessionPost | undefined>,
): Promise<Response> {
  const { code } = errorTable[error.kind]
  const message = `The server refused the response: ${error.message}`
  const responses = responseIdsIn(parsed).map((id) => ({ jsonrpc: '2.0' as const, id, error: { code, message } }))
  if (responses.length > 0) {
    const access = await decideAccess(responses, host, incoming)
    const post = access instanceof Access ? await readPost(responses) : undefined
    if (post && access instanceof Access) await postToSession(post, access, host)
  }
  incoming.messages = messagesIn(parsed)
  incoming.rejection = error
  return errorResponse(error, id)
}
