import { toStandardJsonSchema } from '@valibot/to-json-schema'
import { type } from 'arktype'
import * as v from 'valibot'
import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { jsonSchema } from '../../worker/declarations/json-schema/index.ts'
import { issuesText, readSchema, type Schema } from '../../worker/declarations/schema.ts'
import type { JsonSchema } from '../../worker/protocol/types.ts'

const read = (schema: unknown, side: 'input' | 'output' = 'input') =>
  readSchema(schema as Schema, side, 'inputSchema of tool "x"', jsonSchema)

/** What a check says: the value, or the issues as one text. */
async function check(schema: unknown, value: unknown): Promise<unknown> {
  const checked = await read(schema).check(value)
  return 'value' in checked ? checked.value : issuesText(checked.issues)
}

describe('the same schema from every library', () => {
  const libraries: [string, Schema][] = [
    ['zod', z.object({ name: z.string().min(2), age: z.number().optional() })],
    [
      'valibot',
      toStandardJsonSchema(v.object({ name: v.pipe(v.string(), v.minLength(2)), age: v.optional(v.number()) })),
    ],
    ['arktype', type({ name: 'string >= 2', 'age?': 'number' })],
    [
      'JSON Schema',
      {
        type: 'object',
        properties: { name: { type: 'string', minLength: 2 }, age: { type: 'number' } },
        required: ['name'],
      },
    ],
  ]

  test.each(libraries)('%s is converted to JSON Schema', (_, schema) => {
    expect(read(schema).jsonSchema).toMatchObject({
      type: 'object',
      properties: { name: { type: 'string', minLength: 2 }, age: { type: 'number' } },
      required: ['name'],
    })
  })

  test.each(libraries)('%s accepts valid values', async (_, schema) => {
    expect(await check(schema, { name: 'Ada' })).toEqual({ name: 'Ada' })
    expect(await check(schema, { name: 'Ada', age: 36 })).toEqual({ name: 'Ada', age: 36 })
  })

  test.each(libraries)('%s reports issues with their paths', async (_, schema) => {
    expect(await check(schema, { name: 'A' })).toMatch(/^name: .+/)
    expect(await check(schema, { name: 'Ada', age: 'old' })).toMatch(/^age: .+/)
    expect(await check(schema, {})).toMatch(/name/)
    expect(await check(schema, { name: 1, age: 'old' })).toMatch(/^name: .+; age: .+/)
    expect(await check(schema, 'text')).toEqual(expect.any(String))
  })
})

describe('a Standard Schema', () => {
  const converted = z.object({ count: z.string().transform(Number), more: z.number().default(3) })

  test('gives its output to the handler', async () => {
    expect(await check(converted, { count: '5' })).toEqual({ count: 5, more: 3 })
  })

  test('is published as its input for arguments, and as its output for results', () => {
    const coded = z.object({ more: z.number().default(3) })
    expect(read(coded, 'input').jsonSchema).not.toHaveProperty('required')
    expect(read(coded, 'output').jsonSchema).toMatchObject({ required: ['more'] })
    expect(read(converted, 'input').jsonSchema).toMatchObject({ properties: { count: { type: 'string' } } })
  })

  test('can validate asynchronously', async () => {
    const schema = z.object({ name: z.string().refine(async (name) => name !== 'taken', 'is taken') })
    expect(await check(schema, { name: 'free' })).toEqual({ name: 'free' })
    expect(await check(schema, { name: 'taken' })).toBe('name: is taken')
  })

  test('can be recursive', async () => {
    const Node = z.object({
      value: z.string(),
      get next() {
        return Node.optional()
      },
    })
    expect(await check(Node, { value: 'a', next: { value: 'b' } })).toEqual({ value: 'a', next: { value: 'b' } })
    expect(await check(Node, { value: 'a', next: { value: 1 } })).toMatch(/^next\.value: /)
  })

  test('reports the index of an item', async () => {
    expect(await check(z.object({ list: z.array(z.number()) }), { list: [1, 'two'] })).toMatch(/^list\.1: /)
  })

  test('can report its path as objects with keys', async () => {
    const schema = {
      '~standard': {
        version: 1,
        vendor: 'test',
        validate: () => ({ issues: [{ message: 'no', path: [{ key: 'a' }, 0, { key: Symbol.for('b') }] }] }),
        jsonSchema: { input: () => ({ type: 'object' }), output: () => ({ type: 'object' }) },
      },
    }
    expect(await check(schema, {})).toBe('a.0.Symbol(b): no')
  })

  test('without JSON Schema conversion is an error that names libraries with it', () => {
    expect(() => read(v.object({ name: v.string() }))).toThrow(
      'The inputSchema of tool "x" cannot be converted to JSON Schema: use zod 4.2 or newer, arktype, or toStandardJsonSchema() of @valibot/to-json-schema',
    )
  })

  test.each<[string, Schema, 'input' | 'output', string, string]>([
    ['a date', z.object({ when: z.date() }), 'input', '"when" of the inputSchema', 'Date'],
    [
      'a date in a member',
      z.object({ a: z.string(), span: z.object({ to: z.date() }) }),
      'input',
      '"to" of the "span" of the inputSchema',
      'Date',
    ],
    ['a date in a list', z.object({ days: z.array(z.date()) }), 'input', '"days" of the inputSchema', 'Date'],
    ['a date itself', z.date(), 'input', 'inputSchema', 'Date'],
    ['a bigint', z.object({ many: z.bigint() }), 'input', '"many" of the inputSchema', 'BigInt'],
    ['the output of a transform', converted, 'output', '"count" of the inputSchema', 'Transforms'],
  ])('with %s has no JSON Schema, which is an error', (_, schema, side, place, what) => {
    expect(() => read(schema, side)).toThrow(
      `The ${place} of tool "x" has no JSON Schema form: ${what} cannot be represented in JSON Schema. Use what JSON has, such as z.iso.datetime()`,
    )
  })
})

describe('a JSON Schema', () => {
  const object = (properties: object, more: object = {}): JsonSchema => ({ type: 'object', properties, ...more })

  test('is published unchanged', () => {
    const schema = {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      $defs: { name: { $anchor: 'name', type: 'string' } },
      properties: { a: { $ref: '#name' } },
      allOf: [{ anyOf: [{ required: ['a'] }, { required: ['b'] }] }],
      if: { required: ['a'] },
      else: { required: ['b'] },
      additionalProperties: false,
    }
    expect(read(schema).jsonSchema).toEqual(schema)
  })

  test.each<[string, JsonSchema, unknown, RegExp]>([
    ['a type', object({ a: { type: 'string' } }), { a: 1 }, /^a: .+/],
    ['several types', object({ a: { type: ['string', 'null'] } }), { a: 1 }, /^a: .+/],
    ['an enum', object({ a: { enum: ['x', 'y'] } }), { a: 'z' }, /^a: .*"x".*"y"/],
    ['a constant', object({ a: { const: 5 } }), { a: 6 }, /^a: .*5/],
    ['a minimum', object({ a: { minimum: 3 } }), { a: 1 }, /^a: .*3/],
    ['a length', object({ a: { minLength: 2 } }), { a: 'x' }, /^a: .*2/],
    ['a pattern', object({ a: { pattern: '^x' } }), { a: 'y' }, /^a: .+/],
    ['a required member', object({}, { required: ['needed'] }), {}, /needed/],
    ['a format', object({ a: { format: 'email' } }), { a: 'x' }, /^a: .*email/],
    ['items', object({ a: { type: 'array', items: { type: 'integer' } } }), { a: [1, 'b'] }, /^a\.1: .+/],
    ['a nested member', object({ a: object({ b: { type: 'string' } }) }), { a: { b: 1 } }, /^a\.b: .+/],
    ['not', object({ a: { not: { type: 'string' } } }), { a: 'x' }, /^a: .+/],
    ['alternatives', object({ a: { anyOf: [{ type: 'string' }, { type: 'number' }] } }), { a: true }, /^a: .+/],
    ['one of several', object({ a: { oneOf: [{ type: 'string' }, { minLength: 1 }] } }), { a: 'x' }, /a: .+/],
    ['$ref', object({ a: { $ref: '#/$defs/s' } }, { $defs: { s: { type: 'string' } } }), { a: 1 }, /^a: .+/],
    ['$anchor', object({ a: { $ref: '#s' } }, { $defs: { s: { $anchor: 's', type: 'string' } } }), { a: 1 }, /^a: .+/],
    ['itself', object({ a: { $ref: '#' } }), { a: { a: 1 } }, /^a\.a: .+/],
    ['if and else', object({}, { if: { required: ['a'] }, else: { required: ['other'] } }), {}, /other/],
    ['names that need escapes', object({ 'a/b~c': { type: 'string' } }), { 'a/b~c': 1 }, /^a\/b~c: .+/],
    ['names in other scripts', object({ 日: { type: 'string' } }), { 日: 1 }, /^日: .+/],
    ['names that every object has', object({ a: {} }, { required: ['toString'] }), { a: 1 }, /toString/],
    ['the whole value', object({}), 5, /object/],
  ])('validates %s', async (_, schema, value, issues) => {
    expect(await check(schema, value)).toMatch(issues)
  })

  test('reports an additional property once, by its name', async () => {
    const found = await read(object({ a: {} }, { additionalProperties: false })).check({ a: 1, b: 2 })
    expect('issues' in found && found.issues.map(({ path }) => path)).toEqual(['b'])
    expect('issues' in found && found.issues[0]?.message).not.toMatch(/boolean schema/)
  })

  test('returns the value unchanged', async () => {
    const value = { a: 1, more: [] }
    expect(await check(object({ a: { type: 'integer', default: 4 } }), value)).toBe(value)
  })

  test('ignores unknown formats', async () => {
    expect(await check(object({ a: { format: 'made-up' } }), { a: 'x' })).toEqual({ a: 'x' })
  })

  test.each([
    ['2020-12', 'https://json-schema.org/draft/2020-12/schema'],
    ['2020-12 with #', 'https://json-schema.org/draft/2020-12/schema#'],
    ['2019-09', 'https://json-schema.org/draft/2019-09/schema'],
    ['07', 'http://json-schema.org/draft-07/schema#'],
    ['07 without #', 'http://json-schema.org/draft-07/schema'],
  ])('can have the dialect %s', async (_, $schema) => {
    const schema = { $schema, ...object({ a: { type: 'string' } }) }
    expect(await check(schema, { a: 'x' })).toEqual({ a: 'x' })
    expect(await check(schema, { a: 1 })).toMatch(/^a: /)
  })

  test('of draft 07 is validated by the rules of draft 07', async () => {
    const tuple = {
      $schema: 'http://json-schema.org/draft-07/schema#',
      ...object({ a: { items: [{ type: 'string' }] } }),
    }
    expect(await check(tuple, { a: [1] })).toMatch(/^a\.0: /)
  })

  test.each([['http://json-schema.org/draft-06/schema#'], ['https://example.com/mine'], [''], [5], ['constructor']])(
    'of dialect %j is an error that names a supported dialect',
    ($schema) => {
      expect(() => read({ $schema, type: 'object' })).toThrow(
        `The inputSchema of tool "x" uses the JSON Schema dialect ${$schema}: use 2020-12`,
      )
    },
  )

  test.each([['text'], [[]], [5], [true], [null], [() => {}]])('cannot be %j', (schema) => {
    expect(() => read(schema)).toThrow('The inputSchema of tool "x" must be a Standard Schema or a JSON Schema object')
  })
})

describe('references', () => {
  const referring = (reference: object, more: object = {}) => ({
    type: 'object',
    properties: { a: reference },
    ...more,
  })

  test.each([
    [{ $ref: 'https://example.com/x.json' }],
    [{ $ref: 'x.json#/$defs/y' }],
    [{ items: { anyOf: [{ $ref: 'https://example.com/x.json' }] } }],
  ])('to another document are an error that names the fix: %j', (reference) => {
    expect(() => read(referring(reference))).toThrow(
      /^The inputSchema of tool "x" refers to .*x\.json.*: put that schema under \$defs and refer to it there$/,
    )
  })

  test('to a schema with an $id in the same document are resolved', async () => {
    const schema = referring(
      { $ref: 'https://example.com/s' },
      { $id: 'https://example.com/a', $defs: { s: { $id: 'https://example.com/s', type: 'string' } } },
    )
    expect(await check(schema, { a: 'x' })).toEqual({ a: 'x' })
    expect(await check(schema, { a: 1 })).toMatch(/^a: /)
  })

  test.each([['#/$defs/none'], ['#none'], ['#/properties/b'], ['#/$defs/s/properties/none']])(
    'without a target are an error at once: %s',
    ($ref) => {
      expect(() => read(referring({ $ref }, { $defs: { s: { type: 'string' } } }))).toThrow(
        /^The inputSchema of tool "x" refers to #.+/,
      )
    },
  )

  test('in values and property names are ignored', async () => {
    const schema = {
      type: 'object',
      properties: {
        $ref: { type: 'string' },
        a: { const: { $ref: 'x' }, default: { $ref: 'x' }, examples: [{ $ref: 'x' }] },
      },
    }
    expect(await check(schema, { $ref: 'y', a: { $ref: 'x' } })).toEqual({ $ref: 'y', a: { $ref: 'x' } })
  })

  test('can be dynamic', async () => {
    const schema = referring({ $dynamicRef: '#m' }, { $dynamicAnchor: 'm' })
    expect(await check(schema, { a: {} })).toEqual({ a: {} })
    expect(await check(schema, { a: 1 })).toMatch(/^a: .+/)
    expect(() => read(referring({ $dynamicRef: 'https://example.com/x.json#m' }))).toThrow(/x\.json#m/)
  })
})

describe('an invalid JSON Schema', () => {
  test.each([
    ['an invalid pattern', { type: 'string', pattern: '(' }],
    ['an unknown type', { type: 'strng' }],
  ])('is an error at once: %s', (_, property) => {
    expect(() => read({ type: 'object', properties: { a: property } })).toThrow(/^The inputSchema of tool "x" .+/)
  })
})

test('issues are joined to one text', () => {
  expect(issuesText([])).toBe('')
  expect(
    issuesText([
      { path: '', message: 'no' },
      { path: 'a.0', message: 'never' },
    ]),
  ).toBe('no; a.0: never')
})

describe('issues of a value with many errors', () => {
  const schema = z.object({ tags: z.array(z.string()) })

  test('are limited to 20', async () => {
    const text = await check(schema, { tags: Array.from({ length: 10_000 }, () => 1) })
    expect(String(text).split('; ')).toHaveLength(20)
    expect(text).toContain('tags.19: ')
  })

  test.each(['', 'a'])('are well-formed texts: %s', async (start) => {
    const text = String(await check(z.strictObject({}), { [start + '\u{1f600}'.repeat(5_000)]: 1 }))
    expect(text.length).toBe(501)
    expect(text.isWellFormed()).toBe(true)
  })

  test('are limited to 500 characters each', async () => {
    expect(await check(z.strictObject({}), { ['x'.repeat(10_000)]: 1 })).toMatch(/^.{500}…$/)
  })

  test('repeat at most 500 characters of a name in their paths', async () => {
    const schema = z.record(z.string(), z.array(z.string()))
    const checked = await readSchema(schema, 'input', 'schema').check({ ['k'.repeat(1_000_000)]: [1] })
    expect('issues' in checked && checked.issues.map(({ path }) => path)).toEqual([`${'k'.repeat(500)}….0`])
  })

  test('are one issue when the library runs out of stack', async () => {
    const recurse = (): never => recurse()
    const endless = { '~standard': { ...schema['~standard'], validate: () => recurse() } }
    expect(await check(endless, {})).toBe('The value has too many issues or is too deep to validate')
  })
})
