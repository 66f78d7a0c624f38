/** The requests of sessions and of HTTP+SSE to the Durable Object that stores both. */
import type { Post } from '../../durable-objects/rpc.ts'
import { storeContext } from '../engine/request-context.ts'
import type { Access } from './access.ts'
import { type Host, sealsOf } from './host.ts'

/** What a request contains about its session. */
export type SessionPost = Pick<Post, 'messages' | 'batch' | 'handshake' | 'session' | 'expires' | 'streams'> & {
  /** Name of the Durable Object. */
  readonly name: string
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
    follows: true,
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
