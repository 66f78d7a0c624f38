import { utf8 } from '../protocol/utf8.ts'

/** Compares texts in the same time, wherever they differ. */
export function isSameText(one: string, other: string): boolean {
  const [a, b] = [utf8(one), utf8(other)]
  return a.byteLength === b.byteLength && crypto.subtle.timingSafeEqual(a, b)
}
