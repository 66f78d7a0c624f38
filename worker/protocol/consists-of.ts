/**
 * Whether a text consists of several texts in their order, with anything between them: those of a pattern, without its wildcards. Takes time
 * in proportion to the lengths, unlike a regular expression with several wildcards.
 */
export function consistsOf([start = '', ...others]: readonly string[], text: string): boolean {
  const end = others.pop()
  if (end === undefined) return text === start
  if (!text.startsWith(start) || !text.endsWith(end)) return false
  let at = start.length
  for (const other of others) {
    const found = endOf(other, text, at)
    if (found === undefined) return false
    at = found
  }
  return at + end.length <= text.length
}

/** `indexOf` can take time in proportion to the product of the lengths, but is much faster for a short part. */
const shortPart = 16

/**
 * Returns where a part of a text ends that begins at a place or after it.
 *
 * @see https://en.wikipedia.org/wiki/Knuth–Morris–Pratt_algorithm
 */
function endOf(part: string, text: string, from: number): number | undefined {
  if (part.length <= shortPart) {
    const start = text.indexOf(part, from)
    return start < 0 ? undefined : start + part.length
  }
  /** For each start of the part, the characters of the longest shorter one that it ends with. */
  const shorter = [0]
  const extended = (length: number, code: number): number => {
    let fitting = length
    while (fitting > 0 && part.charCodeAt(fitting) !== code) fitting = shorter[fitting - 1] ?? 0
    return part.charCodeAt(fitting) === code ? fitting + 1 : 0
  }
  for (let at = 1; at < part.length; at += 1) shorter.push(extended(shorter[at - 1] ?? 0, part.charCodeAt(at)))
  let found = 0
  for (let at = from; found < part.length; at += 1) {
    if (at >= text.length) return undefined
    found = extended(found, text.charCodeAt(at))
    if (found === part.length) return at + 1
  }
  return from
}
