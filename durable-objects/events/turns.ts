/** Pages of a log, which are read one after another. Each caller has its turn, however many pages it asks for. */

/**
 * Characters that are read for a page: other requests of the object wait while it is read. It then waits in memory, once in this object and
 * once in the Worker of a reader.
 */
export const maxPageCharacters = 250_000
/** Cost of a page without events: reading it takes as long as reading so many characters. */
const emptyPageCharacters = 2500

export class Turns {
  /** Pages that wait, by caller. The caller who is next comes first. */
  readonly #waiting = new Map<string, (() => number)[]>()
  #isReading = false

  /**
   * Reads a page in its turn.
   *
   * @param caller a text for the caller; empty for all callers that are not known, together
   */
  take<P extends { readonly characters: number }>(caller: string, read: () => P): Promise<P> {
    return new Promise((resolve, reject) => {
      const waiting = this.#waiting.get(caller) ?? []
      this.#waiting.set(caller, waiting)
      waiting.push(() => {
        try {
          const page = read()
          resolve(page)
          return page.characters
        } catch (problem) {
          reject(problem)
          return 0
        }
      })
      void this.#readAll()
    })
  }

  /** Lets other requests of the object go on after as much as a page has. */
  async #readAll(): Promise<void> {
    if (this.#isReading) return
    this.#isReading = true
    let characters = maxPageCharacters
    // A caller that begins to wait meanwhile comes last.
    for (const [caller, waiting] of this.#waiting) {
      if (characters >= maxPageCharacters) {
        await new Promise((resolve) => void setTimeout(resolve, 0))
        characters = 0
      }
      const read = waiting.shift()
      this.#waiting.delete(caller)
      if (waiting.length > 0) this.#waiting.set(caller, waiting)
      characters += emptyPageCharacters + (read?.() ?? 0)
    }
    this.#isReading = false
  }
}
