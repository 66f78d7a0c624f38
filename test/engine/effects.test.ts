import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import type { Context } from '../../worker/declarations/context.ts'
import type { Server } from '../../worker/declarations/server.ts'
import { emptyJournal, type Journal, withAnswers } from '../../worker/engine/journal.ts'
import type { Notification } from '../../worker/protocol/types.ts'
import { accept, converse, decline, newServer, play, result, type Setting, textOf } from './stage.ts'

const doing = (handler: (ctx: Context) => unknown) =>
  newServer().use(
    (server: Server) =>
      void server.tool('t', { description: 'd' }, async (_, ctx) => JSON.stringify(await handler(ctx)) ?? 'undefined'),
  )
const talk = (handler: (ctx: Context) => unknown, setting?: Setting) =>
  converse(doing(handler), 'tools/call', call, () => ({ result: accept({}) }), setting)
const call = { name: 't', _meta: { progressToken: 'p' } }
const question = (ctx: Context, key: string) => ctx.elicit(key, 'm', z.object({ a: z.string().optional() }))

describe('ctx.once', () => {
  test('runs an effect once in all rounds', async () => {
    let runs = 0
    const { result, rounds } = await talk(async (ctx) => {
      const first = await ctx.once('effect', () => ++runs)
      await question(ctx, 'a')
      await question(ctx, 'b')
      return [first, await ctx.once('later', () => ++runs)]
    })
    expect([rounds, textOf(result), runs]).toEqual([[['a'], ['b']], '[1,2]', 2])
  })

  test('runs an effect without a result once', async () => {
    let runs = 0
    const { result } = await talk(async (ctx) => {
      const nothing = await ctx.once('effect', () => {
        runs += 1
      })
      await question(ctx, 'a')
      await question(ctx, 'b')
      return String(nothing)
    })
    expect([runs, textOf(result)]).toEqual([1, '"undefined"'])
  })

  test.each<[string, unknown, unknown]>([
    ['null', null, null],
    ['false', false, false],
    ['an object', { a: [1] }, { a: [1] }],
    ['a date, as text', new Date(0), '1970-01-01T00:00:00.000Z'],
    ['an undefined member', { a: undefined, b: 1 }, { b: 1 }],
    ['null for undefined in a list', [undefined, 1], [null, 1]],
  ])('returns %s in every round', async (_, value, expected) => {
    const seen: unknown[] = []
    await talk(async (ctx) => {
      seen.push(await ctx.once('effect', () => value))
      await question(ctx, 'a')
    })
    expect(seen).toEqual([expected, expected])
  })

  test('refuses an input request inside an effect with an error', async () => {
    const asks = async (ctx: Context) => question(ctx, 'a')
    for (const effect of [asks, async (ctx: Context) => ctx.requestInput({ a: { method: 'roots/list' } })]) {
      const { result } = await talk((ctx) => ctx.once('effect', () => effect(ctx)))
      expect(textOf(result)).toBe('The input request "a" is inside ctx.once: request input before it')
    }
    // Beside one that runs, everything may be asked.
    const { rounds } = await talk((ctx) => Promise.all([ctx.once('effect', async () => undefined), asks(ctx)]))
    expect(rounds).toEqual([['a']])
  })

  test('runs effects beside an input request, and stores their results', async () => {
    const runs: string[] = []
    const { result, rounds } = await talk(async (ctx) => {
      const [, one, two] = await Promise.all([
        question(ctx, 'a'),
        ctx.once('one', async () => {
          await Promise.resolve()
          runs.push('one')
          return 1
        }),
        ctx.once('two', () => {
          runs.push('two')
          return 2
        }),
      ])
      return [one, two]
    })
    expect([rounds, runs.sort(), textOf(result)]).toEqual([[['a']], ['one', 'two'], '[1,2]'])
  })

  test('awaits a slow effect beside an input request', async () => {
    const gate = Promise.withResolvers<string>()
    const server = doing((ctx) => Promise.all([question(ctx, 'a'), ctx.once('slow', () => gate.promise)]))
    const playing = play(server, 'tools/call', call)
    gate.resolve('opened')
    const { outcome } = await playing
    expect('inputRequests' in outcome && Object.keys(outcome.inputRequests)).toEqual(['a'])
    expect(JSON.stringify('inputRequests' in outcome && outcome.journal.effects)).toContain('opened')
  })

  test('runs an effect after another one, beside an input request, once', async () => {
    let runs = 0
    const { result } = await talk(async (ctx) => {
      const [, last] = await Promise.all([
        question(ctx, 'a'),
        ctx.once('one', () => 1).then(() => ctx.once('two', () => ++runs)),
      ])
      return last
    })
    expect([runs, textOf(result)]).toEqual([1, '1'])
  })

  test('does not start an effect after the end of the round', async () => {
    let runs = 0
    const gate = Promise.withResolvers<void>()
    const late: Promise<void>[] = []
    const server = doing(async (ctx) => {
      const branch = gate.promise.then(async () => {
        await Promise.race([ctx.once('late', () => ++runs), Promise.resolve()])
      })
      late.push(branch)
      await Promise.all([question(ctx, 'a'), branch])
      return 'done'
    })
    const { outcome } = await play(server, 'tools/call', call)
    expect('inputRequests' in outcome).toBe(true)
    gate.resolve()
    await Promise.all(late)
    expect(runs).toBe(0)
  })

  test('does not store the error of an effect: the next round runs it again', async () => {
    let runs = 0
    const { result } = await talk(async (ctx) => {
      const found = await ctx
        .once('effect', () => {
          runs += 1
          if (runs === 1) throw new Error('not yet')
          return runs
        })
        .catch((error: Error) => error.message)
      await question(ctx, 'a')
      return found
    })
    expect(textOf(result)).toBe('2')
  })

  test('sends an input request although an effect beside it fails', async () => {
    const { rounds } = await talk(async (ctx) => {
      const failing = ctx.once('effect', () => Promise.reject(new Error('no'))).catch(() => 'caught')
      await Promise.all([question(ctx, 'a'), failing])
    })
    expect(rounds).toEqual([['a']])
  })

  test('refuses a key that is used twice, and names it', async () => {
    const twice = await talk(async (ctx) => [await ctx.once('k', () => 1), await ctx.once('k', () => 2)])
    expect(textOf(twice.result)).toBe('The key "k" is used twice in one call: use each key once')
    const mixed = await talk(async (ctx) => [await question(ctx, 'k'), await ctx.once('k', () => 2)])
    expect(textOf(mixed.result)).toBe('The key "k" is used twice in one call: use each key once')
  })

  test('accepts keys that are names of inherited members', async () => {
    for (const key of ['__proto__', 'constructor', 'toString']) {
      let runs = 0
      await talk(async (ctx) => {
        await ctx.once(key, () => ++runs)
        await question(ctx, 'a')
      })
      expect(runs).toBe(1)
    }
  })
})

const progress = (said: Notification[]) =>
  said.flatMap((note) => (note.method === 'notifications/progress' ? [note.params.progress] : []))
const lines = (said: Notification[]) =>
  said.flatMap((note) => (note.method === 'notifications/message' ? [note.params.data] : []))

describe('progress', () => {
  const once = async (handler: (ctx: Context) => unknown, params: object = call) =>
    (await play(doing(handler), 'tools/call', { ...call, ...params })).said

  test('is sent for the progress token of the request', async () => {
    expect(await once((ctx) => ctx.progress(1, 3, 'one'))).toEqual([
      { method: 'notifications/progress', params: { progressToken: 'p', progress: 1, total: 3, message: 'one' } },
    ])
    expect(await once((ctx) => ctx.progress(1), { _meta: { progressToken: 0 } })).toMatchObject([
      { params: { progressToken: 0 } },
    ])
  })

  test('is not sent without a progress token', async () => {
    expect(await once((ctx) => ctx.progress(1), { _meta: {} })).toEqual([])
    expect(await once((ctx) => ctx.progress(1), { _meta: undefined })).toEqual([])
  })

  test('only increases', async () => {
    const said = await once((ctx) => {
      for (const step of [0, 0, 1, 0.5, 1, 1.5, Number.NaN, -1, 2]) ctx.progress(step)
    })
    expect(progress(said)).toEqual([0, 1, 1.5, 2])
  })

  test('has no number that is not finite', async () => {
    const said = await once((ctx) => {
      ctx.progress(Number.POSITIVE_INFINITY)
      ctx.progress(1, Number.POSITIVE_INFINITY)
      ctx.progress(2, Number.NaN, 'two')
    })
    expect(JSON.parse(JSON.stringify(said.map(({ params }) => params)))).toEqual([
      { progressToken: 'p', progress: 1 },
      { progressToken: 'p', progress: 2, message: 'two' },
    ])
  })

  test.each<[member: string, expected: string, found: string, args: unknown[]]>([
    ['progress', 'a number', '"1"', ['1']],
    ['progress', 'a number', 'undefined', []],
    ['progress', 'a number', 'an object', [{ progress: 1, total: 2 }]],
    ['total', 'a number', 'null', [1, null]],
    ['message', 'a string', '5', [1, 2, 5]],
  ])('is an error for the wrong %s, also without a progress token: must be %s, not %s', async (...row) => {
    const [member, expected, found, args] = row
    const handler = (ctx: Context) => Reflect.apply(ctx.progress, ctx, args)
    for (const params of [call, { ...call, _meta: {} }]) {
      const problem = `"${member}" of ctx.progress() must be ${expected}, not ${found}`
      expect(textOf(await result(doing(handler), 'tools/call', params))).toBe(problem)
    }
  })

  test('can start below zero', async () => {
    expect(progress(await once((ctx) => ctx.progress(-5)))).toEqual([-5])
  })
})

describe('log lines', () => {
  const levels = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'] as const
  const logged = async (logLevel: Setting['logLevel']) => {
    const server = doing((ctx) => {
      for (const level of levels) ctx.log(level, level)
    })
    return lines((await play(server, 'tools/call', call, { logLevel })).said)
  }

  test('are sent from the level that the client requested', async () => {
    expect(await logged('debug')).toEqual(levels)
    expect(await logged('warning')).toEqual(['warning', 'error', 'critical', 'alert', 'emergency'])
    expect(await logged('emergency')).toEqual(['emergency'])
  })

  test('are not sent when the client requested no level', async () => {
    expect(await logged(undefined)).toEqual([])
  })

  test('have the name of their logger, and null as missing data', async () => {
    const server = doing((ctx) => {
      ctx.log('info', { a: 1 }, 'me')
      ctx.log('info', undefined)
    })
    expect((await play(server, 'tools/call', call)).said).toEqual([
      { method: 'notifications/message', params: { level: 'info', logger: 'me', data: { a: 1 } } },
      { method: 'notifications/message', params: { level: 'info', logger: undefined, data: null } },
    ])
  })
})

describe('a log line', () => {
  const levels = 'debug, info, notice, warning, error, critical, alert, emergency'
  test.each<[what: string, problem: string, args: unknown[]]>([
    ['an unknown level', `"level" of ctx.log() must be one of ${levels}, not "warn"`, ['warn', 'x']],
    ['a logger that is no text', '"logger" of ctx.log() must be a string, not 5', ['info', 'x', 5]],
    ['a bigint', 'ctx.log() got a bigint at id, which has no JSON form', ['info', { id: 1n }]],
    ['a function', 'ctx.log() got a function, which has no JSON form', ['info', () => 1]],
    ['a map', 'ctx.log() got a value of the class Map, which has no JSON form', ['info', new Map([[1, 1]])]],
  ])('with %s is an error, whatever the client requested', async (_, problem, args) => {
    const handler = (ctx: Context) => Reflect.apply(ctx.log, ctx, args)
    for (const logLevel of ['debug', 'emergency', undefined] as const) {
      expect(textOf(await result(doing(handler), 'tools/call', call, { logLevel }))).toContain(problem)
    }
  })

  test('has the text of an error, and null in the place of what JSON omits', async () => {
    const server = doing((ctx) => {
      ctx.log('info', new TypeError('it failed'))
      ctx.log('info', { toJSON: () => undefined })
    })
    expect(lines((await play(server, 'tools/call', call)).said)).toEqual(['TypeError: it failed', null])
  })
})

describe('a replayed handler', () => {
  test.each([
    ['fewer', 'debug', 'error', ['error b']],
    ['more', 'error', 'debug', ['info b', 'error b']],
  ] as const)('sends only new log messages to a client that changed to %s levels', async (_, before, after, heard) => {
    const server = doing(async (ctx) => {
      for (const level of ['info', 'error'] as const) ctx.log(level, `${level} a`)
      await question(ctx, 'a')
      for (const level of ['info', 'error'] as const) ctx.log(level, `${level} b`)
    })
    const { outcome } = await play(server, 'tools/call', call, { logLevel: before })
    const { journal } = outcome as { journal: Journal }
    const answered = withAnswers(journal, { a: { result: decline } })
    expect(lines((await play(server, 'tools/call', call, { logLevel: after, journal: answered })).said)).toEqual(heard)
  })

  test('does not send notifications of earlier rounds again', async () => {
    const { said } = await talk(async (ctx) => {
      ctx.progress(1)
      ctx.log('info', 'before a')
      await question(ctx, 'a')
      ctx.progress(2)
      ctx.log('info', 'before b')
      await question(ctx, 'b')
      ctx.progress(3)
      ctx.log('info', 'after b')
    })
    expect(said.map(progress)).toEqual([[1], [2], [3]])
    expect(said.map(lines)).toEqual([['before a'], ['before b'], ['after b']])
  })

  test('sends notifications after input requests that were sent together', async () => {
    const { said } = await talk(async (ctx) => {
      ctx.log('info', 'before')
      await Promise.all([question(ctx, 'a'), question(ctx, 'b')])
      ctx.log('info', 'after')
    })
    expect(said.map(lines)).toEqual([['before'], ['after']])
  })

  test('sends notifications after it omits an input request of an earlier round', async () => {
    let asks = true
    const { said } = await talk(async (ctx) => {
      ctx.log('info', 'before')
      if (asks) {
        asks = false
        await question(ctx, 'a')
      }
      ctx.log('info', 'after')
    })
    expect(lines(said.at(-1) ?? [])).toContain('after')
  })

  test('sends notifications when the response came before its input request', async () => {
    const journal = { ...emptyJournal, answers: { a: { result: accept({}) } } }
    const { said } = await talk(
      async (ctx) => {
        ctx.log('info', 'before')
        await question(ctx, 'a')
        ctx.log('info', 'after')
      },
      { journal },
    )
    expect(said.map(lines)).toEqual([['before', 'after']])
  })

  test('closes the stream of its client once', async () => {
    const server = doing(async (ctx) => {
      ctx.closeStream({ retryMs: 20 })
      await question(ctx, 'a')
      ctx.closeStream()
    })
    const first = await play(server, 'tools/call', call)
    expect(first.disconnected).toEqual([20])
    if (!('inputRequests' in first.outcome)) throw new Error('asks nothing')
    const journal = withAnswers(first.outcome.journal, { a: { result: accept({}) } })
    expect((await play(server, 'tools/call', call, { journal })).disconnected).toEqual([undefined])
  })
})

describe('after the end of its call', () => {
  test('a handler sends no notifications', async () => {
    const gate = Promise.withResolvers<void>()
    let late: Promise<void> | undefined
    const server = doing((ctx) => {
      late = gate.promise.then(() => {
        ctx.progress(1)
        ctx.log('error', 'late')
        ctx.closeStream({ retryMs: 1 })
      })
      return 'done'
    })
    const { said, disconnected } = await play(server, 'tools/call', call)
    gate.resolve()
    await late
    expect([said, disconnected]).toEqual([[], []])
  })

  test('a handler that waits for an input response sends no notifications', async () => {
    const gate = Promise.withResolvers<void>()
    let late: Promise<void> | undefined
    const server = doing((ctx) => {
      late = gate.promise.then(() => ctx.log('error', 'late'))
      return question(ctx, 'a')
    })
    const { said } = await play(server, 'tools/call', call)
    gate.resolve()
    await late
    expect(said).toEqual([])
  })
})
