/** Stores the tokens of a user for APIs of providers. They are stored as long as the user has grants. */
import type { OAuthSite, SignInRpc } from '../../../durable-objects/sign-in/rpc.ts'
import { type ObjectOf, upstreamKeyOf } from './authorization-server.ts'
import { objectName } from './object-names.ts'

/** Milliseconds after which tokens of a user without grants are deleted, if nobody has deleted them before. */
const lostAfterMs = 60 * 60_000

/** Whether an app has access as a user. The end of access that runs is awaited. */
export async function hasGrants(objectOf: ObjectOf, userId: string): Promise<boolean> {
  const grants = await objectOf(`user:${userId}`).list('grant:')
  return grants.length > 0
}

/**
 * Stores tokens, and deletes and revokes all of the user if the last grant has ended meanwhile: at once, or later if this request is lost. The
 * object with the grants deletes them, before it stores the grant of a later sign-in.
 *
 * @returns whether the tokens are stored
 */
export async function storeTokens(
  objectOf: ObjectOf,
  site: OAuthSite,
  userId: string,
  ...rest: SkipFirst<Parameters<SignInRpc['keepUpstream']>>
): Promise<boolean> {
  const user = objectOf(`user:${userId}`)
  const upstream = upstreamKeyOf(userId)
  const storing = `storing:${crypto.randomUUID()}`
  await user.write(storing, objectName(site, upstream), undefined, Date.now() + lostAfterMs)
  await objectOf(upstream).keepUpstream(userId, ...rest)
  const [isKept] = await Promise.all([hasGrants(objectOf, userId), user.remove(storing)])
  return isKept
}

type SkipFirst<T extends readonly unknown[]> = T extends [unknown, ...infer Rest] ? Rest : never
