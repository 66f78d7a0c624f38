/**
 * Returns a 32-bit number for a text, to compare and to distribute, not to protect.
 *
 * @see http://www.isthe.com/chongo/tech/comp/fnv/ FNV-1a
 */
export function hash(text: string): number {
  let sum = 0x811c9dc5
  for (const character of text) sum = Math.imul(sum ^ (character.codePointAt(0) ?? 0), 0x01000193)
  return sum >>> 0
}
