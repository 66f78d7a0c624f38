import { describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import type { Outcome } from '../../worker/declarations/outcome.ts'
import { toolError } from '../../worker/declarations/result-constructors.ts'
import { createServer } from '../../worker/declarations/server.ts'
import type { CallEnvironment } from '../../worker/engine/call.ts'
import { McpError } from '../../worker/protocol/errors.ts'
import type { Principal } from '../../worker/protocol/principal.ts'
import { play, refusal, result, textOf } from './stage.ts'

const description = 'For tests'

/** A server whose interceptor writes down how each step begins and ends. */
function recorded() {
  const steps: string[] = []
  const server = createServer({ name: 'recorded', version: '1.0.0' })
  server.intercept(async ({ method, params }, next) => {
    const name = `${method} ${params.name ?? ''}`.trim()
    steps.push(`${name} starts`)
    try {
      const outcome = await next()
      steps.push(`${name} ${outcome.type}`)
      return outcome
    } catch (thrown) {
      steps.push(`${name} throws ${(thrown as Error).message}`)
      throw thrown
    } finally {
      steps.push(`${name} ends`)
    }
  })
  return { server, steps }
}

describe('a finally block in an interceptor runs', () => {
  test('when the handler returns', async () => {
    const { server, steps } = recorded()
    server.tool('add', { description }, () => '3')
    await play(server, 'tools/call', { name: 'add' })
    expect(steps).toEqual(['tools/call add starts', 'tools/call add result', 'tools/call add ends'])
  })

  test('when the handler requests input, in each round', async () => {
    const { server, steps } = recorded()
    server.tool('ask', { description }, async (_, ctx) => {
      const answer = await ctx.elicit('name', 'Your name?', z.object({ name: z.string() }))
      return `Hello, ${answer.action}`
    })
    const { outcome } = await play(server, 'tools/call', { name: 'ask' })
    expect(steps).toEqual(['tools/call ask starts', 'tools/call ask input_required', 'tools/call ask ends'])
    const { journal } = outcome as Extract<Outcome, { type: 'input_required' }>
    const answers = { name: { result: { action: 'decline' } } }
    await play(server, 'tools/call', { name: 'ask' }, { journal: { ...journal, answers } })
    expect(steps.slice(3)).toEqual(['tools/call ask starts', 'tools/call ask result', 'tools/call ask ends'])
  })

  test.each<[string, () => never, string]>([
    [
      'an McpError',
      () => {
        throw new McpError('forbidden', 'Not you')
      },
      'throws Not you',
    ],
    [
      'another error',
      () => {
        throw new Error('It broke')
      },
      'result',
    ],
  ])('when the handler throws %s', async (_, handler, how) => {
    const { server, steps } = recorded()
    server.tool('fail', { description }, handler)
    await play(server, 'tools/call', { name: 'fail' }).catch(() => {})
    expect(steps).toEqual(['tools/call fail starts', `tools/call fail ${how}`, 'tools/call fail ends'])
  })

  test('when the call is cancelled', async () => {
    const { server, steps } = recorded()
    const started = Promise.withResolvers<void>()
    server.tool(
      'wait',
      { description },
      (_, { signal }) =>
        new Promise<never>((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason))
          started.resolve()
        }),
    )
    const abort = new AbortController()
    const step = play(server, 'tools/call', { name: 'wait' }, { signal: abort.signal })
    await started.promise
    abort.abort(new Error('cancelled'))
    await step
    expect(steps.at(-1)).toBe('tools/call wait ends')
  })

  test('when an outer interceptor aborts the signal that it passed to next(), although the handler continues', async () => {
    const server = createServer({ name: 'late', version: '1.0.0' })
    const abort = new AbortController()
    const ended = vi.fn()
    server.intercept(({ params }, next) => next(params, { signal: abort.signal }))
    server.intercept(async (_, next) => {
      try {
        return await next()
      } finally {
        ended()
      }
    })
    server.tool('hang', { description }, (_, ctx) => {
      expect(ctx.signal).toBe(abort.signal)
      queueMicrotask(() => abort.abort(new McpError('call_interrupted', 'Too late')))
      return new Promise<never>(() => {})
    })
    expect(await refusal(server, 'tools/call', { name: 'hang' })).toMatchObject({ message: 'Too late' })
    expect(ended).toHaveBeenCalledTimes(1)
  })
})

test('the error that a tool throws is the cause of its outcome', async () => {
  const server = createServer({ name: 'causes', version: '1.0.0' })
  const outcomes: Outcome[] = []
  server.intercept(async (_, next) => {
    const outcome = await next()
    outcomes.push(outcome)
    return outcome
  })
  const error = new Error('It broke')
  server.tool('fail', { description }, () => {
    throw error
  })
  await play(server, 'tools/call', { name: 'fail' })
  expect(outcomes).toEqual([
    { type: 'result', result: { content: [{ type: 'text', text: 'It broke' }], isError: true }, cause: error },
  ])
})

test('a call that an interceptor renames requires the scopes of the new name', async () => {
  const server = createServer({ name: 'scoped', version: '1.0.0' })
  server.intercept(({ params }, next) => next({ ...params, name: 'secret' }))
  server.tool('open', { description }, () => 'open')
  const handler = vi.fn(() => 'secret')
  server.tool('secret', { description, scopes: ['admin'] }, handler)
  const principal = { issuer: 'https://i.example', subject: 'ada', scopes: [], claims: {} }
  const error = await refusal(server, 'tools/call', { name: 'open' }, { principal })
  expect(error.kind).toBe('insufficient_scope')
  expect(handler).not.toHaveBeenCalled()
})

test('a call that an interceptor renames calls the new entry, if its caller sees it', async () => {
  const server = createServer({ name: 'renaming', version: '1.0.0' })
  const visibleTo = vi.fn(({ principal }: { principal: Principal | undefined }) => principal !== undefined)
  server.intercept(({ params }, next) => next({ ...params, name: 'inner' }))
  server.tool('outer', { description, visibleTo: () => true }, () => 'outer')
  server.tool('inner', { description, visibleTo }, () => 'inner')
  const principal = { issuer: 'https://i.example', subject: 'ada', scopes: [], claims: {} }
  expect(textOf(await result(server, 'tools/call', { name: 'outer' }, { principal }))).toBe('inner')
  expect(visibleTo).toHaveBeenCalledTimes(1)
  expect(await refusal(server, 'tools/call', { name: 'outer' })).toMatchObject({ message: 'Unknown tool: inner' })
})

test('params that an interceptor changes in place name the entry that was checked', async () => {
  const server = createServer({ name: 'in-place', version: '1.0.0' })
  server.intercept(({ params }, next) => {
    Object.assign(params, { name: 'secret' })
    return next()
  })
  server.tool('open', { description }, () => 'open')
  const handler = vi.fn(() => 'secret')
  server.tool('secret', { description, scopes: ['admin'] }, handler)
  expect(textOf(await result(server, 'tools/call', { name: 'open' }))).toBe('open')
  expect(handler).not.toHaveBeenCalled()
})

test('an interceptor may call next() once only', async () => {
  const server = createServer({ name: 'twice', version: '1.0.0' })
  server.intercept(async (_, next) => {
    await next()
    return next()
  })
  const handler = vi.fn(() => 'done')
  server.tool('count', { description }, handler)
  await expect(play(server, 'tools/call', { name: 'count' })).rejects.toThrow(
    'An interceptor called next() twice: call it once',
  )
  expect(handler).toHaveBeenCalledTimes(1)
})

test.each([undefined, {}, { content: [] }, { type: 'result', result: 'text' }])(
  'an interceptor that returns %j is an error that names the fix',
  async (returned) => {
    const server = createServer({ name: 'odd', version: '1.0.0' })
    server.intercept((() => returned) as never)
    server.tool('any', { description }, () => 'done')
    await expect(play(server, 'tools/call', { name: 'any' })).rejects.toThrow(
      "An interceptor of tools/call returned no outcome: return that of next(), or { type: 'result', result }",
    )
  },
)

test('the first interceptor is outermost, and gets the outcome that inner ones changed', async () => {
  const server = createServer({ name: 'order', version: '1.0.0' })
  const order: string[] = []
  for (const name of ['first', 'second']) {
    server.intercept(async (_, next) => {
      order.push(`${name} in`)
      const outcome = await next()
      order.push(`${name} out`)
      return outcome
    })
  }
  server.tool('any', { description }, () => void order.push('handler'))
  await play(server, 'tools/call', { name: 'any' })
  expect(order).toEqual(['first in', 'second in', 'handler', 'second out', 'first out'])
})

test('the handler runs inside next(), so AsyncLocalStorage of an interceptor reaches it', async () => {
  const { AsyncLocalStorage } = await import('node:async_hooks')
  const storage = new AsyncLocalStorage<string>()
  const server = createServer({ name: 'stored', version: '1.0.0' })
  server.intercept((_, next) => storage.run('span', () => next()))
  server.tool('read', { description }, () => storage.getStore() ?? 'nothing')
  const { outcome } = await play(server, 'tools/call', { name: 'read' })
  expect(outcome).toMatchObject({ result: { content: [{ text: 'span' }] } })
})

test('the signal of a call is created lazily', async () => {
  const server = createServer({ name: 'lazy', version: '1.0.0' })
  server.intercept(({ params }, next) => next(params))
  server.tool('any', { description }, () => 'done')
  const signal = vi.fn<CallEnvironment['signal']>(() => new AbortController().signal)
  await play(server, 'tools/call', { name: 'any' }, { makeSignal: signal })
  expect(signal).not.toHaveBeenCalled()
})

test.each([{ rateLimit: { quota: '2/h' } }, { singleUse: true }])(
  'an interceptor cannot rename a call to a tool with %j',
  async (options) => {
    const server = createServer({ name: 'alias', version: '1.0.0' })
    const handler = vi.fn(() => 'paid')
    server.intercept(({ params }, next) => next({ ...params, name: 'pay' }))
    server.tool('pay', { description, ...options }, handler)
    server.tool('pay_v1', { description }, () => 'old')
    await expect(play(server, 'tools/call', { name: 'pay_v1' })).rejects.toThrow(
      'An interceptor calls "pay", which has rateLimit or singleUse',
    )
    await expect(play(server, 'tools/call', { name: 'old_pay' })).rejects.toThrow('An interceptor calls "pay"')
    expect(handler).not.toHaveBeenCalled()
    expect((await play(server, 'tools/call', { name: 'pay' })).outcome).toMatchObject({ type: 'result' })
  },
)

test('a handler does not start with an aborted signal', async () => {
  const server = createServer({ name: 'aborted', version: '1.0.0' })
  const handler = vi.fn(() => 'done')
  server.intercept(({ params }, next) =>
    next(params, { signal: AbortSignal.abort(new McpError('forbidden', 'Too late')) }),
  )
  server.tool('any', { description }, handler)
  expect(await refusal(server, 'tools/call', { name: 'any' })).toMatchObject({ message: 'Too late' })
  expect(handler).not.toHaveBeenCalled()
})

describe('an interceptor changes what callers read', () => {
  test('about a tool, for each caller', async () => {
    const server = createServer({ name: 'notes', version: '1.0.0' })
    server.tool('notes', { description: 'Finds and writes notes' }, () => 'done')
    server.intercept(async (call, next) => {
      const outcome = await next()
      if (call.method !== 'tools/list' || outcome.type !== 'result') return outcome
      const annotations = { readOnlyHint: !call.principal?.scopes.includes('notes:write') }
      const tools = (outcome.result.tools as object[]).map((tool) => ({ ...tool, annotations }))
      return { ...outcome, result: { ...outcome.result, tools, cacheScope: 'private' } }
    })
    const listFor = async (scopes: string[]) => {
      const principal = { issuer: 'https://issuer.example', subject: 'ada', scopes, claims: {} }
      return (await play(server, 'tools/list', {}, { principal })).outcome
    }
    for (const [scopes, readOnlyHint] of [
      [[], true],
      [['notes:write'], false],
      [[], true],
    ] as const) {
      const result = { tools: [{ name: 'notes', annotations: { readOnlyHint } }], cacheScope: 'private' }
      expect(await listFor([...scopes])).toMatchObject({ result })
    }
  })

  test('about invalid arguments', async () => {
    const server = createServer({ name: 'notes', version: '1.0.0' })
    server.tool('find', { description, inputSchema: z.object({ text: z.string() }) }, () => 'done')
    server.intercept(async (call, next) => {
      const outcome = await next()
      if (call.method !== 'tools/call' || outcome.type !== 'result') return outcome
      const { content } = outcome.result as { content: { text?: string }[] }
      const [, problem] = /^Invalid arguments for \S+: (.*)/s.exec(content[0]?.text ?? '') ?? []
      return problem ? { type: 'result', result: toolError(`Please correct: ${problem}`) } : outcome
    })
    const { outcome } = await play(server, 'tools/call', { name: 'find', arguments: {} })
    const text = expect.stringMatching(/^Please correct: text: /)
    expect(outcome).toMatchObject({ result: { isError: true, content: [{ type: 'text', text }] } })
  })
})
