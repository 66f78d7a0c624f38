/** What is stored of a principal with work that outlives its request. */

import type { Principal } from '../protocol/principal.ts'
import type { Params } from '../protocol/types.ts'
import type { Awaitable } from './context.ts'

/** Decides what is stored of the principal of a task, and with which claims and scopes the task runs. */
export interface StoredPrincipals {
  /**
   * Names of claims that are stored, sealed, with a task until its `ttl`. Do not name a credential, such as a token of another service.
   * Default: none; `ctx.principal.claims` is empty in tasks.
   */
  readonly storedClaims?: readonly string[] | undefined
  /**
   * Returns the principal with its current scopes and claims before each run of a task: at its start, after an input response, after a
   * sleep, after its Durable Object was lost, and when a sleeping handler is resumed to clean up. An error is reported, and the call is
   * repeated up to nine times with growing pauses of up to 1 minute. Default: tasks keep the identity, scopes and `storedClaims` of their
   * start.
   *
   * @param principal as it was stored
   * @param call the request that started the task
   * @returns the same principal with other scopes or claims; `undefined` fails the task
   */
  reauthorize?(
    principal: Principal,
    call: { readonly method: string; readonly params: Params },
  ): Awaitable<Principal | undefined>
}

/** Decides it for the principals of several issuers. */
export interface StoredByIssuer extends StoredPrincipals {
  /** Decides it for the principals of some issuers. Default: all principals have the same `storedClaims` and `reauthorize`. */
  readonly storedByIssuer?: Readonly<Record<string, StoredPrincipals>> | undefined
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
