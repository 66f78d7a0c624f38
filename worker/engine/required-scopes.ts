/**
 * The scopes that requests need.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization#scope-challenge-handling
 */

import type { Guarded } from '../declarations/caller.ts'
import type { Awaitable } from '../declarations/context.ts'
import type { Open } from '../declarations/declarations.ts'
import { McpError } from '../protocol/errors.ts'
import type { Principal } from '../protocol/principal.ts'
import { isPermitted } from './methods/lists.ts'
import type { Target } from './methods/method.ts'

const none: readonly string[] = []

/**
 * Returns all scopes of the entry that a request names, if the caller lacks one of them. A hidden entry has none: the request gets the
 * error for an unknown name.
 *
 * @param open unseals values of the caller
 * @param isVisibleTo returns whether the caller sees an entry
 * @returns `undefined` without scopes
 */
export function lackedScopes(
  target: Target,
  principal: Principal | undefined,
  open: Open,
  isVisibleTo: (entry: Guarded) => Promise<boolean>,
): Promise<readonly string[]> | undefined {
  const entries = target.guards(open)
  // Most entries have no scopes.
  if (!(entries instanceof Promise) && entries.every(({ scopes }) => !scopes)) return undefined
  return lackedScopesOf(entries, principal, isVisibleTo)
}

async function lackedScopesOf(
  entries: Awaitable<readonly Guarded[]>,
  principal: Principal | undefined,
  isVisibleTo: (entry: Guarded) => Promise<boolean>,
): Promise<readonly string[]> {
  const [entry, ...others] = await entries
  // Of several servers, the one that has the entry checks the scopes itself.
  if (!entry || others.length > 0 || isPermitted(entry, { principal })) return none
  return !entry.visibleTo || (await isVisibleTo(entry)) ? (entry.scopes ?? none) : none
}

/**
 * Returns all scopes of a request, whether the caller has them or not. Its stream, its input responses, its cancellation and the audit log
 * use the same ones.
 *
 * @param open unseals values of the caller
 * @param principal the caller; of several upstreams that may have the entry, those that reject the caller do not count
 */
export function scopesOf(target: Target, open: Open, principal?: Principal): Awaitable<readonly string[]> {
  const entries = target.guards(open)
  return entries instanceof Promise
    ? entries.then((found) => scopesFor(found, principal))
    : scopesFor(entries, principal)
}

function scopesFor(entries: readonly Guarded[], principal: Principal | undefined): readonly string[] {
  if (entries.length < 2) return entries[0]?.scopes ?? none
  const permitted = principal ? entries.filter((entry) => isPermitted(entry, { principal })) : []
  return mergeScopes(permitted.length > 0 ? permitted : entries).scopes ?? none
}

/** Returns an entry with the scopes of all these entries, and the first limit of them. */
export const mergeScopes = (entries: readonly Guarded[]): Guarded => ({
  visibleTo: undefined,
  scopes: [...new Set(entries.flatMap(({ scopes = none }) => scopes))],
  rateLimit: entries.find(({ rateLimit }) => rateLimit)?.rateLimit,
})

export const insufficientScope = (scopes: readonly string[]): McpError =>
  new McpError('insufficient_scope', `Requires the scopes ${scopes.join(' ')}`, { scopes })
