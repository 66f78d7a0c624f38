/** The runs of a task's handler: what still runs when one ends, and what runs when its task is cancelled. */
import { runInDurableObject } from 'cloudflare:test'
import { exports } from 'cloudflare:workers'
import { type Context, createServer } from 'edgemcp'
import { state } from 'edgemcp/state'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { Task, type TaskHost } from '../../durable-objects/task/object.ts'
import type { Answer } from '../../worker/engine/journal.ts'
import { McpError } from '../../worker/protocol/errors.ts'
import { references, taskHost } from './task-host.ts'

const namespace = (exports as unknown as { McpState: DurableObjectNamespace }).McpState

const hour = 3_600_000

type Handler = (input: unknown, ctx: Context) => Promise<string>
/** @property instance returns a new instance, as after a loss of the object */
type Running = { readonly task: Task; instance(): Task; readonly storage: DurableObjectStorage }

/** Starts a task in an object that nothing else uses. */
const withTask = (
  retries: number,
  handler: Handler,
  use: (running: Running) => Promise<void>,
  { ttl = hour, scopes, ...host }: Partial<TaskHost> & { readonly ttl?: number; readonly scopes?: string[] } = {},
): Promise<void> =>
  runInDurableObject(namespace.getByName(crypto.randomUUID()), async (_, context) => {
    const server = createServer({ name: 'runs', version: '1.0.0' })
    server.tool('work', { description: 'Works', task: { retries }, ...(scopes && { scopes }) }, handler)
    const instance = () => new Task(context, {} as never, { ...taskHost({ server }), ...host })
    const task = instance()
    const capabilities = { elicitation: { form: {} } }
    await task.start(
      { params: { name: 'work' }, capabilities, client: undefined, principal: undefined },
      { after: 0, ttl, poll: 1000, retries },
      { ...references, session: undefined },
      {},
      false,
    )
    await use({ task, instance, storage: context.storage })
    await context.storage.deleteAll()
  })

beforeEach(() => vi.useFakeTimers({ toFake: ['Date'] }))
afterEach(() => vi.useRealTimers())

/** Moves the clock, which no timer follows. */
const later = (ms: number): unknown => vi.setSystemTime(Date.now() + ms)

const accept = (content: object): Answer => ({ result: { action: 'accept', content } })
/** An effect that runs until it is released. */
function slowEffect() {
  const { promise, resolve } = Promise.withResolvers<void>()
  const begun = Promise.withResolvers<void>()
  const run = vi.fn(async () => {
    begun.resolve()
    await promise
    return run.mock.calls.length
  })
  return { run, begun: begun.promise, release: resolve }
}

describe('an effect that still runs when its run ends', () => {
  test('is not repeated by the retry', () => {
    const charge = slowEffect()
    const rates = vi.fn().mockRejectedValueOnce(new Error('flaky')).mockResolvedValue(1)
    return withTask(
      1,
      async (_, ctx) => {
        const [, receipt] = await Promise.all([ctx.once('rates', rates), ctx.once('charge', charge.run)])
        return `receipt ${receipt}`
      },
      async ({ task }) => {
        const run = task.alarm()
        await charge.begun
        await scheduler.wait(0)
        charge.release()
        await run
        later(1000)
        await task.alarm()
        expect(await task.get()).toMatchObject({ status: 'completed', result: { content: [{ text: 'receipt 1' }] } })
        expect([rates.mock.calls.length, charge.run.mock.calls.length]).toEqual([2, 1])
      },
    )
  })

  test('is not repeated by the retry, nor is an effect inside it', () => {
    const charge = slowEffect()
    const inner = vi.fn(() => 'inner')
    const rates = vi.fn().mockRejectedValueOnce(new Error('flaky')).mockResolvedValue(1)
    return withTask(
      1,
      async (_, ctx) => {
        const outer = ctx.once('outer', async () => `${await charge.run()} ${await ctx.once('inner', inner)}`)
        const [, receipt] = await Promise.all([ctx.once('rates', rates), outer])
        return receipt
      },
      async ({ task }) => {
        const run = task.alarm()
        await charge.begun
        await scheduler.wait(0)
        charge.release()
        await run
        later(1000)
        await task.alarm()
        expect(await task.get()).toMatchObject({ status: 'completed', result: { content: [{ text: '1 inner' }] } })
        expect([charge.run.mock.calls.length, inner.mock.calls.length]).toEqual([1, 1])
      },
    )
  })

  test('is not repeated when an input response is invalid', () => {
    const charge = slowEffect()
    const answer = z.object({ name: z.string().refine((name) => name === 'valid') })
    return withTask(
      0,
      async (_, ctx) => {
        const charging = async () => {
          await ctx.elicit('sure', 'Sure?', z.object({}))
          return ctx.once('charge', charge.run)
        }
        const [receipt] = await Promise.all([charging(), ctx.elicit('name', 'Name?', answer)])
        return `receipt ${receipt}`
      },
      async ({ task }) => {
        await task.alarm()
        await task.update({ sure: accept({}), name: accept({ name: 'other' }) })
        const run = task.alarm()
        await charge.begun
        await scheduler.wait(0)
        charge.release()
        await run
        expect(await task.get()).toMatchObject({
          status: 'input_required',
          statusMessage: expect.stringContaining('does not fit its schema'),
        })
        await task.update({ name: accept({ name: 'valid' }) })
        await task.alarm()
        expect(await task.get()).toMatchObject({ status: 'completed', result: { content: [{ text: 'receipt 1' }] } })
        expect(charge.run).toHaveBeenCalledTimes(1)
      },
    )
  })

  test('is not repeated when it replaces a request that the client does not support', () => {
    const charge = slowEffect()
    return withTask(
      0,
      async (_, ctx) => {
        const charging = ctx
          .sample('model', { prompt: 'Which?', maxTokens: 10 })
          .catch(() => ctx.once('charge', charge.run))
        const [receipt] = await Promise.all([charging, ctx.elicit('sure', 'Sure?', z.object({}))])
        return `receipt ${receipt}`
      },
      async ({ task }) => {
        const run = task.alarm()
        await charge.begun
        await scheduler.wait(0)
        charge.release()
        await run
        await task.update({ sure: accept({}) })
        await task.alarm()
        expect(await task.get()).toMatchObject({ status: 'completed', result: { content: [{ text: 'receipt 1' }] } })
        expect(charge.run).toHaveBeenCalledTimes(1)
      },
    )
  })

  test('does not delay the result of the task', () =>
    withTask(
      1,
      async (_, ctx) => {
        const never = ctx.once('never', () => new Promise<void>(() => {}))
        return Promise.race([never, ctx.once('fast', () => 'fast')]).then(String)
      },
      async ({ task }) => {
        await task.alarm()
        expect(await task.get()).toMatchObject({ status: 'completed', result: { content: [{ text: 'fast' }] } })
      },
    ))
})

describe('a task that sleeps', () => {
  const ends: [string, (task: Task) => Promise<unknown>][] = [
    ['is cancelled', (task) => task.cancel()],
    [
      'expires',
      (task) => {
        later(hour)
        return task.alarm()
      },
    ],
  ]

  test.each(ends)('and %s after its sleep is over cleans up, and does not continue', (_name, end) => {
    const send = vi.fn()
    const slept = vi.fn()
    const cleaned = Promise.withResolvers<void>()
    return withTask(
      0,
      async (_, ctx) => {
        try {
          await ctx.sleep('pause', '11s').then(slept)
          await ctx.once('send', send)
          return 'sent'
        } finally {
          cleaned.resolve()
        }
      },
      async ({ task }) => {
        await task.alarm()
        later(12_000)
        await end(task)
        await cleaned.promise
        expect([slept.mock.calls, send.mock.calls]).toEqual([[], []])
      },
    )
  })

  test.each(ends)('and %s after the loss of the run that it woke for does not continue', (_name, end) => {
    const send = vi.fn()
    const [lost, cleaned] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const hang = vi.fn().mockImplementationOnce(() => {
      lost.resolve()
      return new Promise(() => {})
    })
    return withTask(
      0,
      async (_, ctx) => {
        try {
          await ctx.sleep('earlier', '11s')
          await ctx.once('first', () => 1)
          await ctx.sleep('pause', '11s')
          await ctx.once('prepare', () => 2)
          await hang()
          await ctx.once('send', send)
          return 'sent'
        } finally {
          cleaned.resolve()
        }
      },
      async ({ task, instance }) => {
        await task.alarm()
        later(12_000)
        await task.alarm()
        later(12_000)
        void instance().alarm()
        await lost.promise
        await end(instance())
        await cleaned.promise
        expect(send).not.toHaveBeenCalled()
      },
    )
  })

  test('beside an effect cleans up when it is cancelled', () => {
    const upload = slowEffect()
    const cleaned = Promise.withResolvers<void>()
    return withTask(
      0,
      async (_, ctx) => {
        try {
          await Promise.all([ctx.once('upload', upload.run), ctx.sleep('pause', '30m')])
          return 'done'
        } finally {
          cleaned.resolve()
        }
      },
      async ({ task }) => {
        const run = task.alarm()
        await upload.begun
        await scheduler.wait(0)
        await task.cancel()
        await cleaned.promise
        upload.release()
        await run
      },
    )
  })

  test('does not clean up when only its run ends', () => {
    const cleaned = vi.fn()
    return withTask(
      0,
      (_, ctx) =>
        Promise.all([ctx.sleep('short', '9s'), ctx.sleep('long', '30m')])
          .then(() => 'done')
          .finally(cleaned),
      async ({ task }) => {
        await task.alarm()
        await scheduler.wait(0)
        expect(cleaned).not.toHaveBeenCalled()
        expect(await task.get()).toMatchObject({ status: 'working' })
      },
    )
  })
})

describe('a task that waits for input', () => {
  const ends: [string, string, (task: Task) => Promise<unknown>][] = [
    ['is cancelled', 'The task was cancelled', (task) => task.cancel()],
    [
      'expires',
      'The task has expired',
      (task) => {
        later(hour)
        return task.alarm()
      },
    ],
    [
      'is not answered in time',
      'Timed out waiting for input',
      (task) => {
        later(60_000)
        return task.alarm()
      },
    ],
  ]

  test.each(ends)('and %s cleans up, and does not continue', (_name, reason, end) => {
    const [charge, ship] = [vi.fn(() => 1), vi.fn()]
    const cleaned = Promise.withResolvers<unknown>()
    return withTask(
      0,
      async (_, ctx) => {
        await ctx.once('charge', charge)
        try {
          await ctx.elicit('sure', 'Sure?', z.object({}), { timeout: '1m' })
          await ctx.once('ship', ship)
          return 'shipped'
        } finally {
          if (ctx.signal.aborted) cleaned.resolve(ctx.signal.reason.message)
        }
      },
      async ({ task }) => {
        await task.alarm()
        expect(await task.get()).toMatchObject({ status: 'input_required' })
        await end(task)
        expect(await cleaned.promise).toBe(reason)
        expect([charge.mock.calls.length, ship.mock.calls.length]).toEqual([1, 0])
      },
    )
  })

  test.each([
    ['the response', { one: accept({}), two: accept({}) }],
    ['one of two responses', { one: accept({}) }],
  ])('and is cancelled right after %s cleans up, and does not continue', (_, answers) => {
    const send = vi.fn()
    const cleaned = Promise.withResolvers<void>()
    return withTask(
      0,
      async (_, ctx) => {
        try {
          const one = ctx.elicit('one', 'One?', z.object({})).then(() => ctx.once('send', send))
          await Promise.all([one, ctx.elicit('two', 'Two?', z.object({}))])
          return 'sent'
        } finally {
          cleaned.resolve()
        }
      },
      async ({ task }) => {
        await task.alarm()
        await task.update(answers)
        await task.cancel()
        await cleaned.promise
        await scheduler.wait(0)
        expect(send).not.toHaveBeenCalled()
      },
    )
  })

  test('and is cancelled after one of two responses does not run again when it expires', () => {
    const [charge, cleaned] = [vi.fn(() => 1), vi.fn()]
    return withTask(
      0,
      async (_, ctx) => {
        await ctx.once('charge', charge)
        const asked = [ctx.elicit('one', 'One?', z.object({})), ctx.elicit('two', 'Two?', z.object({}))]
        await Promise.all(asked).finally(cleaned)
        return 'done'
      },
      async ({ task }) => {
        await task.alarm()
        await task.update({ one: accept({}) })
        await task.cancel()
        await vi.waitFor(() => expect(cleaned).toHaveBeenCalled())
        later(hour)
        await task.alarm()
        await scheduler.wait(0)
        expect([charge.mock.calls.length, cleaned.mock.calls.length]).toEqual([1, 1])
      },
    )
  })

  test('beside an effect cleans up when it is cancelled', () => {
    const upload = slowEffect()
    const cleaned = Promise.withResolvers<void>()
    return withTask(
      0,
      async (_, ctx) => {
        try {
          await Promise.all([ctx.once('upload', upload.run), ctx.elicit('sure', 'Sure?', z.object({}))])
          return 'done'
        } finally {
          cleaned.resolve()
        }
      },
      async ({ task }) => {
        const run = task.alarm()
        await upload.begun
        await task.cancel()
        await cleaned.promise
        upload.release()
        await run
        expect(await task.get()).toMatchObject({ status: 'cancelled' })
      },
    )
  })

  test('does not clean up when only its run ends', () => {
    const cleaned = vi.fn()
    return withTask(
      0,
      (_, ctx) =>
        Promise.all([ctx.once('upload', () => 1), ctx.elicit('sure', 'Sure?', z.object({}))])
          .then(() => 'done')
          .finally(cleaned),
      async ({ task }) => {
        await task.alarm()
        await scheduler.wait(0)
        expect(cleaned).not.toHaveBeenCalled()
        await task.update({ sure: accept({}) })
        await task.alarm()
        expect(await task.get()).toMatchObject({ status: 'completed' })
      },
    )
  })

  test('and is cancelled after another instance was lost cleans up', () => {
    const cleaned = Promise.withResolvers<void>()
    return withTask(
      0,
      async (_, ctx) => {
        await ctx.elicit('sure', 'Sure?', z.object({})).finally(() => cleaned.resolve())
        return 'done'
      },
      async ({ task, instance }) => {
        await task.alarm()
        await instance().cancel()
        await cleaned.promise
      },
    )
  })
})

test('a task that is cancelled while it waits for a retry has cleaned up, and does not run again', () => {
  const [run, cleaned] = [vi.fn(), vi.fn()]
  return withTask(
    3,
    async () => {
      run()
      try {
        throw new Error('flaky')
      } finally {
        cleaned()
      }
    },
    async ({ task }) => {
      await task.alarm()
      await task.cancel()
      await scheduler.wait(0)
      expect([run.mock.calls.length, cleaned.mock.calls.length]).toEqual([1, 1])
    },
  )
})

test('a task that is cancelled while reauthorize fails after its sleep cleans up, and does not continue', () => {
  const [slept, cleaned] = [vi.fn(), Promise.withResolvers<void>()]
  const authorized = { principal: undefined, isCurrent: true }
  const principalOf = vi.fn(async () => authorized)
  return withTask(
    0,
    async (_, ctx) => {
      try {
        await ctx.sleep('pause', '11s').then(slept)
        return 'slept'
      } finally {
        cleaned.resolve()
      }
    },
    async ({ task }) => {
      await task.alarm()
      later(12_000)
      principalOf.mockRejectedValueOnce(new Error('no directory'))
      await task.alarm()
      expect(await task.get()).toMatchObject({ statusMessage: expect.stringContaining('reauthorize failed') })
      await task.cancel()
      await cleaned.promise
      expect(slept).not.toHaveBeenCalled()
    },
    { principalOf },
  )
})

describe('a task that sleeps beside an open input request', () => {
  const sure = z.object({ sure: z.boolean() })
  const question = (key: string) => ({ [key]: expect.objectContaining({ method: 'elicitation/create' }) })

  test('goes on when the sleep is over, and does not ask again', () => {
    const [look, send, cleaned] = [vi.fn(() => 'seen'), vi.fn(() => 1), vi.fn()]
    return withTask(
      0,
      async (_, ctx) => {
        const reminder = async () => {
          await ctx.once('look', look)
          await ctx.sleep('first', '11s')
          await ctx.once('send', send)
          await ctx.sleep('second', '1h')
          await ctx.once('send again', send)
        }
        try {
          await Promise.all([ctx.elicit('sure', 'Sure?', sure, { timeout: '5h' }), reminder()])
        } finally {
          cleaned()
        }
        return 'done'
      },
      async ({ task, instance, storage }) => {
        await task.alarm()
        const asked = await task.get()
        expect(asked).toMatchObject({ status: 'input_required', inputRequests: question('sure') })
        // The client is asked before the branch with the effect goes on.
        expect(await storage.getAlarm()).toBeLessThan(Date.now() + 5000)
        await task.alarm()
        expect(await task.get()).toEqual(asked)
        expect(await storage.getAlarm()).toBe(Date.now() + 11_000)
        later(11_000)
        await task.alarm()
        expect(send).toHaveBeenCalledTimes(1)
        expect(await task.get()).toEqual(asked)
        expect(await storage.getAlarm()).toBe(Date.now() + hour)
        later(hour)
        // The object was lost meanwhile.
        await instance().alarm()
        expect(send).toHaveBeenCalledTimes(2)
        expect(await instance().get()).toEqual(asked)
        const last = instance()
        expect(cleaned).not.toHaveBeenCalled()
        await last.update({ sure: accept({ sure: true }) })
        await last.alarm()
        expect(await last.get()).toMatchObject({ status: 'completed', result: { content: [{ text: 'done' }] } })
        expect([look.mock.calls.length, send.mock.calls.length, cleaned.mock.calls.length]).toEqual([1, 2, 1])
      },
      { ttl: 9 * hour },
    )
  })

  test('ends with what the handler returns first', () =>
    withTask(
      0,
      async (_, ctx) => {
        const late = ctx.sleep('limit', '1h').then(() => 'nobody answered')
        return Promise.race([late, ctx.elicit('sure', 'Sure?', sure).then(({ action }) => action)])
      },
      async ({ task, storage }) => {
        await task.alarm()
        expect(await storage.getAlarm()).toBe(Date.now() + hour)
        later(hour - 1)
        expect(await task.get()).toMatchObject({ status: 'input_required' })
        later(1)
        await task.alarm()
        expect(await task.get()).toMatchObject({
          status: 'completed',
          result: { content: [{ text: 'nobody answered' }] },
        })
      },
      { ttl: 9 * hour },
    ))

  test('requests more input', () => {
    const send = vi.fn()
    return withTask(
      0,
      async (_, ctx) => {
        const more = ctx.sleep('pause', '11s').then(() => ctx.elicit('more', 'More?', sure, { timeout: '1h' }))
        const [one, two] = await Promise.all([ctx.elicit('sure', 'Sure?', sure, { timeout: '5h' }), more])
        await ctx.once('send', send)
        return `${one.content?.sure} ${two.content?.sure}`
      },
      async ({ task, storage }) => {
        await task.alarm()
        later(11_000)
        await task.alarm()
        expect(await task.get()).toMatchObject({
          status: 'input_required',
          inputRequests: { ...question('sure'), ...question('more') },
        })
        expect(await storage.getAlarm()).toBe(Date.now() + hour)
        await task.update({ sure: accept({ sure: true }) })
        await task.update({ more: accept({ sure: false }) })
        await task.alarm()
        expect(await task.get()).toMatchObject({ status: 'completed', result: { content: [{ text: 'true false' }] } })
        expect(send).toHaveBeenCalledTimes(1)
      },
      { ttl: 9 * hour },
    )
  })

  test('goes on after a response that arrives while it runs', () => {
    const send = slowEffect()
    return withTask(
      0,
      async (_, ctx) => {
        const sent = ctx.sleep('pause', '11s').then(() => ctx.once('send', send.run))
        const [answer, count] = await Promise.all([ctx.elicit('sure', 'Sure?', sure), sent])
        return `${answer.content?.sure} ${count}`
      },
      async ({ task, storage }) => {
        await task.alarm()
        later(11_000)
        const run = task.alarm()
        await send.begun
        await task.update({ sure: accept({ sure: true }) })
        send.release()
        await run
        expect(await task.get()).toMatchObject({ status: 'working' })
        expect(await storage.getAlarm()).toBeLessThan(Date.now() + 5000)
        await task.alarm()
        expect(await task.get()).toMatchObject({ status: 'completed', result: { content: [{ text: 'true 1' }] } })
      },
    )
  })

  test('runs again when it throws or reauthorize fails, and its input request stays open', () => {
    const send = vi.fn().mockRejectedValueOnce(new Error('flaky')).mockResolvedValue(1)
    const authorized = { principal: undefined, isCurrent: true }
    const principalOf = vi.fn(async () => authorized)
    return withTask(
      1,
      async (_, ctx) => {
        const sent = ctx.sleep('pause', '11s').then(() => ctx.once('send', send))
        await Promise.all([ctx.elicit('sure', 'Sure?', sure), sent])
        return 'done'
      },
      async ({ task }) => {
        await task.alarm()
        const asked = await task.get()
        later(11_000)
        principalOf.mockRejectedValueOnce(new Error('no directory'))
        await task.alarm()
        expect(await task.get()).toMatchObject({ status: 'input_required', inputRequests: question('sure') })
        later(1000)
        await task.alarm()
        expect(send).toHaveBeenCalledTimes(1)
        expect(await task.get()).toEqual(asked)
        later(1000)
        await task.alarm()
        expect(send).toHaveBeenCalledTimes(2)
        expect(await task.get()).toEqual(asked)
        await task.update({ sure: accept({ sure: true }) })
        await task.alarm()
        expect(await task.get()).toMatchObject({ status: 'completed' })
        expect(send).toHaveBeenCalledTimes(2)
      },
      { principalOf },
    )
  })

  test('cleans up when it is cancelled after the sleep is over, and does not continue', () => {
    const send = vi.fn()
    const cleaned = Promise.withResolvers<void>()
    return withTask(
      0,
      async (_, ctx) => {
        const sent = ctx.sleep('pause', '11s').then(() => ctx.once('send', send))
        await Promise.all([ctx.elicit('sure', 'Sure?', sure), sent]).finally(() => cleaned.resolve())
        return 'done'
      },
      async ({ task }) => {
        await task.alarm()
        later(11_000)
        await task.cancel()
        await cleaned.promise
        await scheduler.wait(0)
        expect(send).not.toHaveBeenCalled()
      },
    )
  })
})

describe('a run that lasts for more than a minute', () => {
  const ada = (...scopes: string[]) => ({
    principal: { issuer: 'https://id.example', subject: 'ada', scopes, claims: {} },
    isCurrent: true,
  })
  const refusal = new McpError('forbidden', 'The task was stopped: ada has left')
  const effects = () => ({ first: vi.fn(() => void later(61_000)), second: vi.fn(() => 'sent') })

  test('calls reauthorize before its next step, and once for steps at the same time', () => {
    const principalOf = vi.fn(async () => ada('read'))
    return withTask(
      0,
      async (_, ctx) => {
        await ctx.once('first', () => {})
        await ctx.once('second', () => void later(60_000))
        await Promise.all([ctx.once('third', () => {}), ctx.once('fourth', () => {})])
        return 'done'
      },
      async ({ task }) => {
        await task.alarm()
        expect(await task.get()).toMatchObject({ status: 'completed' })
        expect(principalOf).toHaveBeenCalledTimes(2)
      },
      { principalOf },
    )
  })

  test('fails before its next step when reauthorize refuses the principal, and nothing more of its handler runs', () => {
    const { first, second } = effects()
    const [caught, aborted] = [vi.fn(), vi.fn()]
    const principalOf = vi.fn(async () => ada('read'))
    return withTask(
      3,
      async (_, ctx) => {
        ctx.signal.addEventListener('abort', aborted)
        await ctx.once('first', first)
        await ctx.once('outer', () => ctx.once('second', second)).catch(caught)
        return 'done'
      },
      async ({ task }) => {
        principalOf.mockResolvedValueOnce(ada('read')).mockRejectedValueOnce(refusal)
        await task.alarm()
        expect(await task.get()).toMatchObject({ status: 'failed', error: { message: refusal.message } })
        expect([second, caught, aborted].map(({ mock }) => mock.calls.length)).toEqual([0, 0, 1])
      },
      { principalOf },
    )
  })

  test('fails before a short sleep when reauthorize refuses the principal', () => {
    const { first, second } = effects()
    const principalOf = vi.fn(async () => ada('read'))
    return withTask(
      0,
      async (_, ctx) => {
        await ctx.once('first', first)
        await ctx.sleep('pause', 1)
        second()
        return 'done'
      },
      async ({ task }) => {
        principalOf.mockResolvedValueOnce(ada('read')).mockRejectedValueOnce(refusal)
        await task.alarm()
        expect(await task.get()).toMatchObject({ status: 'failed', error: { message: refusal.message } })
        expect(second).not.toHaveBeenCalled()
      },
      { principalOf },
    )
  })

  test('goes on with the scopes that reauthorize returns, and fails without those of its tool', () => {
    const { first, second } = effects()
    const seen = vi.fn()
    const principalOf = vi.fn(async () => ada('read', 'write'))
    return withTask(
      0,
      async (_, ctx) => {
        await ctx.once('first', first)
        await ctx.once('see', () => seen(ctx.principal?.scopes))
        await ctx.once('again', () => void later(61_000))
        await ctx.once('second', second)
        return 'done'
      },
      async ({ task }) => {
        principalOf
          .mockResolvedValueOnce(ada('read', 'write'))
          .mockResolvedValueOnce(ada('read'))
          .mockResolvedValueOnce(ada('write'))
        await task.alarm()
        expect(seen).toHaveBeenCalledWith(['read'])
        expect(await task.get()).toMatchObject({ status: 'failed', error: { message: 'Requires the scopes read' } })
        expect(second).not.toHaveBeenCalled()
      },
      { principalOf, scopes: ['read'] },
    )
  })

  test('waits while reauthorize throws, and does not repeat its steps', () => {
    const { first, second } = effects()
    const report = vi.fn()
    const principalOf = vi.fn(async () => ada('read'))
    return withTask(
      0,
      async (_, ctx) => {
        await ctx.once('first', first)
        return String(await ctx.once('second', second))
      },
      async ({ task }) => {
        const problem = new Error('no directory')
        principalOf.mockResolvedValueOnce(ada('read')).mockRejectedValueOnce(problem)
        await task.alarm()
        expect(await task.get()).toMatchObject({ status: 'completed', result: { content: [{ text: 'sent' }] } })
        expect([first.mock.calls.length, second.mock.calls.length, report.mock.calls]).toEqual([1, 1, [[problem]]])
      },
      { principalOf, report },
    )
  })

  test('ends at once when it is cancelled while reauthorize throws', () => {
    const { first, second } = effects()
    const thrown = Promise.withResolvers<unknown>()
    const principalOf = vi.fn(async () => ada('read'))
    return withTask(
      0,
      async (_, ctx) => {
        await ctx.once('first', first)
        await ctx.once('second', second).catch((problem) => {
          thrown.resolve(problem)
          throw problem
        })
        return 'done'
      },
      async ({ task }) => {
        const asked = Promise.withResolvers<void>()
        principalOf.mockResolvedValueOnce(ada('read')).mockImplementationOnce(async () => {
          asked.resolve()
          throw new Error('no directory')
        })
        const run = task.alarm()
        await asked.promise
        await scheduler.wait(0)
        await task.cancel()
        expect(await thrown.promise).toBeInstanceOf(Error)
        await run
        expect(second).not.toHaveBeenCalled()
        expect(await task.get()).toMatchObject({ status: 'cancelled' })
      },
      { principalOf },
    )
  })

  test('does not suspend one branch by the sleep of another, while it calls reauthorize', () => {
    const { first, second } = effects()
    const principalOf = vi.fn(async () => ada('read'))
    return withTask(
      0,
      async (_, ctx) => {
        const sent = ctx
          .once('first', first)
          .then(() => ctx.sleep('short', 1))
          .then(() => ctx.once('second', second))
        await Promise.all([sent, ctx.sleep('long', '30m')])
        return 'done'
      },
      async ({ task }) => {
        principalOf.mockResolvedValueOnce(ada('read')).mockImplementationOnce(async () => {
          // Until then, a task that nothing keeps in memory is suspended.
          for (let turns = 0; turns < 3; turns += 1) await scheduler.wait(0)
          return ada('read')
        })
        await task.alarm()
        later(1000)
        await task.alarm()
        expect(second).toHaveBeenCalledTimes(1)
        expect(await task.get()).toMatchObject({ status: 'working' })
      },
      { principalOf },
    )
  })

  test.each<[what: string, start: (ctx: Context) => Promise<unknown>]>([
    ['an input request', (ctx) => ctx.elicit('sure', 'Sure?', z.object({}))],
    ['a sleep', (ctx) => ctx.sleep('short', 1)],
  ])('refuses an effect that starts with %s', (_, start) =>
    withTask(
      0,
      async (_, ctx) => {
        await ctx.once('first', () => void later(61_000))
        await ctx.once('outer', async () => void (await start(ctx)))
        return 'done'
      },
      async ({ task }) => {
        await task.alarm()
        expect(await task.get()).toMatchObject({ status: 'completed', result: { isError: true } })
      },
      { principalOf: async () => ada('read') },
    ),
  )

  test('opens no state for which it has lost the scopes', () => {
    const salaries = state('salaries', { per: 'user', scopes: ['write'], ttl: hour }, () => ({ add: () => 1 }))
    const principalOf = vi.fn(async () => ada('read', 'write'))
    const opened = vi.fn()
    return withTask(
      0,
      async (_, ctx) => {
        await ctx.once('first', () => void later(61_000))
        await ctx.once('second', () => {
          ctx.state(salaries)
          opened()
        })
        return 'done'
      },
      async ({ task }) => {
        principalOf.mockResolvedValueOnce(ada('read', 'write')).mockResolvedValueOnce(ada('read'))
        await task.alarm()
        expect(opened).not.toHaveBeenCalled()
      },
      { principalOf },
    )
  })

  test('cleans up when it is cancelled, also if reauthorize does not answer', () => {
    const { first, second } = effects()
    const [asked, unlock] = [Promise.withResolvers<void>(), vi.fn()]
    const principalOf = vi.fn(async () => ada('read'))
    return withTask(
      0,
      async (_, ctx) => {
        await ctx.once('first', first)
        try {
          await ctx.once('second', second)
        } finally {
          await ctx.once('unlock', unlock)
        }
        return 'done'
      },
      async ({ task }) => {
        principalOf.mockResolvedValueOnce(ada('read')).mockImplementation(() => {
          asked.resolve()
          return new Promise(() => {})
        })
        const run = task.alarm()
        await asked.promise
        await task.cancel()
        await run
        expect([second, unlock].map(({ mock }) => mock.calls.length)).toEqual([0, 1])
      },
      { principalOf },
    )
  })
})
