import { describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import type { Context } from '../../worker/declarations/context.ts'
import { createServer } from '../../worker/declarations/server.ts'
import { withAnswers } from '../../worker/engine/journal.ts'
import { play } from './stage.ts'

const description = 'For tests'
const hourMs = 60 * 60_000

const sleeper = (handler: (ctx: Context) => unknown) => {
  const server = createServer({ name: 'sleeper', version: '1.0.0' })
  server.tool('sleep', { description }, async (_, ctx) => {
    await handler(ctx)
    return 'awake'
  })
  return server
}

const call = { name: 'sleep' }

describe('ctx.sleep, on a server without tasks', () => {
  test('waits for the given duration', async () => {
    const sleep = vi.fn(async (_untilMs: number) => {})
    const before = Date.now()
    const { outcome } = await play(
      sleeper((ctx) => ctx.sleep('nap', '1h')),
      'tools/call',
      call,
      { sleep },
    )
    expect(outcome).toMatchObject({ result: { content: [{ text: 'awake' }] } })
    expect(sleep).toHaveBeenCalledTimes(1)
    expect(sleep.mock.calls[0]?.[0]).toBeGreaterThanOrEqual(before + hourMs)
    expect(sleep.mock.calls[0]?.[0]).toBeLessThanOrEqual(Date.now() + hourMs)
  })

  test('waits until a time, and not for a time that has passed', async () => {
    const sleep = vi.fn(async (_untilMs: number) => {})
    const moment = new Date(Date.now() + hourMs)
    const server = sleeper(async (ctx) => {
      await ctx.sleepUntil('past', 0)
      await ctx.sleepUntil('future', moment)
    })
    await play(server, 'tools/call', call, { sleep })
    expect(sleep.mock.calls).toEqual([[moment.getTime()]])
  })

  test('waits until the same time in the next round', async () => {
    const sleep = vi.fn(async (_untilMs: number) => {})
    const server = sleeper(async (ctx) => {
      await ctx.sleep('nap', '1h')
      await ctx.elicit('name', 'Your name?', z.object({ name: z.string() }))
    })
    const { outcome } = await play(server, 'tools/call', call, { sleep })
    if (outcome.type !== 'input_required') throw new Error('The call asks nothing')
    const journal = withAnswers(outcome.journal, { name: { result: { action: 'decline' } } })
    await play(server, 'tools/call', call, { sleep, journal })
    const [[first] = [], [second] = []] = sleep.mock.calls
    expect(second).toBe(first)
  })

  test.each<[string, (ctx: Context) => unknown, string]>([
    [
      'without a key',
      (ctx) => ctx.sleep('', '1h'),
      `The key of a sleep is "": use a string, as in ctx.sleep('wait', '1h')`,
    ],
    [
      'twice',
      async (ctx) => {
        await ctx.sleep('nap', 1)
        await ctx.sleep('nap', 1)
      },
      'The sleep key "nap" is used twice in one call: use each key once',
    ],
    [
      'inside ctx.once',
      (ctx) => ctx.once('work', () => ctx.sleep('nap', 1)),
      'The sleep "nap" is inside ctx.once("work"): sleep before or after it',
    ],
    ['for no duration', (ctx) => ctx.sleep('nap', 'soon'), 'The duration of the sleep "nap" is "soon"'],
    ['until no moment', (ctx) => ctx.sleepUntil('nap', Number.NaN), 'The date of the sleep "nap" is invalid'],
  ])('is refused %s', async (_, handler, message) => {
    const { outcome } = await play(sleeper(handler), 'tools/call', call, { sleep: async () => {} })
    expect(outcome).toMatchObject({
      result: { isError: true, content: [{ text: expect.stringContaining(message) }] },
    })
  })
})
