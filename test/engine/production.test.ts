/**
 * A deployment does not check all that the types of `ctx` say. It refuses what would hang a call, repeat an effect or write to a stream, in
 * the same words as development, and anything else fails where it is used.
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

type Row = [what: string, handler: (ctx: Untyped) => unknown, problem: string]

const questions: readonly [call: string, ask: (ctx: Untyped, options: unknown) => unknown, takes: string][] = [
  ['ctx.elicit("k", …)', (ctx, options) => ctx.elicit('k', 'Name?', form, options), 'timeout and task'],
  [
    'ctx.elicitUrl("k", …)',
    (ctx, options) => ctx.elicitUrl('k', 'Pay', 'https://pay.example.com', options),
    'timeout, task, required and elicitationId',
  ],
  [
    'ctx.sample("k", …)',
    (ctx, options) => ctx.sample('k', { prompt: 'Hi', maxTokens: 5 }, options),
    'timeout and task',
  ],
  ['ctx.requestInput()', (ctx, options) => ctx.requestInput({ k: { method: 'roots/list' } }, options), 'timeout'],
]

test.each<Row>([
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
    `"timeout" of ctx.elicit("name", …) must be at least 1 ms: milliseconds, or a string such as '2s', '10m', '1h' or '7d', not "soon"`,
  ],
  ...questions.flatMap(([call, ask, takes]): Row[] => [
    [
      `options of ${call} that are misspelled`,
      (ctx) => ask(ctx, { timeOut: '1s' }),
      `${call} does not take "timeOut": it takes ${takes}`,
    ],
    ...(['30s', null, [], new Map(), Promise.resolve({})] as const).map(
      (options): Row => [
        `${String(options)} as options of ${call}`,
        (ctx) => ask(ctx, options),
        `${call} takes an object with ${takes}, not `,
      ],
    ),
    ...([null, 0, 'soon', Number.NaN, Number.POSITIVE_INFINITY] as const).map(
      (timeout): Row => [
        `${timeout} as timeout of ${call}`,
        (ctx) => ask(ctx, { timeout }),
        `"timeout" of ${call} must be at least 1 ms: `,
      ],
    ),
  ]),
  ...questions
    .slice(0, 3)
    .map(
      ([call, ask]): Row => [
        `a task of ${call} that is none`,
        (ctx) => ask(ctx, { task: { tll: 5 } }),
        `${call} does not take "task.tll": "task" takes ttl`,
      ],
    ),
  ...(['', 'x'.repeat(257), 5, null] as const).map(
    (elicitationId): Row => [
      `${String(elicitationId).slice(0, 5)} as elicitationId`,
      (ctx) => ctx.elicitUrl('k', 'Pay', 'https://pay.example.com', { elicitationId }),
      '"elicitationId" of ctx.elicitUrl("k", …) must be a string of 1 to 256 characters, not ',
    ],
  ),
  [
    'required that is neither true nor false',
    (ctx) => ctx.elicitUrl('k', 'Pay', 'https://pay.example.com', { required: 'no' }),
    '"required" of ctx.elicitUrl("k", …) must be true or false, not "no"',
  ],
  ...(['5\nevent: message', 'soon', 0.5, -1, null] as const).map(
    (retryMs): Row => [
      `${retryMs} as retryMs of ctx.closeStream()`,
      (ctx) => ctx.closeStream({ retryMs }),
      '"retryMs" of ctx.closeStream() must be a whole number of 0 or more, not ',
    ],
  ),
  [
    'a misspelled option of ctx.closeStream()',
    (ctx) => ctx.closeStream({ retry: 5 }),
    'ctx.closeStream() does not take "retry": it takes retryMs',
  ],
  [
    'a time that is none, beside another question',
    (ctx) => Promise.all([ctx.elicit('a', 'A?', form), ctx.elicit('b', 'B?', form, { timeout: 'soon' })]),
    '"timeout" of ctx.elicit("b", …) must be at least 1 ms: ',
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

test('notifications with arguments of other types do not end a call', async () => {
  const server = stage.newServer()
  server.tool('t', { description: 'd' }, (_, context) => {
    const ctx: Untyped = context
    ctx.progress('half', '1', 2)
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
