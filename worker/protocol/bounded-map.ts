/**
 * A map with at most `maxEntries` entries. A new entry takes the place of the least recently used one.
 *
 * `get` and `set` count as a use, `has` and `peek` do not. The map knows no clock: a caller that stores values which expire
 * keeps the expiry in the value, compares it after `get`, and calls `delete` on what has expired.
 *
 * @example
 * ```ts
 * const documents = new BoundedMap<string, Document>({ maxEntries: 100 })
 * documents.set(url, document)
 * documents.get(url)
 * ```
 */
export class BoundedMap<K, V> {
  readonly maxEntries: number
  readonly #maxKeyCharacters: number
  /** Characters of all keys that are texts. */
  #keyCharacters = 0
  /** In the order of use: the first entry is the least recently used one. */
  readonly #entries = new Map<K, V>()
  /** The most recently used key, if it was not deleted since. */
  #newest: K | undefined

  /**
   * @param bounds `maxKeyCharacters`: the maximum length of all keys together, if they are texts. Default: no limit.
   * @throws RangeError when `maxEntries` is not a positive integer.
   */
  constructor({
    maxEntries,
    maxKeyCharacters = Number.POSITIVE_INFINITY,
  }: { maxEntries: number; maxKeyCharacters?: number }) {
    if (!Number.isInteger(maxEntries) || maxEntries < 1)
      throw new RangeError(`maxEntries is ${maxEntries}: it must be an integer of at least 1`)
    this.maxEntries = maxEntries
    this.#maxKeyCharacters = maxKeyCharacters
  }

  get size(): number {
    return this.#entries.size
  }

  /** Returns the value of the key, and marks the entry as the most recently used one. */
  get(key: K): V | undefined {
    const value = this.#entries.get(key)
    if (value === undefined && !this.#entries.has(key)) return undefined
    if (key === this.#newest) return value
    // A Map iterates in insertion order, so inserting the entry again moves it to the end.
    this.#entries.delete(key)
    this.#entries.set(key, value as V) // the key is present, so the value is a V
    this.#newest = key
    return value
  }

  /** Returns the value of the key without marking the entry as used. */
  peek(key: K): V | undefined {
    return this.#entries.get(key)
  }

  has(key: K): boolean {
    return this.#entries.has(key)
  }

  /** Stores the value as the most recently used entry, and evicts the least recently used ones if the map is full. */
  set(key: K, value: V): this {
    this.delete(key)
    this.#keyCharacters += charactersOf(key)
    while (this.#entries.size >= this.maxEntries || this.#keyCharacters > this.#maxKeyCharacters) {
      const oldest = this.#entries.keys().next()
      if (oldest.done) break
      this.delete(oldest.value)
    }
    this.#entries.set(key, value)
    this.#newest = key
    return this
  }

  /** Removes the entry. Returns whether there was one. */
  delete(key: K): boolean {
    const isDeleted = this.#entries.delete(key)
    if (isDeleted) this.#keyCharacters -= charactersOf(key)
    return isDeleted
  }

  /** Iterates from the least to the most recently used entry. */
  [Symbol.iterator](): IterableIterator<[K, V]> {
    return this.#entries[Symbol.iterator]()
  }
}

const charactersOf = (key: unknown): number => (typeof key === 'string' ? key.length : 0)
