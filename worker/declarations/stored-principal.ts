/** What is stored of a principal with work that outlives its request. */

import type { Principal } from '../protocol/principal.ts'
import type { Params } from '../protocol/types.ts'
import type { Awaitable } from './context.ts'

/** Decides what is stored of the principal of a task, and with which claims and scopes the task runs. */
export interface StoredPrincipals {
  /**
   * Names of claims that are stored, sealed, with a task until its `ttl`, and with a subscription to an event. Do not name a credential, such
   * as a token of another service. Default: those of the user of `signIn()`, and the id of the key of `apiKeys()`; of other auths none, and
   * `ctx.principal.claims` is empty in tasks.
   */
  readonly storedClaims?: readonly string[] | undefined
  /**
   * Returns the principal with its current scopes and claims before each run of a task: at its start, after an input response, after a
   * sleep, after its Durable Object was lost, and when a sleeping handler is resumed to clean up; every minute of a run, before its next
   * `ctx.once` or sleep; and before each delivery of an event. An error is reported, and the call is repeated: for a task up to nine times with growing pauses of up to 1 minute. Default: tasks keep the
   * identity, scopes and `storedClaims` of their start, unless `signIn()` or `apiKeys()` knows that the access or the key has ended.
   *
   * @param principal as it was stored; of `signIn()` and `apiKeys()`, as it is now. Scopes that it does not have are not added then
   * @param call the request that started the task or the subscription
   * @returns the same principal with other scopes or claims; `undefined` fails the task, and ends the subscription
   */
  reauthorize?(
    principal: Principal,
    call: { readonly method: string; readonly params: Params },
  ): Awaitable<Principal | undefined>
}

/** Decides whether work that was begun for a principal may go on, for the principals of several issuers. */
export interface StoredByIssuer extends StoredPrincipals {
  /**
   * Issuers of its principals, for `oneOf()`. Work that was stored for a principal of another issuer ends. They are final once `serve()` has
   * the auth. Default: any issuer that no other auth has.
   */
  readonly issuers?: readonly string[] | undefined
  /** Decides it for the principals of some issuers. Default: all principals have the same `storedClaims` and `reauthorize`. */
  readonly storedByIssuer?: Readonly<Record<string, StoredPrincipals>> | undefined
  /**
   * Returns a principal as the auth accepts it: checks its issuer, its tenant and the scopes that every caller needs. It is called for the
   * principal of each request by `authenticate`, and for a stored one whenever
   * `reauthorize` is called, after it. Default: it is accepted.
   *
   * @throws McpError `forbidden` or `insufficient_scope`
   */
  admit?(principal: Principal): Principal
}

/** Returns what decides for a principal. @param all decides for the principals of other issuers */
export function storedFor({ issuer }: Principal, all: StoredByIssuer): StoredPrincipals {
  const { storedByIssuer = {} } = all
  return (Object.hasOwn(storedByIssuer, issuer) && storedByIssuer[issuer]) || all
}

/** The principal without the claims that may not be stored. */
export function storable(principal: Principal, storedClaims: readonly string[] = []): Principal {
  const names = storedClaims.filter((name) => Object.hasOwn(principal.claims, name))
  return { ...principal, claims: Object.fromEntries(names.map((name) => [name, principal.claims[name]])) }
}
