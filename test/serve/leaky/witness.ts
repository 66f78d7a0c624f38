/** A client that stays and listens, so that others can tell time by its keep-alives. */
import { once } from 'node:events'
import type { LeakyServer } from './server.ts'
import { Visitor } from './visitor.ts'

export const keepAlive = ': keep-alive\n'

export class Witness {
  /** How many keep-alives there have been. */
  ticks = 0
  readonly #stop = new AbortController()
  readonly #ticking = new EventTarget()

  static async arrive({ url }: LeakyServer): Promise<Witness> {
    const witness = new Witness()
    const visitor = await Visitor.arrive(url)
    const { body } = await visitor.stream(undefined, witness.#stop.signal)
    witness.#listen(body as ReadableStream<Uint8Array>).catch(() => {})
    return witness
  }

  /** Resolves after so many keep-alives from now. */
  async wait(ticks: number): Promise<void> {
    for (const due = this.ticks + ticks; this.ticks < due; ) await once(this.#ticking, 'tick')
  }

  [Symbol.dispose](): void {
    this.#stop.abort()
  }

  async #listen(body: ReadableStream<Uint8Array>): Promise<void> {
    const decoder = new TextDecoder()
    for await (const chunk of body as unknown as AsyncIterable<Uint8Array>) {
      this.ticks += decoder.decode(chunk, { stream: true }).split(keepAlive).length - 1
      this.#ticking.dispatchEvent(new Event('tick'))
    }
  }
}
