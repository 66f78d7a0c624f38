/**
 * The registration of a session with a Subscriptions object. A server without `subscriptions()` has this alone: it ends the registrations of
 * sessions that began while the server had `subscriptions()`. For the rest see `subscriptions.ts`.
 */
import { holdsScopes } from '../../worker/protocol/principal.ts'
import type { SubscriptionsRpc } from '../rpc.ts'
import { sessionAddress } from './session-address.ts'
import type { SessionParts } from './session-parts.ts'

type Context = Pick<SessionParts, 'host' | 'values' | 'log' | 'lifetime' | 'subscriptions'>

/** The endpoint of the session has `subscriptions()`. */
export const hasSubscriptions = (session: Context): boolean =>
  session.subscriptions !== undefined && session.lifetime.terms.shard !== undefined

/** How Subscriptions objects call the session: they notify the sessions of several classes. */
export const addressOf = (session: Context): string => sessionAddress(session.host.className, session.lifetime.name)

/** Where the session is registered, or would be. More shards later do not move it. */
export function subscriptionsOf(session: Context): SubscriptionsRpc | undefined {
  const shard = session.values.get('updatesShard') ?? session.lifetime.terms.shard
  return shard === undefined ? undefined : session.host.subscriptionsAt(shard)
}

/** The scopes of what the session has subscribed to. */
export const subscribedScopes = (session: Context): string[] => session.values.get('subscribedScopes') ?? []

/**
 * Ends the subscriptions of the session when a token opens a stream that lacks a scope of one of them, and erases what
 * they brought. True when it did.
 */
export async function dropSubscriptionsWithout(session: Context, scopes: readonly string[]): Promise<boolean> {
  if (holdsScopes(scopes, subscribedScopes(session))) return false
  // A failure fails the request: what is still registered must not be forgotten.
  await subscriptionsOf(session)?.unsubscribeAll(addressOf(session))
  session.log.eraseScoped('resource')
  session.values.delete('subscribedScopes')
  session.values.delete('updatesShard')
  return true
}

/** True when the session was subscribed to resources, or may have been. */
export async function deregister(session: Context): Promise<boolean> {
  try {
    return (await subscriptionsOf(session)?.unsubscribeAll(addressOf(session))) ?? false
  } catch (problem) {
    session.host.report(problem)
    return true
  }
}
