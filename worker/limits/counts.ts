/** How many of something there are, by a key. What there is none of takes no room. */
export class Counts {
  readonly #counts = new Map<string, number>()

  of(key: string): number {
    return this.#counts.get(key) ?? 0
  }

  add(key: string, change: 1 | -1): void {
    const count = this.of(key) + change
    if (count > 0) this.#counts.set(key, count)
    else this.#counts.delete(key)
  }
}
