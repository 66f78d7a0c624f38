/**
 * The keywords of JSON Schema, as checks.
 *
 * They are those of 2020-12, and the equivalent keywords of 2019-09 and draft 7 (`dependencies`, a list in `items`, `additionalItems`,
 * `$recursiveRef`), whatever the dialect; keywords beside a `$ref` count in draft 7, too. A `format` of 2020-12 is checked; any other name
 * passes. A property with the value `undefined` is absent, as in JSON text.
 *
 * @see https://json-schema.org/draft/2020-12/json-schema-validation
 */

import { isObject } from '../../protocol/jsonrpc.ts'
import type { Params } from '../../protocol/types.ts'
import { cut, type Issues, issuesText, mostIssues } from '../schema.ts'
import { formats } from './formats.ts'
import { compilePattern, SlowPattern } from './patterns.ts'
import { namesOf, TooMuchWork, type Work } from './work.ts'

/** @param seen collects the evaluated properties and items, if an `unevaluated…` keyword needs them */
export type Check<V = unknown> = (value: V, seen?: Seen) => Issues

type Key = string | number

/** The evaluated properties and items of a value. Those of subschemas are referred to, not copied: many may have the same. */
export class Seen {
  readonly #work: Work
  readonly #keys: Key[] = []
  readonly #parts: Seen[] = []

  constructor(work: Work) {
    this.#work = work
  }

  /** @throws TooMuchWork */
  add(key: Key): void {
    this.#work.count(1)
    this.#keys.push(key)
  }

  addAll(part: Seen): void {
    this.#parts.push(part)
  }

  /** Returns all keys. @throws TooMuchWork */
  keys(): ReadonlySet<Key> {
    const keys = new Set<Key>()
    const parts = new Set<Seen>([this])
    // Also those that are added meanwhile.
    for (const part of parts) {
      this.#work.count(part.#keys.length + part.#parts.length)
      for (const key of part.#keys) keys.add(key)
      for (const inner of part.#parts) parts.add(inner)
    }
    return keys
  }
}

/** The place of a keyword. */
export type Place = {
  readonly schema: Params
  /** Compiles a schema inside of this one. */
  readonly read: (schema: unknown) => Check
  readonly refer: (reference: string, isDynamic: boolean) => Check
  /** Returns the work for the current value. */
  readonly work: () => Work
}

/** Compiles the parameter of a keyword into a check. @throws InvalidParameter */
export type Keyword<V = unknown> = (parameter: unknown, place: Place) => Check<V>

/** Keywords that apply to the same type of values. */
export type Group = readonly [is: (value: unknown) => boolean, keywords: readonly (readonly [string, Keyword<never>])[]]

export const none: Issues = []
const issue = (message: string): Issues => [{ path: '', message }]

export const accept: Check = () => none
export const refuse: Check = () => issue('is not allowed')
/** The issue of a schema that refers to itself for the same value. */
export const circle = issue('cannot be validated, because its schema is circular')

/** Returns the issues of several values. */
export function gather<T>(things: Iterable<T>, look: (thing: T) => Issues): Issues {
  let issues = none
  for (const thing of things) {
    const problems = look(thing)
    if (problems.length === 0) continue
    issues = [...issues, ...problems]
    if (issues.length >= mostIssues) break
  }
  return issues
}

/** Returns the issues of all checks. */
export function all<V>(checks: readonly Check<V>[]): Check<V> {
  const [first, second] = checks
  // Without the stack that `gather` takes: schemas are nested.
  if (first && !second) return first
  return (value, seen) => gather(checks, (check) => check(value, seen))
}

/** Checks properties or items, each by what `checkOf` says, if anything. */
const parts =
  <V extends object, K extends Key>(
    keysOf: (value: V) => Iterable<K>,
    checkOf: (key: K) => Check | false | undefined,
  ): Check<V> =>
  (value, seen) =>
    gather(keysOf(value), (key) => {
      const check = checkOf(key)
      if (!check) return none
      seen?.add(key)
      // `keysOf` returns keys of the value: names of an object, indexes of a list.
      const issues = check((value as Readonly<Record<Key, unknown>>)[key])
      if (issues.length === 0) return none
      const part = cut(`${key}`)
      return issues.map(({ path, message }) => ({ path: path ? `${part}.${path}` : part, message }))
    })

// Values

type List = readonly unknown[]

const isText = (value: unknown): value is string => typeof value === 'string'
const isNumber = (value: unknown): value is number => Number.isFinite(value)
const isSize = (value: unknown): value is number => Number.isInteger(value) && Number(value) >= 0
const isPositive = (value: unknown): value is number => isNumber(value) && value > 0
const isBoolean = (value: unknown): value is boolean => typeof value === 'boolean'
const isList: (value: unknown) => value is List = Array.isArray
const isAnything = (_: unknown): _ is unknown => true

const has = (value: Params, name: string) => Object.hasOwn(value, name) && value[name] !== undefined

/** Returns a function that lists the indexes of lists of the current value. */
const indexesOf =
  ({ work }: Place) =>
  (value: List) =>
    work().indexes(value)

/** Returns a function that lists the properties of objects of the current value. */
const propertiesOf =
  ({ work }: Place) =>
  (value: Params) =>
    work().names(value)

/** Whether a value equals an option, whatever the order of their properties. */
function isEqual(value: unknown, option: unknown, work: Work): boolean {
  work.count(1)
  if (isList(option)) {
    return (
      isList(value) &&
      value.length === option.length &&
      option.every((item, index) => isEqual(value[index], item, work))
    )
  }
  if (!isObject(option)) return value === option
  const names = namesOf(option)
  return (
    isObject(value) &&
    names.every((name) => has(value, name) && isEqual(value[name], option[name], work)) &&
    work.names(value).length === names.length
  )
}

// Parameters

/** The value of a keyword is invalid. */
export class InvalidParameter extends Error {
  readonly expected: string
  readonly found: unknown

  /** @param expected the expected value, such as `a number` */
  constructor(expected: string, found: unknown) {
    super()
    this.expected = expected
    this.found = found
  }
}

/** @throws InvalidParameter */
function valid<T>(is: (value: unknown) => value is T, parameter: unknown, expected: string): T {
  if (!is(parameter)) throw new InvalidParameter(expected, parameter)
  return parameter
}

const list = (parameter: unknown) => valid(isList, parameter, 'an array')
const text = (parameter: unknown) => valid(isText, parameter, 'a string')
const number = (parameter: unknown) => valid(isNumber, parameter, 'a number')
const size = (parameter: unknown) => valid(isSize, parameter, 'a whole number of 0 or more')
const readAll = <C>(parameter: unknown, read: (schema: unknown) => C) =>
  Object.entries(valid(isObject, parameter, 'an object')).map(([name, schema]) => [name, read(schema)] as const)

/** @throws TooMuchWork */
function answered(isMatch: boolean | undefined, rule: string): boolean {
  if (isMatch === undefined) throw new TooMuchWork(`has too much text for the ${rule}`)
  return isMatch
}

/** @returns a function that throws `TooMuchWork` */
function matcher(pattern: unknown, { work }: Place): (text: string) => boolean {
  const source = text(pattern)
  try {
    const matches = compilePattern(source)
    return (text) => answered(matches(text, work().steps), `pattern ${source}`)
  } catch (problem) {
    throw new InvalidParameter(problem instanceof SlowPattern ? problem.message : 'a regular expression', source)
  }
}

// Kinds of keywords

/** @param rule the rule for a value, with `?` for the limit */
const limit =
  <V>(
    measure: (value: V, place: Place) => number,
    fits: (size: number, limit: number) => boolean,
    rule: string,
    read = number,
  ): Keyword<V> =>
  (parameter, place) => {
    const limit = read(parameter)
    const failure = issue(`must ${rule.replace('?', `${limit}`)}`)
    return (value) => (fits(measure(value, place), limit) ? none : failure)
  }

const atLeast = (size: number, limit: number) => size >= limit
const atMost = (size: number, limit: number) => size <= limit
const itself = (value: number) => value

/** Returns the issue of a schema, which it formats once: many values may have it. */
function issueOf(rule: string, schema: unknown): () => Issues {
  let formatted: Issues | undefined
  return () => {
    formatted ??= issue(`must ${rule} ${cut(JSON.stringify(schema))}`)
    return formatted
  }
}

/** `minLength` and `maxLength`, and similar pairs. */
const range = <V>(name: string, measure: (value: V, place: Place) => number, unit: string) => ({
  [`min${name}`]: limit(measure, atLeast, `have ? or more ${unit}`, size),
  [`max${name}`]: limit(measure, atMost, `have ? or fewer ${unit}`, size),
})

/** Whether a number is a multiple. Decimal fractions are not exact, so the quotient may differ in the last digits. */
function isMultiple(size: number, divisor: number): boolean {
  if (divisor % 1 === 0) return size % divisor === 0
  const quotient = size / divisor
  return Math.abs(quotient - Math.round(quotient)) <= Math.abs(quotient) * 2 * Number.EPSILON
}

function among(options: List, { work }: Place): Check {
  const composites = options.filter((option) => isObject(option) || isList(option))
  const known = new Set(options)
  const names = options.map((option) => JSON.stringify(option)).join(', ')
  const message = `must be ${options.length > 1 ? 'one of ' : ''}${names}`
  return (value) => {
    if (known.has(value)) return none
    if (isText(value) || isNumber(value)) return issue(message)
    return composites.some((option) => isEqual(value, option, work())) ? none : issue(message)
  }
}

const required = (parameter: unknown, { work }: Place): Check<Params> => {
  const names = list(parameter).map(text)
  return (value) => {
    work().count(names.length)
    return gather(names, (name) => (has(value, name) ? none : [{ path: name, message: 'is required' }]))
  }
}

const dependents: Keyword<Params> = (parameter, place) => {
  const needs = readAll(parameter, (need): Check<Params> => (isList(need) ? required(need, place) : place.read(need)))
  return (value, seen) => {
    place.work().count(needs.length)
    return gather(needs, ([name, need]) => (has(value, name) ? need(value, seen) : none))
  }
}

const tuple: Keyword<List> = (parameter, place) => {
  const checks = list(parameter).map(place.read)
  return parts(indexesOf(place), (index) => checks[index])
}

const unevaluated =
  <V extends object>(keysOf: (place: Place) => (value: V) => Iterable<Key>): Keyword<V> =>
  (parameter, place) => {
    const check = place.read(parameter)
    return (value, seen) => {
      const evaluated = seen?.keys()
      return parts(keysOf(place), (key) => !evaluated?.has(key) && check)(value, seen)
    }
  }

const alternatives =
  (isExclusive: boolean): Keyword =>
  (parameter, { read }) => {
    const checks = list(parameter).map(read)
    if (checks.length === 0) throw new InvalidParameter('an array with a schema', parameter)
    return (value, seen) => {
      const failures: Issues[] = []
      for (const check of checks) {
        const issues = check(value, seen)
        if (issues.length > 0) failures.push(issues)
        else if (!isExclusive && !seen) return none
      }
      const matches = checks.length - failures.length
      if (matches === 0) return closest(failures)
      return isExclusive && matches > 1 ? issue('must match exactly one alternative') : none
    }
  }

/** Returns the issues of the alternative that was probably meant: one whose issues are all deeper inside. */
function closest(failures: readonly Issues[]): Issues {
  const near = failures.filter((issues) => issues.every(({ path }) => path))
  if (near.length === 1) return near.flat()
  const text = [...new Set((near.length > 0 ? near : failures).map(issuesText))].join(', or ')
  // Alternatives within alternatives would multiply.
  return issue(text.length < 500 ? text : 'must match an alternative')
}

const reference =
  (isDynamic: boolean): Keyword =>
  (parameter, { refer }) =>
    refer(text(parameter), isDynamic)

// These say nothing themselves, but others may refer to them.

const definitions: Keyword = (parameter, { read }) => {
  readAll(parameter, read)
  return accept
}

const branch: Keyword = (parameter, { read }) => {
  read(parameter)
  return accept
}

/** A number that another keyword uses. */
const sizeOnly: Keyword = (parameter) => {
  size(parameter)
  return accept
}

type Type = readonly [is: (value: unknown) => boolean, name: string]

const types: ReadonlyMap<string, Type> = new Map<string, Type>([
  ['string', [isText, 'a string']],
  ['number', [isNumber, 'a number']],
  ['integer', [Number.isInteger, 'an integer']],
  ['boolean', [isBoolean, 'true or false']],
  ['object', [isObject, 'an object']],
  ['array', [isList, 'an array']],
  ['null', [(value) => value === null, 'null']],
])

const typeNames = `one of ${[...types.keys()].join(', ').replace(/, (\w+)$/, ' and $1')}`

/** @throws InvalidParameter for what is no name of a type */
function typeNamed(name: unknown): Type {
  const type = isText(name) ? types.get(name) : undefined
  if (!type) throw new InvalidParameter(typeNames, name)
  return type
}

const group = <V>(is: (value: unknown) => value is V, keywords: Record<string, Keyword<V>>): Group => [
  is,
  Object.entries(keywords),
]

/**
 * All keywords, in the order of their checks: a group runs if those before it found no issue. So the size of a value of the wrong type is
 * not checked, a value that is too large is not read, and `unevaluated…` keywords run last.
 */
export const groups: readonly Group[] = [
  group(isAnything, {
    $defs: definitions,
    definitions,
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema, whose table nobody awaits
    then: branch,
    else: branch,
    const: (parameter, place) => among([parameter], place),
    enum: (parameter, place) => among(list(parameter), place),
  }),
  group(isAnything, {
    type(parameter) {
      const expected = [parameter].flat().map(typeNamed)
      const message = `must be ${expected.map(([, name]) => name).join(' or ')}`
      return (value) => (expected.some(([is]) => is(value)) ? none : issue(message))
    },
  }),
  group(isNumber, {
    minimum: limit(itself, atLeast, 'be at least ?'),
    maximum: limit(itself, atMost, 'be at most ?'),
    exclusiveMinimum: limit(itself, (size, limit) => size > limit, 'be more than ?'),
    exclusiveMaximum: limit(itself, (size, limit) => size < limit, 'be less than ?'),
    multipleOf: limit(itself, isMultiple, 'be a multiple of ?', (parameter) =>
      valid(isPositive, parameter, 'a number above 0'),
    ),
  }),
  group(isText, {
    // Characters, not halves of them.
    ...range('Length', (value, { work }) => work().length(value), 'characters'),
  }),
  group(isText, {
    pattern(parameter, place) {
      const matches = matcher(parameter, place)
      return (value) => (matches(value) ? none : issue(`must match the pattern ${parameter}`))
    },
    format(parameter, { work }) {
      const format = formats.get(text(parameter))
      if (!format) return accept
      const message = `must be a valid ${parameter}, such as ${format.example}`
      return (value) => (answered(work().matches(format, value), `format ${parameter}`) ? none : issue(message))
    },
  }),
  group(isList, {
    ...range('Items', (value) => value.length, 'items'),
  }),
  group(isList, {
    uniqueItems(parameter, { work }) {
      if (!valid(isBoolean, parameter, 'true or false')) return accept
      return (value) => (work().areUnique(value) ? none : issue('must not contain the same item twice'))
    },
    prefixItems: tuple,
    items(parameter, place) {
      if (isList(parameter)) return tuple(parameter, place)
      const { length } = list(place.schema.prefixItems ?? [])
      const check = place.read(parameter)
      return parts(indexesOf(place), (index) => index >= length && check)
    },
    additionalItems(parameter, place) {
      const { items } = place.schema
      const check = place.read(parameter)
      return parts(indexesOf(place), (index) => isList(items) && index >= items.length && check)
    },
    minContains: sizeOnly,
    maxContains: sizeOnly,
    contains(parameter, place) {
      const { schema } = place
      const check = place.read(parameter)
      const { minContains = 1, maxContains } = schema
      const least = size(minContains)
      const most = size(maxContains ?? Number.MAX_VALUE)
      const range = maxContains === undefined ? `${least} or more` : `${least} to ${most}`
      const failure = issueOf(`have ${range} items that match`, parameter)
      return (value, seen) => {
        let matches = 0
        for (const index of indexesOf(place)(value)) {
          if (check(value[index]).length > 0) continue
          matches += 1
          seen?.add(index)
        }
        return matches < least || matches > most ? failure() : none
      }
    },
  }),
  group(isObject, {
    ...range('Properties', (value, { work }) => work().names(value).length, 'properties'),
  }),
  group(isObject, {
    required,
    properties(parameter, { read, work }) {
      const checks = new Map(readAll(parameter, read))
      const names = [...checks.keys()]
      return parts(
        (value) => {
          work().count(names.length)
          return names.filter((name) => has(value, name))
        },
        (name) => checks.get(name),
      )
    },
    patternProperties: (parameter, place) =>
      all(
        readAll(parameter, place.read).map(([source, check]) => {
          const matches = matcher(source, place)
          return parts(propertiesOf(place), (name) => matches(name) && check)
        }),
      ),
    additionalProperties(parameter, place) {
      const { schema } = place
      const names = new Set(Object.keys(schema.properties ?? {}))
      const patterns = Object.keys(schema.patternProperties ?? {}).map((source) => matcher(source, place))
      const check = place.read(parameter)
      return parts(
        propertiesOf(place),
        (name) => !names.has(name) && !patterns.some((matches) => matches(name)) && check,
      )
    },
    propertyNames(parameter, { read, work }) {
      const check = read(parameter)
      return (value) =>
        gather(work().names(value), (name) =>
          check(name).map(({ message }) => ({ path: cut(name), message: `its name ${message}` })),
        )
    },
  }),
  group(isAnything, {
    $ref: reference(false),
    $dynamicRef: reference(true),
    $recursiveRef: reference(true),
    allOf: (parameter, { read }) => all(list(parameter).map(read)),
    anyOf: alternatives(false),
    oneOf: alternatives(true),
    not(parameter, { read }) {
      const check = read(parameter)
      const failure = issueOf('not match', parameter)
      return (value) => (check(value).length > 0 ? none : failure())
    },
    if(parameter, { schema, read }) {
      const check = read(parameter)
      const then = read(schema.then ?? true)
      const otherwise = read(schema.else ?? true)
      return (value, seen) => (check(value, seen).length > 0 ? otherwise : then)(value, seen)
    },
  }),
  group(isObject, {
    dependentRequired: dependents,
    dependentSchemas: dependents,
    dependencies: dependents,
  }),
  group(isList, { unevaluatedItems: unevaluated(indexesOf) }),
  group(isObject, { unevaluatedProperties: unevaluated(propertiesOf) }),
]
