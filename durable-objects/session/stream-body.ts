/**
 * The body of a running stream: the object writes events to it, and the Worker passes them on to its client. A body that ends is the whole
 * stream. If it breaks, because the object breaks it off or is lost, a relay continues.
 */

import * as closeCode from '../../worker/protocol/close-code.ts'
import { keepAlive } from '../../worker/protocol/server-sent-events.ts'
import { utf8 } from '../../worker/protocol/utf8.ts'

/** Bytes of a body, of which the Worker keeps a copy. It continues with the rest on a relay. */
const maxBytes = 256 * 1024

export type StreamBodyOptions = {
  /** Milliseconds between keep-alive comments. */
  keepAliveMs: number
  /** Milliseconds since 1970 from which nothing is sent on the body: a relay continues. */
  until: number
  /** Called when nothing more may be sent: the body has ended, or its Worker has left. */
  onEnd(): void
}

export class StreamBody {
  readonly readable: ReadableStream<Uint8Array>
  readonly #writer: WritableStreamDefaultWriter<Uint8Array>
  readonly #options: StreamBodyOptions
  #parkTimer: ReturnType<typeof setTimeout> | null = null
  #bytes = 0
  /** Milliseconds since 1970: the Worker has read what was written then. */
  #readAt = Date.now()
  #isOver = false

  constructor(options: StreamBodyOptions) {
    // The platform sends what is written to it once everything that was stored before is durable. A stream with a controller has no
    // output gate.
    const { readable, writable } = new IdentityTransformStream()
    this.readable = readable
    this.#writer = writable.getWriter()
    this.#options = options
    const timer = setInterval(() => this.#keepAlive(), options.keepAliveMs)
    this.#writer.closed.catch(ignore).then(() => {
      clearInterval(timer)
      this.#stop()
    })
  }

  /** @param frames whole events */
  send(frames: string): void {
    if (this.#isOver) return
    if (this.#bytes + frames.length > maxBytes || Date.now() >= this.#options.until) this.breakOff()
    else this.#write(frames)
  }

  /** Whether the Worker reads. */
  get isRead(): boolean {
    return Date.now() - this.#readAt <= 2 * this.#options.keepAliveMs
  }

  /** Ends the stream. @param frames what the client gets before. Default: nothing */
  end(frames = ''): void {
    if (this.#isOver) return
    if (frames) this.#write(frames)
    this.#stop()
    this.#writer.close().catch(ignore)
  }

  /** The same for a relay. @param code see `close-code.ts` */
  close(code: number): void {
    if (code === closeCode.paused) this.breakOff()
    else this.end()
  }

  /** Leaves the rest of the stream to a relay, and what the Worker has not read. */
  breakOff(): void {
    this.#stop()
    this.#writer.abort().catch(ignore)
  }

  /** Calls back after a time, unless the body has ended by then. A later call replaces an earlier one. */
  after(delayMs: number, work: () => void): void {
    clearTimeout(this.#parkTimer)
    if (!this.#isOver) this.#parkTimer = setTimeout(work, delayMs)
  }

  /** Writes a comment, which also shows whether the Worker has left. Gives up what nobody reads: it would keep the object in memory. */
  #keepAlive(): void {
    if (this.isRead) this.send(keepAlive)
    else this.breakOff()
  }

  #write(text: string): void {
    const bytes = utf8(text)
    this.#bytes += bytes.byteLength
    const writtenAt = Date.now()
    this.#writer.write(bytes).then(
      () => {
        this.#readAt = writtenAt
      },
      () => this.#stop(),
    )
  }

  #stop(): void {
    if (this.#isOver) return
    this.#isOver = true
    clearTimeout(this.#parkTimer)
    this.#options.onEnd()
  }
}

const ignore = () => {}
