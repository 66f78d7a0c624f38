import { parse } from 'yaml'

/**
 * Parses YAML as a value of JSON.
 *
 * @param merge are keys `<<` merged, as in YAML 1.1?
 * @throws Error that names the mistake in the text
 */
export function parseYaml(text: string, { merge = false } = {}): unknown {
  const value: unknown = parse(text, { merge })
  try {
    // YAML has values that JSON does not have, such as a list that contains itself.
    return JSON.parse(JSON.stringify(value ?? null))
  } catch {
    throw new Error('a value contains itself through an alias, or is nested too deeply for JSON')
  }
}
