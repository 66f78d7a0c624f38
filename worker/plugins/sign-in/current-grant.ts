/** The grant with which a stored principal goes on. */
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
  const endedAt = await EndedAccess.ofStored(objectOf, subject, client, rememberMs)
  if (!(Number(iat) * 1000 > endedAt)) return undefined
  const listed = await objectOf(`user:${subject}`).list(`grant:${subject}:`)
  const grants = listed.map(({ name, metadata }): Partial<ListedGrant> & { readonly name: string } => ({
    ...Object(metadata),
    name,
  }))
  const newest = grants
    .filter((one) => one.client === client)
    .sort((one, other) => Number(other.since) - Number(one.since))
  for (const { name } of newest) {
    const next = await objectOf(name).granted(name)
    if (next && next.tenant === tenant) return { ...next, key: name }
  }
  return undefined
}
