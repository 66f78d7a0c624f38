/** A bounded number of bytes between a writer and its reader: the writer waits until the reader has taken what arrived. */
import type { Random } from './random.ts'

const leastBytes = 500
const mostBytes = 256 * 1024

export class Window {
  readonly #size: number
  /** Bytes that were written, and that the reader has not taken. */
  #held = 0
  #onRoom: (() => void) | undefined

  /** @param random chooses the size: as many windows have some hundred bytes as some ten thousand */
  constructor(random: Random) {
    this.#size = Math.round(leastBytes * (mostBytes / leastBytes) ** random.next())
  }

  /** Whether a writer waits for room. */
  get isAwaited(): boolean {
    return this.#onRoom !== undefined
  }

  /** Writes bytes in parts, each once there is room for it. Resolves when all of them are between the writer and its reader. */
  async write(bytes: Uint8Array, send: (part: Uint8Array) => void): Promise<void> {
    for (let at = 0; at < bytes.length; ) {
      while (this.#held >= this.#size) await new Promise<void>((resolve) => (this.#onRoom = resolve))
      const part = bytes.subarray(at, at + this.#size - this.#held)
      at += part.length
      this.#held += part.length
      send(part)
    }
  }

  /** Records that the reader has taken some bytes. */
  take(bytes: number): void {
    this.#held -= bytes
  }

  /** Lets the writer go on. */
  open(): void {
    const onRoom = this.#onRoom
    this.#onRoom = undefined
    onRoom?.()
  }
}
