/** That the status of a task reaches its session and its listeners, whatever happens between storing and delivering it. */
import { runInDurableObject } from 'cloudflare:test'
import { exports } from 'cloudflare:workers'
import { createServer } from 'edgemcp'
import { expect, test, vi } from 'vitest'
import { Task, type TaskHost } from '../../durable-objects/task/object.ts'
import { taskHost } from './task-host.ts'

const namespace = (exports as unknown as { McpState: DurableObjectNamespace }).McpState
const ttlMs = 3_600_000

type Tell = TaskHost['publishStatus']

/** Begins a task whose session gets its status, in an object that nothing else uses. `instance` makes an instance that reads what is stored. */
const withTask = (
  use: (task: { instance(tell: Tell): Task; storage: DurableObjectStorage }) => Promise<void>,
): Promise<void> =>
  runInDurableObject(namespace.getByName(crypto.randomUUID()), async (_, context) => {
    const server = createServer({ name: 'status', version: '1.0.0' })
    server.tool('quick', { description: 'Ends at once', task: true }, () => 'done')
    const instance = (tell: Tell) =>
      new Task(context, {} as never, taskHost({ serverOf: () => server, publishStatus: tell }))
    await instance(async () => {}).start(
      { params: { name: 'quick' }, capabilities: {}, client: undefined, principal: undefined, identity: 'test' },
      { after: 0, ttl: ttlMs, poll: 1000, retries: 0 },
      { name: 'task x', taskId: 'sealed', session: 'a session' },
      {},
      false,
    )
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
