import { expect, test } from 'vitest'
import { jsonText } from '../../worker/protocol/json-text.ts'

class Row {
  id = 1
}
class Opaque {
  #id = 1
  id() {
    return this.#id
  }
}
class Labelled<K, V> extends Map<K, V> {
  label = 'x'
}
class Query {
  sql = 'SELECT 1'
  // biome-ignore lint/suspicious/noThenProperty: query builders have it
  then() {}
}
/** An invalid date of a library, such as that of luxon. */
class Moment {
  valueOf = () => Number.NaN
  toJSON = () => null
}
class Nothing {
  toJSON = () => null
}

test.each([
  [{ a: [1, 'x', null, true, { b: undefined }] }],
  [new Date(0)],
  [new URL('https://example.com/')],
  [Object.create(null)],
  [new Row()],
  [{}],
  [{ none: new Nothing() }],
  [{ [Symbol('s')]: 1 }],
])('%o has a JSON form', (value) => {
  expect(jsonText(value, 'X returned')).toBe(JSON.stringify(value))
})

test.each<[unknown, string]>([
  [new Map([['a', 1]]), 'a value of the class Map'],
  [{ users: [new Set([1])] }, 'a value of the class Set at users[0]'],
  [new Response('x'), 'a value of the class Response'],
  [new Opaque(), 'a value of the class Opaque'],
  [new Error('x'), 'a value of the class Error'],
  [Object.assign(new RangeError('x'), { code: 1 }), 'a value of the class RangeError'],
  [new Labelled([['a', 1]]), 'a value of the class Labelled'],
  [{ at: Promise.resolve(1) }, 'a promise that is not awaited at at'],
  [{ rows: new Query() }, 'a promise that is not awaited at rows'],
  [new Uint8Array(2), 'a value of the class Uint8Array'],
  [() => 1, 'a function'],
  [{ a: Symbol('s') }, 'a symbol at a'],
  [{ a: [Number.NaN] }, 'NaN at a[0]'],
  [{ rows: [{ id: 5n }] }, 'a bigint at rows[0].id'],
  [[undefined, 1], 'undefined at [0]'],
  [{ rows: Object.assign([], { 1: 'after a gap' }) }, 'undefined at rows[0]'],
  [[{ toJSON: () => undefined }], 'undefined at [0]'],
  [{ due: new Date(Number.NaN) }, 'an invalid date at due'],
  [new Moment(), 'an invalid date'],
  [{ due: { toJSON: () => Number.NaN } }, 'NaN at due'],
])('%o has no JSON form', (value, what) => {
  expect(() => jsonText(value, 'X returned')).toThrow(
    `X returned ${what}, which has no JSON form: use plain objects, arrays, strings, finite numbers, booleans and null`,
  )
})

test('a value with a cycle has no JSON form', () => {
  const circle: { self?: unknown } = {}
  circle.self = circle
  expect(() => jsonText(circle, 'X returned')).toThrow('X returned a value that has no JSON form: ')
})

test('a value with too many levels has no JSON form', () => {
  let value: unknown = 1
  for (let level = 0; level < 100_000; level++) value = { value }
  expect(() => jsonText(value, 'X returned')).toThrow(
    new TypeError('X returned a value that has no JSON form: it has too many levels'),
  )
})

test('a member that throws an error about a BigInt has no JSON form', () => {
  const value = {
    get id() {
      throw new Error('Cannot read the BigInt')
    },
  }
  expect(() => jsonText(value, 'X returned')).toThrow(
    new TypeError('X returned a value that has no JSON form: Cannot read the BigInt'),
  )
})

test('with gaps, undefined in a list is null', () => {
  expect(jsonText([undefined, 1], 'X returned', TypeError, true)).toBe('[null,1]')
  expect(() => jsonText([Number.NaN], 'X returned', TypeError, true)).toThrow('X returned NaN at [0]')
})
