/** A sealed text, `<key id>.<base64url of iv, body and tag>`, taken apart to be spoilt. */
const partOf = {
  iv: () => [0, 12],
  body: (bytes) => [12, bytes - 16],
  tag: (bytes) => [bytes - 16, bytes],
} satisfies Record<string, (bytes: number) => [from: number, to: number]>

export type Part = keyof typeof partOf

export const idOf = (text: string): string => text.slice(0, text.indexOf('.'))
export const sealedIn = (text: string): string => text.slice(text.indexOf('.') + 1)
export const bytesIn = (text: string): Buffer => Buffer.from(sealedIn(text), 'base64url')
export const withId = (id: string, text: string): string => `${id}.${sealedIn(text)}`
export const withSealed = (text: string, sealed: string): string => `${idOf(text)}.${sealed}`
const withBytes = (text: string, bytes: Uint8Array) => withSealed(text, Buffer.from(bytes).toString('base64url'))

/** @param at of the bytes */
export function flipped(text: string, at: number, mask = 1): string {
  const bytes = bytesIn(text)
  bytes[at] = (bytes[at] as number) ^ mask
  return withBytes(text, bytes)
}

/** One bit at the start, in the middle or at the end of a part. */
export function flippedIn(text: string, name: Part, where: 'start' | 'middle' | 'end', mask: number): string {
  const [from, to] = partOf[name](bytesIn(text).length)
  return flipped(text, { start: from, middle: (from + to) >> 1, end: to - 1 }[where], mask)
}

/** One part from another text. */
export function grafted(text: string, name: Part, other: string): string {
  const [from, to] = partOf[name](bytesIn(text).length)
  const [otherFrom, otherTo] = partOf[name](bytesIn(other).length)
  const bytes = bytesIn(text)
  const taken = bytesIn(other).subarray(otherFrom, otherTo)
  return withBytes(text, Buffer.concat([bytes.subarray(0, from), taken, bytes.subarray(to)]))
}

/** Zeros in place of one part, or nothing. */
export function without(text: string, name: Part, left: 'zeros' | 'nothing'): string {
  const bytes = bytesIn(text)
  const [from, to] = partOf[name](bytes.length)
  const zeros = Buffer.alloc(left === 'zeros' ? to - from : 0)
  return withBytes(text, Buffer.concat([bytes.subarray(0, from), zeros, bytes.subarray(to)]))
}

/** The same bits, but for the last character's that no byte has. */
export function respelt(text: string): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
  return text.slice(0, -1) + alphabet[alphabet.indexOf(text.at(-1) as string) ^ 1]
}

export const otherCase = (text: string): string =>
  text === text.toLowerCase() ? text.toUpperCase() : text.toLowerCase()

/** The first letter of what is sealed in its other case. */
export const firstCaseChanged = (text: string): string =>
  withSealed(text, sealedIn(text).replace(/[a-zA-Z]/, otherCase))
