/** What handlers write down outside of the server, where no crash undoes it. */
export class Diary {
  readonly #entries = new Map<string, number>()

  /** How often an entry was written. */
  written(entry: string): number {
    return this.#entries.get(entry) ?? 0
  }

  write(entry: string): number {
    const count = this.written(entry) + 1
    this.#entries.set(entry, count)
    return count
  }

  /** Answers a request that writes an entry with how often it was written. */
  async answer(request: Request): Promise<Response> {
    return new Response(String(this.write(await request.text())))
  }
}
