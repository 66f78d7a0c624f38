/**
 * Lists: who may see what, pages, and how long they may be kept.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/pagination
 * @see https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/caching
 */
import { McpError } from '../../protocol/errors.ts'
import type { Caching, Result } from '../../protocol/types.ts'
import type { Caller, Visibility } from '../../server/caller.ts'
import type { Asked } from './method.ts'

export const uncached: Caching = { ttlMs: 0, cacheScope: 'private' }

/** The entries this caller may see, in the order they were registered. */
export async function visible<E extends Visibility>(entries: Iterable<E>, caller: Caller): Promise<E[]> {
  const all = [...entries]
  if (all.every((entry) => !entry.enabled)) return all
  const seen = await Promise.all(all.map((entry) => isVisible(entry, caller)))
  return all.filter((_, index) => seen[index])
}

export const isVisible = async (entry: Visibility, caller: Caller): Promise<boolean> =>
  entry.enabled ? (await entry.enabled(caller)) === true : true

type Position = { index: number; after: string }

/**
 * One page of a list.
 *
 * @param name the member that holds the entries
 * @param identify what names an entry, so that the next page starts after it even when the list has changed
 * @param personal the list depends on who asks
 */
export async function page<E>(
  { server, call, world }: Asked,
  name: string,
  entries: readonly E[],
  identify: (entry: E) => string,
  personal: boolean,
): Promise<Result> {
  const { pageSize = 1000, caching = uncached } = server.registry.options
  const start = await startOf(entries, identify)
  const end = Math.min(start + pageSize, entries.length)
  const last = entries[end - 1]
  const result: Result = {
    [name]: start === 0 && end === entries.length ? entries : entries.slice(start, end),
    ttlMs: caching.ttlMs,
    cacheScope: personal ? 'private' : caching.cacheScope,
  }
  if (end < entries.length && last !== undefined) {
    const position: Position = { index: end, after: identify(last) }
    result.nextCursor = await world.seals.seal(`cursor:${call.method}`, position)
  }
  return result

  async function startOf(entries: readonly E[], identify: (entry: E) => string): Promise<number> {
    const { cursor } = call.params
    // An empty text is a cursor too, just not one of ours.
    if (cursor === undefined) return 0
    const opened = typeof cursor === 'string' ? await world.seals.open(`cursor:${call.method}`, cursor) : undefined
    if (!opened) throw new McpError('invalid_params', 'Invalid cursor: list again from the first page')
    const position = opened as Position
    const found = entries.findIndex((entry) => identify(entry) === position.after)
    // An entry that is listed twice does less harm than one that is missed.
    return found === -1 ? Math.min(position.index - 1, entries.length) : found + 1
  }
}
