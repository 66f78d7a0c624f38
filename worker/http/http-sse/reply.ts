/** Answers requests of HTTP+SSE: a GET with the stream of the session, a POST with 202. Responses to calls arrive on the stream. */
import type { Posted } from '../../../durable-objects/rpc.ts'
import type { Message } from '../../protocol/jsonrpc.ts'
import type { Access } from '../access.ts'
import { unknownSession } from '../error-response.ts'
import type { Host } from '../host.ts'
import { openRelay } from '../relay.ts'
import { accepted, relayRequest } from '../session-object.ts'
import type { SseSession } from './read.ts'

/** @param id the session id, for the first event, which contains the URL to post to */
export function replyWithSseStream(
  { session: { name, expires }, id }: { readonly session: SseSession; readonly id: string },
  { credential }: Access,
  host: Host,
): Promise<Response> {
  const settings = { sse: '1', relay: crypto.randomUUID(), terms: host.termsOf(name), expires: String(expires) }
  return openRelay({
    ...host.limits,
    dial: (after, again) => host.session(name).fetch(relayRequest(settings, after, again)),
    notifyOnClose: true,
    // The session ends with its stream.
    maxStreamAgeMs: Number.POSITIVE_INFINITY,
    credential,
    firstFrame: `event: endpoint\ndata: ${host.paths.messages}?session=${encodeURIComponent(id)}\n\n`,
  })
}

/** @param posted the result of the POST at the Durable Object */
export async function replyToSsePost(message: Message, posted: Posted, access: Access): Promise<Response> {
  if ('lacks' in posted) return access.rejectForScopes(posted.lacks)
  return 'gone' in posted ? unknownSession([message]) : accepted()
}
