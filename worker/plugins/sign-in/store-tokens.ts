/** Stores the tokens of a user for APIs of providers. They are stored as long as the user has grants. */
import type { SignInRpc } from '../../../durable-objects/rpc.ts'
import { type ObjectOf, upstreamKeyOf } from './authorization-server.ts'

/** Whether an app has access as a user. The end of access that runs is awaited. */
export async function hasGrants(objectOf: ObjectOf, userId: string): Promise<boolean> {
  const grants = await objectOf(`user:${userId}`).list('grant:')
  return grants.length > 0
}

/**
 * Stores tokens, and deletes and revokes all of the user if the last grant has ended meanwhile. The grants are read after the tokens are stored: a
 * grant that ends later deletes them, too.
 *
 * @returns whether the tokens are stored
 */
export async function storeTokens(
  objectOf: ObjectOf,
  userId: string,
  ...rest: SkipFirst<Parameters<SignInRpc['keepUpstream']>>
): Promise<boolean> {
  const upstream = objectOf(upstreamKeyOf(userId))
  await upstream.keepUpstream(userId, ...rest)
  const isKept = await hasGrants(objectOf, userId)
  if (!isKept) await upstream.clearUpstream(userId)
  return isKept
}

type SkipFirst<T extends readonly unknown[]> = T extends [unknown, ...infer Rest] ? Rest : never
