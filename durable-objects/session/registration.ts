/**
 * The registration of a session with a Subscriptions object. On a server without `subscriptions()`, it only ends the registrations of
 * sessions that started while the server had `subscriptions()`. The rest is in `../subscriptions/session-part.ts`.
 */
import { holdsScopes } from '../../worker/protocol/principal.ts'
import type { SubscriptionsRpc } from '../rpc.ts'
import { sessionAddress } from './session-address.ts'
import type { SessionParts } from './session-parts.ts'

type Context = Pick<SessionParts, 'host' | 'values' | 'log' | 'lifetime' | 'subscriptions'>

/** Whether the endpoint of the session has `subscriptions()`. */
export const hasSubscriptions = (session: Context): boolean =>
  session.subscriptions !== undefined && session.lifetime.terms.shard !== undefined

/** Returns the address by which Subscriptions objects call the session: they notify sessions of several classes. */
export const addressOf = (session: Context): string => sessionAddress(session.host.className, session.lifetime.name)

/** Returns the Subscriptions object of the session. A later increase of the number of shards does not change it. */
export function subscriptionsOf(session: Context): SubscriptionsRpc | undefined {
  const shard = session.values.get('registration')?.shard ?? session.lifetime.terms.shard
  return shard === undefined ? undefined : session.host.subscriptionsAt(shard)
}

/** Returns the scopes of the resources that the session has subscribed to. */
export const subscribedScopes = (session: Context): string[] => session.values.get('subscribedScopes') ?? []

/** Ends the subscriptions of the session to resources, and erases their events, if a token that opens a stream lacks a scope of one of them. */
export async function dropSubscriptionsWithout(session: Context, scopes: readonly string[]): Promise<void> {
  if (holdsScopes(scopes, subscribedScopes(session))) return
  // A failure fails the request, and the next one repeats this: what is still registered must not be forgotten.
  await subscriptionsOf(session)?.unsubscribeAll(addressOf(session), true)
  session.log.eraseScoped('resource')
  session.values.delete('subscribedScopes')
}

/** Ends the subscriptions of the session. Returns true if it was, or may have been, subscribed to resources. */
export async function deregister(session: Context): Promise<boolean> {
  try {
    return (await subscriptionsOf(session)?.unsubscribeAll(addressOf(session))) ?? false
  } catch (problem) {
    session.host.report(problem)
    return true
  }
}
