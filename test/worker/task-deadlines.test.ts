/** Deadlines of a task while its alarm holds it in memory: no other alarm runs meanwhile. */
import { runInDurableObject } from 'cloudflare:test'
import { exports } from 'cloudflare:workers'
import { type Context, createServer } from 'edgemcp'
import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import { Task, type TaskHost } from '../../durable-objects/task/object.ts'
import { references, taskHost } from './task-host.ts'

const namespace = (exports as unknown as { McpState: DurableObjectNamespace }).McpState

type Running = { task: Task; storage: DurableObjectStorage; tell: ReturnType<typeof vi.fn<TaskHost['publishStatus']>> }

/** Begins a task whose session gets its status, in an object that nothing else uses. */
const withTask = (
  ttlMs: number,
  handler: (input: unknown, ctx: Context) => Promise<string>,
  use: (running: Running) => Promise<void>,
): Promise<void> =>
  runInDurableObject(namespace.getByName(crypto.randomUUID()), async (_, context) => {
    const server = createServer({ name: 'deadlines', version: '1.0.0' })
    server.tool('work', { description: 'Works', task: true }, handler)
    const tell = vi.fn<TaskHost['publishStatus']>(async () => {})
    const task = new Task(context, {} as never, taskHost({ server, publishStatus: tell }))
    const capabilities = { elicitation: { form: {} } }
    await task.start(
      { params: { name: 'work' }, capabilities, client: undefined, principal: undefined },
      { after: 0, ttl: ttlMs, poll: 1000, retries: 0 },
      { ...references, session: 'a session' },
      {},
      false,
    )
    await use({ task, tell, storage: context.storage })
    await context.storage.deleteAll()
  })

test('a task whose handler never ends expires after its ttl', () =>
  withTask(
    300,
    () => new Promise(() => {}),
    async ({ task, storage }) => {
      await task.alarm()
      expect(await storage.getAlarm()).toBeLessThanOrEqual(Date.now() + 1)
      await task.alarm()
      expect(await task.get()).toBeUndefined()
      expect([...storage.kv.list()]).toEqual([])
    },
  ))

test('an input request of a task that an alarm keeps awake times out', () =>
  withTask(
    3_600_000,
    async (_, ctx) => {
      await ctx.once('work', () => scheduler.wait(50))
      await ctx.elicit('sure', 'Sure?', z.object({ sure: z.boolean() }), { timeout: 2000 })
      return 'done'
    },
    async ({ task, storage }) => {
      await task.alarm()
      expect(await task.get()).toMatchObject({ status: 'input_required' })
      expect(await storage.getAlarm()).toBeLessThanOrEqual(Date.now() + 2000)
    },
  ))

test('a sleep ends beside an effect that keeps the task awake', async () => {
  const woke = Promise.withResolvers<void>()
  await withTask(
    3_600_000,
    async (_, ctx) => {
      const sleep = ctx.sleep('short', 50).then(() => woke.resolve())
      await Promise.all([sleep, ctx.once('long', () => woke.promise)])
      return 'done'
    },
    async ({ task }) => {
      await task.alarm()
      expect(await task.get()).toMatchObject({ status: 'completed' })
    },
  )
})

test('a failed delivery of a status is repeated while a cancelled handler continues', () => {
  const [begun, end] = [Promise.withResolvers<void>(), Promise.withResolvers<string>()]
  return withTask(
    3_600_000,
    () => {
      begun.resolve()
      return end.promise
    },
    async ({ task, tell }) => {
      const alarm = task.alarm()
      await begun.promise
      tell.mockRejectedValueOnce(new Error('The session does not answer'))
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
      try {
        expect(await task.cancel()).toMatchObject({ before: 'working' })
        await vi.advanceTimersByTimeAsync(60_000)
        expect(tell).toHaveBeenCalledTimes(2)
        expect(tell).toHaveBeenLastCalledWith(expect.objectContaining({ status: 'cancelled' }), expect.anything())
      } finally {
        vi.useRealTimers()
      }
      end.resolve('late')
      await alarm
    },
  )
})

test('the status of a cancelled task whose handler continues is sent again to a client that begins to listen', () => {
  const [begun, end] = [Promise.withResolvers<void>(), Promise.withResolvers<string>()]
  return withTask(
    3_600_000,
    () => {
      begun.resolve()
      return end.promise
    },
    async ({ task, tell, storage }) => {
      const alarm = task.alarm()
      await begun.promise
      await task.cancel()
      await vi.waitFor(async () => expect(await storage.getAlarm()).toBeGreaterThan(Date.now() + 60_000))
      // The object is lost before it is delivered.
      tell.mockReturnValueOnce(new Promise(() => {}))
      await task.watch(1)
      expect(await storage.getAlarm()).toBeLessThanOrEqual(Date.now() + 10_000)
      end.resolve('late')
      await alarm
    },
  )
})

test('a call that expires before it is a task ends with an error, and nothing is stored', () =>
  runInDurableObject(namespace.getByName(crypto.randomUUID()), async (_, context) => {
    const begun = Promise.withResolvers<void>()
    const server = createServer({ name: 'deadlines', version: '1.0.0' })
    server.tool('work', { description: 'Works', task: true }, () => {
      begun.resolve()
      return new Promise(() => {})
    })
    const task = new Task(context, {} as never, taskHost({ server }))
    const started = task.start(
      {
        params: { name: 'work' },
        capabilities: {},
        client: undefined,
        principal: undefined,
      },
      { after: 200, ttl: 3_600_000, poll: 1000, retries: 0 },
      { ...references, session: undefined },
      {},
      false,
    )
    await begun.promise
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 600_000 })
    try {
      await task.alarm()
      expect(await started).toMatchObject({ error: { data: { reason: 'lapsed' } } })
    } finally {
      vi.useRealTimers()
    }
    expect([...context.storage.kv.list()]).toEqual([])
  }))
