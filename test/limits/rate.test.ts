import { describe, expect, test } from 'vitest'
import { callerOf } from '../../worker/plugins/rate-limit/caller.ts'
import { limiter } from '../../worker/plugins/rate-limit/limiter.ts'
import { rateText, readQuota, readRate } from '../../worker/plugins/rate-limit/parse-rate.ts'

describe('a rate', () => {
  test.each([
    ['60/m', 60, 60],
    ['10/10s', 10, 10],
  ])('%s is %i calls in %i seconds', (text, times, seconds) => {
    expect(readRate(text, 'rateLimit()')).toMatchObject({ times, seconds })
  })

  test.each(['5/s', '5/1s', '5/h', '60 per minute', '0/m', '5/', '5/toString'])('%s is refused', (text) => {
    const options = { rate: text }
    expect(() => limiter(options, () => ({}))).toThrow(
      `rateLimit() has the rate "${text}": write it like 60/m or 10/10s. A rate counts in periods of 10s or m (a minute); quota counts those of an hour or a day`,
    )
  })
})

test('callers without a principal and an address are one', () => {
  const of = (headers: HeadersInit) =>
    callerOf(
      { request: new Request('https://mcp.example.com', { headers }), context: {} },
      { identity: 'notes' },
      'user',
    )
  expect(of({ 'User-Agent': 'one' })).toBe(of({ 'User-Agent': 'two' }))
  expect(of({ 'CF-Connecting-IP': '192.0.2.1' })).not.toBe(of({}))
})

test('the error for an invalid quota names the valid units', () => {
  expect(() => readQuota('5/s', 'The tool "t"')).toThrow(
    'The tool "t" has the quota "5/s": write it like 1000/d, 100/h or 10/m. A quota counts in periods of m, h or d ' +
      '(a minute, an hour or a day)',
  )
})

test.each([
  [60, 'at most 5 in a minute'],
  [10, 'at most 5 in 10 seconds'],
  [3_600, 'at most 5 in an hour'],
  [86_400, 'at most 5 in a day'],
])('a period of %i seconds is written as "%s"', (seconds, text) => {
  expect(rateText({ text: '', times: 5, seconds })).toBe(text)
})
