/** The pages of a log that are read at the same time: those of all clients would fill the memory, and delay all other requests. */

/** Pages at a time. */
const maxPages = 4

export class PageQueue {
  /** Callers for whom a page is read. */
  readonly #reading = new Set<string>()
  /** Pages that wait, by caller. The caller who is next comes first. */
  readonly #waiting = new Map<string, (() => void)[]>()

  /**
   * Reads a page when it has a place. Each caller has one at a time, so that many pages of one delay those of no other.
   *
   * @param caller a text for the caller; those whose caller is not known have an empty one together
   */
  async read<T>(caller: string, work: () => Promise<T>): Promise<T> {
    await this.#place(caller)
    try {
      return await work()
    } finally {
      this.#reading.delete(caller)
      this.#admitNext()
    }
  }

  #place(caller: string): Promise<void> {
    return new Promise((resolve) => {
      const waiting = this.#waiting.get(caller)
      if (waiting) waiting.push(resolve)
      else this.#waiting.set(caller, [resolve])
      this.#admitNext()
    })
  }

  #admitNext(): void {
    for (const [caller, waiting] of this.#waiting) {
      if (this.#reading.size >= maxPages) return
      if (this.#reading.has(caller)) continue
      this.#reading.add(caller)
      const start = waiting.shift()
      // Callers take turns.
      this.#waiting.delete(caller)
      if (waiting.length > 0) this.#waiting.set(caller, waiting)
      start?.()
    }
  }
}
