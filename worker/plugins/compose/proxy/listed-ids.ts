import { BoundedMap } from '../../../protocol/bounded-map.ts'
import type { AnnouncedList } from './announce-change.ts'

/** Lists of one upstream in memory. */
const maxLists = 100
/** Characters of one list, with its key. A longer one is not stored. */
const maxCharacters = 65_536
/** Characters of all keys together. They contain headers, and the capabilities of clients, which choose their length. */
export const maxKeyCharacters = 1_000_000

export type Listed = { readonly ids: readonly string[]; readonly readMs: number }

/** The names and URIs of an upstream's lists, by which calls find their upstream. */
export class ListedIds {
  readonly #lists = new BoundedMap<string, Listed>({ maxEntries: maxLists, maxKeyCharacters })
  /** When the upstream has sent that a list has changed. */
  readonly #changedMs = new Map<AnnouncedList, number>()

  /** Returns a list that was read at this time or later, and after the last change. */
  get(key: string, of: AnnouncedList, sinceMs: number): readonly string[] | undefined {
    const listed = this.#lists.get(key)
    const isCurrent = listed && listed.readMs >= sinceMs && listed.readMs > (this.#changedMs.get(of) ?? 0)
    return isCurrent ? listed.ids : undefined
  }

  /** @param readMs when the list was requested */
  set(key: string, readMs: number, ids: readonly string[]): void {
    const characters = ids.reduce((sum, id) => sum + id.length, key.length)
    if (characters <= maxCharacters) this.#lists.set(key, { ids, readMs })
    else this.#lists.delete(key)
  }

  expire(of: AnnouncedList, nowMs: number): void {
    this.#changedMs.set(of, nowMs)
  }
}
