/**
 * Validates the options that a developer passes to a function: no unknown names, and each value of the right type. An option that is
 * ignored without an error is most harmful where it decides who may call.
 */

import { jsonText } from '../protocol/json-text.ts'
import { isObject } from '../protocol/jsonrpc.ts'
import { proposalFor } from './proposal.ts'

export { isObject } from '../protocol/jsonrpc.ts'

/** The accepted values of one option. */
export type Kind = readonly [
  accepts: (value: unknown) => boolean,
  /** The end of a sentence with "must be". */
  expected: string,
  /** The members of the value, if it is an object, or a list of objects. */
  members?: Kinds | undefined,
  /** Whether the option is required. Default: false. */
  isRequired?: boolean,
]

/** Kinds, by name of the option. */
export type Kinds = Readonly<Record<string, Kind>>

/** A table with exactly the options of a type. */
export type KindsOf<T> = { readonly [K in keyof T]-?: Kind }

/**
 * @param owner the function with the options, such as `serve()`
 * @throws Error that names the unknown option, and all options
 */
export function checkNames(
  owner: string,
  options: unknown,
  names: readonly string[],
  path = '',
): asserts options is Readonly<Record<string, unknown>> {
  const of = path ? `"${path.slice(0, -1)}" of ${owner}` : owner
  const list = () => names.join(', ').replace(/, (\w+)$/, ' and $1')
  // A Map, or a promise that was not awaited, has no members of its own, as has {}.
  if (!isObject(options) || (!isPlain(options) && Object.keys(options).length === 0))
    throw new Error(`${of} takes an object with ${list()}, not ${preview(options)}`)
  for (const name of Object.keys(options)) {
    if (names.includes(name) || options[name] === undefined) continue
    const proposal = globalThis.process?.env?.NODE_ENV === 'production' ? '' : proposalFor(name, names)
    const [place, taker] = [path + name, path ? `"${path.slice(0, -1)}"` : 'it']
    throw new Error(`${owner} does not take "${place}"${proposal}: ${taker} takes ${list()}`)
  }
}

/**
 * @param owner the function with the options, such as `serve()`
 * @throws Error that names the option, and the expected value
 */
export function checkOptions(owner: string, options: unknown, kinds: Kinds, path = ''): void {
  checkNames(owner, options, Object.keys(kinds), path)
  for (const [key, kind] of Object.entries(kinds)) {
    const value = options[key]
    if (value === undefined && !kind[3]) continue
    checkValue(owner, path + key, value, kind)
    if (key === '_meta' || key === 'experimental') jsonText(value, `"${path + key}" of ${owner} has`)
    const members = kind[2]
    if (!members) continue
    for (const member of [value].flat()) {
      if (isObject(member)) checkOptions(owner, member, members, `${path}${key}.`)
    }
  }
}

/** Whether a value is an object of no class. */
export function isPlain(value: unknown): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}

/** @throws Error that names the value, and the expected value */
export function checkValue(owner: string, key: string, value: unknown, kind: Kind): void {
  if (!kind[0](value)) throw new Error(wrongValue(owner, key, value, kind))
}

/** Returns the text of the error for a value that a kind does not accept. */
export const wrongValue = (owner: string, key: string, value: unknown, [, expected]: Kind): string =>
  `"${key}" of ${owner} must be ${expected}, not ${preview(value)}`

/** @throws Error that names the value, and the expected object */
export function checkObject(
  owner: string,
  key: string,
  value: unknown,
  expected: string,
): asserts value is Readonly<Record<string, unknown>> {
  checkValue(owner, key, value, [isObject, expected])
}

/** Describes a value for an error: short, and without the contents of objects, which may contain secrets. */
export function preview(value: unknown): string {
  if (Array.isArray(value)) {
    const entries = value.slice(0, 10).map((entry) => (Array.isArray(entry) ? '[…]' : preview(entry)))
    return `[${entries.join(', ')}${value.length > 10 ? ', …' : ''}]`
  }
  if (typeof value === 'string') return JSON.stringify(value.slice(0, 100))
  if (isObject(value)) return value instanceof Promise ? 'a promise' : value instanceof Map ? 'a Map' : 'an object'
  return typeof value === 'function' ? 'a function' : String(value)
}
