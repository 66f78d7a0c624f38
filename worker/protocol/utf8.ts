const encoder = new TextEncoder()

/** @see https://encoding.spec.whatwg.org/#interface-textencoder */
export const utf8 = (text: string) => encoder.encode(text)

/** A stream learns that its client reads with each part of so many bytes. */
const partBytes = 16_384

/** Passes bytes on in parts: what a slow client has read of a large event counts, too. */
export function inParts(bytes: Uint8Array, passOn: (part: Uint8Array) => void): void {
  for (let at = 0; at < bytes.length; at += partBytes) passOn(bytes.subarray(at, at + partBytes))
}
