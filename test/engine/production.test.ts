/**
 * A deployment does not check what the types of `ctx` say. It refuses what would hang a call or repeat an effect, in the same words as
 * development, and anything else fails where it is used.
 */
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { Context } from '../../worker/declarations/context.ts'

let stage: typeof import('./stage.ts')

beforeEach(async () => {
  vi.stubEnv('NODE_ENV', 'production')
  // Modules may read the environment when they load.
  vi.resetModules()
  stage = await import('./stage.ts')
})

afterEach(() => {
  vi.unstubAllEnvs()
  vi.resetModules()
})

const form = { type: 'object', properties: { name: { type: 'string' } } } as const

// biome-ignore lint/suspicious/noExplicitAny: JavaScript has no types that would refuse these calls
type Untyped = any

test.each<[what: string, handler: (ctx: Untyped) => unknown, problem: string]>([
  [
    'arguments of ctx.elicit in another order',
    (ctx) => ctx.elicit('Name?', form),
    'The schema of the input request "Name?" must be a Standard Schema or a JSON Schema object',
  ],
  [
    'a key of an input request that is no string',
    (ctx) => ctx.elicit(1, 'Name?', form),
    '"key" of ctx.elicit() must be a string that names the input request in this call, not 1',
  ],
  [
    'an input request that no client knows',
    (ctx) => ctx.requestInput({ k: { method: 'tools/list' } }),
    "Cannot read properties of undefined (reading 'some')",
  ],
  ['messages that are no list', (ctx) => ctx.sample('k', { messages: {} }), 'messages.some is not a function'],
  ['no sampling request', (ctx) => ctx.sample('k'), "Cannot destructure property 'prompt' of"],
  [
    'a time that is none',
    (ctx) => ctx.elicit('name', 'Name?', form, { timeout: 'soon' }),
    "timeout is \"soon\": use milliseconds, or a string such as '2s', '10m', '1h' or '7d'",
  ],
  ['an effect that is no function', (ctx) => ctx.once('k', 1), 'effect is not a function'],
  ['a state that was not declared', (ctx) => ctx.state({}).get(), 'of.open is not a function'],
  ['a handle of nothing', (ctx) => ctx.createHandle(), "Cannot read properties of undefined (reading 'mint')"],
  [
    'a log level that no client knows',
    (ctx) => ctx.log('warn', 'x'),
    '"level" of ctx.log() must be one of debug, info, notice, warning, error, critical, alert, emergency, not "warn"',
  ],
  [
    'ctx.once without a key',
    (ctx) => ctx.once(() => 1),
    '"key" of ctx.once() must be a string that names the effect in this call, not a function',
  ],
  ['no input request', (ctx) => ctx.requestInput({}), 'ctx.requestInput got no input requests: give it at least one'],
  [
    'one key twice',
    async (ctx) => [await ctx.once('k', () => 1), await ctx.once('k', () => 2)],
    'The key "k" is used twice in one call: use each key once',
  ],
  [
    'an input request inside an effect',
    (ctx) => ctx.once('k', () => ctx.elicit('name', 'Name?', form)),
    'The input request "name" is inside ctx.once: request input before it',
  ],
])('%s', async (_, handler, problem) => {
  const server = stage.newServer()
  server.tool('t', { description: 'd' }, async (_, ctx: Context) => JSON.stringify(await handler(ctx)))
  expect(stage.textOf(await stage.result(server, 'tools/call', { name: 't' }))).toContain(problem)
})

test('notifications and questions with arguments of other types do not end a call', async () => {
  const server = stage.newServer()
  server.tool('t', { description: 'd' }, (_, context) => {
    const ctx: Untyped = context
    ctx.progress('half', '1', 2)
    ctx.closeStream({ retryMs: 'soon' })
    return String(ctx.supports('telepathy'))
  })
  expect(stage.textOf(await stage.result(server, 'tools/call', { name: 't' }))).toBe('false')
})

test('an input request that changes in the next round', async () => {
  let count = 0
  const server = stage.newServer()
  server.tool('t', { description: 'd' }, async (_, ctx) => {
    await ctx.elicit('name', `Name ${++count}?`, form)
    return 'unreachable'
  })
  const reported: unknown[] = []
  const talk = stage.converse(
    server,
    'tools/call',
    { name: 't' },
    { name: stage.accept({ name: 'Ada' }) },
    { report: (problem) => reported.push(problem) },
  )
  const problem =
    'The input request "name" changed after its answer: build it from arguments, answers and ctx.once only'
  await expect(talk).rejects.toThrow(problem)
  expect(reported).toMatchObject([{ message: problem }])
})

test('keys that change in each round', async () => {
  let count = 0
  const server = stage.newServer()
  server.tool('t', { description: 'd' }, async (_, ctx) => {
    await ctx.elicit(`name ${++count}`, 'Name?', form)
    return 'unreachable'
  })
  const talk = stage.converse(server, 'tools/call', { name: 't' }, () => ({ result: stage.accept({ name: 'Ada' }) }))
  await expect(talk).rejects.toThrow(
    'Keys must be the same in each round: the handler no longer requests "name 1", "name 2", but "name 3"',
  )
})
