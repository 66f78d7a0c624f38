/** Kinds of option values, for tables of the options of a function. */
import { roles } from '../protocol/roles.ts'
import type { Annotations, ToolAnnotations } from '../protocol/types.ts'
import { isObject, isPlain, type Kind, type Kinds, type KindsOf } from './check-options.ts'

const isFunction = (value: unknown): value is object => typeof value === 'function'
const isString = (value: unknown): value is string => typeof value === 'string'
export const isListOf = (value: unknown, accepts: (value: unknown) => boolean) =>
  Array.isArray(value) && value.every(accepts)

export const anything: Kind = [() => true, '']
export const string: Kind = [isString, 'a string']
export const name: Kind = [(value) => isString(value) && value !== '', 'a non-empty string']
export const strings: Kind = [(value) => isListOf(value, isString), 'a list of strings']
export const flag: Kind = [(value) => typeof value === 'boolean', 'true or false']
export const fn: Kind = [isFunction, 'a function']
export const amount: Kind = [(value) => typeof value === 'number' && value >= 0, 'a number of 0 or more']
export const atLeastOne: Kind = [(value) => typeof value === 'number' && value >= 1, 'a number of 1 or more']
export const count: Kind = [(value) => Number.isInteger(value) && Number(value) >= 1, 'a whole number of 1 or more']
export const size: Kind = [(value) => Number.isInteger(value) && Number(value) >= 0, 'a whole number of 0 or more']
const units: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** Returns the milliseconds of a duration, such as `500ms`, `2s`, `10m`, `1.5h` or `7d`; `NaN` for another value. */
export function durationMs(value: unknown): number {
  const [, amount = '', unit = ''] = (isString(value) && /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(value)) || []
  return typeof value === 'number' ? value : Number(amount || Number.NaN) * (units[unit] ?? 1)
}

const isAtLeastOneMs = (value: unknown): boolean => {
  const ms = durationMs(value)
  return ms >= 1 && ms !== Number.POSITIVE_INFINITY
}
export const duration: Kind = [
  // Less than 1 ms would be 0.
  (value) => durationMs(value) === 0 || isAtLeastOneMs(value),
  "milliseconds, or a string such as '2s', '10m', '1h' or '7d'",
]
/** Nothing is done within 0 ms. */
export const positiveDuration: Kind = [isAtLeastOneMs, `at least 1 ms: ${duration[1]}`]
export const durationOrInfinity: Kind = [
  (value) => value === Number.POSITIVE_INFINITY || duration[0](value),
  `${duration[1]}, or Infinity`,
]
export const stringOrFunction: Kind = [(value) => isString(value) || isFunction(value), 'a string or a function']
/** Names of tools. */
export const toolName: RegExp = /^[\w.-]{1,128}$/
/** RFC 6749, section 3.3 */
export const scopes: Kind = [
  (value) => isListOf(value, (scope) => isString(scope) && /^[!#-[\]-~]+$/.test(scope)),
  "a list such as ['notes:read']",
]
export const scopesOrFunction: Kind = [
  (value) => scopes[0](value) || isFunction(value),
  'a list of strings or a function',
]
/** A promise, a `Map` and an instance of a class have members that are not their own, and would be ignored. */
export const functions: Kind = [
  (value) => isObject(value) && isPlain(value) && Object.values(value).every(isFunction),
  'a plain object of functions',
]

/** A path without parameters, wildcards and `..`, which a router reads as it is written. */
export const path: Kind = [
  (value) =>
    isString(value) &&
    /^\/(?!.*\/\/)[\w\-.~%@!&'/,;=]*$/.test(value) &&
    URL.parse(value, 'https://a.example')?.pathname === value,
  'a path such as "/mcp", as URLs have it, without patterns',
]

/** An object, with known members if `members` is given. */
export const object = (members?: Kinds, expected = 'an object'): Kind => [isObject, expected, members]
/** An object with a method, such as what another function of this package returns. */
export const having = (method: string, expected: string): Kind => [
  (value) => isObject(value) && isFunction(value[method]),
  expected,
]
export const required = ([accepts, expected, members]: Kind): Kind => [accepts, expected, members, true]

/** A value that `createServer()` returned. */
export const server: Kind = [
  (value) => isObject(value) && isObject(value.declarations),
  'a server that createServer() returned',
]
export const auth: Kind = [
  (value) => isObject(value) && isFunction(value.authenticate) && strings[0](value.credentialHeaders ?? []),
  'an auth such as bearer({ issuer })',
]
export const icons: Kind = [
  (value) => isListOf(value, isObject),
  "a list such as [{ src: 'https://…' }]",
  {
    src: required(string),
    mimeType: string,
    sizes: strings,
    theme: [(value) => value === 'light' || value === 'dark', "'light' or 'dark'"],
  },
]
/** Searches for invalid characters: matching all of a large text would take much memory. */
export const base64: Kind = [
  (value) => isString(value) && value.length % 4 === 0 && !/[^A-Za-z\d+/=]|=(?!=?$)/.test(value),
  'base64 with its padding and nothing before it',
]
/** RFC 3339, section 5.6, without leap seconds and small letters, which clients reject. */
const dateTimePattern =
  /^(\d{4}-\d\d-\d\d)T(?:[01]\d|2[0-3])(?::[0-5]\d){2}(?:\.\d+)?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/
export const dateTime: Kind = [
  (value) => {
    const [, day] = (isString(value) && dateTimePattern.exec(value)) || []
    // A day that its month lacks is one of the next month.
    // biome-ignore lint/style/noRestrictedGlobals: reads no clock
    return day !== undefined && new Date(day).toJSON()?.startsWith(day) === true
  },
  "a date and time such as '2026-07-28T12:30:00Z'",
]
export const annotations = object({
  audience: [(value) => isListOf(value, (role) => roles.has(role)), "a list of 'user' and 'assistant'"],
  priority: [(value) => typeof value === 'number' && value >= 0 && value <= 1, 'a number from 0 to 1'],
  lastModified: dateTime,
} satisfies KindsOf<Annotations>)
export const toolAnnotations = object({
  title: string,
  readOnlyHint: flag,
  destructiveHint: flag,
  idempotentHint: flag,
  openWorldHint: flag,
} satisfies KindsOf<ToolAnnotations>)
export const caching = object({
  ttlMs: required([size[0], 'whole milliseconds, 0 or more']),
  cacheScope: required([(value) => value === 'public' || value === 'private', "'public' or 'private'"]),
})

/** Functions that are easily passed in the place of another. */
const marks = new WeakMap<object, 'factory' | 'sink'>()

/** Marks a function that is not a hook itself: one that must be called first, or a sink of events. */
export function mark<F extends object>(what: 'factory' | 'sink', marked: F): F {
  marks.set(marked, what)
  return marked
}

const isSink = (value: unknown): boolean => isFunction(value) && marks.get(value) !== 'factory'
const isPlugin = (value: unknown): boolean => isObject(value) && isString(value.name)
export const plugins: Kind = [
  (value) => isListOf(value, isPlugin),
  'a list of plugins, such as [subscriptions(), rateLimit()]',
]
export const sinks: Kind = [
  (value) => [value].flat().length > 0 && [value].flat().every(isSink),
  'a sink such as consoleSink() returns, or a list of sinks',
  undefined,
  true,
]
