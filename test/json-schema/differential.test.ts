/** The same questions to another implementation: random schemas, random values, one answer. */
import { Ajv } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect, test } from 'vitest'
import { compile } from '../../worker/declarations/json-schema/compile.ts'
import { count } from '../support/full.ts'
import { type Chance, chance } from '../support/random.ts'

// Not asked is what ajv is known to answer wrongly: `$dynamicRef` and `unevaluatedItems`; `if`, `contains` and
// `patternProperties` within `unevaluatedProperties`; `contains` of an empty list; names that are empty or that every
// object has; multiples beyond 2^53. Nor are fractions that no binary number hits, where both have to guess. All of these
// have rows in compile.test.ts.

type Schema = Record<string, unknown>
type Kind = 'draft 7' | '2020-12' | '2020-12 with unevaluatedProperties'

const names = ['a', 'b', 'ab', 'ba', 'é']
const texts = ['', 'a', 'ab', 'abc', 'b1', '😊', 'é']
const numbers = [-2, -1, 0, 0.5, 1, 1.5, 2, 3, 4, 2 ** 40]
const scalars = [null, true, false, ...texts, ...numbers]
const patterns = ['^a', 'b$', '^[a-z]+$', '\\d', '^.$', '\\p{L}']

function someValue(by: Chance, depth: number, leastItems = 0): unknown {
  const kind = by.below(depth > 0 ? 7 : 3)
  if (kind < 3) return by.one(scalars)
  if (kind < 5) return by.some(leastItems, 4, () => someValue(by, depth - 1, leastItems))
  return Object.fromEntries(by.some(0, 4, () => [by.one(names), someValue(by, depth - 1, leastItems)]))
}

const size = (by: Chance) => by.below(4)

/** @param later how many of the definitions it may refer to at once; any of them, and itself, from within a value */
function someSchema(by: Chance, depth: number, later: number, kind: Kind): unknown {
  if (by.below(20) === 0) return by.below(3) > 0
  const inner = () => someSchema(by, depth - 1, later, kind)
  const within = () => (by.below(6) === 0 ? { $ref: by.one(['#', '#/$defs/d0', '#/$defs/d1', '#/$defs/d2']) } : inner())
  const named = (make: () => unknown) => Object.fromEntries(by.some(0, 3, () => [by.one(names), make()]))
  const inners = () => by.some(1, 3, inner)
  const namesOf = () => [...new Set(by.some(0, 2, () => by.one(names)))]
  const flat: (() => Schema)[] = [
    () => ({ type: by.one(['string', 'number', 'integer', 'boolean', 'null', 'array', 'object']) }),
    () => ({ type: by.one(['object', 'array']) }),
    () => ({ type: [...new Set(by.some(1, 3, () => by.one(['string', 'number', 'array', 'object', 'null'])))] }),
    () => ({ const: someValue(by, 1) }),
    () => ({
      enum: [...new Set(by.some(1, 4, () => JSON.stringify(someValue(by, 1))))].map((text) => JSON.parse(text)),
    }),
    () => ({ minimum: by.one(numbers) }),
    () => ({ maximum: by.one(numbers) }),
    () => ({ exclusiveMinimum: by.one(numbers) }),
    () => ({ exclusiveMaximum: by.one(numbers) }),
    () => ({ multipleOf: by.one([0.5, 1, 2, 3]) }),
    () => ({ minLength: size(by) }),
    () => ({ maxLength: size(by) }),
    () => ({ pattern: by.one(patterns) }),
    () => ({ minItems: size(by) }),
    () => ({ maxItems: size(by) }),
    () => ({ uniqueItems: by.below(4) > 0 }),
    () => ({ minProperties: size(by) }),
    () => ({ maxProperties: size(by) }),
    () => ({ required: namesOf() }),
  ]
  const condition = () =>
    Object.fromEntries([
      ['if', inner()],
      ['then', inner()],
      ['else', inner()],
    ])
  const modern: (() => Schema)[] = [
    () => ({ items: within() }),
    () => ({ prefixItems: by.some(1, 3, within) }),
    () => ({ dependentRequired: Object.fromEntries(by.some(1, 2, () => [by.one(names), namesOf()])) }),
    () => ({ dependentSchemas: named(inner) }),
  ]
  const byPattern = () => ({
    patternProperties: Object.fromEntries(by.some(1, 2, () => [by.one(patterns), within()])),
  })
  const counted = () => {
    const minContains = size(by)
    return { contains: within(), minContains, maxContains: minContains + size(by) }
  }
  const own: Record<Kind, (() => Schema)[]> = {
    'draft 7': [
      condition,
      byPattern,
      () => ({ items: within() }),
      () => ({ items: by.some(1, 3, within), additionalItems: within() }),
      () => ({ contains: within() }),
      () => ({ dependencies: Object.fromEntries(by.some(1, 2, () => [by.one(names), by.one([namesOf(), inner()])])) }),
    ],
    '2020-12': [condition, byPattern, ...modern, counted],
    '2020-12 with unevaluatedProperties': [...modern, () => ({ unevaluatedProperties: within() })],
  }
  const deep: (() => Schema)[] = [
    () => ({ properties: named(within) }),
    () => ({ properties: named(within), additionalProperties: within() }),
    () => ({ additionalProperties: within() }),
    () => ({ propertyNames: inner() }),
    () => ({ allOf: inners() }),
    () => ({ anyOf: inners() }),
    () => ({ oneOf: inners() }),
    () => ({ not: inner() }),
    ...(later > 0 ? [() => ({ $ref: `#/$defs/d${3 - 1 - by.below(later)}` })] : []),
    ...own[kind],
  ]
  const makers = by.some(1, 3, () => by.one(depth > 0 && by.below(3) > 0 ? deep : flat))
  const schema: Schema = Object.assign({}, ...makers.map((make) => make()))
  // Beside a $ref, draft 7 hears nothing.
  return schema.$ref && kind === 'draft 7' ? { $ref: schema.$ref } : schema
}

test.each<Kind>(['2020-12', '2020-12 with unevaluatedProperties', 'draft 7'])(
  '%s is answered as ajv answers',
  (kind) => {
    const answers = { yes: 0, no: 0 }
    const schemas = count(30, 150)
    for (let seed = 1; seed <= schemas; seed++) {
      const by = chance(seed)
      const root = someSchema(by, 3, 3, kind)
      const $defs = Object.fromEntries([0, 1, 2].map((index) => [`d${index}`, someSchema(by, 2, 2 - index, kind)]))
      const schema = typeof root === 'boolean' ? { $defs } : { ...(root as Schema), $defs }
      const options = { strict: false, logger: false } as const
      const ajv = kind === 'draft 7' ? new Ajv(options) : new Ajv2020(options)
      ajv.opts.unevaluated = kind === '2020-12 with unevaluatedProperties'
      const theirs = ajv.compile(schema)
      const ours = compile(schema, 'x')
      for (let turn = 0; turn < 25; turn++) {
        const value = someValue(by, 3, kind === '2020-12 with unevaluatedProperties' ? 0 : 1)
        const fits = theirs(value)
        answers[fits ? 'yes' : 'no']++
        const issues = ours(value)
        expect(issues.length === 0, JSON.stringify({ seed, schema, value, issues })).toBe(fits)
      }
    }
    expect(answers.yes).toBeGreaterThan(5 * schemas)
    expect(answers.no).toBeGreaterThan(5 * schemas)
  },
)
