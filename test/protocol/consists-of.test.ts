import { expect, test, vi } from 'vitest'
import { consistsOf } from '../../worker/protocol/consists-of.ts'

test.each<[string, string, boolean]>([
  ['', '', true],
  ['a', 'a', true],
  ['a', 'ab', false],
  ['*', '', true],
  ['a*', 'ab', true],
  ['*b', 'ab', true],
  ['a*a', 'a', false],
  ['a**b', 'ab', true],
  ['*aab*', 'aaab', true],
  ['*abab*c', 'aababac', true],
  ['*abab*c', 'ababac', true],
  ['*abac*', 'ababac', true],
  ['*ab*ab*', 'ab', false],
  ['a*b*c', 'axxbxxc', true],
  ['a*b*c', 'axxcxxc', false],
])('the pattern %j fits %j: %j', (pattern, text, fits) => {
  expect(consistsOf(pattern.split('*'), text)).toBe(fits)
  const expression = new RegExp(`^${pattern.replaceAll('*', '.*')}$`)
  expect(expression.test(text)).toBe(fits)
})

test('repeated characters are compared a few times each', () => {
  const reading = vi.spyOn(String.prototype, 'charCodeAt')
  const finding = vi.spyOn(String.prototype, 'indexOf')
  const [part, text] = [`${'a'.repeat(2_000)}b${'a'.repeat(2_000)}`, 'a'.repeat(8_192)]
  expect(consistsOf(['a', part, 'a'], text)).toBe(false)
  const compared = reading.mock.calls.length
  expect(finding).not.toHaveBeenCalled()
  vi.restoreAllMocks()
  expect(compared).toBeLessThan(6 * (part.length + text.length))
})
