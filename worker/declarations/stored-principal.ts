/** What of a principal may be stored with work that outlives its request. */

import type { Principal } from '../protocol/principal.ts'
import type { Params } from '../protocol/types.ts'
import type { Awaitable } from './context.ts'

/** How an `auth` handles principals that are stored. */
export interface StoredPrincipals {
  /**
   * Names of claims that may be stored, sealed, with a task, until its `ttl`. Name none that is a credential, such as another
   * site's token. Default: none, so that `ctx.principal.claims` is empty in tasks.
   */
  readonly storedClaims?: readonly string[] | undefined
  /**
   * Called before each run of a task: when it begins, when its questions are answered, when its sleep is over, after its object
   * was lost, and when a sleeping handler is woken to clean up. It can look up claims and scopes as they are now, or stop a task whose
   * caller may not use it any more. What it throws is reported, and it is called again up to nine times, with growing pauses of up to a
   * minute. Default: tasks run with the identity, scopes and `storedClaims` of their beginning.
   *
   * @param principal as it was stored
   * @param call that began the task
   * @returns the same principal with other scopes or claims; `undefined` fails the task
   */
  reauthorize?(
    principal: Principal,
    call: { readonly method: string; readonly params: Params },
  ): Awaitable<Principal | undefined>
}

/** The principal without the claims that may not be stored. */
export function storable(principal: Principal, storedClaims: readonly string[] = []): Principal {
  const names = storedClaims.filter((name) => Object.hasOwn(principal.claims, name))
  return { ...principal, claims: Object.fromEntries(names.map((name) => [name, principal.claims[name]])) }
}
