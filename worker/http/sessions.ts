/**
 * Sessions, from the Worker's side: ids that are sealed handshakes, and one call to the session's object per request.
 *
 * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management
 */
import type { Post, Posted } from '../../durable-objects/session.ts'
import { type Handshake, readHandshake, welcome } from '../engine/handshake.ts'
import { bounds } from '../protocol/bounds.ts'
import { asMcpError, McpError } from '../protocol/errors.ts'
import { isNotification, type Message, type RequestMessage, resultText } from '../protocol/jsonrpc.ts'
import { type Principal, principalKey } from '../protocol/principal.ts'
import type { Revision } from '../protocol/revision.ts'
import { revisionOf } from '../protocol/revisions/index.ts'
import type { Accepts } from './accept.ts'
import { eventFrame, eventStreamHeaders } from './event-stream.ts'
import { type FeedOptions, openFeed } from './feed.ts'
import type { Host, Objects } from './host.ts'
import { idOf, noBatches, notAllowed, refusal } from './refusal.ts'
import { type Answer, jsonResponse } from './reply.ts'

/** Milliseconds until a session's id is worth nothing, however much it is used. */
export const sessionLife = 7 * 24 * 60 * 60_000

const purpose = 'session'

/** What a session's id says. */
export type Session = { name: string; expires: number; handshake: Handshake }

/** `initialize`: the id says everything, so nothing is stored and no object wakes. */
export async function startSession(
  message: RequestMessage,
  host: Host,
  principal: Principal | undefined,
): Promise<Response> {
  try {
    const handshake = readHandshake(message.params)
    const revision = revisionOf(handshake.version) as Revision
    const result = await welcome(host.server.registry, revision, { updates: host.updating !== undefined }, principal)
    const answer = { status: 200, text: resultText(message.id, revision.result('initialize', result)) }
    if (!host.objects) return jsonResponse(answer)
    const session: Session = { name: crypto.randomUUID(), expires: Date.now() + sessionLife, handshake }
    const id = await (await host.sealer()).seal(purpose, principal, session, sessionLife)
    return jsonResponse({ ...answer, headers: { 'Mcp-Session-Id': id } })
  } catch (thrown) {
    return refusal(asMcpError(thrown, host.report), message.id)
  }
}

type SessionPost = {
  batch: boolean
  session: string
  forms: Accepts
  /** Whom limits count it for. */
  caller: string | undefined
}

export async function postToSession(
  messages: Message[],
  { batch, session: id, forms, caller }: SessionPost,
  host: Host,
  principal: Principal | undefined,
): Promise<Response> {
  const session = await openSession(id, host, principal)
  if (!session) return unknownSession(messages)
  const { name, expires, handshake } = session
  const revision = revisionOf(handshake.version) as Revision
  if (batch && !revision.batching) return refusal(noBatches(revision.date))
  const [first] = messages
  // Nothing depends on it, so it wakes nothing.
  if (!batch && first && isNotification(first) && first.method === 'notifications/initialized') return accepted()
  const object = (host.objects as Objects).session(name)
  const post: Post = { messages, batch, handshake, principal, caller, session: id, expires, streams: forms.stream }
  const asked = `${(first as RequestMessage).params?.name}`
  const text = forms.stream && host.streamed.has(asked) ? JSON.stringify(post) : ''
  const settings = text && text.length < mostInUrl ? feedSettings(session) : undefined
  // One request to the object instead of two.
  const feed = settings ? await object.fetch(feedRequest({ ...settings, post: text }, undefined, false)) : undefined
  if (settings && feed?.webSocket) return feedOf(session, host, settings, undefined, feed)
  const posted = feed ? await feed.json<Posted>() : await object.post(post)
  if ('gone' in posted) return unknownSession(messages)
  if ('stream' in posted) {
    if (host.streamed.size < mostOpened) host.streamed.add(asked)
    return feedOf(session, host, { ...feedSettings(session), stream: String(posted.stream) })
  }
  const { status, text: answered, headers } = posted
  if (answered === undefined) return new Response(null, { status })
  return answerIn(forms, { status, text: answered, headers })
}

/** A finished answer in the form the client takes. */
const answerIn = ({ json }: Accepts, answer: Answer): Response =>
  json ? jsonResponse(answer) : new Response(eventFrame(answer.text), { headers: eventStreamHeaders })

/** GET: the standing stream from now on, or the rest of a stream after `Last-Event-ID`. */
export async function streamSession(request: Request, host: Host, principal: Principal | undefined): Promise<Response> {
  const session = await namedSession(request, host, principal)
  if (!session) return unknownSession([])
  const after = request.headers.get('Last-Event-ID') ?? undefined
  const { tenant, scopes } = principal ?? {}
  const settings = { ...feedSettings(session), ...(tenant && { tenant }), ...(scopes && { scopes: scopes.join(' ') }) }
  return feedOf(session, host, settings, after)
}

export async function endSession(request: Request, host: Host, principal: Principal | undefined): Promise<Response> {
  const session = await namedSession(request, host, principal)
  if (!session) return unknownSession([])
  const ended = await (host.objects as Objects).session(session.name).end(session.expires)
  return ended ? new Response(null, { status: 204 }) : unknownSession([])
}

/** @throws McpError `session_required` when the request names none */
function namedSession(request: Request, host: Host, principal: Principal | undefined): Promise<Session | undefined> {
  const id = request.headers.get('Mcp-Session-Id')
  if (id === null) throw new McpError('session_required', 'Missing header Mcp-Session-Id')
  return openSession(id, host, principal)
}

/**
 * Sessions of each server, by who uses them and their id: unsealing one again and again would be the dearest part of a short
 * call.
 */
const openedBy = new WeakMap<Host, Map<string, Session>>()
const mostOpened = 1_000
/** Characters of a call that is asked for with its stream. */
const mostInUrl = 4096

async function openSession(id: string, host: Host, principal: Principal | undefined): Promise<Session | undefined> {
  if (id.length > bounds.sessionIdCharacters) return undefined
  const key = `${principalKey(principal)} ${id}`
  const opened = openedBy.get(host) ?? new Map<string, Session>()
  openedBy.set(host, opened)
  const known = opened.get(key)
  if (known && known.expires > Date.now()) return known
  const session = await unsealed(id, host, principal)
  if (opened.size >= mostOpened) opened.clear()
  if (session) opened.set(key, session)
  return session
}

async function unsealed(id: string, host: Host, principal: Principal | undefined): Promise<Session | undefined> {
  const session = (await (await host.sealer()).open(purpose, principal, id)) as Session | undefined
  // Its revision may have been dropped since.
  return session && revisionOf(session.handshake.version) ? session : undefined
}

type Settings = Record<string, string>

const feedSettings = ({ expires, handshake }: Session): Settings => ({
  feed: crypto.randomUUID(),
  expires: String(expires),
  ...(revisionOf(handshake.version)?.polling && { polling: '1' }),
})

/** @param first the answer to the first dial, if that was made */
async function feedOf(
  { name }: Session,
  host: Host,
  settings: Settings,
  after?: string,
  first?: Response,
): Promise<Response> {
  const { session } = host.objects as Objects
  const dial: FeedOptions['dial'] = (last, again) => session(name).fetch(feedRequest(settings, last, again))
  const feed = await openFeed({ ...host.limits, dial, first }, after)
  if (feed.status === 200) return feed
  if (feed.status === 404) return unknownSession([])
  // The stream has been heard to its end. Clients take this as "no stream here" and stop; an empty stream would bring
  // them back for ever.
  if (feed.status === 405) return notAllowed('POST, DELETE, OPTIONS')
  return refusal(new McpError('invalid_request', `Last-Event-ID ${after} is not in the log of this session any more`))
}

/** The request that opens a session's socket. */
export function feedRequest(settings: Record<string, string>, after: string | undefined, again: boolean): Request {
  const query = new URLSearchParams({
    ...settings,
    ...(after !== undefined && { after }),
    ...(again && { again: '1' }),
  })
  return new Request(`https://session/feed?${query}`, { headers: { Upgrade: 'websocket' } })
}

export const accepted = (): Response => new Response(null, { status: 202 })

/** Forged, expired, ended or somebody else's: one answer for all of them. */
export function unknownSession(messages: readonly Message[]): Response {
  return refusal(new McpError('session_not_found', 'Session not found: send initialize again'), idOf(messages))
}
