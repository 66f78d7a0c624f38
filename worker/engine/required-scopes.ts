/**
 * The scopes that requests need.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization#scope-challenge-handling
 */

import type { Guarded } from '../declarations/caller.ts'
import type { Awaitable } from '../declarations/context.ts'
import type { Declarations, Open } from '../declarations/declarations.ts'
import { McpError } from '../protocol/errors.ts'
import type { Principal } from '../protocol/principal.ts'
import type { Params } from '../protocol/types.ts'
import { declaredMethod, methods } from './methods/index.ts'
import { isPermitted } from './methods/lists.ts'
import type { Target } from './methods/method.ts'
import { findResource, findTemplate } from './methods/resources.ts'

const none: readonly string[] = []

type NamedRequest = { readonly method: string; readonly params?: Params }

/**
 * Returns all scopes of the entry that a request names, if the caller lacks one of them. A hidden entry has none: the request gets the
 * error for an unknown name.
 *
 * @param open unseals values of the caller
 * @param isVisibleTo returns whether the caller sees an entry that is visible to some only
 */
export function lackedScopes(
  declarations: Declarations,
  principal: Principal | undefined,
  request: NamedRequest,
  open: Open,
  isVisibleTo: (entry: Guarded) => Promise<boolean>,
): Awaitable<readonly string[]> {
  const entries = entriesOfRequest(declarations, request, open)
  // Most entries have no scopes.
  if (!(entries instanceof Promise) && entries.every(({ scopes }) => !scopes)) return none
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
export function scopesOf(
  declarations: Declarations,
  request: NamedRequest,
  open: Open,
  principal?: Principal,
): Awaitable<readonly string[]> {
  const entries = entriesOfRequest(declarations, request, open)
  return entries instanceof Promise
    ? entries.then((found) => scopesFor(found, principal))
    : scopesFor(entries, principal)
}

function scopesFor(entries: readonly Guarded[], principal: Principal | undefined): readonly string[] {
  if (entries.length < 2) return entries[0]?.scopes ?? none
  const permitted = principal ? entries.filter((entry) => isPermitted(entry, { principal })) : []
  return mergeScopes(permitted.length > 0 ? permitted : entries).scopes ?? none
}

/** Returns all entries that a request may name, also through a handle. Only a handle needs a promise. */
function entriesOfRequest(
  declarations: Declarations,
  { method, params = {} }: NamedRequest,
  open: Open,
): Awaitable<readonly Guarded[]> {
  const extra = declaredMethod(declarations, method)
  const entries = (scopes = extra?.requiredScopes) =>
    scopes ? [{ visibleTo: undefined, scopes }] : namedEntries(declarations, method, params)
  return extra?.scopes ? extra.scopes(params, open).then(entries) : entries()
}

/**
 * Returns the entry that a request names, declared here or on an upstream. If several upstreams may have it, it has the scopes of all of
 * them.
 */
export function entryOf(declarations: Declarations, method: string, params: Params): Guarded | undefined {
  const [first, ...others] = namedEntries(declarations, method, params)
  return first && others.length > 0 ? mergeScopes([first, ...others]) : first
}

/** Returns all entries that the params of a request may name. */
export function namedEntries(declarations: Declarations, method: string, params: Params): readonly Guarded[] {
  const target = methods[method]?.target?.(params)
  if (!target) return []
  const declared = declaredEntry(declarations, target)
  // Of all upstreams that may have the entry: only a request shows which of them has it.
  return declared
    ? [declared]
    : declarations.forwarded.flatMap((upstream) => upstream.accessTo(target.kind, target.name) ?? [])
}

function declaredEntry(declarations: Declarations, { kind, name }: Target): Guarded | undefined {
  if (kind === 'tool') return declarations.tools.get(name)
  if (kind === 'prompt') return declarations.prompts.get(name)
  // A template by its own text, or what serves a URI.
  return findTemplate(declarations, name) ?? findResource(declarations, name)?.resource
}

/** Returns an entry with the scopes of all these entries, and the first limit of them. */
const mergeScopes = (entries: readonly Guarded[]): Guarded => ({
  visibleTo: undefined,
  scopes: [...new Set(entries.flatMap(({ scopes = none }) => scopes))],
  rateLimit: entries.find(({ rateLimit }) => rateLimit)?.rateLimit,
})

export const insufficientScope = (scopes: readonly string[]): McpError =>
  new McpError('insufficient_scope', `Requires the scopes ${scopes.join(' ')}`, { scopes })
