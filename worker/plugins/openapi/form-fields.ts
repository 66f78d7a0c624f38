/** The fields of a query or a form, from the value of an argument. */

import { preview } from '../../declarations/check-options.ts'
import { ToolError } from '../../protocol/errors.ts'
import type { Params } from '../../protocol/types.ts'
import type { FieldStyle } from './operation-type.ts'

export type Field = readonly [name: string, value: string]

/** Encodes a text, and counts its characters and those that are added to it. */
type Encode = (text: string, added?: number) => string

/** Characters of the name of a field, with those of its parents in a deep object. */
const maxNameCharacters = 4096

/** Returns the parts of a name, with "." behind each: servers have them in brackets, or behind dots or colons. */
const partsIn = (name: string): string => `${name}.`.replaceAll(/[[\].:]+/g, '.').replace(/^\./, '')

/**
 * Returns what servers may read as a name: its parts. Some ignore case, spaces around it, and separators in front of it. PHP reads blanks and
 * dots as `_`, and also a "[" without "]".
 *
 * @see https://www.php.net/manual/en/language.variables.external.php
 */
function readsOf(name: string): ReadonlySet<string> {
  const plain = name.trim().toLowerCase()
  const underscored = plain.replace(/^[\s[\]]+/, '').replaceAll(/[\s.]/g, '_')
  const unpaired = underscored.includes(']') ? [] : [underscored.replace('[', '_')]
  return new Set([plain, underscored, ...unpaired].map(partsIn).filter(Boolean))
}

/** Fields by which servers such as Rails and Laravel replace the method of a POST: the request would be another operation. */
const methodField = /^(?:_(?:http[_-]?)?method|x[_-](?:(?:http|tunneled)[_-])?method(?:[_-]override)?)\.$/

/** @throws ToolError for a name that no schema has, and by which the API may read the method of the request */
export function refuseMethodField(name: string): void {
  // Most names are compared once.
  if (/method/i.test(name) && [...readsOf(name)].some((read) => methodField.test(read)))
    throw new ToolError(`${preview(name)} would change the method of the request: leave it out`)
}

/**
 * Yields the members of a form or a query that send something, one at a time, so that what is sent is counted before the next one is read.
 *
 * @param declared the names that its schema has
 * @throws ToolError for another name that an API would read as a declared one, as a part of it, or as the method: its value was not validated
 */
export function* sentMembers(
  value: Params,
  declared: ReadonlySet<string>,
  isDeep: (name: string) => boolean | undefined = () => false,
): Iterable<[name: string, value: unknown]> {
  const known = [...declared].flatMap((name) => [...readsOf(name)].map((start) => [start, name] as const))
  for (const [name, member] of Object.entries(value)) {
    if (isUnsent(member, isDeep(name))) continue
    checkName(name)
    if (!declared.has(name)) {
      refuseMethodField(name)
      // Spring reads `!role` as a default of `role`, and `_role` as a sign that a form has it.
      const reads = [name, name.replace(/^[!_]/, '')].flatMap((read) => [...readsOf(read)])
      const [, other] = known.find(([start]) => reads.some((read) => read.startsWith(start))) ?? []
      if (other !== undefined)
        throw new ToolError(`${preview(name)} would be "${other}" or a part of it: send it in "${other}"`)
    }
    yield [name, member]
  }
}

/**
 * Yields the fields of a value; none for `null`.
 *
 * @param encode encodes the entries before they are joined, so that no entry can contain a comma that separates them
 * @throws ToolError for an entry that contains the separator as it is sent, and for a name of a deep object that is empty, too long, or has a
 * bracket or a control character
 * @see https://spec.openapis.org/oas/v3.1.1.html#style-examples
 */
export function* fieldsOf(
  name: string,
  value: unknown,
  { separator, isDeep }: FieldStyle,
  encode: Encode,
): Iterable<Field> {
  if (isDeep && isParent(value)) {
    yield* deepFields([name], value, encode)
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

/**
 * Yields a field for each value in a deep object. Its name is made only here: it repeats those of its parents, of which many send nothing.
 *
 * @param names the name of the object, after those of its parents
 */
function* deepFields(names: string[], value: object, encode: Encode): Iterable<Field> {
  for (const [key, member] of Object.entries(value)) {
    if (key === '') throw new ToolError(`"" would be an entry of a list "${deepName(names)}": give it a name`)
    if (/[[\]]/.test(key))
      throw new ToolError(`${preview(key)} would be several names in "${deepName(names)}": it has a bracket`)
    names.push(key)
    if (isParent(member)) yield* deepFields(names, member, encode)
    else if (member !== null && member !== undefined) yield [encode(deepName(names)), encode(String(member))]
    names.pop()
  }
}

const isParent = (value: unknown): value is object => typeof value === 'object' && value !== null

/** @throws ToolError as for each other name */
function deepName([first = '', ...others]: readonly string[]): string {
  const name = [first, ...others.map((key) => `[${key}]`)].join('')
  checkName(name)
  return name
}

/** @throws ToolError for a name that is too long, or has a control character: some servers end a name at NUL, and read another one */
function checkName(name: string): void {
  const isLong = name.length > maxNameCharacters
  if (!isLong && !/\p{Cc}/u.test(name)) return
  const reason = isLong ? `more than ${maxNameCharacters} characters` : 'a control character'
  throw new ToolError(`${preview(name)} cannot be the name of a field: it has ${reason}`)
}

/**
 * Encodes and joins the entries of a list; encodes any other value.
 *
 * @param separator as it is sent
 * @throws ToolError for an entry that contains the separator
 */
export function joinEntries(name: string, value: unknown, separator: string, encode: Encode): string {
  const texts = textsOf(value)
  const entries = texts.map((text, index) => encode(text, index && separator.length))
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
 * Returns an encoder for the texts of one request. It counts their characters, and those of their separators, before it encodes them: no
 * encoding makes a text shorter, and a long one could take several times the memory.
 *
 * @param what what they are part of
 * @throws ToolError the encoder, as soon as its texts have more characters together
 */
export function boundedEncoder(encode: (text: string) => string, what: string, maxCharacters: number): Encode {
  let characters = 0
  return (text, added = 0) => {
    characters += text.length + added
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
  isDeep && isParent(value)
    ? Object.values(value).every((member) => isUnsent(member, isDeep))
    : [value].flat().every((entry) => entry === undefined || entry === null)
