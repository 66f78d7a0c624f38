/** Requests to the Durable Object of a session, with one RPC each, besides its POSTs. */
import type { Admission } from '../../../durable-objects/session/rpc.ts'
import type { Access } from '../../http/access.ts'
import type { Host } from '../../http/host.ts'
import type { SessionStream } from './read.ts'
import type { Session } from './session-id.ts'
import { sessionObject } from './session-object.ts'

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
    tenant: host.tenant,
  }
  return sessionObject(host, name).admit({
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
export const endSession = ({ name, expires }: Session, host: Host): Promise<boolean> =>
  sessionObject(host, name).end(expires)
