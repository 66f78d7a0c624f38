import { BoundedMap } from '../../../protocol/bounded-map.ts'
import { canonicalTemplate, canonicalUri } from '../../../protocol/uri.ts'
import type { AnnouncedList } from './announce-change.ts'

/** Lists of one upstream in memory. */
const maxLists = 100
/** Characters of one list, with its key. A longer one is not stored. */
const maxCharacters = 65_536
/** Characters of all keys together. They contain headers, and the capabilities of clients, which choose their length. */
export const maxKeyCharacters = 1_000_000

/** The names, URIs or URI templates of a list, as the upstream has them at a time. */
export class Listed {
  readonly ids: readonly string[]
  /** When the list was requested. */
  readonly readMs: number
  #spellings: ReadonlyMap<string, readonly string[]> | undefined
  #templates: readonly string[] | undefined

  constructor(ids: readonly string[], readMs: number) {
    this.ids = ids
    this.readMs = readMs
  }

  /** The URIs of the list, by their canonical spelling. */
  get spellings(): ReadonlyMap<string, readonly string[]> {
    this.#spellings ??= Map.groupBy(this.ids, canonicalUri)
    return this.#spellings
  }

  /** The URI templates of the list, in their canonical spelling. */
  get templates(): readonly string[] {
    this.#templates ??= this.ids.map(canonicalTemplate)
    return this.#templates
  }
}

/** The names and URIs of an upstream's lists, by which calls find their upstream. */
export class ListedIds {
  readonly #lists = new BoundedMap<string, Listed>({ maxEntries: maxLists, maxKeyCharacters })
  /** When the upstream has sent that a list has changed. */
  readonly #changedMs = new Map<AnnouncedList, number>()

  /** Returns a list that was read at this time or later, and after the last change. */
  get(key: string, of: AnnouncedList, sinceMs: number): Listed | undefined {
    const listed = this.#lists.get(key)
    const isCurrent = listed && listed.readMs >= sinceMs && listed.readMs > (this.#changedMs.get(of) ?? 0)
    return isCurrent ? listed : undefined
  }

  set(key: string, listed: Listed): void {
    const characters = listed.ids.reduce((sum, id) => sum + id.length, key.length)
    if (characters <= maxCharacters) this.#lists.set(key, listed)
    else this.#lists.delete(key)
  }

  expire(of: AnnouncedList, nowMs: number): void {
    this.#changedMs.set(of, nowMs)
  }
}
