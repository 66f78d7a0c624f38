/** Random patterns and texts: the same answer as from the regular expressions of JavaScript. */
import { expect, test } from 'vitest'
import { compilePattern } from '../../worker/declarations/json-schema/patterns.ts'
import { count } from '../support/full.ts'
import { type Chance, chance } from '../support/random.ts'

const characters = [
  ...[
    'a',
    'b',
    '-',
    '.',
    '[ab]',
    '[^a]',
    '[]',
    '[^]',
    '[\\]a]',
    '[😀b]',
    '😀',
    '\\d',
    '\\w',
    '\\s',
    '\\.',
    '\\/',
    '\\cA',
  ],
  ...['\\x61', '\\u0062', '\\u{61}', '\\p{L}', '\\ud83d\\ude00'],
]
/** `\b` is not among them: some engines find a boundary in the middle of a character, which only JavaScript has. */
const assertions = ['^', '$']
const quantifiers = ['*', '+', '?', '*?', '{2}', '{1,3}', '{0,2}', '{2,}', '{0}']

function somePattern(by: Chance, depth: number): string {
  const parts = by.some(1, 3, (index) => {
    if (by.rarely(8)) return by.one(assertions)
    const isGroup = depth > 0 && by.rarely(3)
    const atom = isGroup
      ? `${by.one(['(', '(?:', `(?<g${depth}${index}${by.below(1e6)}>`])}${somePattern(by, depth - 1)})`
      : by.one(characters)
    return by.rarely(3) ? atom + by.one(quantifiers) : atom
  })
  return parts.join(by.rarely(6) ? '|' : '')
}

const someText = (by: Chance) =>
  by.some(0, 6, () => by.one(['a', 'b', '-', '.', '1', ' ', '\n', '😀', '\ud83d', 'é', '\x01'])).join('')

test('patterns match as regular expressions of JavaScript', () => {
  const by = chance(Number(process.env.SEED ?? 1))
  let automata = 0
  const patterns = count(2000, 100_000)
  for (let index = 0; index < patterns; index += 1) {
    const pattern = somePattern(by, 2)
    const expected = new RegExp(pattern, 'u')
    const matches = compilePattern(pattern)
    if (String(matches).includes('automaton')) automata += 1
    for (const text of by.some(8, 8, () => someText(by))) {
      expect({ pattern, text, matches: matches(text) }).toEqual({ pattern, text, matches: expected.test(text) })
    }
  }
  // The others run as a RegExp.
  expect(automata).toBeGreaterThan(patterns / 4)
})

test.each([
  ['^\\bab\\b', 'ab c', 'abc'],
  ['(a\\B)+b$', 'ab', 'a b'],
  ['(\\-|\\_)+$', '--_', 'a'],
  ['^(.+){2}$', '😀😀', '😀'],
])('the pattern %s matches %s, and not %s', (pattern, fits, misses) => {
  expect([fits, misses].map(compilePattern(pattern))).toEqual([true, false])
})
