import { isObject } from './jsonrpc.ts'

/**
 * Returns JSON with the members of each object sorted by name: equal values have equal texts, and others have others, also numbers beyond
 * the largest one, which JSON writes as null.
 */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson)}]`
  if (typeof value === 'number') return `${value}`
  if (!isObject(value) || typeof value.toJSON === 'function') return JSON.stringify(value) ?? 'null'
  const names = Object.keys(value).filter((name) => value[name] !== undefined)
  return `{${names.sort().map((name) => `${JSON.stringify(name)}:${canonicalJson(value[name])}`)}}`
}
