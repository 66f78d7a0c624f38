import { expect, test } from 'vitest'
import { SizedMap } from '../../worker/plugins/compose/proxy/sized-map.ts'

const keys = ['a', 'b', 'c', 'd', 'e']
const filled = (maxEntries: number, maxCharacters: number) => {
  const map = new SizedMap<string>({ maxEntries, maxCharacters })
  const add = (key: string, length: number) => map.set(key, `value of ${key}`, length)
  return { map, add, kept: () => keys.filter((key) => map.get(key) !== undefined) }
}

test('a new entry takes the place of as many of the oldest ones as its characters require', () => {
  const { map, add, kept } = filled(10, 10)
  for (const key of ['a', 'b', 'c']) add(key, 2)
  expect(kept()).toEqual(['a', 'b', 'c'])
  map.get('a')
  add('d', 4)
  expect(kept()).toEqual(['a', 'd'])
  expect(map.get('d')).toBe('value of d')
})

test('an entry that is set again counts once', () => {
  const { add, kept } = filled(10, 10)
  add('a', 2)
  for (let count = 0; count < 5; count += 1) add('b', 6)
  expect(kept()).toEqual(['a', 'b'])
})

test('entries that were evicted for their number do not count', () => {
  const { add, kept } = filled(2, 10)
  for (const key of keys) add(key, 4)
  expect(kept()).toEqual(['d', 'e'])
})

test('an entry that is longer than all may be is not stored, and evicts its earlier value only', () => {
  const { add, kept } = filled(10, 10)
  add('a', 2)
  add('b', 2)
  add('b', 10)
  expect(kept()).toEqual(['a'])
})
