import { describe, expect, test } from 'vitest'
import { BoundedMap } from '../../worker/protocol/bounded-map.ts'

describe('BoundedMap', () => {
  const filled = (...keys: string[]) => {
    const map = new BoundedMap<string, number>({ maxEntries: 3 })
    for (const [index, key] of keys.entries()) map.set(key, index)
    return map
  }
  const keysOf = (map: BoundedMap<string, number>) => [...map].map(([key]) => key)

  test('keeps all entries up to maxEntries', () => {
    expect([...filled('a', 'b', 'c')]).toEqual([
      ['a', 0],
      ['b', 1],
      ['c', 2],
    ])
  })

  test('evicts only the oldest entry when it is full', () => {
    const map = filled('a', 'b', 'c', 'd')
    expect(keysOf(map)).toEqual(['b', 'c', 'd'])
    expect(map.size).toBe(3)
    expect(map.get('a')).toBeUndefined()
  })

  test('get protects an entry from being the next one evicted', () => {
    const map = filled('a', 'b', 'c')
    expect(map.get('a')).toBe(0)
    map.set('d', 3)
    expect(keysOf(map)).toEqual(['c', 'a', 'd'])
  })

  test('setting a key again replaces its value, counts as a use and evicts nothing', () => {
    const map = filled('a', 'b', 'c').set('a', 7)
    expect([...map]).toEqual([
      ['b', 1],
      ['c', 2],
      ['a', 7],
    ])
  })

  test('has and peek do not count as a use', () => {
    const map = filled('a', 'b', 'c')
    expect(map.has('a')).toBe(true)
    expect(map.peek('a')).toBe(0)
    map.set('d', 3)
    expect(map.has('a')).toBe(false)
    expect(map.peek('a')).toBeUndefined()
  })

  test('evicts as many of the oldest entries as the characters of all keys require', () => {
    const map = new BoundedMap<string, number>({ maxEntries: 10, maxKeyCharacters: 6 })
    map.set('aa', 0).set('b', 1).set('cc', 2).set('b', 3)
    expect(keysOf(map)).toEqual(['aa', 'cc', 'b'])
    map.set('dddd', 4)
    expect(keysOf(map)).toEqual(['b', 'dddd'])
    map.delete('dddd')
    expect(keysOf(map.set('eeeee', 5))).toEqual(['b', 'eeeee'])
    expect(keysOf(map.set('longer than all', 6))).toEqual(['longer than all'])
  })

  test('deletes entries', () => {
    const map = filled('a', 'b')
    expect(map.delete('a')).toBe(true)
    expect(map.delete('a')).toBe(false)
    expect(keysOf(map)).toEqual(['b'])
  })

  test('stores undefined as a value', () => {
    const map = new BoundedMap<string, undefined>({ maxEntries: 2 }).set('a', undefined).set('b', undefined)
    expect(map.get('a')).toBeUndefined()
    expect(map.has('a')).toBe(true)
    map.set('c', undefined)
    expect([...map].map(([key]) => key)).toEqual(['a', 'c'])
  })

  test.each([0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY])('refuses maxEntries %d', (maxEntries) => {
    expect(() => new BoundedMap({ maxEntries })).toThrow(
      `maxEntries is ${maxEntries}: it must be an integer of at least 1`,
    )
  })
})
