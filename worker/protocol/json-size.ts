/** How large JSON is, before it is read or written: to count takes less memory than the value or the text. */

/**
 * Counts the values of a JSON text, up to more than `most`: objects, arrays and what they contain. For another text, any number.
 *
 * @returns `NaN` for a text with more levels of nesting
 */
export function countValues(text: string, most: number, levels = Number.POSITIVE_INFINITY): number {
  let values = 1
  let depth = 0
  let isInString = false
  for (let at = 0; at < text.length && values <= most; at += 1) {
    const character = text.charAt(at)
    if (isInString) {
      if (character === '\\') at += 1
      else isInString = character !== '"'
    } else if (character === '"') isInString = true
    else if (character === ',') values += 1
    else if (']}'.includes(character)) depth -= 1
    else if ('[{'.includes(character)) {
      depth += 1
      // An empty object or array has no first member.
      values += depth > levels ? Number.NaN : ']}'.includes(text.charAt(at + 1)) ? 0 : 1
    }
  }
  return values
}

/** Whether a value has more values than that: itself, and what its objects and arrays contain. Reads no further than the first beyond. */
export function hasMoreValues(value: unknown, most: number): boolean {
  let values = 0
  const exceeds = (each: unknown): boolean => {
    values += 1
    if (values > most) return true
    return typeof each === 'object' && each !== null && Object.values(each).some(exceeds)
  }
  return exceeds(value)
}

/** Whether the JSON text of a string without lone surrogates has more characters than that. */
export function isLongerAsJson(text: string, most: number): boolean {
  // Control characters have six.
  if (6 * text.length + 2 <= most) return false
  let length = text.length + 2
  for (let at = 0; at < text.length && length <= most; at += 1) {
    const code = text.charCodeAt(at)
    if (code < 0x20) length += /[\b\t\n\f\r]/.test(text.charAt(at)) ? 1 : 5
    else if (code === 0x22 || code === 0x5c) length += 1
  }
  return length > most
}
