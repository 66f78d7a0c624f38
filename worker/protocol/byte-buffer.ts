/**
 * Bytes that arrive in pieces, copied into one buffer. A piece of a body can be a view of a buffer of several kilobytes, so storing pieces
 * of one byte would take thousands of times their size.
 */
export class ByteBuffer {
  #bytes = new Uint8Array(4096)
  #length = 0

  push(piece: Uint8Array): void {
    const length = this.#length + piece.byteLength
    if (length > this.#bytes.byteLength) {
      const larger = new Uint8Array(Math.max(length, 2 * this.#bytes.byteLength))
      larger.set(this.#bytes.subarray(0, this.#length))
      this.#bytes = larger
    }
    this.#bytes.set(piece, this.#length)
    this.#length = length
  }

  /** Removes what is between its first and its last bytes. @param count of each */
  keepEnds(count: number): void {
    if (this.#length <= 2 * count) return
    const ends = new Uint8Array(2 * count)
    ends.set(this.#bytes.subarray(0, count))
    ends.set(this.#bytes.subarray(this.#length - count, this.#length), count)
    this.#bytes = ends
    this.#length = ends.byteLength
  }

  /** A view of the bytes. */
  bytes(): Uint8Array {
    return this.#bytes.subarray(0, this.#length)
  }

  /** The bytes as UTF-8, without a byte order mark. */
  text(): string {
    return new TextDecoder().decode(this.bytes())
  }
}
