/**
 * Sessions, from the Worker's side: ids that are sealed handshakes, and one call to the session's object per request.
 *
 * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management
 */
import type { Admission, PostedRefusals } from '../../durable-objects/rpc.ts'
import { initialize } from '../engine/methods/initialize.ts'
import type { NegotiatedSession } from '../engine/methods/method.ts'
import { BoundedMap } from '../protocol/bounded-map.ts'
import { bounds } from '../protocol/bounds.ts'
import { asMcpError, McpError } from '../protocol/errors.ts'
import { isNotification, type Message, type RequestMessage, resultText } from '../protocol/jsonrpc.ts'
import { type Principal, principalKey } from '../protocol/principal.ts'
import type { Revision } from '../protocol/revision.ts'
import { revisionOf } from '../protocol/revisions/index.ts'
import { eventFrame } from '../protocol/server-sent-events.ts'
import type { IncomingRequest } from '../request-hooks.ts'
import type { AcceptedTypes } from './accept.ts'
import { refusedScopes } from './access.ts'
import { errorResponse, idOf, noBatches, notAllowed, sessionRequired } from './error-response.ts'
import { eventStreamHeaders } from './event-stream.ts'
import type { Host, Objects } from './host.ts'
import { openRelay, type RelayOptions } from './relay.ts'
import { type Answer, jsonResponse } from './reply.ts'

/** Milliseconds until a session's id is worth nothing, however much it is used. */
export const sessionLife = 7 * 24 * 60 * 60_000

const purpose = 'session'

/** What a session's id says. */
export type Session = { name: string; expires: number; handshake: NegotiatedSession }

/** `initialize`: the id says everything, so nothing is stored and no object wakes. */
export async function startSession(
  message: RequestMessage,
  host: Host,
  principal: Principal | undefined,
): Promise<Response> {
  try {
    const negotiated = initialize.negotiate(message.params)
    const revision = revisionOf(negotiated.version) as Revision
    const result = await initialize.answer(
      host.server.registry,
      revision,
      { updates: host.listen !== undefined },
      principal,
    )
    const answer = { status: 200, text: resultText(message.id, revision.result('initialize', result)) }
    if (!host.objects) return jsonResponse(answer)
    const session: Session = { name: crypto.randomUUID(), expires: Date.now() + sessionLife, handshake: negotiated }
    const id = await (await host.sealer()).seal(purpose, principal, session, sessionLife)
    return jsonResponse({ ...answer, headers: { 'Mcp-Session-Id': id } })
  } catch (thrown) {
    return errorResponse(asMcpError(thrown, host.report), message.id)
  }
}

type SessionPost = {
  batch: boolean
  session: string
  forms: AcceptedTypes
  /** Whom limits count it for. */
  caller: string | undefined
}

export async function postToSession(
  messages: Message[],
  { batch, session: id, forms: accept, caller }: SessionPost,
  host: Host,
  incoming: IncomingRequest,
): Promise<Response> {
  const { principal } = incoming
  const session = await openSession(id, host, principal)
  if (!session) return unknownSession(messages)
  const { name, expires, handshake: negotiated } = session
  const revision = revisionOf(negotiated.version) as Revision
  if (batch && !revision.batching) return errorResponse(noBatches(revision.date))
  const [first] = messages
  // Nothing depends on it, so it wakes nothing.
  if (!batch && first && isNotification(first) && first.method === 'notifications/initialized') return accepted()
  const object = (host.objects as Objects).session(name)
  const posted = await object.post({
    messages,
    scopes: await scopesOfEach(messages, host, principal),
    batch,
    handshake: negotiated,
    principal,
    caller,
    address: incoming.request.headers.get('CF-Connecting-IP') ?? undefined,
    session: id,
    identity: host.identity,
    admitted: host.admitted,
    terms: host.termsOf(name),
    expires,
    streams: accept.stream,
  })
  if ('gone' in posted) return unknownSession(messages)
  if ('lacks' in posted) return refusedScopes(posted.lacks, host, incoming)
  keepRefusals(incoming, messages, posted)
  if ('stream' in posted) return openSessionRelay(session, host, { stream: String(posted.stream) })
  const { status, text, headers } = posted
  if (text === undefined) return new Response(null, { status })
  return answerIn(accept, { status, text, headers })
}

/** What a token needs for each message. The session cannot unseal the handles in their params without awaiting it. */
export const scopesOfEach = (
  messages: readonly Message[],
  host: Host,
  principal: Principal | undefined,
): Promise<(readonly string[])[]> =>
  Promise.all(messages.map((message) => ('method' in message ? host.scopesOf(principal, message) : [])))

/** For whoever reports what was refused: see `IncomingRequest.refusals`. */
export function keepRefusals(
  incoming: IncomingRequest,
  messages: readonly Message[],
  { refusals }: PostedRefusals,
): void {
  if (!refusals) return
  const errors = refusals.map(
    ({ index, kind, message, data }) => [messages[index] as Message, new McpError(kind, message, data)] as const,
  )
  incoming.refusals = Promise.resolve(new Map(errors))
}

/** A finished answer in the form the client takes. */
const answerIn = ({ json }: AcceptedTypes, answer: Answer): Response =>
  json ? jsonResponse(answer) : new Response(eventFrame(answer.text), { headers: eventStreamHeaders })

/** GET: the standing stream from now on, or the rest of a stream after `Last-Event-ID`. */
export async function streamSession(request: Request, host: Host, incoming: IncomingRequest): Promise<Response> {
  const { principal } = incoming
  const session = await namedSession(request, host, principal)
  if (!session) return unknownSession([])
  const after = request.headers.get('Last-Event-ID') ?? undefined
  // It becomes part of a URL: see `feedRequest`.
  if (after !== undefined && !/^[0-9.]+$/.test(after)) return unknownEvent(after)
  if (!principal) return openSessionRelay(session, host, {}, after)
  const { name, expires } = session
  const { issuer, tenant, scopes } = principal
  const relayId = crypto.randomUUID()
  const admit = (after: string | undefined) =>
    (host.objects as Objects)
      .session(name)
      .admit({ terms: host.termsOf(name), expires, issuer, tenant, scopes, after, relay: relayId })
  const admission = await admit(after)
  if ('gone' in admission) return unknownSession([])
  if ('lacks' in admission) return refusedScopes(admission.lacks, host, incoming)
  return openSessionRelay(session, host, { admitted: '1', relay: relayId }, after, admit)
}

export async function endSession(request: Request, host: Host, principal: Principal | undefined): Promise<Response> {
  const session = await namedSession(request, host, principal)
  if (!session) return unknownSession([])
  const isEnded = await (host.objects as Objects).session(session.name).end(session.expires)
  return isEnded ? new Response(null, { status: 204 }) : unknownSession([])
}

/** @throws McpError `session_required` when the request names none */
function namedSession(request: Request, host: Host, principal: Principal | undefined): Promise<Session | undefined> {
  const id = request.headers.get('Mcp-Session-Id')
  if (id === null) throw sessionRequired(`${request.method} is about a session`)
  return openSession(id, host, principal)
}

/**
 * Sessions of each server, by who uses them and their id: unsealing one again and again would be the dearest part of a short
 * call.
 */
const openedBy = new WeakMap<Host, BoundedMap<string, Session>>()
const mostOpened = 1_000

async function openSession(id: string, host: Host, principal: Principal | undefined): Promise<Session | undefined> {
  if (id.length > bounds.sessionIdCharacters) return undefined
  const key = `${principalKey(principal)} ${id}`
  const opened = openedBy.get(host) ?? new BoundedMap<string, Session>({ maxEntries: mostOpened })
  openedBy.set(host, opened)
  const cached = opened.get(key)
  if (cached && cached.expires > Date.now()) return cached
  const session = await unsealed(id, host, principal)
  if (session) opened.set(key, session)
  return session
}

async function unsealed(id: string, host: Host, principal: Principal | undefined): Promise<Session | undefined> {
  const session = (await (await host.sealer()).open(purpose, principal, id)) as Session | undefined
  // Its revision may have been dropped since.
  return session && revisionOf(session.handshake.version) ? session : undefined
}

/**
 * The event stream of a session.
 *
 * @param settings see `Session.fetch`
 * @param admit checks again who reads, before the relay dials again
 */
async function openSessionRelay(
  { name, expires, handshake: negotiated }: Session,
  host: Host,
  settings: Readonly<Record<string, string>>,
  after?: string,
  admit?: (after: string | undefined) => Promise<Admission>,
): Promise<Response> {
  const { session } = host.objects as Objects
  const query = {
    relay: crypto.randomUUID(),
    ...settings,
    terms: host.termsOf(name),
    expires: String(expires),
    ...(revisionOf(negotiated.version)?.polling && { polling: '1' }),
  }
  const dial: RelayOptions['dial'] = async (last, again) => {
    const admission = again ? await admit?.(last) : undefined
    if (admission && !('admitted' in admission)) return new Response(null, { status: 404 })
    return session(name).fetch(feedRequest(query, last, again))
  }
  const relay = await openRelay({ ...host.limits, dial }, after)
  if (relay.status === 200) return relay
  if (relay.status === 404) return unknownSession([])
  // The stream has been heard to its end. Clients take this as "no stream here" and stop; an empty stream would bring
  // them back for ever.
  if (relay.status === 405) return notAllowed('POST, DELETE, OPTIONS')
  return unknownEvent(after)
}

/** @param after left out: the stream of a POST was to be opened, whose responses are more than its log keeps */
const unknownEvent = (after: string | undefined): Response =>
  errorResponse(
    after === undefined
      ? new McpError(
          'internal_error',
          'The responses to this POST are more than the log of its stream keeps: send fewer requests in one batch',
        )
      : new McpError('invalid_request', `Last-Event-ID ${after} is not in the log of this session any more`),
  )

/**
 * The request that opens a session's socket. Platforms log URLs: no arguments, claims or session ids may be in one.
 */
export function feedRequest(settings: Record<string, string>, after: string | undefined, again: boolean): Request {
  const query = new URLSearchParams({
    ...settings,
    ...(after !== undefined && { after }),
    ...(again && { again: '1' }),
  })
  return new Request(`https://session/relay?${query}`, { headers: { Upgrade: 'websocket' } })
}

export const accepted = (): Response => new Response(null, { status: 202 })

/** Forged, expired, ended or somebody else's: one answer for all of them. */
export function unknownSession(messages: readonly Message[]): Response {
  return errorResponse(new McpError('session_not_found', 'Session not found: send initialize again'), idOf(messages))
}
