import { BoundedMap } from '../../../protocol/bounded-map.ts'
import { hash } from '../../../protocol/hash.ts'
import type { Params } from '../../../protocol/types.ts'
import { maxKeyCharacters } from './listed-ids.ts'

/** Lists in memory: of each kind, for each set of headers and each tenant. */
const maxLists = 1000

/**
 * Milliseconds between two announced changes of a list. An upstream whose list differs in every response would otherwise make clients list
 * again and again.
 */
const minIntervalMs = 60_000

type Seen = { readonly print: number; readonly announcedMs: number }

/** Compares the lists of an upstream with those that this isolate has read before. */
export class ListChanges {
  readonly #seen = new BoundedMap<string, Seen>({ maxEntries: maxLists, maxKeyCharacters })

  /** Returns whether a list has changed since it was last announced. The order of its entries does not matter. */
  hasChanged(key: string, entries: readonly Params[], nowMs: number): boolean {
    const texts = entries.map((entry) => JSON.stringify(entry)).sort()
    const print = hash(texts.join('\n'))
    const seen = this.#seen.get(key)
    if (seen?.print === print) return false
    if (seen && nowMs - seen.announcedMs < minIntervalMs) return false
    this.#seen.set(key, { print, announcedMs: seen ? nowMs : Number.NEGATIVE_INFINITY })
    return seen !== undefined
  }
}
