/** The requests of sessions and of HTTP+SSE to the Durable Object that stores both. */
import type { Post } from '../../durable-objects/rpc.ts'
import { storeContext } from '../engine/request-context.ts'
import * as bounds from '../protocol/bounds.ts'
import { McpError } from '../protocol/errors.ts'
import type { Message } from '../protocol/jsonrpc.ts'
import type { Principal } from '../protocol/principal.ts'
import { readNonce } from '../sealing/seal.ts'
import type { Access } from './access.ts'
import { errorResponse, idOf } from './error-response.ts'
import { type Host, sealsOf } from './host.ts'

/** Milliseconds until a session id expires, however much it is used. */
export const sessionLifeMs = 7 * 24 * 60 * 60_000

/** What every session id contains. */
export type SessionContent = {
  /** Milliseconds since 1970. */
  readonly expires: number
}

/** A session as its id describes it. */
export type OpenedSession<T> = T & {
  /** Name of the Durable Object. */
  readonly name: string
}

/** What a request contains about its session. */
export type SessionPost = Pick<Post, 'messages' | 'batch' | 'handshake' | 'session' | 'expires' | 'streams'> & {
  /** Name of the Durable Object. */
  readonly name: string
}

/** Seals the content of a session id. @param purpose one for each transport, so that a session id of one is invalid for the other */
export const sealSession = async (
  purpose: string,
  session: SessionContent,
  host: Host,
  principal: Principal | undefined,
): Promise<string> => (await host.sealer()).seal(purpose, principal, session, sessionLifeMs)

/** Adds the name of the Durable Object to the content of a session id. The id names the object, so that a notification can be sent to it. */
export const namedBy = <T extends SessionContent>(id: string, content: T): OpenedSession<T> =>
  // A Worker of an older release stored the name in the content.
  ({ name: String(readNonce(id)), ...content })

/** @returns the content of a session id; `undefined` if it is forged, expired or of another principal */
export async function openSession<T extends SessionContent>(
  purpose: string,
  id: string,
  host: Host,
  principal: Principal | undefined,
): Promise<OpenedSession<T> | undefined> {
  if (id.length > bounds.sessionIdCharacters) return undefined
  // `sealSession` sealed it, for the same purpose.
  const content = (await (await host.sealer()).open(purpose, principal, id)) as T | undefined
  return content && namedBy(id, content)
}

/** Forwards a POST to the Durable Object of its session, which runs its calls. */
export async function postToSession({ name, ...post }: SessionPost, access: Access, host: Host) {
  const { principal, caller, address, request } = access
  const requestContext = await storeContext(
    access.requestContext,
    sealsOf(host, principal),
    Math.max(post.expires - Date.now(), 0),
  )
  const posted = await host.session(name).post({
    ...post,
    scopes: await access.scopesOfMessages(),
    principal,
    caller,
    address,
    http: { url: request.url, headers: request.headers },
    ...(requestContext && { requestContext }),
    identity: host.identity,
    admitted: host.admitted,
    terms: host.termsOf(name),
  })
  if ('status' in posted || 'stream' in posted) access.recordRefusals(posted)
  return posted
}

/**
 * Returns the request that opens a relay to the object of a session. Platforms log URLs, so the URL contains no arguments, claims or
 * session ids.
 *
 * @param after the id of the last event that the client received
 * @param again whether the relay had a socket before, which it lost
 */
export function relayRequest(settings: Record<string, string>, after: string | undefined, again: boolean): Request {
  const query = new URLSearchParams({
    ...settings,
    ...(after !== undefined && { after }),
    ...(again && { again: '1' }),
  })
  return new Request(`https://session/relay?${query}`, { headers: { Upgrade: 'websocket' } })
}

export const accepted = (): Response => new Response(null, { status: 202 })

/**
 * Returns the same 404 for a forged, expired, ended or foreign session id, so that a response never reveals whether a session exists.
 */
export function unknownSession(messages: readonly Message[]): Response {
  return errorResponse(new McpError('session_not_found', 'Session not found: send initialize again'), idOf(messages))
}
