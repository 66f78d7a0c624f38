import { toStandardJsonSchema } from '@valibot/to-json-schema'
import { type } from 'arktype'
import * as v from 'valibot'
import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import type { Context } from '../../worker/declarations/context.ts'
import type { Server } from '../../worker/declarations/server.ts'
import { emptyJournal } from '../../worker/engine/journal.ts'
import { toolImbalance } from '../../worker/engine/tool-balance.ts'
import { ClientError } from '../../worker/protocol/errors.ts'
import type { SamplingContent, SamplingMessage } from '../../worker/protocol/types.ts'
import { accept, converse, decline, newServer, play, refusal, type Setting, sampled, textOf } from './stage.ts'

const Name = z.object({ name: z.string().min(1) })

/** A server whose tool does this. */
const doing = (handler: (ctx: Context) => unknown) =>
  newServer().use(
    (server: Server) => void server.tool('t', { description: 'd' }, async (_, ctx) => String(await handler(ctx))),
  )
const call = { name: 't' }

const talk = (handler: (ctx: Context) => unknown, answers: Parameters<typeof converse>[3], setting?: Setting) =>
  converse(doing(handler), 'tools/call', call, answers, setting)

const name = async (ctx: Context, key: string) => {
  const answer = await ctx.elicit(key, `${key}?`, Name)
  return answer.action === 'accept' ? answer.content.name : answer.action
}

describe('input requests', () => {
  test('one after the other take one round each', async () => {
    const { result, rounds } = await talk(async (ctx) => `${await name(ctx, 'a')} ${await name(ctx, 'b')}`, {
      a: accept({ name: 'Ada' }),
      b: accept({ name: 'Bob' }),
    })
    expect(rounds).toEqual([['a'], ['b']])
    expect(textOf(result)).toBe('Ada Bob')
  })

  test('together take one round', async () => {
    const { result, rounds } = await talk(
      async (ctx) =>
        (await Promise.all([name(ctx, 'a'), ctx.sample('m', { prompt: 'p', maxTokens: 5 }), ctx.roots()])).map(
          (answer) => (typeof answer === 'string' ? answer : 'text' in answer ? answer.text : answer.length),
        ),
      { a: accept({ name: 'Ada' }), m: sampled('Hi'), roots: { roots: [{ uri: 'file:///a' }] } },
    )
    expect(rounds).toEqual([['a', 'm', 'roots']])
    expect(textOf(result)).toBe('Ada,Hi,1')
  })

  test('sent together and answered one by one are sent until all are answered', async () => {
    let hesitates = true
    const { result, rounds } = await talk(
      async (ctx) => (await Promise.all([name(ctx, 'a'), name(ctx, 'b')])).join(' '),
      (key) => {
        const silent = key === 'b' && hesitates
        if (silent) hesitates = false
        return silent ? undefined : { result: accept({ name: key }) }
      },
    )
    expect(rounds).toEqual([['a', 'b'], ['b']])
    expect(textOf(result)).toBe('a b')
  })

  test('in a loop have a key for each iteration', async () => {
    const { result, rounds } = await talk(
      async (ctx) => {
        const names = []
        for (let turn = 1; ; turn++) {
          const found = await name(ctx, `name-${turn}`)
          if (found === 'decline') return names.join(' ')
          names.push(found)
        }
      },
      { 'name-1': accept({ name: 'x' }), 'name-2': accept({ name: 'y' }), 'name-3': decline },
    )
    expect(rounds).toEqual([['name-1'], ['name-2'], ['name-3']])
    expect(textOf(result)).toBe('x y')
  })

  test('that depend on a response are sent after that response', async () => {
    const branching = async (ctx: Context) =>
      (await name(ctx, 'first')) === 'more' ? `more ${await name(ctx, 'second')}` : 'no more'
    const short = await talk(branching, { first: accept({ name: 'enough' }) })
    expect([short.rounds, textOf(short.result)]).toEqual([[['first']], 'no more'])
    const long = await talk(branching, { first: accept({ name: 'more' }), second: accept({ name: 'z' }) })
    expect([long.rounds, textOf(long.result)]).toEqual([[['first'], ['second']], 'more z'])
  })

  test('can be declined and cancelled', async () => {
    for (const action of ['decline', 'cancel']) {
      expect(textOf((await talk((ctx) => name(ctx, 'a'), { a: { action } })).result)).toBe(action)
    }
  })

  test('can be answered before they were sent', async () => {
    const journal = { ...emptyJournal, answers: { a: { result: accept({ name: 'early' }) } } }
    const { result, rounds } = await talk((ctx) => name(ctx, 'a'), {}, { journal })
    expect([rounds, textOf(result)]).toEqual([[], 'early'])
  })

  test('ignore responses to requests that were not sent', async () => {
    const journal = { ...emptyJournal, answers: { b: { result: accept({ name: 'stray' }) } } }
    const { result, rounds } = await talk((ctx) => name(ctx, 'a'), { a: accept({ name: 'Ada' }) }, { journal })
    expect([rounds, textOf(result)]).toEqual([[['a']], 'Ada'])
  })

  test('can have keys that are names of inherited members', async () => {
    for (const key of ['__proto__', 'constructor', 'toString', 'hasOwnProperty']) {
      const { result, rounds } = await talk(
        (ctx) => name(ctx, key),
        () => ({ result: accept({ name: 'Ada' }) }),
      )
      expect([rounds, textOf(result)]).toEqual([[[key]], 'Ada'])
    }
  })

  test('work in prompts and resources', async () => {
    const server = newServer()
    server.prompt('p', { description: 'd' }, (_, ctx) => name(ctx, 'a'))
    server.resource('a:{x}', { description: 'd' }, ({ x }, ctx) => name(ctx, x))
    const answers = { a: accept({ name: 'Ada' }) }
    const prompt = await converse(server, 'prompts/get', { name: 'p' }, answers)
    expect(prompt.rounds).toEqual([['a']])
    expect(prompt.result).toMatchObject({ messages: [{ content: { text: 'Ada' } }] })
    const resource = await converse(server, 'resources/read', { uri: 'a:a' }, answers)
    expect(resource.rounds).toEqual([['a']])
    expect(resource.result).toMatchObject({ contents: [{ uri: 'a:a', text: 'Ada' }] })
  })

  test('work in every protocol version that supports them', async () => {
    for (const date of ['2025-06-18', '2025-11-25', '2026-07-28']) {
      const { rounds } = await talk((ctx) => name(ctx, 'a'), { a: decline }, { date })
      expect(rounds).toEqual([['a']])
    }
    for (const date of ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25', '2026-07-28']) {
      const { rounds } = await talk((ctx) => ctx.roots(), { roots: { roots: [] } }, { date })
      expect(rounds).toEqual([['roots']])
    }
  })

  test.each(['2026-07-28', '2025-11-25'])('that clients of %s cannot answer are errors', async (date) => {
    const ask = async (handler: (ctx: Context) => unknown) => {
      const { result, rounds } = await talk(handler, () => ({ result: { roots: [] } }), { date })
      return [textOf(result), rounds.length]
    }
    const keys = (count: number) => Array.from({ length: count }, (_, index) => `k${index}`)
    const together = (count: number) => ask((ctx) => Promise.all(keys(count).map((key) => ctx.roots(key))))
    const tooMany = 'The input request "k100" is beyond the 100 that may be open: request it after their responses'
    expect((await together(100))[1]).toBe(1)
    expect(await together(101)).toEqual([tooMany, 0])
    const requests = Object.fromEntries(keys(101).map((key) => [key, { method: 'roots/list' as const }]))
    expect(await ask((ctx) => ctx.requestInput(requests))).toEqual([tooMany, 0])
    const tooLong = 'The key of an input request has 1025 characters: use at most 1024'
    expect((await ask((ctx) => ctx.roots('k'.repeat(1024))))[1]).toBe(1)
    expect(await ask((ctx) => ctx.roots('k'.repeat(1025)))).toEqual([tooLong, 0])
  })

  test('with the same key are an error that names the key', async () => {
    const { result } = await talk(async (ctx) => [await name(ctx, 'a'), await name(ctx, 'a')], {
      a: accept({ name: 'Ada' }),
    })
    expect(result.isError).toBe(true)
    expect(textOf(result)).toBe('The key "a" is used twice in one call: use each key once')
  })

  test('for roots need different keys when there are two', async () => {
    const roots = { roots: [] }
    const { result } = await talk(async (ctx) => [await ctx.roots(), await ctx.roots()], { roots })
    expect(textOf(result)).toBe('The key "roots" is used twice in one call: use each key once')
    const fine = await talk(async (ctx) => [await ctx.roots('a'), await ctx.roots('b')].length, { a: roots, b: roots })
    expect(textOf(fine.result)).toBe('2')
  })
})

describe('a handler whose input requests differ in the next round', () => {
  const said = async (handler: (ctx: Context) => unknown, answering: Parameters<typeof talk>[1]) => {
    const reported: unknown[] = []
    const problem = await talk(handler, answering, { report: (one) => reported.push(one) }).catch((thrown) => thrown)
    expect(problem).toMatchObject({ kind: 'internal_error' })
    expect(reported).toEqual([problem])
    return (problem as Error).message
  }
  const yes = { result: accept({ name: 'Ada' }) }

  test.each([
    ['another text', (run: number) => ['elicit', `Pay ${run}?`, z.object({ name: z.string() })] as const],
    ['another form', (run: number) => ['elicit', 'Pay?', z.object({ name: z.string().max(run) })] as const],
  ])('with %s, ends with an error instead of the response', async (_, question) => {
    let runs = 0
    let answers = 0
    const message = await said(
      async (ctx) => {
        const [, text, schema] = question(++runs)
        await ctx.elicit('pay', text, schema)
        answers += 1
      },
      () => yes,
    )
    expect(message).toContain('The input request "pay" changed after its answer')
    expect(answers).toBe(0)
  })

  test('ends with an error even if an FNV-1a hash of both is the same', async () => {
    // The two texts have the same FNV-1a hash as questions.
    const texts = ['Delete the lunch menu of day 361429?', 'Delete payroll database 580984?']
    let answers = 0
    const message = await said(
      async (ctx) => {
        await ctx.elicit('sure', texts.shift() as string, z.object({ sure: z.boolean() }))
        answers += 1
      },
      () => ({ result: accept({ sure: true }) }),
    )
    expect(message).toContain('The input request "sure" changed after its answer')
    expect(answers).toBe(0)
  })

  test('can change the order of members of an input request', async () => {
    let runs = 0
    const { result } = await talk(
      async (ctx) => {
        runs += 1
        const preferences = runs === 1 ? { maxTokens: 5, temperature: 1 } : { temperature: 1, maxTokens: 5 }
        return (await ctx.sample('m', { prompt: 'p', ...preferences })).text
      },
      () => ({ result: sampled('Hi') }),
    )
    expect(textOf(result)).toBe('Hi')
  })

  test('can change an input request that was not answered yet', async () => {
    let runs = 0
    const { result } = await talk(
      async (ctx) => {
        runs += 1
        const [a, b] = await Promise.all([name(ctx, 'a'), ctx.elicit('b', `Run ${Math.min(runs, 2)}?`, Name)])
        return `${a} ${b.action}`
      },
      (key) => (key === 'b' && runs < 2 ? undefined : yes),
    )
    expect(textOf(result)).toBe('Ada accept')
  })

  test('with a new key in each round, ends with an error that names the keys', async () => {
    let asked = 0
    const message = await said(
      (ctx) => name(ctx, `key ${++asked}`),
      () => yes,
    )
    expect(message).toBe(
      'Keys must be the same in each round: the handler no longer requests "key 1", "key 2", but "key 3"',
    )
  })

  test('with one new key in each round, ends with an error that names the keys', async () => {
    let asked = 0
    const message = await said(
      async (ctx) => {
        await name(ctx, 'fixed')
        await name(ctx, `key ${++asked}`)
      },
      () => yes,
    )
    expect(message).toMatch(
      /^Keys must be the same in each round: the handler no longer requests "key 1", .*, but "key 100"$/,
    )
  })

  test('with an endless loop of input requests, ends after 100 rounds', async () => {
    const message = await said(
      async (ctx) => {
        for (let turn = 1; ; turn++) await name(ctx, `turn ${turn}`)
      },
      () => yes,
    )
    expect(message).toBe('Too many input rounds: at most 100 in one call')
  })

  test('because its branches race, gets every response', async () => {
    const late = Promise.withResolvers<void>()
    let runs = 0
    const slow = async (ctx: Context) => {
      // Slower than the other branch, but for the first time.
      if (++runs > 1) await (runs > 3 ? undefined : late.promise)
      return name(ctx, 'slow')
    }
    const fast = async (ctx: Context) => (runs === 1 ? 'none' : `${await name(ctx, 'b')} ${await name(ctx, 'c')}`)
    const { result, rounds } = await talk(
      async (ctx) => (await Promise.all([slow(ctx), fast(ctx)])).join(),
      (key) => ({ result: accept({ name: key }) }),
    )
    expect(rounds).toEqual([['slow'], ['b'], ['c']])
    expect(textOf(result)).toBe('slow,b c')
  })
})

describe('an open input request', () => {
  test('cannot be caught by the handler', async () => {
    const { result, rounds } = await talk(
      async (ctx) => {
        try {
          return await name(ctx, 'a')
        } catch {
          return 'caught'
        }
      },
      { a: accept({ name: 'Ada' }) },
    )
    expect([rounds, textOf(result)]).toEqual([[['a']], 'Ada'])
  })

  test('does not run a finally block before its response', async () => {
    let ends = 0
    const { rounds } = await talk(
      async (ctx) => {
        try {
          return await name(ctx, 'a')
        } finally {
          ends += 1
        }
      },
      { a: accept({ name: 'Ada' }) },
    )
    expect([rounds, ends]).toEqual([[['a']], 1])
  })

  test('is not settled for Promise.allSettled or a catch on the promise', async () => {
    const { result, rounds } = await talk(
      async (ctx) => {
        const [answer] = await Promise.allSettled([name(ctx, 'a').catch(() => 'caught')])
        return answer.status === 'fulfilled' ? answer.value : 'rejected'
      },
      { a: accept({ name: 'Ada' }) },
    )
    expect([rounds, textOf(result)]).toEqual([[['a']], 'Ada'])
  })

  test('is sent even if the handler did not await it', async () => {
    const { outcome } = await play(
      doing((ctx) => {
        void name(ctx, 'a')
        return 'done'
      }),
      'tools/call',
      call,
    )
    expect('inputRequests' in outcome && Object.keys(outcome.inputRequests)).toEqual(['a'])
  })
})

describe('input requests to a client', () => {
  const asked = async (ask: (ctx: Context) => unknown, setting?: Setting) => {
    const { outcome } = await play(doing(ask), 'tools/call', call, setting)
    return outcome.type === 'input_required' ? outcome.inputRequests.q : outcome.type === 'result' && outcome.result
  }

  test('are made by ctx.elicit', async () => {
    expect(await asked((ctx) => ctx.elicit('q', 'Who?', Name))).toEqual({
      method: 'elicitation/create',
      params: {
        mode: 'form',
        message: 'Who?',
        requestedSchema: {
          type: 'object',
          properties: { name: { type: 'string', minLength: 1 } },
          required: ['name'],
        },
      },
    })
  })

  test('are made by ctx.sample with a prompt or messages', async () => {
    const messages = [{ role: 'user' as const, content: { type: 'text' as const, text: 'Hi' } }]
    const expected = { method: 'sampling/createMessage', params: { messages, maxTokens: 5, temperature: 0 } }
    expect(await asked((ctx) => ctx.sample('q', { prompt: 'Hi', maxTokens: 5, temperature: 0 }))).toEqual(expected)
    expect(await asked((ctx) => ctx.sample('q', { messages, maxTokens: 5, temperature: 0 }))).toEqual(expected)
  })

  test('are made by ctx.roots with empty params', async () => {
    expect(await asked((ctx) => ctx.roots('q'))).toEqual({ method: 'roots/list', params: {} })
  })
})

describe('an input request that the client may answer with a task', () => {
  const declared = { sampling: {}, tasks: { requests: { sampling: { createMessage: {} } } } }
  const review = (task: object) => async (ctx: Context) => {
    const { text } = await ctx.sample('review', { prompt: 'p', maxTokens: 1 }, { task } as { task: { ttl: string } })
    return text
  }
  const refused = async (setting: Setting, task: object = {}) => textOf((await talk(review(task), {}, setting)).result)

  test('needs a client that declares it, of 2025-11-25', async () => {
    const text = 'needs a client of 2025-11-25 that supports tasks.requests.sampling.createMessage'
    expect(await refused({ date: '2025-11-25', capabilities: { sampling: {} } })).toContain(text)
    expect(await refused({ date: '2025-06-18', capabilities: declared })).toContain(text)
  })

  test('needs the plugin tasks()', async () => {
    expect(await refused({ date: '2025-11-25', capabilities: declared })).toBe(
      'The task of the input request "review" needs tasks() in the plugins of serve()',
    )
  })

  test.each([
    [{ ttl: 'soon' }, '"task.ttl" of ctx.sample("review", …) must be milliseconds, or a string such as'],
    [{ time: 1 }, 'ctx.sample("review", …) does not take "task.time": "task" takes ttl'],
  ])('refuses the option %j', async (task, problem) => {
    expect(await refused({ date: '2025-11-25', capabilities: declared }, task)).toContain(problem)
  })
})

describe('a URL elicitation', () => {
  const capabilities = { elicitation: { url: {} } }
  const visit = (url: string, answer: unknown = decline) =>
    talk(async (ctx) => (await ctx.elicitUrl('a', 'm', url)).action, { a: answer }, { capabilities })

  test.each(['accept', 'decline', 'cancel'])('can be answered with %s', async (action) => {
    const { result, asked } = await visit('https://example.com/a?b=c', { action, content: { ignored: true } })
    expect(textOf(result)).toBe(action)
    expect(asked.a).toEqual({
      method: 'elicitation/create',
      params: { mode: 'url', message: 'm', url: 'https://example.com/a?b=c' },
    })
  })

  test.each([
    'http://example.com/',
    'javascript:alert(1)',
    'javascript://localhost/%0aalert(1)',
    'ftp://localhost/',
    'ws://127.0.0.1/',
    'file:///etc/passwd',
    'file://localhost/etc/passwd',
    'data:text/html,x',
    'http://localhost.example.com/',
    'http://127.0.0.1.example.com/',
    'https://ada:secret@example.com/',
    'http://ada@localhost/',
  ])('requires https, or http on this machine, so it refuses %s', async (url) => {
    const { result } = await visit(url)
    expect([result.isError, textOf(result)]).toEqual([
      true,
      expect.stringMatching(
        /^Cannot send the user to .+ with ctx.elicitUrl\("a", …\): use an https URL .+ without a user name/,
      ),
    ])
    expect(textOf(result)).not.toContain('secret')
  })

  test.each([
    'https://example.com/',
    'http://localhost:8787/connect',
    'http://app.localhost/',
    'http://127.0.0.1:8787/',
    'http://127.8.9.10/',
    'http://[::1]:8787/',
  ])('accepts %s', async (url) => {
    expect(textOf((await visit(url)).result)).toBe('decline')
  })

  test('requires a URL', async () => {
    expect((await visit('nowhere')).result.isError).toBe(true)
  })

  test.each([null, {}, { action: 'yes' }, 'accept'])('refuses the response %j', async (answer) => {
    await expect(visit('https://example.com/', answer)).rejects.toMatchObject({ kind: 'invalid_params' })
  })
})

test('a form that no client can show is an error at startup', () => {
  const server = newServer()
  expect(() => server.defineForm(z.object({ tags: z.array(z.string()) }))).toThrow(
    'The form cannot ask for "tags": use strings, numbers, booleans or enums of strings',
  )
  expect(() => server.defineForm(z.string())).toThrow(
    'The schema of the form must be an object with at least one property',
  )
  expect(server.defineForm(Name)).toBe(Name)
  const literal = { type: 'object', properties: { size: { type: 'integer' } } } as const
  expect(server.defineForm(literal)).toBe(literal)
})

describe('fields of a form', () => {
  const field = async (property: object) => {
    const schema = { type: 'object', properties: { field: property } }
    const { outcome } = await play(
      doing((ctx) => ctx.elicit('q', 'm', schema)),
      'tools/call',
      call,
    )
    if (outcome.type === 'result') return textOf(outcome.result)
    if (outcome.type === 'suspended') throw new Error('Only a task sleeps')
    const params = outcome.inputRequests.q?.params as { requestedSchema: { properties: { field: unknown } } }
    return params.requestedSchema.properties.field
  }

  test.each<[string, object, object]>([
    [
      'a text',
      { type: 'string', title: 'T', description: 'd', minLength: 1, maxLength: 5, default: 'x' },
      { type: 'string', title: 'T', description: 'd', default: 'x', minLength: 1, maxLength: 5 },
    ],
    ['a mail address', { type: 'string', format: 'email' }, { type: 'string', format: 'email' }],
    ...['uri', 'date', 'date-time'].map((format): [string, object, object] => [
      `a text of the format ${format}`,
      { type: 'string', format },
      { type: 'string', format },
    ]),
    ['a text of a format no form knows', { type: 'string', format: 'uuid' }, { type: 'string' }],
    ['a text with a pattern no form knows', { type: 'string', pattern: '^a' }, { type: 'string' }],
    ['a number', { type: 'number', minimum: 1, maximum: 5, multipleOf: 2 }, { type: 'number', minimum: 1, maximum: 5 }],
    ['an integer', { type: 'integer', default: 3 }, { type: 'integer', default: 3 }],
    [
      'yes or no',
      { type: 'boolean', default: true, title: 'Sure?' },
      { type: 'boolean', title: 'Sure?', default: true },
    ],
    [
      'a choice',
      { type: 'string', enum: ['a', 'b'], default: 'a' },
      { type: 'string', enum: ['a', 'b'], default: 'a' },
    ],
    ['a choice without a type', { enum: ['a', 'b'] }, { type: 'string', enum: ['a', 'b'] }],
    [
      'a choice with titles',
      { oneOf: [{ const: 'a', title: 'A' }, { const: 'b' }] },
      {
        type: 'string',
        oneOf: [
          { const: 'a', title: 'A' },
          { const: 'b', title: 'b' },
        ],
      },
    ],
    ['a choice of any constant', { anyOf: [{ const: 'a' }] }, { type: 'string', oneOf: [{ const: 'a', title: 'a' }] }],
    [
      'several choices',
      { type: 'array', items: { enum: ['a'] }, minItems: 1, maxItems: 2, uniqueItems: true },
      { type: 'array', minItems: 1, maxItems: 2, items: { type: 'string', enum: ['a'] } },
    ],
    [
      'several choices with titles',
      { type: 'array', items: { anyOf: [{ const: 'a', title: 'A' }] } },
      { type: 'array', items: { anyOf: [{ const: 'a', title: 'A' }] } },
    ],
  ])('can be %s', async (_, property, expected) => {
    expect(await field(property)).toEqual(expected)
  })

  test.each<[string, object]>([
    ['an object', { type: 'object', properties: {} }],
    ['texts that are no choices', { type: 'array', items: { type: 'string' } }],
    ['anything', {}],
    ['nothing', { type: 'null' }],
    ['a text or a number', { type: ['string', 'number'] }],
    ['a text or null', { anyOf: [{ type: 'string' }, { type: 'null' }] }],
    ['several numbers', { type: 'array', items: { enum: [1, 2] } }],
    ['texts and numbers', { type: 'array', items: { enum: ['a', 2] } }],
    ['a choice of which one is no text', { oneOf: [{ const: 'a' }, { const: 2 }] }],
  ])('cannot be %s, which is an error that names the field', async (_, property) => {
    expect(await field(property)).toBe(
      'The input request "q" cannot ask for "field": use strings, numbers, booleans or enums of strings',
    )
  })

  test('are optional unless the schema requires them', async () => {
    for (const required of [[], ['field']]) {
      const schema = { type: 'object', properties: { field: { type: 'string' } }, required }
      const { outcome } = await play(
        doing((ctx) => ctx.elicit('q', 'm', schema)),
        'tools/call',
        call,
      )
      const params = 'inputRequests' in outcome && outcome.inputRequests.q?.params
      expect(params).toMatchObject({
        requestedSchema: required.length > 0 ? { required } : expect.not.objectContaining({ required }),
      })
    }
  })

  test.each<[string, object]>([
    ['a text', { type: 'string' }],
    ['an object without properties', { type: 'object' }],
  ])('require a schema of an object, not of %s', async (_, schema) => {
    const { outcome } = await play(
      doing((ctx) => ctx.elicit('q', 'm', schema as never)),
      'tools/call',
      call,
    )
    expect(outcome.type === 'result' && textOf(outcome.result)).toBe(
      'The schema of the input request "q" must be an object with at least one property',
    )
  })

  test('accept schemas of every library', async () => {
    const schemas = [
      z.object({ colour: z.enum(['red', 'green']), mail: z.email().optional(), sure: z.boolean().default(true) }),
      toStandardJsonSchema(
        v.object({
          colour: v.picklist(['red', 'green']),
          mail: v.optional(v.pipe(v.string(), v.email())),
          sure: v.optional(v.boolean(), true),
        }),
      ),
      type({ colour: "'red'|'green'", 'mail?': 'string.email', sure: 'boolean = true' }),
    ]
    for (const schema of schemas) {
      const { outcome } = await play(
        doing((ctx) => ctx.elicit('q', 'm', schema)),
        'tools/call',
        call,
      )
      expect('inputRequests' in outcome && outcome.inputRequests.q?.params).toMatchObject({
        requestedSchema: {
          properties: {
            colour: { type: 'string', enum: expect.arrayContaining(['red', 'green']) },
            mail: { type: 'string', format: 'email' },
            sure: { type: 'boolean' },
          },
          required: ['colour'],
        },
      })
      const { result } = await talk((ctx) => ctx.elicit('q', 'm', schema).then(JSON.stringify), {
        q: accept({ colour: 'red' }),
      })
      expect(JSON.parse(textOf(result))).toEqual({ action: 'accept', content: { colour: 'red', sure: true } })
    }
  })
})

describe('input responses', () => {
  test('of sampling have their texts joined', async () => {
    const content = [
      { type: 'text', text: 'a' },
      { type: 'image', data: '', mimeType: 'image/png' },
      { type: 'text', text: 'b' },
    ]
    const { result } = await talk(
      (ctx) => ctx.sample('q', { prompt: 'p', maxTokens: 1 }).then(({ text, model }) => `${text} ${model}`),
      {
        q: { role: 'assistant', model: 'm', content },
      },
    )
    expect(textOf(result)).toBe('ab m')
  })

  test('of a form without content are an empty form', async () => {
    const schema = z.object({ note: z.string().optional() })
    const { result } = await talk((ctx) => ctx.elicit('q', 'm', schema).then(JSON.stringify), {
      q: { action: 'accept' },
    })
    expect(textOf(result)).toBe('{"action":"accept","content":{}}')
  })

  test('that decline have no content', async () => {
    const { result } = await talk((ctx) => ctx.elicit('q', 'm', Name).then(JSON.stringify), {
      q: { action: 'decline', content: { name: 'x' } },
    })
    expect(textOf(result)).toBe('{"action":"decline"}')
  })

  test('that are errors keep their code and data for the handler', async () => {
    const error = { code: -1, message: 'User rejected sampling request', data: { why: 'policy' } }
    const { result } = await talk(
      async (ctx) => {
        const thrown = await ctx.sample('q', { prompt: 'p', maxTokens: 5 }).catch((thrown: unknown) => thrown)
        return thrown instanceof ClientError && JSON.stringify([thrown.kind, thrown.code, thrown.data, thrown.message])
      },
      () => ({ error }),
    )
    expect(JSON.parse(textOf(result))).toEqual([
      'client_error',
      -1,
      { why: 'policy' },
      'The client returned an error for "q": User rejected sampling request',
    ])
  })

  test('that are errors can be caught', async () => {
    const refused = () => ({ error: { code: -1, message: 'User rejected' } })
    const sample = (ctx: Context) => ctx.sample('q', { prompt: 'p', maxTokens: 1 })
    const { result } = await talk(sample, refused)
    expect([result.isError, textOf(result)]).toEqual([true, 'The client returned an error for "q": User rejected'])
    const caught = await talk((ctx) => sample(ctx).catch((error) => `caught: ${error.message}`), refused)
    expect(textOf(caught.result)).toBe('caught: The client returned an error for "q": User rejected')
  })

  test('that are errors end prompts and resources with an error', async () => {
    const server = newServer()
    server.prompt('p', { description: 'd' }, async (_, ctx) => String(await ctx.roots('q')))
    server.resource('a:b', { description: 'd' }, async (_, ctx) => String(await ctx.roots('q')))
    const journal = { ...emptyJournal, answers: { q: { error: { code: -1, message: 'User rejected' } } } }
    for (const [method, params] of [
      ['prompts/get', { name: 'p' }],
      ['resources/read', { uri: 'a:b' }],
    ] as const) {
      expect(await refusal(server, method, params, { journal })).toMatchObject({
        kind: 'client_error',
        message: 'The client returned an error for "q": User rejected',
      })
    }
  })

  const elicit = (ctx: Context) => ctx.elicit('q', 'm', Name).catch(() => 'caught')
  const sample = (ctx: Context) => ctx.sample('q', { prompt: 'p', maxTokens: 1 }).catch(() => 'caught')
  const roots = (ctx: Context) => ctx.roots('q').catch(() => 'caught')
  test.each<[string, (ctx: Context) => unknown, unknown]>([
    ['null for a form', elicit, null],
    ['a number for a form', elicit, 5],
    ['a list for a form', elicit, []],
    ['no action', elicit, {}],
    ['another action', elicit, { action: 'maybe', content: { name: 'Ada' } }],
    ['a form that does not fit', elicit, accept({ name: '' })],
    ['a form without a required field', elicit, accept({})],
    ['a form that is a text', elicit, { action: 'accept', content: 'Ada' }],
    ['null for a model', sample, null],
    ['no role', sample, { model: 'm', content: { type: 'text', text: 't' } }],
    ['no model', sample, { role: 'assistant', content: { type: 'text', text: 't' } }],
    ['no content', sample, { role: 'assistant', model: 'm' }],
    ['content that is a text', sample, { role: 'assistant', model: 'm', content: 't' }],
    [
      'content with a hole among texts',
      sample,
      { role: 'assistant', model: 'm', content: [{ type: 'text', text: 't' }, null] },
    ],
    ['content with a hole', sample, { role: 'assistant', model: 'm', content: [null] }],
    ['a text block without a text', sample, { role: 'assistant', model: 'm', content: { type: 'text' } }],
    ['null for roots', roots, null],
    ['no roots', roots, {}],
    ['roots that are an object', roots, { roots: {} }],
    ['a root without a URI', roots, { roots: [{ name: 'a' }] }],
  ])('that are invalid end the call with an error that no handler can catch: %s', async (_, ask, answer) => {
    const journal = { ...emptyJournal, answers: { q: { result: answer } } }
    const { kind, message } = await refusal(doing(ask), 'tools/call', call, { journal })
    expect(kind).toBe('invalid_params')
    expect(message).toMatch(/^The answer to "q" (?:is not a valid \w+\/\w+ result|does not fit its schema: .+)$/)
  })
})

describe('a client without the capability', () => {
  const elicit = (ctx: Context) => ctx.elicit('q', 'm', Name)
  const sample = (more: object) => (ctx: Context) => ctx.sample('q', { prompt: 'p', maxTokens: 1, ...more })
  const tools = { tools: [{ name: 'a', inputSchema: { type: 'object' } }] }
  const context = { includeContext: 'thisServer' }
  const used = {
    messages: [{ role: 'assistant', content: { type: 'tool_use', id: '1', name: 'a', input: {} } }],
    prompt: undefined,
  }
  const returned = {
    messages: [
      { role: 'user', content: { type: 'text', text: 'Hi' } },
      {
        role: 'user',
        content: [
          { type: 'tool_result', toolUseId: '1', content: [] },
          { type: 'text', text: 'so?' },
        ],
      },
    ],
    prompt: undefined,
  }

  test.each<[string, (ctx: Context) => unknown, object, object]>([
    ['for a form', elicit, {}, { elicitation: { form: {} } }],
    ['for a form, only for URLs', elicit, { elicitation: { url: {} } }, { elicitation: { form: {} } }],
    ['for a model', sample({}), { elicitation: { form: {} } }, { sampling: {} }],
    ['for a model with tools', sample(tools), { sampling: {} }, { sampling: { tools: {} } }],
    [
      'for a model with a choice of tools',
      sample({ toolChoice: { mode: 'none' } }),
      { sampling: {} },
      { sampling: { tools: {} } },
    ],
    ['for a model about the result of a tool', sample(returned), { sampling: {} }, { sampling: { tools: {} } }],
    ['for a model about tools it used', sample(used), { sampling: {} }, { sampling: { tools: {} } }],
    ['for a model with context', sample(context), { sampling: { tools: {} } }, { sampling: { context: {} } }],
    [
      'for a model with tools and context',
      sample({ ...tools, ...context }),
      { sampling: { tools: {} } },
      { sampling: { context: {} } },
    ],
    ['for roots', (ctx) => ctx.roots(), { sampling: {} }, { roots: {} }],
  ])('%s gets an error that names the capability', async (_, ask, capabilities, requiredCapabilities) => {
    const { kind, data } = await refusal(doing(ask), 'tools/call', call, { capabilities })
    expect([kind, data]).toEqual(['missing_client_capability', { requiredCapabilities }])
  })

  test('gets no input request of a call that cannot continue', async () => {
    const person = (ctx: Context) => name(ctx, 'a')
    const model = (ctx: Context) => ctx.sample('m', { prompt: 'p', maxTokens: 5 })
    for (const order of [
      [person, model],
      [model, person],
    ] as const) {
      const handler = async (ctx: Context) => Promise.all(order.map(async (ask) => ask(ctx)))
      const { result, rounds } = await talk(
        handler,
        { m: sampled('Hi') },
        { capabilities: { sampling: {} }, date: '2025-11-25' },
      )
      expect([rounds, result.isError]).toEqual([[], true])
      expect(textOf(result)).toContain('This call needs a client that supports elicitation')
    }
    // One that can goes on.
    const { rounds } = await talk(
      async (ctx) => (await Promise.all([person(ctx).catch(() => 'nobody'), model(ctx)])).length,
      { m: sampled('Hi') },
      { capabilities: { sampling: {} }, date: '2025-11-25' },
    )
    expect(rounds).toEqual([['m']])
  })

  test('gets the input requests that it supports', async () => {
    const setting = { capabilities: { sampling: {} } }
    for (const more of [{}, { includeContext: 'none' }]) {
      const { rounds } = await talk(sample(more), { q: sampled('x') }, setting)
      expect(rounds).toEqual([['q']])
    }
  })

  test('gets an error result in versions with sessions, which have no error code for it', async () => {
    for (const date of ['2024-11-05', '2025-11-25']) {
      const reported: unknown[] = []
      const report = (problem: unknown) => reported.push(problem)
      const { result, rounds } = await talk((ctx) => ctx.roots(), {}, { date, capabilities: {}, report })
      expect(reported).toEqual([])
      expect([result.isError, textOf(result), rounds]).toEqual([
        true,
        'This call needs a client that supports roots',
        [],
      ])
    }
  })

  test('gets a protocol error from prompts and resources', async () => {
    const server = newServer()
    server.prompt('p', { description: 'd' }, async (_, ctx) => String(await ctx.roots()))
    server.resource('a:b', { description: 'd' }, async (_, ctx) => String(await ctx.roots()))
    for (const date of ['2025-11-25', '2026-07-28']) {
      const setting = { date, capabilities: {} }
      expect((await refusal(server, 'prompts/get', { name: 'p' }, setting)).kind).toBe('missing_client_capability')
      expect((await refusal(server, 'resources/read', { uri: 'a:b' }, setting)).kind).toBe('missing_client_capability')
    }
  })

  test('is recognized by ctx.supports', async () => {
    const able = (ctx: Context) =>
      (['elicitation', 'sampling', 'sampling.tools', 'sampling.context', 'roots'] as const).filter((feature) =>
        ctx.supports(feature),
      )
    const can = async (capabilities: object) => textOf((await talk(able, {}, { capabilities })).result)
    expect(await can({})).toBe('')
    expect(await can({ elicitation: { form: {} }, roots: {} })).toBe('elicitation,roots')
    expect(await can({ elicitation: { url: {} }, sampling: {} })).toBe('sampling')
    expect(await can({ sampling: { tools: {}, context: {} } })).toBe('sampling,sampling.tools,sampling.context')
  })

  test('is recognized by ctx.supports for tasks of the client', async () => {
    const able = (ctx: Context) =>
      (['tasks.requests.elicitation.create', 'tasks.requests.sampling.createMessage'] as const).filter((feature) =>
        ctx.supports(feature),
      )
    const can = async (tasks: object) => {
      const capabilities: object = { tasks }
      return textOf((await talk(able, {}, { capabilities })).result)
    }
    expect(await can({})).toBe('')
    expect(await can({ requests: {} })).toBe('')
    expect(await can({ requests: { elicitation: { create: {} }, sampling: {} } })).toBe(
      'tasks.requests.elicitation.create',
    )
    expect(await can({ requests: { sampling: { createMessage: {} } } })).toBe('tasks.requests.sampling.createMessage')
  })

  test('can get another result when the handler catches the error', async () => {
    const { result } = await talk((ctx) => ctx.roots().catch(() => 'somewhere'), {}, { capabilities: {} })
    expect(textOf(result)).toBe('somewhere')
  })

  test('is refused in a version without the input request, even if it declares the capability', async () => {
    const { result } = await talk(elicit, {}, { date: '2025-03-26' })
    expect([result.isError, textOf(result)]).toEqual([
      true,
      'Protocol version 2025-03-26 cannot express the input request "q"',
    ])
  })
})

describe('tool calls in sampling messages', () => {
  const use = (id: string) => ({ type: 'tool_use' as const, id, name: 'weather', input: {} })
  const resultOf = (toolUseId: string) => ({ type: 'tool_result' as const, toolUseId, content: [] })
  const says = { type: 'text' as const, text: 'Hi' }
  const user = (...content: SamplingContent[]): SamplingMessage => ({ role: 'user', content })
  const model = (...content: SamplingContent[]): SamplingMessage => ({ role: 'assistant', content })
  const ask = (messages: SamplingMessage[]) => async (ctx: Context) =>
    (await ctx.sample('q', { messages, maxTokens: 5 })).text
  const yes = { q: sampled('Hi') }

  test.each<[string, SamplingMessage[], string]>([
    ['without a result', [user(says), model(use('a'))], 'The last message has the tool_use "a"'],
    ['with something else after them', [model(use('a')), user(says)], 'messages[1] must have the tool_result'],
    ['of which one has no result', [model(use('a'), use('b')), user(resultOf('a'))], 'of the tool_use "b"'],
    ['with a result for no call', [user(resultOf('a'))], 'messages[0] has the tool_result "a"'],
    ['with two results', [model(use('a')), user(resultOf('a'), resultOf('a'))], 'has the tool_result "a"'],
    ['with text beside a result', [model(use('a')), user(resultOf('a'), says)], 'has other content beside tool_result'],
    ['of the user', [user(use('a')), user(resultOf('a'))], 'only the assistant calls tools'],
    ['with results of the assistant', [model(use('a')), model(resultOf('a'))], 'only the user gives results'],
    ['with one id', [model(use('a'), use('a')), user(resultOf('a'))], 'uses one id for several tool_use'],
  ])('%s are not sent', async (_, messages, problem) => {
    const { result, rounds } = await talk(ask(messages), yes)
    expect([rounds, result.isError]).toEqual([[], true])
    expect(textOf(result)).toContain('The messages of the input request "q" are invalid: ')
    expect(textOf(result)).toContain(problem)
    const params = { messages, maxTokens: 5 }
    const raw = await talk((ctx) => ctx.requestInput({ q: { method: 'sampling/createMessage', params } }), yes)
    expect(textOf(raw.result)).toContain(problem)
  })

  test('with all of their results are sent', async () => {
    const messages = [user(says), model(says, use('a'), use('b')), user(resultOf('b'), resultOf('a')), model(says)]
    const { result, rounds } = await talk(ask(messages), yes)
    expect([rounds, textOf(result)]).toEqual([[['q']], 'Hi'])
  })

  test('with many results in another order are balanced', () => {
    const ids = Array.from({ length: 150_000 }, (_, index) => `call ${index}`)
    const messages = [
      { role: 'assistant', content: ids.map(use) },
      { role: 'user', content: ids.toReversed().map(resultOf) },
    ]
    expect(toolImbalance({ messages })).toBeUndefined()
  })
})

test('destructured and copied members of ctx work, as in const { elicit } = ctx', async () => {
  const { result, rounds, said } = await talk(
    async (ctx) => {
      const { elicit, once, progress, log, sleep, sleepUntil, supports, inputResponse } = ctx
      progress(1)
      log('info', 'x')
      await sleep('a', 1)
      await sleepUntil('b', 1)
      const answer = await elicit('name', 'm', Name)
      const { once: onceOfCopy, roots } = { ...ctx }
      return [
        supports('roots'),
        answer.action,
        inputResponse('name')?.action,
        await once('k', () => 1),
        await onceOfCopy('l', () => 2),
        (await roots()).length,
      ]
    },
    { name: accept({ name: 'Ada' }), roots: { roots: [] } },
    { logLevel: 'info' },
  )
  expect([textOf(result), rounds, said[0]?.map(({ method }) => method)]).toEqual([
    'true,accept,accept,1,2,0',
    [['name'], ['roots']],
    ['notifications/message'],
  ])
})
