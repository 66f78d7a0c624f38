import { parseDocument } from 'yaml'

/**
 * Parses YAML as a value of JSON.
 *
 * @param merge are keys `<<` merged, as in YAML 1.1?
 * @param exact are integers refused that JSON parsers round?
 * @throws Error that names the mistake in the text, or the value that JSON does not have
 */
export function parseYaml(text: string, { merge = false, exact = false } = {}): unknown {
  const document = parseDocument(text, { merge })
  const [problem] = [...document.errors, ...document.warnings]
  if (problem) throw problem
  const value: unknown = document.toJS() ?? null
  try {
    checkMembers({ value }, exact)
    return JSON.parse(JSON.stringify(value))
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    throw new Error('a value contains itself through an alias, or is nested too deeply for JSON')
  }
}

/** @throws Error for a value that JSON would change; RangeError for one that contains itself */
function checkMembers(owner: object, exact: boolean): void {
  for (const [key, value] of Object.entries(owner)) {
    const isKept = typeof value === 'number' ? isJsonNumber(value, exact) : !isInstance(value)
    if (!isKept) throw new Error(`the value of "${key}" would change in JSON: write it as a text in quotes`)
    if (typeof value === 'object' && value !== null) checkMembers(value, exact)
  }
}

const isJsonNumber = (value: number, exact: boolean): boolean =>
  Number.isFinite(value) && !(exact && Number.isInteger(value) && !Number.isSafeInteger(value))

/** Whether a value is that of a tag such as `!!binary`. */
const isInstance = (value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  !Array.isArray(value) &&
  Object.getPrototypeOf(value) !== Object.prototype
