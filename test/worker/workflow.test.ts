import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { Context } from '../../worker/declarations/context.ts'
import { runWorkflow } from '../../worker/plugins/tasks/run-workflow.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'] }))
afterEach(() => void vi.useRealTimers())

/** Runs a handler as a task does that is parked in every sleep: again from its beginning, with the effects that are stored. */
async function runToEnd<T>(handler: (ctx: Context) => Promise<T>): Promise<{ result: T; runs: number }> {
  const effects = new Map<string, unknown>()
  const once = async (key: string, effect: () => unknown) => {
    if (!effects.has(key)) effects.set(key, await effect())
    return effects.get(key)
  }
  for (let runs = 1; ; runs += 1) {
    const parked = Promise.withResolvers<{ moment: number }>()
    const rest = (moment: number) => {
      parked.resolve({ moment })
      return new Promise<void>(() => {})
    }
    const sleepUntil: Context['sleepUntil'] = async (key, moment) => {
      const untilMs = Number(await once(`\0sleep ${key}`, () => Number(moment)))
      if (untilMs > Date.now()) await rest(untilMs)
    }
    // What runWorkflow uses of a context.
    const ctx = { progress: () => {}, once, sleepUntil } as unknown as Context
    const ended = await Promise.race([parked.promise, handler(ctx).then((result) => ({ result }))])
    if ('result' in ended) return { result: ended.result, runs }
    vi.setSystemTime(ended.moment)
  }
}

test('a task reads the status of its workflow once each time it wakes up', async () => {
  const begunAt = Date.now()
  const hourMs = 60 * 60_000
  const lookedAt: number[] = []
  const instance = {
    async status() {
      lookedAt.push(Date.now() - begunAt)
      return Date.now() < begunAt + hourMs ? { status: 'running' } : { status: 'complete', output: 'baked' }
    },
  }
  const binding = { create: async () => instance, get: async () => instance } as unknown as Workflow
  const { result, runs } = await runToEnd((ctx) => runWorkflow(ctx, binding, {}))
  expect(result).toBe('baked')
  expect(lookedAt.length).toBe(runs)
  // After a second, then at growing intervals of up to a minute.
  expect(lookedAt.slice(0, 4)).toEqual([0, 1000, 2300, 3990])
  const intervals = lookedAt.slice(1).map((at, index) => at - (lookedAt[index] as number))
  expect(Math.max(...intervals)).toBe(60_000)
})
