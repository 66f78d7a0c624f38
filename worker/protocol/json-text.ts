import { type Failure, messageOf } from './errors.ts'
import { isObject } from './jsonrpc.ts'

/**
 * Returns the JSON of a value that loses nothing. Rejects what JSON would omit, or turn into `{}` or `null`.
 *
 * @param owner the owner of the value, for the error: `Tool "report" returned`
 * @param Failure the class of the error
 * @returns `undefined` for `undefined`
 * @throws Error that names the value and its place
 */
export function jsonText(value: unknown, owner: string, Failure: Failure = TypeError): string | undefined {
  let json: string | undefined
  try {
    json = JSON.stringify(value)
  } catch (cause) {
    // `lostIn` takes values in the same order, so it finds a BigInt before it comes to a cycle.
    if (!/BigInt/.test(messageOf(cause))) {
      throw new Failure(`${owner} a value that has no JSON form: ${messageOf(cause)}`, { cause })
    }
  }
  const lost = lostIn(value, '')
  if (lost) throw new Failure(`${owner} ${lost}, which has no JSON form: use ${representable}`)
  return json
}

const representable = 'plain objects, arrays, strings, finite numbers, booleans and null'

/** Returns what JSON would lose or reject, and where. The value has no cycles, or a BigInt before each. */
function lostIn(value: unknown, path: string): string | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? undefined : placed(String(value), path)
  if (/bigint|function|symbol/.test(typeof value)) return placed(`a ${typeof value}`, path)
  if (Array.isArray(value)) {
    for (const [index, entry] of value.entries()) {
      const lost = lostIn(entry, `${path}[${index}]`)
      if (lost) return lost
    }
    return undefined
  }
  if (!isObject(value)) return undefined
  if ('toJSON' in value && typeof value.toJSON === 'function') return lostIn(value.toJSON(''), path)
  const keys = Object.keys(value)
  const prototype = Object.getPrototypeOf(value)
  const isPlain = prototype === null || prototype === Object.prototype
  // A Map, a Response or a promise has no members of its own. Those of a buffer are its bytes, one by one.
  if (!isPlain && (keys.length === 0 || ArrayBuffer.isView(value))) return placed(nameOf(value), path)
  for (const key of keys) {
    const lost = lostIn(value[key], path ? `${path}.${key}` : key)
    if (lost) return lost
  }
  return undefined
}

const placed = (what: string, path: string): string => (path ? `${what} at ${path}` : what)

/** Describes a value of a class, for error messages. */
export function nameOf(value: object): string {
  if (value instanceof Promise) return 'a promise that is not awaited'
  const name: unknown = value.constructor?.name
  return `a value of the class ${typeof name === 'string' && name !== '' ? name : '(unnamed)'}`
}
