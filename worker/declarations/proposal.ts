/** Proposes the name that a misspelled one resembles. A production bundle does not contain it. */

/** Returns a part of a sentence; an empty text without a name that is alike. */
export function proposalFor(name: string, names: readonly string[]): string {
  const near = nearest(name, names)
  return near === undefined ? '' : ` (did you mean "${near}"?)`
}

/** Returns the first known name that a misspelled name resembles. */
function nearest(name: string, names: readonly string[]): string | undefined {
  const text = name.toLowerCase()
  return names.find((allowed) => {
    const other = allowed.toLowerCase()
    let [start, end] = [0, 0]
    while (start < text.length && text[start] === other[start]) start += 1
    while (end < text.length - start && text.at(-1 - end) === other.at(-1 - end)) end += 1
    // Two letters more, less, other or that changed places, or another ending.
    return start > 3 || Math.max(text.length, other.length) - start - end < (start > 0 ? 3 : 2)
  })
}
