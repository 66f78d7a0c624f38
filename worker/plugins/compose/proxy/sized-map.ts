import { BoundedMap } from '../../../protocol/bounded-map.ts'

/**
 * A map with at most `maxEntries` entries, whose keys and values have at most `maxCharacters` together. A new entry takes the place of the
 * least recently used ones. An entry that is longer than all may be is not stored.
 */
export class SizedMap<V> {
  readonly #entries: BoundedMap<string, { readonly value: V; readonly characters: number }>
  readonly #maxCharacters: number
  #characters = 0

  constructor({ maxEntries, maxCharacters }: { maxEntries: number; maxCharacters: number }) {
    this.#entries = new BoundedMap({ maxEntries })
    this.#maxCharacters = maxCharacters
  }

  /** Returns the value of the key, and marks the entry as the most recently used one. */
  get(key: string): V | undefined {
    return this.#entries.get(key)?.value
  }

  /** @param length the characters of the value */
  set(key: string, value: V, length: number): void {
    this.#delete(key)
    const characters = key.length + length
    if (characters > this.#maxCharacters) return
    for (const [oldest] of this.#entries) {
      const isFull = this.#entries.size >= this.#entries.maxEntries
      if (!isFull && this.#characters + characters <= this.#maxCharacters) break
      this.#delete(oldest)
    }
    this.#entries.set(key, { value, characters })
    this.#characters += characters
  }

  #delete(key: string): void {
    this.#characters -= this.#entries.peek(key)?.characters ?? 0
    this.#entries.delete(key)
  }
}
