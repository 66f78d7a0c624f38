import { type Failure, messageOf } from './errors.ts'
import { isObject } from './jsonrpc.ts'

/**
 * Returns the JSON of a value that loses nothing. Rejects what JSON would omit, or turn into `{}` or `null`. A member that is `undefined` is
 * absent, and an object with `toJSON` is what it returns.
 *
 * @param owner the owner of the value, for the error: `Tool "report" returned`
 * @param Failure the class of the error
 * @param allowsGaps whether `undefined` in a list becomes `null`. Default: false
 * @returns `undefined` for `undefined`
 * @throws Error that names the value and its place
 */
export function jsonText(
  value: unknown,
  owner: string,
  Failure: Failure = TypeError,
  allowsGaps = false,
): string | undefined {
  let json: string | undefined
  let lost: string | undefined
  let cause: unknown
  try {
    json = JSON.stringify(value)
  } catch (thrown) {
    cause = thrown
  }
  try {
    // Takes values in the same order, so it finds a BigInt before it comes to a cycle.
    lost = lostIn(value, '', false, allowsGaps)
  } catch (thrown) {
    cause ??= thrown
  }
  if (lost) throw new Failure(`${owner} ${lost}, which has no JSON form: use ${representable}`)
  if (cause === undefined) return json
  const reason = cause instanceof RangeError ? 'it has too many levels' : messageOf(cause)
  throw new Failure(`${owner} a value that has no JSON form: ${reason}`, { cause })
}

const representable = 'plain objects, arrays, strings, finite numbers, booleans and null'

/** Returns what JSON would lose or reject, and where. */
function lostIn(value: unknown, path: string, isEntry: boolean, allowsGaps: boolean): string | undefined {
  if (value === undefined) return isEntry && !allowsGaps ? placed('undefined', path) : undefined
  if (typeof value === 'number') return Number.isFinite(value) ? undefined : placed(String(value), path)
  if (/bigint|function|symbol/.test(typeof value)) return placed(`a ${typeof value}`, path)
  if (Array.isArray(value)) {
    for (const [index, entry] of value.entries()) {
      const lost = lostIn(entry, `${path}[${index}]`, true, allowsGaps)
      if (lost) return lost
    }
    return undefined
  }
  if (!isObject(value)) return undefined
  if ('toJSON' in value && typeof value.toJSON === 'function') {
    const json: unknown = value.toJSON('')
    // An invalid Date, or one of a library.
    if (json === null && Number.isNaN(value.valueOf())) return placed('an invalid date', path)
    return lostIn(json, path, isEntry, allowsGaps)
  }
  const keys = Object.keys(value)
  if (isOpaque(value, keys)) return placed(nameOf(value), path)
  for (const key of keys) {
    const lost = lostIn(value[key], path ? `${path}.${key}` : key, false, allowsGaps)
    if (lost) return lost
  }
  return undefined
}

/** Whether an object has contents besides its members: an error, a `Map`, a buffer, a promise, or an object of a class without members. */
function isOpaque(value: object, { length }: readonly string[]): boolean {
  const prototype = Object.getPrototypeOf(value)
  if (prototype === null || prototype === Object.prototype) return false
  const isIterable = Symbol.iterator in value
  return length === 0 || isIterable || ArrayBuffer.isView(value) || value instanceof Error || isThenable(value)
}

/** Whether a value is a promise, or a query that runs when it is awaited. */
const isThenable = (value: object): boolean => 'then' in value && typeof value.then === 'function'

const placed = (what: string, path: string): string => (path ? `${what} at ${path}` : what)

/** Describes a value of a class, for error messages. */
export function nameOf(value: object): string {
  if (isThenable(value)) return 'a promise that is not awaited'
  const name: unknown = value.constructor?.name
  return `a value of the class ${typeof name === 'string' && name !== '' ? name : '(unnamed)'}`
}
