/** The fields of a query or a form, from the value of an argument. */

import type { FieldStyle } from './operation-type.ts'

export type Field = readonly [name: string, value: string]

/**
 * Returns the fields of a value; none for `null`.
 *
 * @param encode encodes the entries before they are joined, so that no entry can contain the separator
 * @see https://spec.openapis.org/oas/v3.1.1.html#style-examples
 */
export function* fieldsOf(
  name: string,
  value: unknown,
  { separator, isDeep }: FieldStyle,
  encode: (text: string) => string,
): Iterable<Field> {
  if (isDeep && typeof value === 'object' && value !== null) {
    for (const [key, member] of Object.entries(value)) yield* fieldsOf(`${name}[${key}]`, member, { isDeep }, encode)
    return
  }
  const entries = textsOf(value).map(encode)
  const joint = separator === ',' ? ',' : encode(separator ?? '')
  for (const entry of separator && entries.length > 0 ? [entries.join(joint)] : entries) yield [encode(name), entry]
}

/** Encodes a text as in `application/x-www-form-urlencoded`. */
export const encodeForm = (text: string): string => new URLSearchParams([['', text]]).toString().slice(1)

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
