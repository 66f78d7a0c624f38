/** A deployment says what is wrong with a call of `ctx` in the same words as development. */
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
    '"message" of ctx.elicit("Name?", …) must be a string, not an object',
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
  expect(stage.textOf(await stage.result(server, 'tools/call', { name: 't' }))).toBe(problem)
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
