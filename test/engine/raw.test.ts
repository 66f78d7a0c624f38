import { describe, expect, test } from 'vitest'
import type { Context } from '../../worker/declarations/context.ts'
import type { Server } from '../../worker/declarations/server.ts'
import { accept, converse, everything, newServer, play, refusal, sampled, textOf } from './stage.ts'

/** A server whose tool does this. */
const doing = (handler: (ctx: Context) => unknown) =>
  newServer().use(
    (server: Server) => void server.tool('t', { description: 'd' }, async (_, ctx) => String(await handler(ctx))),
  )
const call = { name: 't' }

const talk = (handler: (ctx: Context) => unknown, answers: Parameters<typeof converse>[3]) =>
  converse(doing(handler), 'tools/call', call, answers)

const form = (message: string) => ({
  method: 'elicitation/create' as const,
  params: {
    mode: 'form',
    message,
    requestedSchema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
  },
})

describe('ctx.requestInput', () => {
  test('sends input requests, and ctx.inputResponse returns the responses of earlier rounds', async () => {
    const { result, rounds, asked } = await talk(
      (ctx) => {
        const [name, trip] = [ctx.inputResponse('name'), ctx.inputResponse('trip')]
        if (!name) return ctx.requestInput({ name: form('Who?') })
        if (!trip)
          return ctx.requestInput({ trip: form(`Where to, ${name.content?.name}?`), roots: { method: 'roots/list' } })
        return `${name.content?.name} to ${trip.content?.name} with ${ctx.inputResponse('roots')?.roots?.length}`
      },
      { name: accept({ name: 'Ada' }), trip: accept({ name: 'Oslo' }), roots: { roots: [{ uri: 'file:///a' }] } },
    )
    expect(rounds).toEqual([['name'], ['trip', 'roots']])
    expect(asked.trip).toEqual(form('Where to, Ada?'))
    expect(textOf(result)).toBe('Ada to Oslo with 1')
  })

  test('can be combined with other input requests and effects', async () => {
    let effects = 0
    const { result, rounds } = await talk(
      async (ctx) => {
        const { text } = await ctx.sample('m', { prompt: 'p', maxTokens: 5 })
        await ctx.once('e', () => {
          effects += 1
        })
        if (!ctx.inputResponse('name')) await ctx.requestInput({ name: form('Who?') })
        return `${text} ${ctx.inputResponse('name')?.content?.name}`
      },
      { m: sampled('Hello'), name: accept({ name: 'Ada' }) },
    )
    expect(rounds).toEqual([['m'], ['name']])
    expect(textOf(result)).toBe('Hello Ada')
    expect(effects).toBe(1)
  })

  test('can repeat an input request after an unsatisfactory response', async () => {
    const names = ['', 'Ada']
    const { result, rounds } = await talk(
      (ctx) => {
        const name = ctx.inputResponse('name')?.content?.name
        return name ? `Hello, ${name}` : ctx.requestInput({ name: form('Who?') })
      },
      () => ({ result: accept({ name: names.shift() }) }),
    )
    expect(rounds).toEqual([['name'], ['name']])
    expect(textOf(result)).toBe('Hello, Ada')
  })

  test('fails after 100 rounds', async () => {
    const server = doing((ctx) => ctx.requestInput({ name: form('Who?') }))
    await expect(converse(server, 'tools/call', call, { name: accept({}) })).rejects.toThrow(/"name"|at most 100/)
  })

  test('fails with the error of a client that rejects the input request', async () => {
    const { result } = await talk(
      async (ctx) => ctx.inputResponse('name') ?? (await ctx.requestInput({ name: form('Who?') })),
      () => ({ error: { code: -1, message: 'Not today' } }),
    )
    expect(result.isError).toBe(true)
    expect(textOf(result)).toBe('The client returned an error for "name": Not today')
  })

  test('gets null as a response', async () => {
    const { result } = await talk(
      async (ctx) => (ctx.inputResponse('x') === null ? 'null' : await ctx.requestInput({ x: form('?') })),
      {
        x: null,
      },
    )
    expect(textOf(result)).toBe('null')
  })

  test('sends no input request when the client lacks the capability for one of them', async () => {
    const server = doing((ctx) => ctx.requestInput({ name: form('Who?'), roots: { method: 'roots/list' } }))
    const { code, data } = await refusal(server, 'tools/call', call, {
      capabilities: { elicitation: { form: {} } },
    }).then(({ kind, data }) => ({ code: kind, data }))
    expect(code).toBe('missing_client_capability')
    expect(data).toEqual({ requiredCapabilities: { roots: {} } })
  })

  test.each([
    ['a page', { method: 'elicitation/create' as const, params: { mode: 'url' } }, { elicitation: { url: {} } }],
    ['a form', form('Who?'), { elicitation: { form: {} } }],
    ['a form by default', { method: 'elicitation/create' as const, params: {} }, { elicitation: { form: {} } }],
    [
      'a model',
      {
        method: 'sampling/createMessage' as const,
        params: { messages: [{ role: 'user', content: { type: 'text', text: 'Hi' } }] },
      },
      { sampling: {} },
    ],
  ])('requires the capability for %s', async (_, request, requiredCapabilities) => {
    const server = doing((ctx) => ctx.requestInput({ x: request }))
    const { data } = await refusal(server, 'tools/call', call, { capabilities: {} })
    expect(data).toEqual({ requiredCapabilities })
  })

  test('requires an input request, and a different key for each', async () => {
    const nothing = await play(
      doing((ctx) => ctx.requestInput({})),
      'tools/call',
      call,
      { capabilities: everything },
    )
    expect(nothing.outcome).toMatchObject({ type: 'result', result: { isError: true } })
    const twice = await play(
      doing((ctx) => Promise.all([ctx.requestInput({ a: form('?') }), ctx.requestInput({ a: form('!') })])),
      'tools/call',
      call,
    )
    expect(JSON.stringify(twice.outcome)).toContain('is used twice')
  })

  test('accepts a timeout for the response', async () => {
    const { outcome } = await play(
      doing((ctx) => ctx.requestInput({ a: form('?') }, { timeout: 5000 })),
      'tools/call',
      call,
    )
    expect(outcome).toMatchObject({ answerTimeoutMs: 5000 })
  })

  test('works in prompts and resources', async () => {
    const server = newServer()
    server.prompt('p', { description: 'd' }, async (_, ctx) => {
      const who = ctx.inputResponse('who')
      return who ? `Write to ${who.content?.name}` : ctx.requestInput({ who: form('Whom?') })
    })
    server.resource('x://y', { description: 'd' }, async (_, ctx) => {
      const who = ctx.inputResponse('who')
      return who ? `Of ${who.content?.name}` : ctx.requestInput({ who: form('Whose?') })
    })
    const answers = { who: accept({ name: 'Ada' }) }
    const prompt = await converse(server, 'prompts/get', { name: 'p' }, answers)
    expect(JSON.stringify(prompt.result)).toContain('Write to Ada')
    const resource = await converse(server, 'resources/read', { uri: 'x://y' }, answers)
    expect(JSON.stringify(resource.result)).toContain('Of Ada')
  })
})
