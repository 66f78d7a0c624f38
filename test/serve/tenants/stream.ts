/** An event stream of changes, until one leaves it. */
import type { Event } from '../../../worker/client/event-stream-reader.ts'
import { events } from '../../../worker/client/wire.ts'

export class Stream {
  readonly #stop: AbortController
  readonly #reading: Promise<void>
  /** It was not the one who left. */
  ended = false

  private constructor(response: Response, stop: AbortController, take: (event: Event) => void) {
    this.#stop = stop
    this.#reading = this.#read(response, take)
  }

  /** @throws Error when it is answered with anything but a stream */
  static async open(url: URL, init: RequestInit, take: (event: Event) => void): Promise<Stream> {
    const stop = new AbortController()
    const response = await fetch(url, { ...init, signal: stop.signal })
    if (response.status === 200) return new Stream(response, stop, take)
    throw new Error(`${init.method ?? 'GET'} ${url.pathname} is answered ${response.status}: ${await response.text()}`)
  }

  leave(): Promise<void> {
    this.#stop.abort()
    return this.#reading
  }

  async #read(response: Response, take: (event: Event) => void): Promise<void> {
    try {
      for await (const event of events(response)) take(event)
      this.ended = true
    } catch (problem) {
      if (!this.#stop.signal.aborted) throw problem
    }
  }
}
