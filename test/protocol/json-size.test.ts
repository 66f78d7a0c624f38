import { describe, expect, test } from 'vitest'
import { hasMoreValues, isLongerAsJson } from '../../worker/protocol/json-size.ts'

const valuesIn = (value: unknown): number =>
  1 +
  (typeof value === 'object' && value ? Object.values(value).reduce<number>((sum, one) => sum + valuesIn(one), 0) : 0)

const examples: unknown[] = [
  1,
  '',
  [],
  {},
  [[], {}],
  [1, [2, { a: [], b: {} }], 'a,b'],
  { a: '[{,"\\', '\\"': ['\\\\', ','] },
  ['\n\t\u0000é€😀', { 'x,y': null }],
]

describe.each(examples.map((value) => [JSON.stringify(value), value]))('%s', (text, value) => {
  test('has no more values than it has', () => {
    // Blanks: a text without room for so many values is not read.
    const padded = String(text) + ' '.repeat(100)
    const values = valuesIn(value)
    expect([hasMoreValues(padded, values), hasMoreValues(padded, values - 1)]).toEqual([false, true])
  })

  test('is no longer as JSON than it is', () => {
    const { length } = JSON.stringify(text)
    expect([isLongerAsJson(String(text), length), isLongerAsJson(String(text), length - 1)]).toEqual([false, true])
  })
})

test('control characters have six characters, but those with a short form', () => {
  const text = Array.from({ length: 0x30 }, (_, code) => String.fromCharCode(code)).join('')
  const { length } = JSON.stringify(text)
  expect([isLongerAsJson(text, length), isLongerAsJson(text, length - 1)]).toEqual([false, true])
})
