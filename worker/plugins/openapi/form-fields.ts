/** The fields of a query or a form, from the value of an argument. */

import { preview } from '../../declarations/check-options.ts'
import { ToolError } from '../../protocol/errors.ts'
import type { FieldStyle } from './operation-type.ts'

export type Field = readonly [name: string, value: string]

/**
 * Returns the fields of a value; none for `null`.
 *
 * @param encode encodes the entries before they are joined, so that no entry can contain a comma that separates them
 * @throws ToolError for an entry that contains the separator as it is sent, for a name with a control character, and for one of a deep object that is
 * empty or has a bracket
 * @see https://spec.openapis.org/oas/v3.1.1.html#style-examples
 */
export function* fieldsOf(
  name: string,
  value: unknown,
  { separator, isDeep }: FieldStyle,
  encode: (text: string) => string,
): Iterable<Field> {
  refuseControls(name)
  if (isDeep && typeof value === 'object' && value !== null) {
    for (const [key, member] of Object.entries(value)) {
      if (key === '') throw new ToolError(`"" would be an entry of a list "${name}": give it a name`)
      if (/[[\]]/.test(key))
        throw new ToolError(`${preview(key)} would be several names in "${name}": it has a bracket`)
      yield* fieldsOf(`${name}[${key}]`, member, { isDeep }, encode)
    }
    return
  }
  const texts = textsOf(value)
  if (texts.length === 0) return
  const encodedName = encode(name)
  if (!separator) {
    for (const text of texts) yield [encodedName, encode(text)]
    return
  }
  // A text with the separator is several entries, too, where the schema has lists.
  yield [encodedName, joinEntries(name, texts, separator === ',' ? ',' : encode(separator), encode)]
}

/** @throws ToolError for a name with a control character: some servers end a name at NUL, and read another one */
export function refuseControls(name: string): void {
  if (/\p{Cc}/u.test(name))
    throw new ToolError(`${preview(name)} cannot be the name of a field: it has a control character`)
}

/**
 * Encodes and joins the entries of a list; encodes any other value.
 *
 * @param separator as it is sent
 * @throws ToolError for an entry that contains the separator
 */
export function joinEntries(name: string, value: unknown, separator: string, encode: (text: string) => string): string {
  const texts = textsOf(value)
  const entries = texts.map(encode)
  if (!Array.isArray(value)) return entries.join()
  const split = entries.findIndex((entry) => entry.includes(separator))
  if (split >= 0)
    throw new ToolError(`${preview(texts[split])} would be several entries of "${name}": it has their separator`)
  return entries.join(separator)
}

/**
 * Yields these fields or parts.
 *
 * @param what what they are part of
 * @param perField characters that are sent for each besides its name and its value
 * @param raised returns a higher maximum, once the first is exceeded
 * @throws ToolError as soon as they have more characters
 */
export function* bounded<T extends readonly [name: string, value: { readonly length: number }]>(
  fields: Iterable<T>,
  what: string,
  maxCharacters: number,
  perField = '=&'.length,
  raised?: () => number,
): Iterable<T> {
  let characters = 0
  let most = maxCharacters
  for (const field of fields) {
    characters += field[0].length + field[1].length + perField
    if (characters > most && most === maxCharacters && raised) most = raised()
    if (characters > most) throw tooLong(what, most)
    yield field
  }
}

export const tooLong = (what: string, maxCharacters: number): ToolError =>
  new ToolError(`The arguments make a ${what} of more than ${maxCharacters} characters: send less`)

/**
 * Returns an encoder for the texts of one request. It counts their characters before it encodes them: no encoding makes a text shorter, and
 * a long one could take several times the memory.
 *
 * @param what what they are part of
 * @throws ToolError the encoder, as soon as its texts have more characters together
 */
export function boundedEncoder(encode: (text: string) => string, what: string, maxCharacters: number) {
  let characters = 0
  return (text: string): string => {
    characters += text.length
    if (characters > maxCharacters) throw tooLong(what, maxCharacters)
    return encode(text)
  }
}

/**
 * Encodes a text as in `application/x-www-form-urlencoded`. One `URLSearchParams` for each text takes 12 µs in workerd.
 *
 * @throws ToolError for a text with half of a character, which has no bytes
 * @see https://url.spec.whatwg.org/#concept-urlencoded-serializer
 */
export function encodeForm(text: string): string {
  if (/^[\w.*-]*$/.test(text)) return text
  return encodeURIComponent(wellFormed(text))
    .replaceAll('%20', '+')
    .replaceAll('!', '%21')
    .replaceAll("'", '%27')
    .replaceAll('(', '%28')
    .replaceAll(')', '%29')
    .replaceAll('~', '%7E')
}

/** @throws ToolError for a text with half of a character, which has no bytes */
export function wellFormed(text: string): string {
  if (text.isWellFormed()) return text
  throw new ToolError(`${preview(text)} cannot be sent in a query or a form`)
}

/**
 * Returns the texts of the entries of a list, or of a value as its only entry. Those that are `null` are not sent.
 *
 * @see https://www.rfc-editor.org/rfc/rfc6570#section-3.2.1
 */
export const textsOf = (value: unknown): string[] =>
  [value]
    .flat()
    .filter((entry) => entry !== undefined && entry !== null)
    .map((entry) => (typeof entry === 'object' ? JSON.stringify(entry) : String(entry)))

/** Whether a value has no field: it is `null`, a list without entries or with `null` alone, or a deep object of such values. */
export const isUnsent = (value: unknown, isDeep = false): boolean =>
  isDeep && typeof value === 'object' && value !== null
    ? Object.values(value).every((member) => isUnsent(member, isDeep))
    : [value].flat().every((entry) => entry === undefined || entry === null)
