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
    const found = text.indexOf(other, at)
    if (found < 0) return false
    at = found + other.length
  }
  return at + end.length <= text.length
}
