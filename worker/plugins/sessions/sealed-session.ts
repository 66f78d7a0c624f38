/** Seals and opens session ids, those of sessions and those of HTTP+SSE. */

import type { Host } from '../../http/host.ts'
import * as bounds from '../../protocol/bounds.ts'
import type { Principal } from '../../protocol/principal.ts'
import { readNonce } from '../../sealing/seal.ts'

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

/** Seals the content of a session id. @param purpose one for each transport, so that a session id of one is invalid for the other */
export const sealSession = async (
  purpose: string,
  session: SessionContent,
  host: Host,
  principal: Principal | undefined,
): Promise<string> => (await host.sealer()).seal(purpose, principal, session, sessionLifeMs)

/** Adds the name of the Durable Object to the content of a session id. The id names the object, so that a notification can be sent to it. */
export const namedBy = <T extends object>(id: string, content: T): OpenedSession<T> => ({
  ...content,
  name: String(readNonce(id)),
})

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
