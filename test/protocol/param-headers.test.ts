import { describe, expect, test } from 'vitest'
import { checkInputSchema } from '../../worker/declarations/check-declarations.ts'
import {
  decodeHeader,
  encodeHeader,
  getPath,
  headerParameters,
  mirrors,
  parameterHeaders,
} from '../../worker/protocol/param-headers.ts'
import type { JsonSchema } from '../../worker/protocol/types.ts'

describe('a mirrored header is decoded', () => {
  test.each<[string, string, string]>([
    ['as it is', 'us-west1', 'us-west1'],
    ['with spaces and a tab inside', 'a b\tc', 'a b\tc'],
    ['when it is empty', '', ''],
    ['with every printable character', '!"#$%&\'()*+,-./:;<=>?@[\\]^_`{|}~', '!"#$%&\'()*+,-./:;<=>?@[\\]^_`{|}~'],
    ['from other scripts', '=?base64?SGVsbG8sIOS4lueVjA==?=', 'Hello, 世界'],
    ['with space around it', '=?base64?IHBhZGRlZCA=?=', ' padded '],
    ['with a line break', '=?base64?bGluZTEKbGluZTI=?=', 'line1\nline2'],
    ['when it looks encoded itself', '=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=', '=?base64?literal?='],
    ['without padding where none is needed', '=?base64?YWJj?=', 'abc'],
    ['with + and /', '=?base64?w7/Dvw==?=', 'ÿÿ'],
    ['with characters beyond the first plane', '=?base64?8J+Yig==?=', '😊'],
    ['with a byte order mark kept', '=?base64?77u/YQ==?=', '\uFEFFa'],
    ['when nothing is encoded', '=?base64??=', ''],
    ['literally when only the start is there', '=?base64?SGVsbG8=', '=?base64?SGVsbG8='],
    ['literally when only the end is there', 'SGVsbG8=?=', 'SGVsbG8=?='],
    ['literally when start and end share a character', '=?base64?=', '=?base64?='],
    ['literally when the marker is in capitals', '=?BASE64?SGVsbG8=?=', '=?BASE64?SGVsbG8=?='],
    ['literally when the marker is of another encoding', '=?utf-8?B?SGVsbG8=?=', '=?utf-8?B?SGVsbG8=?='],
  ])('%s', (_, header, value) => {
    expect(decodeHeader(header)).toBe(value)
  })
})

test('an argument that is an object or a list is not mirrored, whatever it contains', () => {
  const parameters = [{ header: 'A', path: ['a'], type: 'string' }] as const
  for (const a of [{ toString: 'x' }, ['x', 'y']]) expect(parameterHeaders(parameters, { a })).toEqual({})
})

test('a long text is encoded as a mirrored header, and decoded', () => {
  const text = 'é'.repeat(300_000)
  expect(decodeHeader(encodeHeader(text))).toBe(text)
})

describe('a mirrored header is refused', () => {
  test.each<[string, string]>([
    ['when padding is missing', '=?base64?SGVsbG8?='],
    ['when there is too much padding', '=?base64?YWJj====?='],
    ['when padding is in the middle', '=?base64?SGU=bG8=?='],
    ['when there are other characters', '=?base64?SGVs!!!bG8=?='],
    ['when it is encoded for URLs', '=?base64?w7_Dvw==?='],
    ['when there is space inside', '=?base64?SGVs bG8=?='],
    ['when the length is impossible', '=?base64?A?='],
    ['when the bytes are not UTF-8', '=?base64?/w==?='],
    ['when a character is cut in half', '=?base64?5LiW55U=?='],
    ['when it has other scripts', 'Hello, 世界'],
    ['when it has an accent', 'caf\u00e9'],
    ['when it has a control character', 'a\u0001b'],
    ['when it has a line break', 'a\nb'],
    ['when it has a delete character', 'a\u007fb'],
  ])('%s', (_, header) => {
    expect(decodeHeader(header)).toBeUndefined()
  })
})

describe('a header matches an argument', () => {
  test.each<[string, unknown]>([
    ['west', 'west'],
    ['', ''],
    ['42', 42],
    ['42.0', 42],
    ['-7', -7],
    ['0', 0],
    ['1e3', 1000],
    ['9007199254740991', 9007199254740991],
    ['true', true],
    ['false', false],
    ['42', '42'],
  ])('%j matches %j', (header, argument) => {
    expect(mirrors(header, argument)).toBe(true)
  })
})

describe('a header does not match an argument', () => {
  test.each<[string, unknown]>([
    ['West', 'west'],
    ['west ', 'west'],
    ['43', 42],
    ['', 0],
    [' ', 0],
    ['forty-two', 42],
    ['0x2A', 42],
    ['0b101010', 42],
    ['42n', 42],
    ['42 43', 42],
    ['1', true],
    ['True', true],
    ['', false],
    ['42.0', '42'],
    ['[object Object]', {}],
    ['text', { toString: 1 }],
    ['eu', ['eu']],
    ['null', null],
    ['undefined', undefined],
    ['NaN', Number.NaN],
    ['1e999', Number.POSITIVE_INFINITY],
  ])('%j does not match %j', (header, argument) => {
    expect(mirrors(header, argument)).toBe(false)
  })
})

describe('getPath', () => {
  const args = { a: 1, b: { c: { d: 'deep' } }, none: null, list: [1], text: 'abc', zero: 0, no: false, empty: '' }
  test.each<[string[], unknown]>([
    [['a'], 1],
    [['b', 'c', 'd'], 'deep'],
    [['zero'], 0],
    [['no'], false],
    [['empty'], ''],
    [['none'], undefined],
    [['none', 'x'], undefined],
    [['missing'], undefined],
    [['b', 'x', 'd'], undefined],
    [['list', '0'], undefined],
    [['text', 'length'], undefined],
    [['toString'], undefined],
    [['__proto__'], undefined],
    [['constructor', 'name'], undefined],
  ])('reads the path %j', (path, value) => {
    expect(getPath(args, path)).toBe(value)
  })

  test.each([[undefined], [null], ['text'], [[1]]])('finds nothing in %j', (other) => {
    expect(getPath(other, ['0'])).toBeUndefined()
  })
})

const object = (properties: object, more: object = {}): JsonSchema => ({ type: 'object', properties, ...more })
const marked = (header: unknown, more: object = { type: 'string' }) => ({ ...more, 'x-mcp-header': header })

describe('the mirrored parameters of a schema', () => {
  test('are those with x-mcp-header, at any depth', () => {
    expect(
      headerParameters(
        object({
          region: marked('Region'),
          count: marked('Count', { type: 'integer' }),
          dry: marked('X_Dry.Run!', { type: 'boolean' }),
          plain: { type: 'string' },
          inner: object({ more: object({ deep: marked('Deep') }) }),
        }),
      ),
    ).toEqual([
      { header: 'Region', path: ['region'], type: 'string' },
      { header: 'Count', path: ['count'], type: 'integer' },
      { header: 'X_Dry.Run!', path: ['dry'], type: 'boolean' },
      { header: 'Deep', path: ['inner', 'more', 'deep'], type: 'string' },
    ])
  })

  test('can have names of keywords', () => {
    const schema = object({ properties: marked('A'), default: marked('B'), items: object({ enum: marked('C') }) })
    expect(headerParameters(schema).map(({ path }) => path.join('.'))).toEqual(['properties', 'default', 'items.enum'])
  })

  test('are not searched in values', () => {
    const value = { 'x-mcp-header': 'No' }
    expect(headerParameters(object({ a: { const: value, default: value, enum: [value], examples: [value] } }))).toEqual(
      [],
    )
  })

  test('are empty in a schema without any', () => {
    expect(headerParameters({ type: 'object' })).toEqual([])
    expect(headerParameters({})).toEqual([])
  })

  const declared = (inputSchema: JsonSchema) => checkInputSchema('add', inputSchema)
  const name = /x-mcp-header on .+ must be a header name of letters, digits and dashes$/
  const place = /x-mcp-header "Region" must be on a property reached through "properties" only$/
  const type = /x-mcp-header on .+ needs the type string, integer or boolean$/
  const region = marked('Region')
  test.each<[string, JsonSchema, RegExp]>([
    ['an empty name', object({ a: marked('') }), name],
    ['a name with a space', object({ a: marked('My Region') }), name],
    ['a name with a colon', object({ a: marked('Region:') }), name],
    ['a name with a line break', object({ a: marked('Re\ngion') }), name],
    ['a name from another script', object({ a: marked('Région') }), name],
    ['a name that is true', object({ a: marked(true) }), name],
    ['a name that is null', object({ a: marked(null) }), name],
    ['a number', object({ a: marked('Region', { type: 'number' }) }), type],
    ['an object', object({ a: marked('Region', { type: 'object' }) }), type],
    ['a list', object({ a: marked('Region', { type: 'array' }) }), type],
    ['several types', object({ a: marked('Region', { type: ['string', 'null'] }) }), type],
    ['no type', object({ a: marked('Region', {}) }), type],
    ['the root', { ...object({}), 'x-mcp-header': 'Region' }, place],
    ["a list's items", object({ a: { type: 'array', items: region } }), place],
    ["a property of a list's items", object({ a: { type: 'array', items: object({ b: region }) } }), place],
    ['anyOf', object({ a: { anyOf: [region, { type: 'null' }] } }), place],
    ['oneOf', object({ a: { oneOf: [region] } }), place],
    ['allOf at the root', object({}, { allOf: [object({ a: region })] }), place],
    ['not', object({ a: { not: region } }), place],
    ['else', object({}, { if: {}, else: object({ a: region }) }), place],
    ['additionalProperties', object({}, { additionalProperties: region }), place],
    ['patternProperties', object({}, { patternProperties: { '^a': region } }), place],
    ['$defs', object({}, { $defs: { region } }), place],
    ['prefixItems', object({ a: { type: 'array', prefixItems: [region] } }), place],
  ])('are refused: %s', (_, schema, message) => {
    expect(() => declared(schema)).toThrow(message)
  })

  test('must have different names, ignoring case', () => {
    expect(() => declared(object({ a: marked('Region'), b: object({ c: marked('REGION') }) }))).toThrow(
      'x-mcp-header "REGION" is used twice: names ignore case',
    )
  })

  test('are named by their path in an error', () => {
    expect(() => declared(object({ a: object({ b: marked('Region', { type: 'number' }) }) }))).toThrow('on a.b ')
  })
})

test('the path of a mirrored argument is copied for its parameter only, however many levels lead to it', () => {
  const levels = 500
  let schema: JsonSchema = { 'x-mcp-header': 'Deep', type: 'string' }
  for (let level = 0; level < levels; level += 1) schema = { properties: { a: schema } }
  const own = Array.prototype[Symbol.iterator]
  let copied = 0
  const counting = function* (this: unknown[]) {
    if (this.length > 2) copied += 1
    yield* { [Symbol.iterator]: own.bind(this) }
  }
  const replace = (iterator: unknown) => Reflect.set(Array.prototype, Symbol.iterator, iterator)
  replace(counting)
  const [deep] = headerParameters(schema)
  replace(own)
  expect([deep?.path.length, copied]).toEqual([levels, 1])
})
