/** The events in the body of a running stream, see `relay-messages.ts`. They are found by bytes: no event has an empty line in it. */

const [lineBreak, colon] = [0x0a, 0x3a]
/** Bytes of the end of a body. */
const endLength = 7

export class BodyEvents {
  /** Bytes of an event that has not ended. */
  #rest: Uint8Array[] = []
  #hasBegun = false
  /** The close code at the end of the body. */
  code: number | undefined

  /**
   * Returns the whole events up to the end of a chunk, without the end of the body. The first event of the body is alone: with it, the
   * client has an event id.
   */
  add(chunk: Uint8Array): readonly Uint8Array[] {
    const end = endOfEvents(chunk, this.#rest.at(-1)?.at(-1) === lineBreak)
    if (end === 0) {
      this.#rest.push(chunk)
      return []
    }
    const whole = this.#withoutEnd(concatenated([...this.#rest, chunk.subarray(0, end)]))
    this.#rest = end < chunk.length ? [chunk.subarray(end)] : []
    if (this.#hasBegun || whole.length === 0) return whole.length > 0 ? [whole] : []
    this.#hasBegun = true
    const first = endOfFirstEvent(whole)
    return first < whole.length ? [whole.subarray(0, first), whole.subarray(first)] : [whole]
  }

  /** Leaves out the end of the body, or a probe. */
  #withoutEnd(bytes: Uint8Array): Uint8Array {
    const start = bytes.length - endLength
    if (bytes[start] !== colon || (start > 0 && bytes[start - 1] !== lineBreak)) return bytes
    this.code = Number(textOf(bytes.subarray(start + 1, -2))) || undefined
    return bytes.subarray(0, start)
  }
}

/** Returns the end of the last event that ends in a chunk; 0 if none does. @param followsBreak whether a line break precedes the chunk */
function endOfEvents(bytes: Uint8Array, followsBreak: boolean): number {
  for (let at = bytes.lastIndexOf(lineBreak); at > 0; at = bytes.lastIndexOf(lineBreak, at - 1)) {
    if (bytes[at - 1] === lineBreak) return at + 1
  }
  return followsBreak && bytes[0] === lineBreak ? 1 : 0
}

function endOfFirstEvent(bytes: Uint8Array): number {
  let at = bytes.indexOf(lineBreak)
  while (bytes[at + 1] !== lineBreak) at = bytes.indexOf(lineBreak, at + 1)
  return at + 2
}

/** Returns the last id in whole events. */
export function lastIdIn(bytes: Uint8Array): string | undefined {
  for (let end = bytes.length - 1; end > 0; ) {
    const start = bytes.lastIndexOf(lineBreak, end - 1) + 1
    if (end - start > 4 && textOf(bytes.subarray(start, start + 4)) === 'id: ')
      return textOf(bytes.subarray(start + 4, end))
    end = start - 1
  }
  return undefined
}

/** Returns ASCII characters as a text. */
const textOf = (bytes: Uint8Array): string => String.fromCharCode(...bytes)

function concatenated(parts: readonly Uint8Array[]): Uint8Array {
  const [first] = parts
  if (first && parts.length === 1) return first
  const all = new Uint8Array(parts.reduce((length, part) => length + part.length, 0))
  let at = 0
  for (const part of parts) {
    all.set(part, at)
    at += part.length
  }
  return all
}
