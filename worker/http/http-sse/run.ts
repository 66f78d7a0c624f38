/** Runs requests of HTTP+SSE: in the Durable Object of the session, as for all sessions. */
import type { Posted } from '../../../durable-objects/rpc.ts'
import type { Access } from '../access.ts'
import type { Host } from '../host.ts'
import { namedBy, sealSession, sessionLifeMs } from '../sealed-session.ts'
import { postToSession, type SessionPost } from '../session-object.ts'
import { purpose, type SseSession } from './read.ts'

export const runInSseSession = (post: SessionPost, access: Access, host: Host): Promise<Posted> =>
  postToSession(post, access, host)

/** Starts a session. @returns its id, too, for the URL to post to */
export async function startSseSession(
  { principal }: Access,
  host: Host,
): Promise<{ readonly session: SseSession; readonly id: string }> {
  const content = { expires: Date.now() + sessionLifeMs }
  const id = await sealSession(purpose, content, host, principal)
  return { session: namedBy(id, content), id }
}
