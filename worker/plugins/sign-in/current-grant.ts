/** The grant with which a stored principal goes on, and the end of it. */
import type { ListedGrant, StoredGrant } from '../../../durable-objects/sign-in/rpc.ts'
import type { Principal } from '../../protocol/principal.ts'
import type { ObjectOf } from './authorization-server.ts'
import { EndedAccess } from './ended-access.ts'

/** Claims with which the grant of a stored principal is found. `forTenant()` may name another tenant than the grant does. */
export const grantClaims = ['sub', 'tenant', 'grant_id', 'iat']

/**
 * Returns the grant of a stored principal with its key; `undefined` once it has ended. When a registered client signs its user in again, or an
 * organization does, a new grant takes the place of the one before.
 *
 * @param rememberMs milliseconds for which the end of access is remembered
 */
export async function currentGrant(
  objectOf: ObjectOf,
  { subject, client, claims }: Principal,
  rememberMs: number,
): Promise<(StoredGrant & { readonly key: string }) | undefined> {
  const { grant_id: grant, tenant, iat }: Readonly<Record<string, unknown>> = claims
  const key = `grant:${subject}:${grant}`
  const own = await objectOf(key).granted(key)
  if (own) return own.clientId === client ? { ...own, key } : undefined
  // All installations of an app share the URL of its metadata document. The grant of one takes the place of no other.
  if (client === undefined || URL.canParse(client)) return undefined
  for (const { name } of await newestGrants(objectOf, subject, client)) {
    const next = await objectOf(name).granted(name)
    if (!next || next.tenant !== tenant) continue
    // Read once the grant is found: it may be newer than an end that came meanwhile.
    const [ownEndedAt, ...endedAt] = await Promise.all([
      EndedAccess.ofOneGrant(objectOf, subject, key).time(),
      EndedAccess.ofLastGrant(objectOf, subject, client, next.tenant).time(),
      EndedAccess.ofStored(objectOf, subject, client, rememberMs),
    ])
    return ownEndedAt === 0 && Number(iat) * 1000 > Math.max(...endedAt) ? { ...next, key: name } : undefined
  }
  return undefined
}

/** What is read here of a grant that the library wrote. */
export type EndedGrant = {
  readonly userId: string
  readonly clientId: string
  readonly metadata?: { readonly tenant?: string } | null
}

/**
 * Stores the end of a grant, before the grant is deleted. What began with it goes on with no other one. What began with a grant before it goes
 * on only if the client has another one for the tenant now.
 *
 * @param key of the grant
 * @param rememberMs milliseconds for which the end is remembered
 */
export async function storeEnd(
  objectOf: ObjectOf,
  key: string,
  { userId, clientId, metadata }: EndedGrant,
  rememberMs: number,
): Promise<void> {
  // No other grant takes its place: see `currentGrant`.
  if (URL.canParse(clientId)) return
  // Before the others are read: of grants that end at the same time, the last one to store it finds that all have ended.
  await EndedAccess.ofOneGrant(objectOf, userId, key).store(rememberMs)
  const tenant = metadata?.tenant
  for (const { name, isCode } of await newestGrants(objectOf, userId, clientId)) {
    // Anybody can send a user to a sign-in: its code may never be exchanged.
    const other = name === key || isCode ? undefined : await objectOf(name).granted(name)
    if (!other || other.tenant !== tenant) continue
    if ((await EndedAccess.ofOneGrant(objectOf, userId, name).time()) === 0) return
  }
  await EndedAccess.ofLastGrant(objectOf, userId, clientId, tenant).store(rememberMs)
}

/** Returns the grants that are listed of a client, the newest first. */
async function newestGrants(
  objectOf: ObjectOf,
  userId: string,
  clientId: string,
): Promise<readonly (ListedGrant & { readonly name: string })[]> {
  const listed = await objectOf(`user:${userId}`).list(`grant:${userId}:`)
  return listed
    .map(({ name, metadata }): ListedGrant & { readonly name: string } => ({ ...Object(metadata), name }))
    .filter(({ client }) => client === clientId)
    .sort((one, other) => other.since - one.since)
}
