/** Runs requests of a session in its Durable Object, with one RPC each. */
import type { Admission, Posted } from '../../../durable-objects/rpc.ts'
import type { Access } from '../access.ts'
import type { Host } from '../host.ts'
import { postToSession } from '../session-object.ts'
import type { SessionCalls, SessionStream } from './read.ts'
import type { Session } from './session-id.ts'

/** The Durable Object counts and runs the calls, and returns where the response is. */
export const runInSession = ({ post }: SessionCalls, access: Access, host: Host): Promise<Posted> =>
  postToSession(post, access, host)

/**
 * Asks the Durable Object of a session whether its client may have a stream, by the scopes of the calls on it. An anonymous client may.
 *
 * @param relay that opens the stream next
 */
export async function admitStream(
  { session: { name, expires, handshake }, after }: SessionStream,
  relay: string,
  { principal }: Access,
  host: Host,
): Promise<Admission> {
  const isEndObserved = host.server.declarations.hooks?.onSessionEnd !== undefined
  if (!principal && !isEndObserved) return { admitted: true }
  const { issuer, tenant, subject, client, scopes = [] } = principal ?? {}
  const owner = {
    client: handshake.client,
    principal: principal && { ...principal, claims: {} },
    admitted: host.admitted,
  }
  return host.session(name).admit({
    terms: host.termsOf(name),
    expires,
    issuer,
    tenant,
    subject,
    client,
    scopes,
    after,
    relay,
    ...(isEndObserved && { owner }),
  })
}

/** @returns false if the session had already ended */
export const endSession = ({ name, expires }: Session, host: Host): Promise<boolean> => host.session(name).end(expires)
