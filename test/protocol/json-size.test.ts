import { describe, expect, test } from 'vitest'
import { countValues, isLongerAsJson } from '../../worker/protocol/json-size.ts'

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
  test('has as many values as are counted', () => {
    expect(countValues(String(text), 100)).toBe(valuesIn(value))
  })

  test('is no longer as JSON than it is', () => {
    const { length } = JSON.stringify(text)
    expect([isLongerAsJson(String(text), length), isLongerAsJson(String(text), length - 1)]).toEqual([false, true])
  })
})

test('values are counted up to more than are allowed', () => {
  expect(countValues(JSON.stringify(Array.from({ length: 100 }, () => 1)), 10)).toBe(11)
})

test('control characters have six characters, but those with a short form', () => {
  const text = Array.from({ length: 0x30 }, (_, code) => String.fromCharCode(code)).join('')
  const { length } = JSON.stringify(text)
  expect([isLongerAsJson(text, length), isLongerAsJson(text, length - 1)]).toEqual([false, true])
})

test.each([
  ['[[0],{"a":[0]},"[[[["]', 3],
  ['{"a":{}}', 2],
])('the values of %s are counted up to %i levels', (text, levels) => {
  for (const most of [100, Number.POSITIVE_INFINITY]) {
    expect(countValues(text, most, levels)).toBe(valuesIn(JSON.parse(text)))
    expect(countValues(text, most, levels - 1)).toBeNaN()
  }
})
