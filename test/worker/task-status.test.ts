/** That the status of a task reaches its session and its listeners, whatever happens between storing and delivering it. */
import { runInDurableObject } from 'cloudflare:test'
import { exports } from 'cloudflare:workers'
import { createServer } from 'edgemcp'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { Task, type TaskHost } from '../../durable-objects/task/object.ts'
import type { TaskStatus } from '../../durable-objects/task/rpc.ts'
import { TaskStore } from '../../durable-objects/task/task-store.ts'
import { references, taskHost } from './task-host.ts'

const namespace = (exports as unknown as { McpState: DurableObjectNamespace }).McpState
const ttlMs = 3_600_000

type Tell = TaskHost['publishStatus']

type Name = 'quick' | 'pay' | 'ask'
type Made = { instance(tell: Tell): Task; storage: DurableObjectStorage }

const begin = (task: Task, name: Name = 'quick', after = 0) =>
  task.start(
    {
      params: { name },
      capabilities: { elicitation: { form: {} } },
      client: undefined,
      principal: undefined,
    },
    { after, ttl: ttlMs, poll: 1000, retries: 0 },
    { ...references, session: 'a session' },
    {},
    false,
  )

/** Begins a task whose session gets its status, in an object that nothing else uses. `instance` makes an instance that reads what is stored. */
const withTask = (use: (made: Made) => Promise<void>, name: Name = 'quick'): Promise<void> =>
  withObject(async (made) => {
    await begin(
      made.instance(async () => {}),
      name,
    )
    await use(made)
  })

const withObject = (use: (made: Made) => Promise<void>): Promise<void> =>
  runInDurableObject(namespace.getByName(crypto.randomUUID()), async (_, context) => {
    const server = createServer({ name: 'status', version: '1.0.0' })
    server.tool('quick', { description: 'Ends at once', task: true }, () => 'done')
    server.tool('pay', { description: 'Has an effect', task: true }, async (_, ctx) => {
      return `Receipt ${await ctx.once('charge', () => crypto.randomUUID())}`
    })
    server.tool('ask', { description: 'Asks', task: true }, async (_, ctx) => {
      const { action } = await ctx.elicit('sure', 'Sure?', z.object({}))
      return action
    })
    const instance = (tell: Tell) => new Task(context, {} as never, taskHost({ server, publishStatus: tell }))
    await use({ instance, storage: context.storage })
    await context.storage.deleteAll()
  })

test('a status whose delivery was interrupted by a loss of the object is delivered by the next instance', () =>
  withTask(async ({ instance, storage }) => {
    const lost = vi.fn<Tell>(() => new Promise(() => {}))
    await instance(lost).alarm()
    expect(lost).toHaveBeenCalledWith(expect.objectContaining({ status: 'completed' }), expect.anything())
    // The platform wakes the object again long before the task expires.
    expect(await storage.getAlarm()).toBeLessThan(Date.now() + 60_000)
    const tell = vi.fn<Tell>(async () => {})
    await instance(tell).alarm()
    await vi.waitFor(() => expect(tell).toHaveBeenCalledTimes(1))
    expect(tell).toHaveBeenCalledWith(expect.objectContaining({ status: 'completed' }), expect.anything())
  }))

test('a status whose delivery fails is delivered again, once', () =>
  withTask(async ({ instance, storage }) => {
    const tell = vi.fn<Tell>(async () => {})
    tell.mockRejectedValueOnce(new Error('The session does not answer'))
    tell.mockRejectedValueOnce(new Error('The session does not answer'))
    const task = instance(tell)
    for (const attempts of [1, 2, 3]) {
      expect(await storage.getAlarm()).toBeLessThan(Date.now() + 120_000)
      await task.alarm()
      await vi.waitFor(() => expect(tell).toHaveBeenCalledTimes(attempts))
    }
    // Nothing but its expiry is left to be done.
    await vi.waitFor(async () => expect(await storage.getAlarm()).toBeGreaterThan(Date.now() + ttlMs / 2))
    await task.alarm()
    expect(tell).toHaveBeenCalledTimes(3)
  }))

describe('a status that the storage refuses', () => {
  /** Refuses to store some statuses, once each. Returns the refused ones. */
  function refuse(...statuses: TaskStatus[]): TaskStatus[] {
    const refused: TaskStatus[] = []
    const { save } = TaskStore.prototype
    vi.spyOn(TaskStore.prototype, 'save').mockImplementation(function (this: TaskStore, record) {
      if (!statuses.includes(record.status) || refused.includes(record.status)) return save.call(this, record)
      refused.push(record.status)
      throw new Error('database or disk is full: SQLITE_FULL')
    })
    return refused
  }
  afterEach(() => {
    vi.restoreAllMocks()
  })

  test('is not seen, and the next run has the same effects', () =>
    withTask(async ({ instance }) => {
      const task = instance(async () => {})
      const started = await task.get()
      const charges = vi.spyOn(crypto, 'randomUUID')
      const refused = refuse('completed', 'failed')
      await expect(task.alarm()).rejects.toThrow('SQLITE_FULL')
      expect(refused).toEqual(['completed', 'failed'])
      expect(await task.get()).toEqual(started)
      const next = instance(async () => {})
      await next.alarm()
      expect(charges).toHaveBeenCalledTimes(1)
      const text = `Receipt ${charges.mock.results[0]?.value}`
      expect(await next.get()).toMatchObject({ status: 'completed', result: { content: [{ text }] } })
    }, 'pay'))

  test('is not seen by a client that cancels, which may cancel again', () =>
    withTask(async ({ instance }) => {
      const task = instance(async () => {})
      const started = await task.get()
      refuse('cancelled')
      await expect(task.cancel()).rejects.toThrow('SQLITE_FULL')
      expect(await task.get()).toEqual(started)
      expect(await task.cancel()).toMatchObject({ before: 'working', task: { status: 'cancelled' } })
      expect(await instance(async () => {}).get()).toMatchObject({ status: 'cancelled' })
    }))

  test('leaves the input requests of the task open, for the same answer again', () =>
    withTask(async ({ instance }) => {
      const task = instance(async () => {})
      await task.alarm()
      const asked = await task.get()
      expect(asked).toMatchObject({ status: 'input_required', rounds: 1 })
      const answers = { sure: { result: { action: 'accept', content: {} } } }
      refuse('working')
      await expect(task.update(answers)).rejects.toThrow('SQLITE_FULL')
      expect(await task.get()).toEqual(asked)
      const next = instance(async () => {})
      expect(await next.update(answers)).toMatchObject({ task: { status: 'working' } })
      await next.alarm()
      expect(await next.get()).toMatchObject({ status: 'completed', result: { content: [{ text: 'accept' }] } })
    }, 'ask'))
})

describe('a task whose start the storage refuses', () => {
  /** Refuses a call of `save`, by its number. Returns the records that are saved, as they are then. */
  function refuseSave(number: number): unknown[] {
    const { save } = TaskStore.prototype
    const saved: unknown[] = []
    let count = 0
    vi.spyOn(TaskStore.prototype, 'save').mockImplementation(function (this: TaskStore, record) {
      count += 1
      if (count === number) throw new Error('database or disk is full: SQLITE_FULL')
      saved.push(structuredClone(record))
      save.call(this, record)
    })
    return saved
  }
  afterEach(() => {
    vi.restoreAllMocks()
  })

  test.each([1, 2])('at its write number %i starts when its client calls again, and is stored', (number) =>
    withObject(async ({ instance, storage }) => {
      const task = instance(async () => {})
      refuseSave(number)
      await expect(begin(task)).rejects.toThrow('SQLITE_FULL')
      expect(await task.get()).toBeUndefined()
      expect(await begin(task)).toMatchObject({ task: { status: 'working' } })
      expect(await storage.getAlarm()).not.toBeNull()
      expect(await instance(async () => {}).get()).toMatchObject({ status: 'working' })
    }),
  )

  test('in a run does not count the run as lost twice', () =>
    withTask(async ({ instance, storage }) => {
      const task = instance(async () => {})
      const saved = refuseSave(1)
      await expect(task.alarm()).rejects.toThrow('SQLITE_FULL')
      await task.alarm()
      expect(saved[0]).toMatchObject({ lostRuns: 1 })
      expect(storage.kv.get('task')).toMatchObject({ status: 'completed' })
    }))
})
