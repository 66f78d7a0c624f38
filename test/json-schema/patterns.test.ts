/** Random patterns and texts: the same answer as from the regular expressions of JavaScript. */
import { describe, expect, test } from 'vitest'
import { compilePattern, SlowPattern, Steps } from '../../worker/declarations/json-schema/patterns.ts'
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

function withoutRegExps(): Steps {
  const steps = new Steps()
  steps.take(20_000_000, '')
  return steps
}

test('patterns match as regular expressions of JavaScript', () => {
  const by = chance(Number(process.env.SEED ?? 1))
  let automata = 0
  const patterns = count(2000, 100_000)
  for (let index = 0; index < patterns; index += 1) {
    const pattern = somePattern(by, 2)
    const expected = new RegExp(pattern, 'u')
    const matches = compilePattern(pattern)
    if (String(matches).includes('automaton')) automata += 1
    const automaton = (text: string) => matches(text, withoutRegExps())
    const isSame = (text: string) => [matches(text), automaton(text)].every((answer) => answer === expected.test(text))
    const differs = by.some(8, 8, () => someText(by)).filter((text) => !isSame(text))
    if (differs.length > 0) expect({ pattern, differs }).toEqual({ pattern, differs: [] })
  }
  // The others run as a RegExp.
  expect(automata).toBeGreaterThan(patterns / 4)
})

test.each([
  ['^\\bab\\b', 'ab c', 'abc'],
  ['(a\\B)+b$', 'ab', 'a b'],
  ['(\\-|\\_)+$', '--_', 'a'],
  ['^(.+){2}$', '😀😀', '😀'],
  ['^(?=.*[a-z])(?=.*\\d)[a-z\\d]{8,256}$', 'secret12', 'secrets!'],
])('the pattern %s matches %s, and not %s', (pattern, fits, misses) => {
  expect([fits, misses].map((text) => compilePattern(pattern)(text))).toEqual([true, false])
})

test.each(['b{0}', '()', '(?:){0,5}', '((?:){0,5}){0,900}'])('%s beside a slow pattern does not hide it', (nothing) => {
  expect(() => compilePattern(`^(?=(a+)+${nothing}$)`)).toThrow(SlowPattern)
})

test.each(['(?m:^[a\\n]*(?:b|c))', '(?m:^)[a\\n]*(?:b|c)', '(?im-s:^(?:[a\\n]*b))'])(
  '%s matches at each line, and is slow',
  (pattern) => {
    expect(() => compilePattern(pattern)).toThrow(SlowPattern)
  },
)

test('^ in a group with other flags is an anchor', () => {
  const matches = compilePattern('(?i:^[a\\n]*(?:b|c))')
  expect(['A\nB', 'd\nb'].map((text) => matches(text))).toEqual([true, false])
})

test('patterns match long texts', () => {
  const base64 = '^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$'
  expect(['A'.repeat(700_000), 'A'.repeat(700_001)].map((text) => compilePattern(base64)(text))).toEqual([true, false])
  expect(['a'.repeat(65_535), 'a'.repeat(65_536)].map((text) => compilePattern('^[^]{1,65535}$')(text))).toEqual([
    true,
    false,
  ])
})

/** What only regular expressions without the flag `u` have, and what they would read in another way than the flag does. */
const loose = [
  '\\-',
  '\\_',
  '\\@',
  '\\ ',
  '\\"',
  '\\é',
  '{',
  '}',
  ']',
  '{a}',
  '[\\w-]',
  '[\\w-.]',
  '[a-\\d]',
  '[a\\-z]',
  '[{\\_]',
]

test('patterns with needless escapes, and with brackets and hyphens without escape, match as without the flag u', () => {
  const by = chance(Number(process.env.SEED ?? 1))
  const patterns = count(1000, 50_000)
  for (let index = 0; index < patterns; index += 1) {
    const parts = by.some(1, 4, () => by.one([...loose, 'a', 'b', '\\d', '[ab]', '.']))
    const pattern = parts.map((part) => (by.rarely(4) && part.length !== 1 ? `(?:${part})*` : part)).join('')
    const expected = new RegExp(pattern)
    const texts = by.some(8, 8, () => by.some(0, 5, () => by.one([...'-_@ "é{}]a1.z'])).join(''))
    const matches = compilePattern(pattern)
    const differs = texts.filter((text) => matches(text) !== expected.test(text))
    if (differs.length > 0) expect({ pattern, differs }).toEqual({ pattern, differs: [] })
  }
})

test.each([
  ['^[\\p{L}\\_]+$', 'é_', 'p{L}'],
  ['^\\p{L}+\\-\\p{L}+$', 'Ada-Zoë', 'p{L}-p{L}'],
  ['^[\\p{L}\\p{N}\\ \\.\\-]{1,50}$', 'Zoë 1.', 'p{N}'],
  ['^[^\\p{Cc}\\@]+$', 'pCc', 'a@'],
  ['^\\u{41}\\-$', 'A-', `${'u'.repeat(41)}-`],
  ['^[^\\w-.]$', '😀', '-'],
])('the pattern %s has the meaning of the flag u: it matches %s, and not %s', (pattern, fits, misses) => {
  expect([fits, misses].map((text) => compilePattern(pattern)(text))).toEqual([true, false])
})

test.each(['\\A[a-z]+\\Z', '[a-z]+\\z', '\\h\\-', '\\p{Letters}', '\\-\\1', '\\k<a>', 'a{,5}', '[\\d-a-f]'])(
  'the pattern %s, which other engines read in another way, is refused',
  (pattern) => {
    expect(() => compilePattern(pattern)).toThrow(SyntaxError)
  },
)

test('octal escapes and control escapes without a letter are refused', () => {
  expect(() => compilePattern('(\\-*)*\\012')).toThrow(SyntaxError)
  expect(() => compilePattern('(\\-*)*\\c{0}')).toThrow(SyntaxError)
})

/** Calls a function, and counts the states that an automaton takes from its list and the texts that a RegExp matches. */
function counted(call: () => unknown) {
  const { pop } = Array.prototype
  const { test } = RegExp.prototype
  const counts = { states: 0, texts: 0 }
  Array.prototype.pop = function () {
    if (this.length > 0) counts.states += 1
    return pop.call(this)
  }
  RegExp.prototype.test = function (text) {
    if (text.length > 2) counts.texts += 1
    return test.call(this, text)
  }
  try {
    const answer = call()
    return { ...counts, answer }
  } finally {
    Object.assign(Array.prototype, { pop })
    Object.assign(RegExp.prototype, { test })
  }
}

describe('a text of 1 MB takes a bounded number of steps:', () => {
  const text = 'a'.repeat(1_000_000)

  test('of an automaton', () => {
    const matches = compilePattern('([a-z]{1,600}!)*;')
    const { states, texts, answer } = counted(() => matches(text))
    expect({ texts, answer }).toEqual({ texts: 0, answer: undefined })
    expect(states).toBeGreaterThan(5_000_000)
    // It ends after the character with which it exceeds the limit.
    expect(states).toBeLessThan(5_010_000)
  })

  test('of an automaton for a short text with many ways to match', () => {
    const matches = compilePattern('^(a?){20}b$')
    expect(counted(() => matches('a'.repeat(21))).states).toBeLessThan(2000)
  })

  // As many characters as a RegExp reads at each position.
  test.each([
    ['[a-z]{1,9}!', 18],
    ['a{17}b', 18],
    ['[a-z]{1,101}!', 202],
    ['a{900}b', 901],
  ])('of the RegExp %s', (pattern, read) => {
    const matches = compilePattern(pattern)
    const { texts, answer } = counted(() => matches(text))
    expect(texts).toBe(read * text.length <= 20_000_000 ? 1 : 0)
    expect(answer).toBe(texts ? false : undefined)
    expect(counted(() => matches(text.slice(0, 5000)))).toEqual({ states: 0, texts: 1, answer: false })
  })
})
