/** The requests of sessions and of HTTP+SSE to the Durable Object that stores both. */
import type { Posted, PostedRequest, PostedSession, SessionRpc } from '../../../durable-objects/session/rpc.ts'
import { emptyContext } from '../../declarations/request-context.ts'
import { storeContext } from '../../engine/request-context.ts'
import type { Access } from '../../http/access.ts'
import { type Host, sealsOf } from '../../http/host.ts'
import { revisionOf } from '../../protocol/revisions/index.ts'
import type { OpenedSession, SessionContent } from './sealed-session.ts'

/** Returns the Durable Object of a session. */
export const sessionObject = ({ object }: Pick<Host, 'object'>, name: string): SessionRpc => object('McpSession', name)

/** The session of a POST, and what the request contains about it. */
export type SessionPost = Pick<PostedRequest, 'messages' | 'batch' | 'streams'> & {
  readonly session: OpenedSession<SessionContent & Pick<PostedSession, 'handshake'>>
}

/** Forwards a POST to the Durable Object of its session, which runs its calls. */
export async function postToSession({ session, ...post }: SessionPost, access: Access, host: Host): Promise<Posted> {
  const { principal, caller, address, request } = access
  const hasContext = access.requestContext !== emptyContext
  const requestContext = hasContext ? await storedContext(access, session.expires, host) : undefined
  const scopes = await access.scopesOfMessages()
  const http = { url: request.url, headers: headerLines(request.headers) }
  const bodyUntil = endOfBodyOf(session, access, host)
  const parts = { scopes, caller, address, http, bodyUntil, ...(requestContext && { requestContext }) }
  const posted: PostedRequest = { ...post, ...parts }
  const answer = await sessionObject(host, session.name).post(
    JSON.stringify(posted),
    textOfSession(session, host),
    principal,
  )
  if (typeof answer === 'string') return { status: 200, text: answer }
  if ('status' in answer || 'stream' in answer) access.recordRefusals(answer)
  return answer
}

/**
 * Returns until when the stream of a POST may be the body of its response, in milliseconds since 1970. The relay after it ends the stream at
 * its maximum age, and verifies the credential again.
 */
function endOfBodyOf({ handshake, expires }: SessionPost['session'], { credential }: Access, { limits }: Host): number {
  if (!revisionOf(handshake?.version ?? '')?.polling) return expires
  const half = Date.now() + limits.maxStreamAgeMs / 2
  return Math.min(expires, half, credential?.expires ?? expires, credential?.recheck?.at ?? expires)
}

/** The texts of sessions whose ids are in the cache of `session-id.ts`. */
const textsOfSessions = new WeakMap<SessionPost['session'], string>()

function textOfSession(opened: SessionPost['session'], host: Host): string {
  const known = textsOfSessions.get(opened)
  if (known !== undefined) return known
  const { name, expires, handshake } = opened
  const { tenant } = host
  const session: PostedSession = { handshake, session: name, expires, tenant }
  const text = JSON.stringify(session)
  textsOfSessions.set(opened, text)
  return text
}

function headerLines(headers: Headers): string {
  const lines: string[] = []
  // Faster than an iteration.
  headers.forEach((value, name) => {
    lines.push(`${name}: ${value}`)
  })
  return lines.join('\n')
}

const storedContext = ({ principal, requestContext }: Access, expires: number, host: Host) =>
  storeContext(requestContext, sealsOf(host, principal), Math.max(expires - Date.now(), 0))

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
