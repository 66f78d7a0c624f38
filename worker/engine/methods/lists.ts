/**
 * Lists: visibility, pagination and caching.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/pagination
 * @see https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/caching
 */

import type { AccessOptions, Caller } from '../../declarations/caller.ts'
import { McpError } from '../../protocol/errors.ts'
import { holdsScopes } from '../../protocol/principal.ts'
import type { Caching, Result } from '../../protocol/types.ts'
import { leavingOut } from '../failure.ts'
import { mapByVersion } from '../map-by-version.ts'
import type { MethodContext } from './method.ts'

export const uncached: Caching = { ttlMs: 0, cacheScope: 'private' }

/** Whether the caller has the scopes. */
export const isPermitted = ({ scopes }: AccessOptions, { principal }: Pick<Caller, 'principal'>): boolean =>
  holdsScopes(principal?.scopes, scopes)

/**
 * Returns the entries that this caller may see, in the order of registration.
 *
 * @param leaveOut reports what `visibleTo` of an entry throws
 */
export async function visibleEntries<E extends AccessOptions>(
  entries: Iterable<E>,
  caller: Caller,
  leaveOut: (thrown: unknown) => void,
): Promise<E[]> {
  const all = [...entries].filter((entry) => entry.listWithoutScopes || isPermitted(entry, caller))
  if (all.every((entry) => !entry.visibleTo)) return all
  const seen = await Promise.all(all.map((entry) => isVisible(entry, { caller }).catch(leaveOut)))
  return all.filter((_, index) => seen[index])
}

/** @param context has the caller, which is read for entries with `visibleTo` only */
export const isVisible = async (entry: AccessOptions, context: { readonly caller: Caller }): Promise<boolean> =>
  entry.visibleTo ? (await entry.visibleTo(context.caller)) === true : true

/** Whether the entry is listed for some callers only. @param inputOf of a tool whose schema depends on the caller */
export const variesByCaller = ({
  visibleTo,
  scopes,
  listWithoutScopes,
  inputOf,
}: AccessOptions & { readonly inputOf?: unknown }): boolean =>
  visibleTo !== undefined || inputOf !== undefined || (scopes !== undefined && !listWithoutScopes)

/** Results with all entries that are the same for every caller. */
export const cacheableResults = new WeakSet<Result>()

type Position = { index: number; after: string }

/**
 * Returns one page of a list.
 *
 * @param name the member that contains the entries
 * @param identify returns the name of an entry, so that the next page starts after it even if the list has changed
 * @param personal whether the list depends on the caller
 */
export async function page<E>(
  { server, call, environment, isPartial }: MethodContext,
  name: string,
  entries: readonly E[],
  identify: (entry: E) => string,
  personal: boolean,
): Promise<Result> {
  const { pageSize = 1000, caching = uncached } = server.declarations.options
  const purpose = `cursor:${call.method}`
  const start = await startOf(call.params.cursor)
  const end = start + pageSize
  const last = entries[end - 1]
  const result: Result = {
    [name]: entries.slice(start, end),
    ttlMs: isPartial ? 0 : caching.ttlMs,
    cacheScope: personal ? 'private' : caching.cacheScope,
  }
  if (end < entries.length && last !== undefined) {
    const position: Position = { index: end, after: identify(last) }
    result.nextCursor = await environment.seals.seal(purpose, position)
  } else if (!personal && start === 0) cacheableResults.add(result)
  return result

  async function startOf(cursor: unknown): Promise<number> {
    // An empty string is an invalid cursor, not a missing one.
    if (cursor === undefined) return 0
    const opened = typeof cursor === 'string' ? await environment.seals.open(purpose, cursor) : undefined
    // `page` sealed it: the purpose has no other values.
    const position = opened as Position | undefined
    if (!position) throw new McpError('invalid_params', 'Invalid cursor: list again from the first page')
    const found = entries.findIndex((entry) => identify(entry) === position.after)
    // An entry that is listed twice does less harm than one that is missed.
    return found === -1 ? position.index - 1 : found + 1
  }
}

/**
 * Returns one page of the declared entries that the caller may see.
 *
 * @param name, identify see `page`
 * @param itemOf returns the entry as the caller gets it. Default: its `item`
 */
export async function listMethod<E extends AccessOptions & { readonly item: unknown }>(
  context: MethodContext,
  name: string,
  entries: Iterable<E>,
  identify: (item: E['item']) => string,
  itemOf?: (entry: E) => Promise<E['item']>,
): Promise<Result> {
  const { declarations } = context.server
  // An interceptor may change the result, so each of its calls gets one of its own.
  const results = declarations.interceptors.length === 0 ? sharedResultsOf(declarations) : undefined
  const shared = context.call.params.cursor === undefined ? results?.get(context.call.method) : undefined
  if (shared) return copyOf(shared, name)
  const all = [...entries]
  const leaveOut = leavingOut(context)
  const seen = await visibleEntries(all, context.caller, leaveOut)
  const items: E['item'][] = itemOf
    ? (await Promise.all(seen.map((entry) => itemOf(entry).catch(leaveOut)))).filter((item) => item !== undefined)
    : seen.map((entry) => entry.item)
  const personal = all.some(variesByCaller)
  const result = await page(context, name, items, identify, personal)
  if (cacheableResults.has(result)) results?.set(context.call.method, copyOf(result, name))
  return result
}

/** Copies a result of `cacheableResults`, for callers that change it. @param name the member that contains the entries */
function copyOf(result: Result, name: string): Result {
  const copy = { ...result, [name]: [...(result[name] as unknown[])] } // `page` made it
  cacheableResults.add(copy)
  return copy
}

/** Results of `cacheableResults`, by method. */
const sharedResultsOf = mapByVersion<Result>()
