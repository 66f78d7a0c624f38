/** Runs requests of a session in its Durable Object: one RPC for each. */
import type { Admission, Posted } from '../../../durable-objects/rpc.ts'
import type { Access } from '../access.ts'
import type { Host } from '../host.ts'
import { postToSession } from '../session-object.ts'
import type { SessionCalls } from './read.ts'
import type { Session } from './session-id.ts'

/** The object counts the calls, runs them, and says where their answer is. */
export const runInSession = ({ post }: SessionCalls, access: Access, host: Host): Promise<Posted> =>
  postToSession(post, access, host)

/**
 * Asks the object of a session whether its client may have a stream: by the scopes of the calls on it. A client that is not signed in may.
 *
 * @param after the id of the last event that the client has
 * @param relay that opens the stream next
 */
export async function admitStream(
  { name, expires }: Session,
  after: string | undefined,
  relay: string,
  { principal }: Access,
  host: Host,
): Promise<Admission> {
  if (!principal) return { admitted: true }
  const { issuer, tenant, scopes } = principal
  return host.session(name).admit({ terms: host.termsOf(name), expires, issuer, tenant, scopes, after, relay })
}

/** @returns false when the session had ended before */
export const endSession = ({ name, expires }: Session, host: Host): Promise<boolean> => host.session(name).end(expires)
