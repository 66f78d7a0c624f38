/**
 * Session ids: sealed texts that contain the whole session, so that nothing is stored when a session starts.
 *
 * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management
 */
import type { NegotiatedSession } from '../../engine/methods/method.ts'
import type { Host } from '../../http/host.ts'
import { BoundedMap } from '../../protocol/bounded-map.ts'
import * as bounds from '../../protocol/bounds.ts'
import { type Principal, principalKey } from '../../protocol/principal.ts'
import { revisionOf } from '../../protocol/revisions/index.ts'
import { type OpenedSession, openSession, type SessionContent, sealSession, sessionLifeMs } from './sealed-session.ts'

const purpose = 'session'

/** The content of a session id. */
type Content = SessionContent & { readonly handshake: NegotiatedSession }

export type Session = OpenedSession<Content>

export function sealSessionId(
  handshake: NegotiatedSession,
  host: Host,
  principal: Principal | undefined,
): Promise<string> {
  const content: Content = { expires: Date.now() + sessionLifeMs, handshake }
  return sealSession(purpose, content, host, principal)
}

/**
 * Unsealed sessions of each server, by principal and id: unsealing the id of every request would be the most expensive part of a short
 * call.
 */
const openedSessions = new WeakMap<Host, BoundedMap<string, Session>>()
const openedBounds = { maxEntries: 10_000, maxKeyCharacters: 2 * 1024 * 1024 }

/** @returns `undefined` for an id that is forged, expired, of another principal, or of a protocol version that the server no longer supports */
export async function openSessionId(
  id: string,
  host: Host,
  principal: Principal | undefined,
): Promise<Session | undefined> {
  if (id.length > bounds.sessionIdCharacters) return undefined
  const key = `${principalKey(principal)} ${id}`
  const opened = openedSessions.get(host) ?? new BoundedMap<string, Session>(openedBounds)
  openedSessions.set(host, opened)
  const cached = opened.get(key)
  if (cached && cached.expires > Date.now()) return cached
  const session = await openSession<Content>(purpose, id, host, principal)
  if (!session || !revisionOf(session.handshake.version)) return undefined
  opened.set(key, session)
  return session
}
