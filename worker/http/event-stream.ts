/**
 * A response body of server-sent events, with keep-alive comments and a bound on what waits for a slow reader.
 *
 * @see https://html.spec.whatwg.org/multipage/server-sent-events.html
 */
import { keepAlive } from '../protocol/server-sent-events.ts'
import { inParts, utf8 } from '../protocol/utf8.ts'

export const eventStreamHeaders = {
  'Content-Type': 'text/event-stream',
  'Cache-Control': 'no-cache, no-transform',
  'X-Accel-Buffering': 'no',
} as const

export type EventStreamOptions = {
  /** Milliseconds between comments. */
  keepAliveMs: number
  /** Bytes that may wait for the client. */
  maxBufferedBytes: number
  /** Called when the client has disconnected, or has read no part for two keep-alive intervals. Not called after `end`. */
  onGone(): void
  /** Called when the client has read, and there is room again. */
  onRoom?(): void
  /** Returns what is sent in the place of a keep-alive comment. Default: the comment. */
  heartbeat?(): string | undefined
}

export class EventStream {
  readonly body: ReadableStream<Uint8Array>
  readonly #timer: ReturnType<typeof setInterval>
  #controller!: ReadableStreamDefaultController<Uint8Array>
  #open = true
  /** All bytes that were sent. */
  #sent = 0

  constructor({ keepAliveMs, maxBufferedBytes, onGone, onRoom, heartbeat }: EventStreamOptions) {
    this.body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller
        },
        pull: onRoom,
        cancel: () => {
          if (this.#stop()) onGone()
        },
      },
      { highWaterMark: maxBufferedBytes, size: ({ length }) => length },
    )
    // Bytes that had been read, up to a constant, when the last two comments were due and had no room.
    let before: number | undefined
    let read: number | undefined
    // It also detects a client that has vanished: writing to its connection fails.
    this.#timer = setInterval(() => {
      if (this.hasRoom) return this.send(heartbeat?.() ?? keepAlive)
      const earlier = before
      before = read
      read = this.#sent + this.#room
      if (read !== earlier) return
      this.end()
      onGone()
    }, keepAliveMs)
  }

  /** Whether more may be sent. Frames beyond the bound would fill the memory that all requests share. */
  get hasRoom(): boolean {
    return this.#open && this.#room > 0
  }

  send(frame: string): void {
    if (!this.#open) return
    inParts(utf8(frame), (part) => {
      this.#controller.enqueue(part)
      this.#sent += part.length
    })
  }

  end(): void {
    if (this.#stop()) this.#controller.close()
  }

  get #room(): number {
    return this.#controller.desiredSize ?? 0
  }

  /** @returns false if it had already stopped */
  #stop(): boolean {
    const wasOpen = this.#open
    this.#open = false
    clearInterval(this.#timer)
    return wasOpen
  }
}
