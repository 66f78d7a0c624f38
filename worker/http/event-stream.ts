/**
 * Server-sent events: how they are framed, and a stream of them that stays alive and stays small.
 *
 * @see https://html.spec.whatwg.org/multipage/server-sent-events.html
 */

/** One message as an event. JSON has no raw line breaks, so it is always one data line. */
export const eventFrame = (data: string, id?: string): string =>
  id === undefined ? `data: ${data}\n\n` : `id: ${id}\ndata: ${data}\n\n`

/** An event without data that gives the client an id to come back with, and says after how many milliseconds. */
export const primingFrame = (id: string, retry: number): string => `id: ${id}\nretry: ${retry}\ndata: \n\n`

export const retryFrame = (retry: number): string => `retry: ${retry}\n\n`

export const eventStreamHeaders = {
  'Content-Type': 'text/event-stream',
  'Cache-Control': 'no-cache, no-transform',
  'X-Accel-Buffering': 'no',
} as const

export type EventStreamOptions = {
  /** Milliseconds between comments. */
  keepAlive: number
  /** Bytes that may wait for the reader before the stream ends. */
  backlog: number
  /** The reader is gone, or was too slow. Not called after `end`. */
  onGone(): void
}

const encoder = new TextEncoder()

export class EventStream {
  readonly body: ReadableStream<Uint8Array>
  readonly #onGone: () => void
  readonly #timer: ReturnType<typeof setInterval>
  #controller!: ReadableStreamDefaultController<Uint8Array>
  #open = true

  constructor({ keepAlive, backlog, onGone }: EventStreamOptions) {
    this.#onGone = onGone
    this.body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller
        },
        cancel: () => this.#gone(),
      },
      new ByteLengthQueuingStrategy({ highWaterMark: backlog }),
    )
    // Also how a reader that vanished without a word is noticed: writing to it fails.
    this.#timer = setInterval(() => this.send(': keep-alive\n\n'), keepAlive)
  }

  send(frame: string): void {
    if (!this.#open) return
    const overflows = (this.#controller.desiredSize ?? 0) <= 0
    if (overflows) {
      // Whoever resumes gets the rest from the log; a buffer here would grow without bound.
      this.end()
      this.#onGone()
      return
    }
    this.#controller.enqueue(encoder.encode(frame))
  }

  end(): void {
    if (!this.#open) return
    this.#open = false
    clearInterval(this.#timer)
    this.#controller.close()
  }

  #gone(): void {
    if (!this.#open) return
    this.#open = false
    clearInterval(this.#timer)
    this.#onGone()
  }
}
