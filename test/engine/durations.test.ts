/** Durations as texts, wherever an option is one. */
import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { timeOf } from '../../worker/plugins/rate-limit/limiter.ts'
import { accept, converse, newServer, textOf } from './stage.ts'

describe('the timeout of an input request', () => {
  const askWith = (timeout: never) =>
    newServer().use((server) => {
      server.tool('t', { description: 'd' }, async (_, ctx) => {
        const { action } = await ctx.elicit('name', 'Name?', z.object({ name: z.string() }), { timeout })
        return action
      })
    })

  test.each(['30s', '1.5h', 60_000])('can be %s', async (timeout) => {
    const { result } = await converse(askWith(timeout as never), 'tools/call', { name: 't' }, () => ({
      result: accept({ name: 'Ada' }),
    }))
    expect(textOf(result)).toBe('accept')
  })

  test.each<[unknown, string]>([
    ['soon', '"soon"'],
    ['10 s', '"10 s"'],
    [-1, '-1'],
    [0, '0'],
    [0.4, '0.4'],
    ['0.4ms', '"0.4ms"'],
    [Number.NaN, 'NaN'],
    [Number.POSITIVE_INFINITY, 'Infinity'],
    [5n, '5'],
    [null, 'null'],
    [[Symbol('s')], '[Symbol(s)]'],
  ])('cannot be %o: the error names the input request', async (timeout, shown) => {
    const { result, rounds } = await converse(askWith(timeout as never), 'tools/call', { name: 't' }, () => ({
      result: accept({ name: 'Ada' }),
    }))
    expect(textOf(result)).toBe(
      `"timeout" of ctx.elicit("name", …) must be at least 1 ms: milliseconds, or a string such as '2s', '10m', '1h' or '7d', not ${shown}`,
    )
    expect(rounds).toEqual([])
  })
})

test.each([
  ['5m', 300_000],
  [1000, 1000],
  [Number.POSITIVE_INFINITY, undefined],
  [undefined, 300_000],
])('rateLimit({ time: %s }) is %s milliseconds', (time, expected) => {
  expect(timeOf(time === undefined ? {} : { time })).toBe(expected)
})
