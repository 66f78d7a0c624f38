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

test.each([
  [{ a: [1, 'x', null, true, { b: undefined }] }],
  [new Date(0)],
  [new URL('https://example.com/')],
  [Object.create(null)],
  [new Row()],
  [{}],
])('%o has a JSON form', (value) => {
  expect(jsonText(value, 'X returned')).toBe(JSON.stringify(value))
})

test.each<[unknown, string]>([
  [new Map([['a', 1]]), 'a value of the class Map'],
  [{ users: [new Set([1])] }, 'a value of the class Set at users[0]'],
  [new Response('x'), 'a value of the class Response'],
  [new Opaque(), 'a value of the class Opaque'],
  [new Error('x'), 'a value of the class Error'],
  [{ at: Promise.resolve(1) }, 'a promise that is not awaited at at'],
  [new Uint8Array(2), 'a value of the class Uint8Array'],
  [() => 1, 'a function'],
  [{ a: Symbol('s') }, 'a symbol at a'],
  [{ a: [Number.NaN] }, 'NaN at a[0]'],
  [{ rows: [{ id: 5n }] }, 'a bigint at rows[0].id'],
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
