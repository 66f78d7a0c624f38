/** Reads a POST of HTTP+SSE: one message, with its session in the query of the URL that the stream named. */

import { McpError } from '../../protocol/errors.ts'
import type { Message, Parsed } from '../../protocol/jsonrpc.ts'
import type { Principal } from '../../protocol/principal.ts'
import type { RequestId } from '../../protocol/types.ts'
import { unknownVersion } from '../../protocol/unsupported-version.ts'
import { boundedHeader } from '../bounded-header.ts'
import { errorResponse, idOf, unknownSession } from '../error-response.ts'
import type { Host } from '../host.ts'
import { type OpenedSession, openSession, type SessionContent } from '../sealed-session.ts'
import type { SessionPost } from '../session-object.ts'

/** The purpose that its session ids are sealed for. */
export const purpose = 'sse'

export type SseSession = OpenedSession<SessionContent>

/** @returns the error for a body that is not one message, and for a version that this server does not speak */
export function readSseMessage(
  request: Request,
  parsed: Parsed,
): Message | { refused: McpError; id?: RequestId | undefined } {
  if ('malformed' in parsed) return { refused: parsed.malformed, id: parsed.id }
  if ('batch' in parsed) return { refused: new McpError('invalid_request', 'This transport has no batches') }
  const { message } = parsed
  // 2024-11-05 has no such header. A client that sends it all the same must name a version that this server speaks.
  const badVersion = unknownVersion(boundedHeader(request, 'MCP-Protocol-Version'))
  return badVersion ? { refused: badVersion, id: idOf([message]) } : message
}

export async function readSsePost(
  request: Request,
  messages: Message[],
  host: Host,
  principal: Principal | undefined,
): Promise<SessionPost | Response> {
  const id = new URL(request.url).searchParams.get('session')
  if (id === null) {
    const error = new McpError('session_required', 'Missing query parameter session: open the stream with GET first')
    return errorResponse(error, idOf(messages))
  }
  const session = await openSession<SessionContent>(purpose, id, host, principal)
  if (!session) return unknownSession(messages)
  // The object remembers what `initialize` said.
  return { session, messages, batch: false, streams: true }
}
