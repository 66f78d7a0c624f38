/** The body of a running stream: the object writes events to it, and the Worker passes them on to its client. */

import * as closeCode from '../../worker/protocol/close-code.ts'
import { endOfBody, probe } from '../../worker/protocol/relay-messages.ts'
import { utf8 } from '../../worker/protocol/utf8.ts'

/** Bytes that may wait for the Worker. It continues with the rest on a relay. */
const maxWaitingBytes = 256 * 1024
/** Milliseconds after which a Worker that has read nothing may have left. */
const unreadMs = 60_000

export class StreamBody {
  readonly readable: ReadableStream<Uint8Array>
  readonly #writer: WritableStreamDefaultWriter<Uint8Array>
  readonly #onEnd: () => void
  #waiting = 0
  /** Milliseconds since 1970: the Worker has read what was written then. */
  #readAt = Date.now()
  #isOver = false
  #timer: ReturnType<typeof setTimeout> | null = null

  /** @param onEnd called when nothing more may be sent: the body has ended, or its Worker has left */
  constructor(onEnd: () => void) {
    // The platform sends what is written to it once everything that was stored before is durable. A stream with a controller has no
    // output gate.
    const { readable, writable } = new IdentityTransformStream()
    this.readable = readable
    this.#writer = writable.getWriter()
    this.#onEnd = onEnd
    this.#writer.closed.catch(() => this.#end())
  }

  /** @param frames whole events */
  send(frames: string): void {
    if (this.#isOver) return
    if (this.#waiting > maxWaitingBytes) this.close(closeCode.paused)
    else this.#write(frames)
  }

  /** Whether the Worker reads. */
  get isRead(): boolean {
    return Date.now() - this.#readAt < unreadMs
  }

  /** Writes what the Worker leaves out: a write shows whether it has left. */
  probe(): void {
    this.send(probe)
  }

  /** Ends the body. @param code see `close-code.ts` @param frames what the Worker gets before. Default: nothing */
  close(code: number, frames = ''): void {
    if (this.#isOver) return
    this.#end()
    this.#write(frames + endOfBody(code))
    this.#writer.close().catch(ignore)
  }

  /** Calls back after a time, unless the body has ended by then. A later call replaces an earlier one. */
  after(delayMs: number, work: () => void): void {
    clearTimeout(this.#timer)
    if (!this.#isOver) this.#timer = setTimeout(work, delayMs)
  }

  #write(text: string): void {
    const bytes = utf8(text)
    const { byteLength } = bytes
    const writtenAt = Date.now()
    this.#waiting += byteLength
    this.#writer.write(bytes).then(
      () => {
        this.#waiting -= byteLength
        this.#readAt = writtenAt
      },
      () => this.#end(),
    )
  }

  #end(): void {
    if (this.#isOver) return
    this.#isOver = true
    clearTimeout(this.#timer)
    this.#onEnd()
  }
}

const ignore = () => {}
