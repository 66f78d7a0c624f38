import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, test, vi } from 'vitest'
import { compile } from '../../worker/declarations/json-schema/compile.ts'
import { type Format, formats } from '../../worker/declarations/json-schema/formats.ts'
import { issuesText } from '../../worker/declarations/schema.ts'

type Schema = Record<string, unknown>

const issues = (schema: Schema, value: unknown) => issuesText(compile(schema, 'inputSchema of tool "x"')(value))

/** For literals with a property called __proto__ or then. */
const parsed = (text: string) => JSON.parse(text)

describe('a keyword', () => {
  test.each<[name: string, schema: Schema, fits: unknown[], misses: [value: unknown, text: string][]]>([
    ['no keyword', {}, [null, 0, '', [], {}], []],
    ['an unknown keyword', { made: 'up', toString: 1 }, [null, 0, '', [], {}], []],

    [
      'type string',
      { type: 'string' },
      ['', 'a'],
      [
        [1, 'must be a string'],
        [null, 'must be a string'],
      ],
    ],
    ['type number', { type: 'number' }, [0, -1.5], [['1', 'must be a number']]],
    ['type number', { type: 'number' }, [], [[Number.NaN, 'must be a number']]],
    ['type integer', { type: 'integer' }, [0, 1.0, -3, 1e20], [[1.5, 'must be an integer']]],
    ['type boolean', { type: 'boolean' }, [true, false], [[0, 'must be true or false']]],
    [
      'type null',
      { type: 'null' },
      [null],
      [
        [0, 'must be null'],
        [undefined, 'must be null'],
      ],
    ],
    [
      'maxLength in characters',
      { maxLength: 4, minLength: 4 },
      ['abcd', '\u{1f600}bc\u{1f600}', 'a\ud800\udc00b\udc00'],
      [['\u{1f600}\u{1f600}', 'must have 4 or more characters']],
    ],
    ['type array', { type: 'array' }, [[], [1]], [[{ length: 0 }, 'must be an array']]],
    [
      'type object',
      { type: 'object' },
      [{}, { a: 1 }],
      [
        [[], 'must be an object'],
        [null, 'must be an object'],
      ],
    ],
    ['several types', { type: ['string', 'null'] }, ['', null], [[1, 'must be a string or null']]],

    [
      'const',
      { const: 'a' },
      ['a'],
      [
        ['b', 'must be "a"'],
        [null, 'must be "a"'],
      ],
    ],
    [
      'const zero',
      { const: 0 },
      [0, -0],
      [
        ['0', 'must be 0'],
        [false, 'must be 0'],
      ],
    ],
    ['const null', { const: null }, [null], [[0, 'must be null']]],
    [
      'const object',
      { const: { a: [1, { b: 2 }], c: 3 } },
      [{ c: 3, a: [1, { b: 2 }] }],
      [[{ a: [1, { b: 2 }] }, 'must be {"a":[1,{"b":2}],"c":3}']],
    ],
    ['const that looks like a text', { const: '{"a":1}' }, ['{"a":1}'], [[{ a: 1 }, 'must be "{\\"a\\":1}"']]],
    [
      'const list',
      { const: [1, 2] },
      [[1, 2]],
      [
        [[2, 1], 'must be [1,2]'],
        ['1,2', 'must be [1,2]'],
      ],
    ],
    [
      'const with __proto__',
      parsed('{ "const": { "__proto__": 1 } }'),
      [parsed('{ "__proto__": 1 }')],
      [[{}, 'must be {"__proto__":1}']],
    ],
    ['enum', { enum: ['a', 'b'] }, ['a', 'b'], [['c', 'must be one of "a", "b"']]],
    [
      'enum of anything',
      { enum: [1, null, [1], { a: 1 }] },
      [1, null, [1], { a: 1 }],
      [['1', 'must be one of 1, null, [1], {"a":1}']],
    ],
    ['enum and type', { type: 'string', enum: ['a'] }, ['a'], [[1, 'must be "a"']]],

    ['minimum', { minimum: 2 }, [2, 2.5, 'a', null], [[1.9, 'must be at least 2']]],
    ['maximum', { maximum: 2 }, [2, -5, 'abc'], [[2.1, 'must be at most 2']]],
    ['exclusiveMinimum', { exclusiveMinimum: 2 }, [2.1], [[2, 'must be more than 2']]],
    ['exclusiveMaximum', { exclusiveMaximum: 2 }, [1.9], [[2, 'must be less than 2']]],
    ['multipleOf', { multipleOf: 3 }, [0, 3, -9, '4'], [[4, 'must be a multiple of 3']]],
    [
      'multipleOf a fraction',
      { multipleOf: 0.01 },
      [0.07, 4.35, 19.99, 1.1, 3, 0],
      [[0.075, 'must be a multiple of 0.01']],
    ],
    ['multipleOf a small fraction', { multipleOf: 0.0001 }, [0.0075], [[0.00751, 'must be a multiple of 0.0001']]],
    ['multipleOf for large numbers', { multipleOf: 2 }, [2 ** 53], [[2 ** 53 - 1, 'must be a multiple of 2']]],
    [
      'multipleOf for numbers that are too large',
      { multipleOf: 0.123456789 },
      [],
      [[1e308, 'must be a multiple of 0.123456789']],
    ],

    ['minLength', { minLength: 2 }, ['ab', '😊a', 5], [['a', 'must have 2 or more characters']]],
    ['minLength counts characters', { minLength: 2 }, [], [['😊', 'must have 2 or more characters']]],
    ['maxLength', { maxLength: 1 }, ['', '😊', []], [['ab', 'must have 1 or fewer characters']]],
    ['pattern', { pattern: '^a+$' }, ['aa', 5], [['b', 'must match the pattern ^a+$']]],
    ['pattern anywhere', { pattern: 'a' }, ['bab'], [['b', 'must match the pattern a']]],
    ['pattern with properties', { pattern: '^\\p{L}$' }, ['é', '日'], [['1', 'must match the pattern ^\\p{L}$']]],
    ['pattern of characters', { pattern: '^.$' }, ['😊'], [['ab', 'must match the pattern ^.$']]],
    ['pattern with needless escapes', { pattern: '^\\-\\_$' }, ['-_'], [['-', 'must match the pattern ^\\-\\_$']]],

    ['minItems', { minItems: 1 }, [[0], 'a', {}], [[[], 'must have 1 or more items']]],
    ['maxItems', { maxItems: 1 }, [[], [0]], [[[0, 1], 'must have 1 or fewer items']]],
    [
      'uniqueItems',
      { uniqueItems: true },
      [[], [1, '1', true, null], [{ a: 1 }, { a: 2 }], ['{"a":1}', { a: 1 }]],
      [
        [[1, 1], 'must not contain the same item twice'],
        [
          [
            { a: 1, b: 2 },
            { b: 2, a: 1 },
          ],
          'must not contain the same item twice',
        ],
        [[[1], [1]], 'must not contain the same item twice'],
      ],
    ],
    ['uniqueItems false', { uniqueItems: false }, [[1, 1]], []],
    ['uniqueItems of numbers', { uniqueItems: true }, [[null, [null], [Number.POSITIVE_INFINITY], 1, '1']], []],
    ['items', { items: { type: 'string' } }, [[], ['a'], 'a'], [[['a', 1], '1: must be a string']]],
    ['items false', { items: false }, [[]], [[[1], '0: is not allowed']]],
    [
      'prefixItems',
      { prefixItems: [{ type: 'string' }, true] },
      [[], ['a'], ['a', 1, 2]],
      [[[1], '0: must be a string']],
    ],
    [
      'items after prefixItems',
      { prefixItems: [true], items: { type: 'string' } },
      [[1], [1, 'a']],
      [[[1, 2], '1: must be a string']],
    ],
    [
      'contains',
      { contains: { type: 'string' } },
      [[1, 'a'], 'a'],
      [
        [[1], 'must have 1 or more items that match {"type":"string"}'],
        [[], 'must have 1 or more items that match {"type":"string"}'],
      ],
    ],
    [
      'minContains',
      { contains: { const: 1 }, minContains: 2 },
      [[1, 1, 2]],
      [[[1, 2], 'must have 2 or more items that match {"const":1}']],
    ],
    ['minContains zero', { contains: { const: 1 }, minContains: 0 }, [[]], []],
    [
      'maxContains',
      { contains: { const: 1 }, maxContains: 2 },
      [[1], [1, 1]],
      [[[1, 1, 1], 'must have 1 to 2 items that match {"const":1}']],
    ],
    [
      'unevaluatedItems',
      { prefixItems: [true], anyOf: [{ prefixItems: [true, { const: 2 }] }, true], unevaluatedItems: false },
      [[1], [1, 2]],
      [
        [[1, 3], '1: is not allowed'],
        [[1, 2, 3], '2: is not allowed'],
      ],
    ],
    [
      'unevaluatedItems beside contains',
      { contains: { type: 'string' }, unevaluatedItems: { type: 'number' } },
      [['a', 1]],
      [[['a', null], '1: must be a number']],
    ],

    ['minProperties', { minProperties: 1 }, [{ a: 1 }, []], [[{}, 'must have 1 or more properties']]],
    ['maxProperties', { maxProperties: 1 }, [{}, 'ab'], [[{ a: 1, b: 2 }, 'must have 1 or fewer properties']]],
    [
      'required',
      { required: ['a', 'b'] },
      [{ a: 0, b: null }, [], 'a'],
      [
        [{ a: 1 }, 'b: is required'],
        [{}, 'a: is required; b: is required'],
      ],
    ],
    [
      'required, with the name of an inherited member',
      parsed('{ "required": ["toString", "__proto__", "constructor"] }'),
      [parsed('{ "toString": 1, "__proto__": 1, "constructor": 1 }')],
      [[{}, 'toString: is required; __proto__: is required; constructor: is required']],
    ],
    ['required, with an undefined member', { required: ['a'] }, [], [[{ a: undefined }, 'a: is required']]],
    [
      'properties',
      { properties: { a: { type: 'string' }, b: false } },
      [{}, { a: 'x', c: 1 }, { b: undefined }, [1]],
      [
        [{ a: 1 }, 'a: must be a string'],
        [{ b: 1 }, 'b: is not allowed'],
      ],
    ],
    [
      'properties that every object has',
      parsed('{ "properties": { "__proto__": { "type": "string" }, "toString": { "type": "string" } } }'),
      [{}, parsed('{ "__proto__": "a" }')],
      [[parsed('{ "__proto__": 1, "toString": 2 }'), '__proto__: must be a string; toString: must be a string']],
    ],
    ['properties without a name', { properties: { '': false } }, [{ a: 1 }], [[{ '': 1 }, 'is not allowed']]],
    [
      'properties within properties',
      { properties: { a: { properties: { b: { items: { required: ['c'] } } } } } },
      [{ a: { b: [{ c: 1 }] } }],
      [[{ a: { b: [{ c: 1 }, {}] } }, 'a.b.1.c: is required']],
    ],
    [
      'patternProperties',
      { patternProperties: { '^n': { type: 'number' }, s$: { type: 'string' } } },
      [{ n: 1, s: 'a', x: null }],
      [
        [{ n: 'a' }, 'n: must be a number'],
        [{ ns: null }, 'ns: must be a number; ns: must be a string'],
      ],
    ],
    [
      'additionalProperties',
      { properties: { a: true }, patternProperties: { '^x-': true }, additionalProperties: { type: 'string' } },
      [{ a: 1, 'x-b': 2, c: 'd' }],
      [[{ c: 1 }, 'c: must be a string']],
    ],
    [
      'additionalProperties false',
      { properties: { a: true }, additionalProperties: false },
      [{ a: 1 }, {}, { b: undefined }],
      [
        [{ a: 1, b: 2 }, 'b: is not allowed'],
        [parsed('{ "__proto__": 1 }'), '__proto__: is not allowed'],
      ],
    ],
    ['additionalProperties, not of a list', { additionalProperties: false }, [[1], 'a'], []],
    [
      'propertyNames',
      { propertyNames: { pattern: '^[a-z]+$' } },
      [{ abc: 1 }],
      [[{ 'a b': 1 }, 'a b: its name must match the pattern ^[a-z]+$']],
    ],
    [
      'dependentRequired',
      { dependentRequired: { a: ['b', 'c'] } },
      [{}, { b: 1 }, { a: 1, b: 1, c: 1 }],
      [[{ a: 1, b: 1 }, 'c: is required']],
    ],
    ['dependentRequired, with the name of an inherited member', { dependentRequired: { toString: ['b'] } }, [{}], []],
    [
      'dependentSchemas',
      { dependentSchemas: { a: { properties: { b: { type: 'string' } } } } },
      [{ b: 1 }, { a: 1, b: 'x' }],
      [[{ a: 1, b: 1 }, 'b: must be a string']],
    ],
    [
      'unevaluatedProperties',
      parsed(`{
        "properties": { "a": true },
        "allOf": [{ "properties": { "b": true } }],
        "if": { "properties": { "a": { "const": 1 } }, "required": ["a"] },
        "then": { "properties": { "c": true } },
        "unevaluatedProperties": false
      }`),
      [
        { a: 2, b: 1 },
        { a: 1, c: 3 },
      ],
      [
        [{ a: 2, c: 3 }, 'c: is not allowed'],
        [{ d: 1 }, 'd: is not allowed'],
      ],
    ],
    [
      'unevaluatedProperties, beside patterns',
      { anyOf: [{ patternProperties: { '^a': { type: 'string' } } }, true], unevaluatedProperties: false },
      [{ a: 'x', ab: 'y' }],
      [[{ a: 1 }, 'a: is not allowed']],
    ],
    [
      'unevaluatedProperties, beside a sibling schema in allOf',
      { allOf: [{ properties: { a: true } }, { unevaluatedProperties: false }] },
      [{}],
      [[{ a: 1 }, 'a: is not allowed']],
    ],
    [
      'unevaluatedProperties, through a reference',
      { $defs: { a: { properties: { a: true } } }, $ref: '#/$defs/a', unevaluatedProperties: { type: 'number' } },
      [{ a: 'x', b: 1 }],
      [[{ b: 'x' }, 'b: must be a number']],
    ],
    [
      'unevaluatedProperties, when an alternative failed',
      {
        anyOf: [{ properties: { a: true, z: true }, required: ['z'] }, { properties: { b: true } }],
        unevaluatedProperties: false,
      },
      [{ b: 1 }, { a: 1, b: 1, z: 1 }],
      [[{ a: 1 }, 'a: is not allowed']],
    ],

    ['allOf', { allOf: [{ minimum: 1 }, { maximum: 2 }] }, [1, 2], [[3, 'must be at most 2']]],
    [
      'anyOf',
      { anyOf: [{ type: 'string' }, { type: 'null' }] },
      ['a', null],
      [[1, 'must be a string, or must be null']],
    ],
    [
      'anyOf, when it is clear which was meant',
      { anyOf: [{ type: 'null' }, { type: 'object', properties: { a: { type: 'string' } }, required: ['b'] }] },
      [null, { b: 1 }],
      [[{ a: 1 }, 'b: is required; a: must be a string']],
    ],
    [
      'anyOf, when it is not clear',
      { anyOf: [{ required: ['a'] }, { required: ['b'] }, { required: ['a'] }] },
      [{ a: 1 }, { b: 1 }],
      [[{}, 'a: is required, or b: is required']],
    ],
    [
      'oneOf',
      { oneOf: [{ multipleOf: 2 }, { multipleOf: 3 }] },
      [2, 3],
      [
        [6, 'must match exactly one alternative'],
        [5, 'must be a multiple of 2, or must be a multiple of 3'],
      ],
    ],
    [
      'oneOf titled constants',
      {
        oneOf: [
          { const: 'a', title: 'A' },
          { const: 'b', title: 'B' },
        ],
      },
      ['a', 'b'],
      [['c', 'must be "a", or must be "b"']],
    ],
    ['not', { not: { type: 'string' } }, [1], [['a', 'must not match {"type":"string"}']]],
    [
      'if, then and else',
      parsed('{ "if": { "type": "string" }, "then": { "minLength": 2 }, "else": { "type": "number" } }'),
      ['ab', 1],
      [
        ['a', 'must have 2 or more characters'],
        [null, 'must be a number'],
      ],
    ],
    ['then and else without if', parsed('{ "then": false, "else": false }'), [1], []],

    ['format', { format: 'date' }, ['2026-07-28', 5], [['2026-19-39', 'must be a valid date, such as 1999-12-31']]],
    ['an unknown format', { format: 'toString' }, ['', 'x'], []],
  ])('%s: %j', (_, schema, fits, misses) => {
    for (const value of fits) expect(issues(schema, value)).toBe('')
    for (const [value, text] of misses) expect(issues(schema, value)).toBe(text)
  })
})

describe('a reference', () => {
  const text = { type: 'string' }

  test.each<[to: string, schema: Schema]>([
    ['a definition', { $defs: { a: text }, $ref: '#/$defs/a' }],
    ['a definition of draft 7', { definitions: { a: text }, $ref: '#/definitions/a' }],
    ['a name with a slash', { $defs: { 'a/b': text }, $ref: '#/$defs/a~1b' }],
    ['a name with a tilde', { $defs: { 'a~1b': text }, $ref: '#/$defs/a~01b' }],
    ['a name with a percent sign', { $defs: { 'a%b': text }, $ref: '#/$defs/a%25b' }],
    ['a name with a quote', { $defs: { 'a"b': text }, $ref: '#/$defs/a%22b' }],
    ['a name that every object has', parsed('{"$defs":{"__proto__":{"type":"string"}},"$ref":"#/$defs/__proto__"}')],
    ['an empty name', { $defs: { '': text }, $ref: '#/$defs/' }],
    ['one of a list', { anyOf: [{}, text], $ref: '#/anyOf/1' }],
    ['a schema under an unknown keyword', { components: { a: text }, $ref: '#/components/a' }],
    ['another reference', { $defs: { a: { $ref: '#/$defs/b' }, b: text }, $ref: '#/$defs/a' }],
    ['an anchor', { $defs: { a: { $anchor: 'x', ...text } }, $ref: '#x' }],
    ['an anchor of draft 7', { definitions: { a: { $id: '#x', ...text } }, $ref: '#x' }],
    ['an $id', { $defs: { a: { $id: 'https://example.com/a', ...text } }, $ref: 'https://example.com/a' }],
    ['an $id without a host', { $defs: { a: { $id: 'a.json', ...text } }, $ref: 'a.json' }],
    ['an $id with an empty fragment', { $defs: { a: { $id: 'urn:x:a', ...text } }, $ref: 'urn:x:a#' }],
    [
      'an $id relative to another',
      { $id: 'https://example.com/x/y', $defs: { a: { $id: '../a', ...text } }, $ref: 'https://example.com/a' },
    ],
    ['a place in another resource', { $defs: { a: { $id: 'a.json', $defs: { b: text } } }, $ref: 'a.json#/$defs/b' }],
    [
      'an anchor in another resource',
      { $defs: { a: { $id: 'a.json', $defs: { b: { $anchor: 'b', ...text } } } }, $ref: 'a.json#b' },
    ],
    [
      'its own resource',
      { type: 'string', $defs: { a: { $id: 'a.json', $ref: '#/$defs/b', $defs: { b: true } } }, $ref: 'a.json' },
    ],
    [
      'a branch that does not apply',
      parsed('{ "then": { "$id": "a", "type": "string" }, "allOf": [{ "$ref": "a" }] }'),
    ],
    ['true', { $defs: { a: text, b: true }, allOf: [{ $ref: '#/$defs/b' }, { $ref: '#/$defs/a' }] }],
  ])('leads to %s', (_, schema) => {
    expect(issues(schema, 'a')).toBe('')
    expect(issues(schema, 1)).toBe('must be a string')
  })

  test('applies together with the keywords beside it', () => {
    const schema = { $defs: { a: { minimum: 1 } }, $ref: '#/$defs/a', maximum: 2 }
    expect([0, 1, 2, 3].map((value) => issues(schema, value))).toEqual([
      'must be at least 1',
      '',
      '',
      'must be at most 2',
    ])
  })

  test('can be recursive', () => {
    const tree = {
      type: 'object',
      properties: { name: { type: 'string' }, children: { type: 'array', items: { $ref: '#' } } },
      required: ['name'],
    }
    expect(issues(tree, { name: 'a', children: [{ name: 'b', children: [{ name: 'c' }] }] })).toBe('')
    expect(issues(tree, { name: 'a', children: [{ name: 'b', children: [{}] }] })).toBe(
      'children.0.children.0.name: is required',
    )
  })

  test('can be a $dynamicRef: the outermost schema with the $dynamicAnchor applies', () => {
    const tree = { $id: 'tree', $dynamicAnchor: 'node', properties: { child: { $dynamicRef: '#node' } } }
    const strict = { $id: 'strict', $dynamicAnchor: 'node', $ref: 'tree', unevaluatedProperties: false }
    const value = { child: { child: { more: 1 } } }
    expect(issues({ $defs: { tree, strict }, $ref: 'strict' }, value)).toBe('child.child.more: is not allowed')
    expect(issues({ $defs: { tree, strict }, $ref: 'tree' }, value)).toBe('')
  })

  test('can be a $recursiveRef of draft 2019-09', () => {
    const tree = { $id: 'tree', $recursiveAnchor: true, properties: { child: { $recursiveRef: '#' } } }
    const strict = { $id: 'strict', $recursiveAnchor: true, $ref: 'tree', unevaluatedProperties: false }
    const value = { child: { child: { more: 1 } } }
    expect(issues({ $defs: { tree, strict }, $ref: 'strict' }, value)).toBe('child.child.more: is not allowed')
    expect(issues({ $defs: { tree, strict }, $ref: 'tree' }, value)).toBe('')
  })

  test.each([
    { $ref: '#' },
    { allOf: [{ $ref: '#' }] },
    { $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/b' }, b: { anyOf: [{ $ref: '#/$defs/a' }] } } },
    { unevaluatedProperties: false, oneOf: [{ $ref: '#' }] },
    { $dynamicAnchor: 'a', $dynamicRef: '#a' },
  ])('that refers to itself without a smaller value is reported: %j', (schema) => {
    for (const value of [{ a: 1 }, [1], 'a', null]) {
      expect(issues(schema, value)).toBe('cannot be validated, because its schema is circular')
    }
  })

  test('that refers to itself without a smaller value does not affect other alternatives', () => {
    const schema = { anyOf: [{ $ref: '#' }, { type: 'string' }] }
    expect(issues(schema, 'a')).toBe('')
    expect(issues(schema, 1)).toMatch(/must be a string$/)
  })

  test.each([
    '#/$defs/none',
    '#none',
    '#/$defs/a/type',
    '#/$defs/constructor',
    '#/$defs/a%',
    '#/toString',
    'none.json',
    'https://example.com/none.json#/a',
    'http://[',
  ])('without a target is refused: %s', ($ref) => {
    expect(() => compile({ $defs: { a: { type: 'string' }, b: { $ref } } }, 'inputSchema of tool "x"')).toThrow(
      `The inputSchema of tool "x" refers to ${$ref}, which is not in it: put that schema under $defs and refer to it there`,
    )
  })
})

describe('keywords of older drafts', () => {
  test.each<[string, Schema, fits: unknown[], misses: [value: unknown, text: string][]]>([
    ['a list of items', { items: [{ type: 'string' }, true] }, [[], ['a', 1, 2]], [[[1], '0: must be a string']]],
    [
      'additional items',
      { items: [true], additionalItems: { type: 'string' } },
      [[1], [1, 'a']],
      [[[1, 2], '1: must be a string']],
    ],
    ['additional items without a list', { items: {}, additionalItems: false }, [[1, 2]], []],
    [
      'dependencies',
      { dependencies: { a: ['b'], c: { properties: { d: { type: 'string' } } } } },
      [{ b: 1 }, { a: 1, b: 1 }, { c: 1, d: 'x' }],
      [
        [{ a: 1 }, 'b: is required'],
        [{ c: 1, d: 1 }, 'd: must be a string'],
      ],
    ],
  ])('%s', (_, schema, fits, misses) => {
    for (const value of fits) expect(issues(schema, value)).toBe('')
    for (const [value, text] of misses) expect(issues(schema, value)).toBe(text)
  })
})

describe('a schema with an invalid value is refused:', () => {
  const types = 'one of string, number, integer, boolean, object, array and null'
  const schema = 'a schema (an object, true or false)'
  const slow =
    'a pattern that takes little time: with lookaround or a backreference, "^" at its start and at most one "*", "+" or "{n,}"'
  test.each<[keyword: string, parameter: unknown, expected: string, found?: unknown]>([
    ['type', 'strng', types],
    ['type', 'toString', types],
    ['type', ['string', 1], types, 1],
    ['enum', 'a', 'an array'],
    ['enum', {}, 'an array'],
    ['minimum', '1', 'a number'],
    ['exclusiveMinimum', true, 'a number'],
    ['multipleOf', 0, 'a number above 0'],
    ['maxLength', null, 'a whole number of 0 or more'],
    ['minLength', -1, 'a whole number of 0 or more'],
    ['maxItems', 1.5, 'a whole number of 0 or more'],
    ['pattern', '(', 'a regular expression'],
    ['pattern', 1, 'a string'],
    ['pattern', '(?!a).*b.*', slow],
    ['pattern', '^(a+|\\w)*\\1$', slow],
    ['pattern', '^(a{1,200}b?){20}$', 'a pattern with fewer or shorter repetitions'],
    ['pattern', 'a{5000}b', 'a pattern with fewer or shorter repetitions'],
    ['format', 1, 'a string'],
    ['minContains', 'x', 'a whole number of 0 or more'],
    ['uniqueItems', 'yes', 'true or false'],
    ['items', 1, schema],
    ['prefixItems', { a: {} }, 'an array'],
    ['contains', null, schema],
    ['required', true, 'an array'],
    ['required', ['a', 1], 'a string', 1],
    ['properties', ['a'], 'an object'],
    ['properties', { a: 'string' }, schema, 'string'],
    ['patternProperties', { '(': {} }, 'a regular expression', '('],
    ['additionalProperties', 'no', schema],
    ['dependentSchemas', { a: 1 }, schema, 1],
    ['dependentRequired', { a: [1] }, 'a string', 1],
    ['anyOf', [], 'an array with a schema'],
    ['allOf', {}, 'an array'],
    ['not', 0, schema],
    ['if', [], schema],
    ['$ref', 1, 'a string'],
    ['$defs', { a: null }, schema, null],
  ])('%s %j', (keyword, parameter, expected, found = parameter) => {
    const messageAt = (place: string) =>
      `The inputSchema of tool "x" is not a valid JSON Schema: expected ${expected} at ${place}/${keyword}, found ${JSON.stringify(found)}`
    expect(() => compile({ [keyword]: parameter }, 'inputSchema of tool "x"')).toThrow(messageAt('#'))
    const nested = { properties: { 'a/b': { items: { [keyword]: parameter } } } }
    expect(() => compile(nested, 'inputSchema of tool "x"')).toThrow(messageAt('#/properties/a~1b/items'))
  })

  test('an $id that is not a URI', () => {
    expect(() => compile({ $id: 'http://[' }, 'inputSchema of tool "x"')).toThrow(
      'The inputSchema of tool "x" has an $id that is no URI',
    )
  })

  test('unless the value is in const, default, enum or examples', () => {
    const value = { type: 'strng', $ref: '#/none', pattern: '(' }
    const schema = { const: value, default: value, examples: [value], enum: [value], title: undefined }
    expect(issues(schema, value)).toBe('')
  })
})

test('a value that is too large is not read', () => {
  expect(issues({ maxLength: 2, pattern: '^b' }, 'aaa')).toBe('must have 2 or fewer characters')
  expect(issues({ maxItems: 1, items: { type: 'string' }, uniqueItems: true }, [1, 1])).toBe(
    'must have 1 or fewer items',
  )
  expect(issues({ maxProperties: 1, required: ['c'], additionalProperties: false }, { a: 1, b: 2 })).toBe(
    'must have 1 or fewer properties',
  )
})

test('a value that was checked can be collected', async () => {
  setFlagsFromString('--expose-gc')
  const collect: () => void = runInNewContext('gc')
  const schemas = [{ uniqueItems: true }, { items: { $ref: '#/$defs/any' }, $defs: { any: { type: 'object' } } }]
  const checks = schemas.map((schema) => compile(schema, ''))
  const values = checks.map((check) => {
    const item = { a: 1 }
    expect(check([item])).toEqual([])
    return new WeakRef(item)
  })
  await new Promise((resolve) => setTimeout(resolve))
  collect()
  expect(values.map((value) => value.deref())).toEqual([undefined, undefined])
})

describe('validation in linear time', () => {
  // Each of these would take minutes or hours if the time it takes grew faster than the value.
  test('of alternatives in a recursive schema', () => {
    const group = (kind: string) => ({
      type: 'object',
      properties: { kind: { const: kind }, left: { $ref: '#' }, right: { $ref: '#' } },
      required: ['kind', 'left'],
    })
    const schema = { anyOf: [group('and'), group('or'), group('nor'), { type: 'string' }] }
    const nested = (leaf: unknown) => {
      let value = leaf
      for (let depth = 0; depth < 100; depth++) value = { kind: 'or', left: value, right: 'a' }
      return value
    }
    expect(issues(schema, nested('a'))).toBe('')
    expect(issues(schema, nested(1))).not.toBe('')
  })

  test('of many unique items', () => {
    const value = Array.from({ length: 100_000 }, (_, index) => ({ index, more: [index] }))
    expect(issues({ uniqueItems: true }, value)).toBe('')
    expect(issues({ uniqueItems: true }, [...value, { more: [7], index: 7 }])).toBe(
      'must not contain the same item twice',
    )
  })

  test.each<[string, Parameters<typeof issues>[0]]>([
    ['const', { anyOf: [{ const: { end: true } }, { items: { $ref: '#' } }] }],
    ['enum', { anyOf: [{ enum: [[[1]], { end: true }] }, { items: { $ref: '#' } }] }],
    ['uniqueItems', { uniqueItems: true, items: { $ref: '#' } }],
  ])('of parts that %s compares at each level', (_, schema) => {
    let reads = 0
    const leaf = {
      get text() {
        reads += 1
        return 'a'
      },
    }
    let value: unknown = leaf
    for (let depth = 0; depth < 100; depth++) value = [value]
    expect(issues(schema, value)).toBe('')
    expect(reads).toBeLessThan(5)
  })

  test('of references for which unevaluatedProperties collects properties', () => {
    const last = { properties: { a: { type: 'string' } } }
    const definition = (index: number) => {
      const next = { $ref: `#/$defs/d${index + 1}` }
      return [`d${index}`, index < 30 ? { allOf: [next, next] } : last]
    }
    const $defs = Object.fromEntries(Array.from({ length: 31 }, (_, index) => definition(index)))
    const schema = { $ref: '#/$defs/d0', unevaluatedProperties: false, $defs }
    expect(issues(schema, { a: 'a' })).toBe('')
    expect(issues(schema, { a: 'a', b: 1 })).toBe('b: is not allowed')
  })

  test('of many issues, of which 20 are reported', () => {
    const value = Array.from({ length: 100_000 }, () => ({ a: 1 }))
    const found = compile({ items: { properties: { a: { type: 'string' } } } }, '')(value)
    expect(found).toHaveLength(20)
    expect(found[19]).toEqual({ path: '19.a', message: 'must be a string' })
  })

  test.each([
    '^(a+)+$',
    '^(a|a)*$',
    '^(a|b|ab)*$',
    '^(a*)*$',
    'a+$',
    'a.*a.*a.*b',
    '^(\\w+\\s?)+$',
    '^(a?){50}a{50}$',
    '^([a-z]{1,20}){1,20}$',
    '^(?=.*[A-Z])(?=.*\\d).{8,}$',
  ])('of a text that does not match the pattern %s', (pattern) => {
    const text = pattern.includes('{50}') ? 'a'.repeat(49) : `${'a'.repeat(100_000)}!`
    expect(issues({ pattern }, text)).toBe(`must match the pattern ${pattern}`)
    expect(issues({ patternProperties: { [pattern]: false } }, { [text]: 1 })).toBe('')
  })

  test('of a text that is too long for its pattern', () => {
    const pattern = 'a{1000}b'
    const text = 'a'.repeat(100_000)
    const tooLong = `has too much text for the pattern ${pattern}`
    expect(issues({ pattern }, text)).toBe(tooLong)
    expect(issues({ not: { pattern } }, text)).toBe(tooLong)
    expect(issues({ patternProperties: { [pattern]: false } }, { [text]: 1 })).toBe(tooLong)
    expect(issues({ pattern }, 'a'.repeat(3000))).toBe(`must match the pattern ${pattern}`)
  })

  describe('of many texts, whose patterns share the steps of one value', () => {
    const pattern = 'a{1000}b'
    const others = ['a{999}c', 'a{998}c']
    const texts = Array.from({ length: 10 }, (_, index) => 'a'.repeat(19_000 + index))
    const named = Object.fromEntries(texts.map((text) => [text, 1]))
    const tooMuch = `has too much text for the pattern ${pattern}`

    test.each<[string, Parameters<typeof issues>[0], unknown]>([
      ['items', { items: { pattern } }, texts],
      ['alternatives', { items: { anyOf: [{ pattern }, { type: 'string' }] } }, texts],
      ['references', { items: { $ref: '#/$defs/text' }, $defs: { text: { pattern } } }, texts],
      ['patternProperties', { patternProperties: { [pattern]: false } }, named],
      ['additionalProperties', { patternProperties: { [pattern]: true }, additionalProperties: true }, named],
      ['propertyNames', { propertyNames: { not: { pattern } } }, named],
    ])('in %s', (_, schema, value) => {
      expect(issues(schema, value)).toBe(tooMuch)
    })

    test('in several patterns for one text', () => {
      const schema = { not: { anyOf: [...others, pattern].map((each) => ({ pattern: each })) } }
      expect(issues(schema, texts[0])).toBe('has too much text for the pattern a{998}c')
    })

    test.each<[string, Parameters<typeof issues>[0], unknown]>([
      ['one text', { format: 'regex' }, '\\p{L}'.repeat(1001)],
      ['many texts', { items: { format: 'regex' } }, Array.from({ length: 1001 }, () => '\\p{L}')],
      ['a text that must be none', { not: { format: 'regex' } }, '('.repeat(5001)],
    ])('beside regular expressions that they are: %s', (_, schema, value) => {
      expect(issues(schema, value)).toBe('has too much text for the format regex')
      expect(issues({ format: 'regex' }, '\\p{L}'.repeat(990))).toBe('')
    })

    test('which the next value has again', () => {
      const check = compile({ items: { not: { pattern } } }, '')
      expect([1, 2, 3].map(() => check(texts.slice(0, 1)))).toEqual([[], [], []])
    })

    test('which are enough for many texts that backtrack little', () => {
      const addresses = Array.from({ length: 20_000 }, (_, index) => `somebody.${index}@mail.example.com`)
      expect(issues({ items: { pattern: '^[^@]+@[^@]+\\.[^@]+$' } }, addresses)).toBe('')
    })

    test('which are more for files', () => {
      const files = Array.from({ length: 5 }, (_, index) => `${index}AAA`.repeat(200_000))
      expect(issues({ items: { pattern: '^(?:[A-Za-z0-9+/]{4})*$' } }, files)).toBe('')
    })
  })

  test.each<[keyword: string, value: unknown]>([
    ['not', 1],
    ['contains', []],
  ])('of many values that fail %s, whose schema is formatted once', (keyword, value) => {
    const failing = { [keyword]: { enum: ['x'.repeat(5000), 1] } }
    expect(compile(failing, '')(value)[0]?.message.length).toBeLessThan(600)
    const stringify = vi.spyOn(JSON, 'stringify')
    const check = compile({ items: { anyOf: [failing, { type: ['number', 'array'] }] } }, '')
    stringify.mockClear()
    expect(check(Array.from({ length: 1000 }, () => value))).toEqual([])
    expect(stringify.mock.calls.length).toBeLessThan(2)
    stringify.mockRestore()
  })

  test('of a long text', () => {
    expect(issues({ minLength: 1_000_001 }, '😊'.repeat(1_000_000))).toBe('must have 1000001 or more characters')
  })
})

test.each([
  ['large-value.ts', 50],
  ['many-names.ts', 75],
])('a value that many references check takes little memory: %s in %i MB', (name, heap) => {
  const script = join(import.meta.dirname, name)
  expect(execFileSync(process.execPath, [`--max-old-space-size=${heap}`, script], { encoding: 'utf8' })).toBe('0\n')
})

test('a value with too many parts for its schema is refused, also inside "not"', () => {
  const names = Array.from({ length: 24 }, (_, at) => `t${at}`)
  const oneOf = names.map((name) => ({ type: 'object', properties: { k: { const: name } } }))
  const check = compile({ type: 'array', items: { not: { oneOf } } }, 'schema')
  const text = 'has too many parts for its schema: send less'
  expect(check(Array(250_000).fill({ k: 'none' }))).toEqual([{ path: '', message: text }])
  expect(check(Array(1_000).fill({ k: 'none' }))).toEqual([])
})

test('an object with too many properties for its alternatives is refused', () => {
  const text = 'has too many parts for its schema: send less'
  const value = Object.fromEntries(Array.from({ length: 200_000 }, (_, at) => [`k${at}`, at]))
  const each = (alternative: object) => compile({ anyOf: Array(50).fill(alternative) }, 'schema')(value)
  expect(each({ patternProperties: { '^a': {} }, minProperties: 1e6 })).toEqual([{ path: '', message: text }])
  expect(each({ patternProperties: { '^a': {} }, not: {} })).toEqual([{ path: '', message: text }])
  // Its names are the few of the schema.
  expect(each({ properties: { k1: { type: 'string' } } })).toEqual([{ path: '', message: 'k1: must be a string' }])
})

describe('evaluated parts count', () => {
  const text = 'has too many parts for its schema: send less'
  const $defs = { all: { items: true, additionalProperties: true } }
  const names = Object.fromEntries(Array.from({ length: 100_000 }, (_, at) => [`k${at}`, at]))

  test.each<[what: string, schema: Schema, value: unknown]>([
    [
      'items',
      { allOf: Array(30).fill({ prefixItems: [], items: true }), unevaluatedItems: false },
      Array(100_000).fill(1),
    ],
    ['names', { allOf: Array(30).fill({ additionalProperties: true }), unevaluatedProperties: false }, names],
    [
      'names of references that several keywords read',
      { allOf: Array(30).fill({ $ref: '#/$defs/all', unevaluatedProperties: false }), $defs },
      names,
    ],
  ])('%s', (_, schema, value) => {
    expect(compile(schema, 'schema')(value)).toEqual([{ path: '', message: text }])
  })

  test('once for a reference that many schemas refer to', () => {
    const schema = { allOf: Array(30).fill({ $ref: '#/$defs/all' }), unevaluatedProperties: false, $defs }
    expect(compile(schema, 'schema')(names)).toEqual([])
  })
})

test('a value with too many levels for its schema is refused, also inside "not"', () => {
  const $defs: Schema = { link0: { properties: { c: { $ref: '#/$defs/link29' } } } }
  for (let at = 1; at < 30; at += 1) $defs[`link${at}`] = { allOf: [{ $ref: `#/$defs/link${at - 1}` }] }
  const check = compile({ not: { $ref: '#/$defs/link29' }, $defs }, 'schema')
  const nested = (levels: number): object => (levels === 0 ? {} : { c: nested(levels - 1) })
  expect(check(nested(126))).toEqual([{ path: '', message: 'has too many levels for its schema: nest it less' }])
  expect(check(nested(5))).toEqual([{ path: '', message: 'must not match {"$ref":"#/$defs/link29"}' }])
})

test('a filter may have 128 levels', () => {
  const filter = { $ref: '#/$defs/filter' }
  const $defs = {
    filter: { oneOf: [{ $ref: '#/$defs/not' }, { $ref: '#/$defs/is' }] },
    not: { properties: { not: filter }, required: ['not'] },
    is: { properties: { is: {} }, required: ['is'] },
  }
  const nested = (levels: number): object => (levels === 0 ? { is: 1 } : { not: nested(levels - 1) })
  expect(compile({ ...filter, $defs }, 'schema')(nested(127))).toEqual([])
})

test('a long name is cut in the paths of issues', () => {
  const check = compile({ additionalProperties: { items: { type: 'string' }, uniqueItems: false } }, 'schema')
  const paths = check({ ['k'.repeat(1_000_000)]: [1, 2] }).map(({ path }) => path)
  expect(paths).toEqual([`${'k'.repeat(500)}….0`, `${'k'.repeat(500)}….1`])
})

const dependentRequired = Object.fromEntries(Array.from({ length: 100 }, (_, at) => [`p${at}`, []]))

test.each([
  ['dependentRequired', { dependentRequired: { ...dependentRequired, a: ['z'] } }],
  [
    'patternProperties',
    { patternProperties: Object.fromEntries(Array.from({ length: 100 }, (_, at) => [`^p${at}`, {}])), not: {} },
  ],
  ['properties', { properties: Object.fromEntries(Array.from({ length: 100 }, (_, at) => [`p${at}`, {}])), not: {} }],
  ['required', { required: Array.from({ length: 100 }, (_, at) => `p${at}`) }],
  ['enum', { enum: Array.from({ length: 100 }, (_, at) => ({ p: at })) }],
])('a value with too many comparisons with %s is refused', (_, alternative) => {
  const check = compile({ items: { anyOf: [...Array(50).fill(alternative), {}] } }, 'schema')
  const text = 'has too many parts for its schema: send less'
  expect(check(Array.from({ length: 2_000 }, () => ({ a: 1 })))).toEqual([{ path: '', message: text }])
})

describe('work for one value counts', () => {
  const alternatives = (alternative: object) => ({ anyOf: [...Array(100).fill({ ...alternative, not: {} }), {}] })
  const longText = 'http://example.com/{a}'.repeat(1000)

  test.each(['idn-hostname', 'idn-email'])('for each character of the format %s', (format) => {
    const many = Array.from({ length: 250_000 }, (_, at) =>
      `ada@ä${at}.example.com`.slice(format === 'idn-email' ? 0 : 4),
    )
    expect(issues({ items: { format } }, many)).toBe(`has too much text for the format ${format}`)
    expect(issues({ items: { format } }, many.slice(0, 100_000))).toBe('')
  })

  test.each([...formats.keys()])('for texts that alternatives with the format %s validate', (format) => {
    const texts = Array.from({ length: 10_000 }, (_, at) => `${at}/`.padEnd(99, 'a'))
    expect(issues({ items: alternatives({ format }) }, texts)).toMatch(/^(0: must be|has too (much text|many parts))/)
  })

  test('once for alternatives that validate the format of a long text', () => {
    const format = formats.get('uri-template')
    const matches = vi.spyOn(format as Format, 'matches')
    expect(issues(alternatives({ format: 'uri-template' }), longText)).toBe('')
    expect(matches).toHaveBeenCalledOnce()
    matches.mockRestore()
  })

  test('once for alternatives that ask for the length of a long text', () => {
    const charCodeAt = vi.spyOn(String.prototype, 'charCodeAt')
    expect(issues(alternatives({ minLength: longText.length - 1 }), longText)).toBe('')
    expect(charCodeAt.mock.calls.length).toBeLessThanOrEqual(2 * longText.length)
    charCodeAt.mockRestore()
  })

  test('once for alternatives that compare the items of a list', () => {
    const stringify = vi.spyOn(JSON, 'stringify')
    const check = compile(alternatives({ uniqueItems: true }), '')
    stringify.mockClear()
    expect(check([{ a: 1 }, { a: 2 }])).toEqual([])
    expect(stringify.mock.calls.length).toBeLessThan(5)
    stringify.mockRestore()
  })

  test.each([
    ['enum', { enum: [{}, null] }],
    ['const', { const: {} }],
    ['an option with a property of the value', { enum: [{ k1: 1 }] }],
  ])('for names of an object that is compared with %s', (_, alternative) => {
    const object = Object.fromEntries(Array.from({ length: 200_000 }, (_, at) => [`k${at}`, at]))
    expect(issues(alternatives(alternative), object)).toBe('has too many parts for its schema: send less')
    expect(issues(alternatives(alternative), { k1: 1, k2: 2 })).toBe('')
  })

  test('for items that a keyword reads without a schema', () => {
    const list = Array(250_000).fill(1)
    expect(issues(alternatives({ contains: true }), list)).toBe('has too many parts for its schema: send less')
    expect(issues(alternatives({ contains: true }), list.slice(0, 1000))).toBe('')
  })
})
