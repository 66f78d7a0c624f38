/** Answers requests of a session: with the response of its Durable Object as JSON or as an event, or with a stream of the object. */
import type { Admission, Posted } from '../../../durable-objects/session/rpc.ts'
import type { AcceptedTypes } from '../../http/accept.ts'
import type { Access } from '../../http/access.ts'
import { notAllowed, unknownSession } from '../../http/error-response.ts'
import { eventStreamHeaders } from '../../http/event-stream.ts'
import type { Host } from '../../http/host.ts'
import { jsonResponse } from '../../http/json-response.ts'
import { passOnBody } from '../../http/pass-on-body.ts'
import { openRelay, type RelayOptions } from '../../http/relay.ts'
import { firstRelay } from '../../protocol/relay-messages.ts'
import { revisionOf } from '../../protocol/revisions/index.ts'
import { eventFrame } from '../../protocol/server-sent-events.ts'
import { type SessionCalls, type SessionStream, unknownEvent } from './read.ts'
import { admitStream } from './run.ts'
import type { Session } from './session-id.ts'
import { relayRequest, sessionObject } from './session-object.ts'

/** @param posted the result of the POST at the Durable Object */
export async function replyFromSession(
  { session, post: { messages } }: SessionCalls,
  posted: Posted,
  accept: AcceptedTypes,
  access: Access,
  host: Host,
): Promise<Response> {
  if ('gone' in posted) return unknownSession(messages)
  if ('lacks' in posted) return access.rejectForScopes(posted.lacks)
  if ('stream' in posted) {
    // Most calls that send notifications end before their object answers.
    if (posted.frames !== undefined) return new Response(posted.frames, { headers: eventStreamHeaders })
    const { stream, body } = posted
    // The first connection of each stream of a POST: clients come back with a GET.
    return openSessionRelay(session, access, host, { relay: firstRelay, stream: String(stream) }, { body })
  }
  const { status, text, headers } = posted
  if (text === undefined) return new Response(null, { status })
  return accept.json
    ? jsonResponse({ status, text, headers })
    : new Response(eventFrame(text), { headers: eventStreamHeaders })
}

/** @param after the id of the last event that the client received; `undefined`: the standing stream, from the next event */
export async function replyWithStream(
  { session, after }: SessionStream,
  access: Access,
  host: Host,
): Promise<Response> {
  const relay = crypto.randomUUID()
  const admit = (last: string | undefined) => admitStream({ session, after: last }, relay, access, host)
  const admission = await admit(after)
  if ('gone' in admission) return unknownSession([])
  if ('lacks' in admission) return access.rejectForScopes(admission.lacks)
  return openSessionRelay(
    session,
    access,
    host,
    { relay, ...(access.principal && { admitted: '1' }) },
    { after, admit },
  )
}

/**
 * Opens the event stream of a session.
 *
 * @param settings see `fetch` of the session's Durable Object
 * @param from where it starts: after an event, or a body that the object has returned. `admit` decides again before the relay reconnects
 */
async function openSessionRelay(
  { name, expires, handshake }: Session,
  { credential }: Access,
  host: Host,
  settings: Readonly<Record<string, string>> & { readonly relay: string },
  {
    after,
    admit,
    body,
  }: {
    after?: string | undefined
    admit?: (after: string | undefined) => Promise<Admission>
    body?: ReadableStream<Uint8Array> | undefined
  },
): Promise<Response> {
  const isPolling = revisionOf(handshake.version)?.polling === true
  const query = { ...settings, expires: String(expires) }
  let isForgotten = false
  const dial: RelayOptions['dial'] = async (last, again, hasId) => {
    const admitted = again || isForgotten ? await admit?.(last) : undefined
    if (admitted && !('admitted' in admitted)) return new Response(null, { status: 404 })
    // A new stub for each dial: one whose object was lost may stay broken.
    const primes = isPolling && !hasId
    const response = await sessionObject(host, name).fetch(
      relayRequest({ ...query, ...(primes && { primes: '1' }) }, last, again),
    )
    isForgotten = response.status === 412
    if (isForgotten) throw new Error('The object of the session was lost after it had admitted the stream')
    return response
  }
  // Clients of older versions take the end of a stream as final, and have no event id before its first event.
  const maxStreamAgeMs = isPolling ? host.limits.maxStreamAgeMs : Number.POSITIVE_INFINITY
  // Their calls go on to the result, as a stateless call does: the token was valid when the call began.
  const isLasting = !isPolling && settings.relay === firstRelay
  const options = { ...host.limits, dial, maxStreamAgeMs, credential: isLasting ? undefined : credential }
  if (body) return passOnBody(options, body)
  const response = await openRelay(options, after)
  if (response.status === 200) return response
  if (response.status === 404) return unknownSession([])
  // The client has the whole stream. Clients take 405 as "no stream here" and stop; an empty stream would bring them back forever.
  if (response.status === 405) return notAllowed('POST, DELETE, OPTIONS')
  return unknownEvent(after)
}
