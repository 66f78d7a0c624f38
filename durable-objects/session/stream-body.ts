/**
 * The body of a running stream: the object writes events to it, and the Worker passes them on to its client. A body that ends is the whole
 * stream. If it breaks, because the object breaks it off or is lost, a relay continues.
 */

import * as closeCode from '../../worker/protocol/close-code.ts'
import { keepAlive } from '../../worker/protocol/server-sent-events.ts'
import { inParts, utf8 } from '../../worker/protocol/utf8.ts'

/** Timers take milliseconds of 31 bits. */
const maxTimerMs = 2 ** 31 - 1
/** Bytes of a body while its stream runs: the Worker keeps a copy of them. */
const maxRunningBytes = 64 * 1024
/** Bytes of a body with its last events. */
const maxBytes = 256 * 1024

export class StreamBody {
  readonly readable: ReadableStream<Uint8Array>
  readonly #writer: WritableStreamDefaultWriter<Uint8Array>
  readonly #keepAliveMs: number
  readonly #until: number
  readonly #onEnd: () => void
  #timer: ReturnType<typeof setTimeout> | null = null
  #parkTimer: ReturnType<typeof setTimeout> | null = null
  #bytes = 0
  /** Resolves when the Worker has read all that was written, or has left. */
  #read = Promise.resolve()
  /** Milliseconds since 1970: the Worker has read a part then. */
  #readAt = Date.now()
  #isOver = false

  /**
   * @param keepAliveMs milliseconds between keep-alive comments
   * @param until milliseconds since 1970 from which nothing is sent on the body: a relay continues
   * @param onEnd called when nothing more may be sent: the body has ended, or its Worker has left
   */
  constructor(keepAliveMs: number, until: number, onEnd: () => void) {
    // The platform sends what is written to it once everything that was stored before is durable. A stream with a controller has no
    // output gate.
    const { readable, writable } = new IdentityTransformStream()
    this.readable = readable
    this.#writer = writable.getWriter()
    this.#keepAliveMs = keepAliveMs
    this.#until = until
    this.#onEnd = onEnd
    const onClosed = () => {
      clearTimeout(this.#timer)
      this.#stop()
    }
    this.#writer.closed.then(onClosed, onClosed)
    this.#wait()
  }

  /** @param frames whole events */
  send(frames: string): void {
    this.#write(frames, maxRunningBytes)
  }

  /** Whether the Worker reads. */
  get isRead(): boolean {
    return Date.now() - this.#readAt <= 2 * this.#keepAliveMs
  }

  /** Ends the stream. @param frames what the client gets before. Default: nothing */
  end(frames = ''): void {
    if (frames) this.#write(frames, maxBytes)
    if (this.#isOver) return
    this.#stop()
    this.#writer.close().catch(ignore)
  }

  /** The same for a relay. @param code see `close-code.ts` */
  close(code: number): void {
    if (code === closeCode.paused) this.breakOff()
    else this.end()
  }

  /** Leaves the rest of the stream to a relay, once the Worker has read what was written. */
  breakOff(): void {
    if (this.#isOver) return
    this.#stop()
    this.#read.then(() => this.#giveUp())
  }

  /** Calls back after a time, unless the body has ended by then. A later call replaces an earlier one. */
  after(delayMs: number, work: () => void): void {
    clearTimeout(this.#parkTimer)
    if (!this.#isOver) this.#parkTimer = setTimeout(work, delayMs)
  }

  /** Waits for the next comment, or for the time from which nothing is sent. */
  #wait(): void {
    const leftMs = this.#isOver ? maxTimerMs : this.#until - Date.now()
    this.#timer = setTimeout(() => this.#onTime(), Math.min(this.#keepAliveMs, leftMs, maxTimerMs))
  }

  /** Writes a comment, which also shows whether the Worker has left. Gives up what nobody reads: it would keep the object in memory. */
  #onTime(): void {
    if (!this.isRead) return this.#giveUp()
    this.send(keepAlive)
    this.#wait()
  }

  #giveUp(): void {
    this.#writer.abort().catch(ignore)
  }

  #write(frames: string, most: number): void {
    if (this.#isOver) return
    const bytes = utf8(frames)
    this.#bytes += bytes.length
    if (this.#bytes > most || Date.now() >= this.#until) return this.breakOff()
    inParts(bytes, (part) => {
      this.#read = this.#writer.write(part).then(
        () => {
          this.#readAt = Date.now()
        },
        () => this.#stop(),
      )
    })
  }

  #stop(): void {
    if (this.#isOver) return
    this.#isOver = true
    clearTimeout(this.#parkTimer)
    this.#onEnd()
  }
}

const ignore = () => {}
