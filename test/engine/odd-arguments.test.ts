/** Each argument of each member of `ctx`, with values that it does not take: an error in our words, and nothing reaches the client. */
import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import type { Context } from '../../worker/declarations/context.ts'
import { pageCursor } from '../../worker/engine/page-cursor.ts'
import { state } from '../../worker/plugins/state/state.ts'
import type { ClientCapabilities } from '../../worker/protocol/types.ts'
import { everything, newServer, play, result, textOf } from './stage.ts'

// biome-ignore lint/suspicious/noExplicitAny: JavaScript has no types that would refuse these calls
type Untyped = any

class Opaque {
  #id = 1
  id() {
    return this.#id
  }
}
const cyclic: { self?: unknown } = {}
cyclic.self = cyclic
let deep: unknown = {}
for (let level = 0; level < 100_000; level++) deep = { deep }

const odd: Readonly<Record<string, unknown>> = {
  undefined: undefined,
  null: null,
  five: 5,
  'minus one': -1,
  'a fraction': 0.4,
  NaN: Number.NaN,
  Infinity: Number.POSITIVE_INFINITY,
  'a BigInt': 5n,
  true: true,
  'a symbol': Symbol('s'),
  'a function': () => 1,
  'an empty text': '',
  'a text': 'text',
  'an object': {},
  'an object without a prototype': Object.create(null),
  'an object with a BigInt': { a: 5n },
  'an object with a symbol': { a: Symbol('s') },
  'a cyclic object': cyclic,
  'a deep object': deep,
  'a list': [],
  'a list with a symbol': [Symbol('s')],
  'a list with undefined': [undefined],
  'a date': new Date(0),
  'an invalid date': new Date(Number.NaN),
  'a map': new Map([['a', 1]]),
  'a promise': Promise.resolve('text'),
  'an error': Object.assign(new Error('no'), { code: 7 }),
  'a response': new Response('text'),
  'an opaque object': new Opaque(),
}

const form = z.object({ name: z.string() })
const sample = (members: object) => (ctx: Untyped) => ctx.sample('k', { prompt: 'p', maxTokens: 5, ...members })
const ofHandle = state('odd-arguments-of-handle', { per: 'handle', ttl: '1h' })
const ofUser = state('odd-arguments-of-user', { per: 'user', ttl: '1h' })
const cursor = pageCursor<unknown>('odd')
const page = 'https://pay.example.com'

const texts = ['an empty text', 'a text']
const object = ['an object', 'an object without a prototype']
const numbers = ['five', 'minus one', 'a fraction']
/** A date is an object that JSON makes a text: nothing is lost. */
const objects = ['null', ...object, 'a date']
const json = ['null', ...numbers, 'true', ...texts, ...object, 'a list', 'a date']
const none: string[] = []

describe.each<[argument: string, call: (ctx: Untyped, value: unknown) => unknown, accepted: string[]]>([
  ['feature of supports', (ctx, value) => ctx.supports(value), none],
  ['key of elicit', (ctx, value) => ctx.elicit(value, 'm', form), texts],
  ['message of elicit', (ctx, value) => ctx.elicit('k', value, form), texts],
  ['schema of elicit', (ctx, value) => ctx.elicit('k', 'm', value), none],
  ['options of elicit', (ctx, value) => ctx.elicit('k', 'm', form, value), ['undefined', ...object]],
  ['timeout of elicit', (ctx, value) => ctx.elicit('k', 'm', form, { timeout: value }), ['undefined', 'five']],
  ['task of elicit', (ctx, value) => ctx.elicit('k', 'm', form, { task: value }), ['undefined', ...object]],
  ['ttl of a task', (ctx, value) => ctx.elicit('k', 'm', form, { task: { ttl: value } }), ['undefined', 'five']],
  ['unknown option of elicit', (ctx, value) => ctx.elicit('k', 'm', form, { timeuot: value }), ['undefined']],
  ['key of elicitUrl', (ctx, value) => ctx.elicitUrl(value, 'm', page), texts],
  ['message of elicitUrl', (ctx, value) => ctx.elicitUrl('k', value, page), texts],
  ['url of elicitUrl', (ctx, value) => ctx.elicitUrl('k', 'm', value), none],
  ['options of elicitUrl', (ctx, value) => ctx.elicitUrl('k', 'm', page, value), ['undefined', ...object]],
  ['required of elicitUrl', (ctx, value) => ctx.elicitUrl('k', 'm', page, { required: value }), ['undefined', 'true']],
  ['id of elicitUrl', (ctx, value) => ctx.elicitUrl('k', 'm', page, { elicitationId: value }), ['undefined', 'a text']],
  ['key of elicitationComplete', (ctx, value) => ctx.elicitationComplete(value), texts],
  ['key of sample', (ctx, value) => ctx.sample(value, { prompt: 'p', maxTokens: 5 }), texts],
  ['request of sample', (ctx, value) => ctx.sample('k', value), none],
  [
    'options of sample',
    (ctx, value) => sample({})({ sample: (...args: unknown[]) => ctx.sample(...args, value) }),
    ['undefined', ...object],
  ],
  ['prompt of sample', (ctx, prompt) => sample({ prompt })(ctx), texts],
  ['messages of sample', (ctx, messages) => sample({ messages })(ctx), ['undefined', 'a list']],
  ['maxTokens of sample', (ctx, maxTokens) => sample({ maxTokens })(ctx), ['five']],
  ['temperature of sample', (ctx, temperature) => sample({ temperature })(ctx), ['undefined', 'null', ...numbers]],
  ['tools of sample', (ctx, tools) => sample({ tools })(ctx), ['undefined', 'a list']],
  ['toolChoice of sample', (ctx, toolChoice) => sample({ toolChoice })(ctx), ['undefined', ...objects]],
  ['metadata of sample', (ctx, metadata) => sample({ metadata })(ctx), ['undefined', ...objects]],
  ['_meta of sample', (ctx, _meta) => sample({ _meta })(ctx), ['undefined', ...objects]],
  ['systemPrompt of sample', (ctx, systemPrompt) => sample({ systemPrompt })(ctx), ['undefined', 'null', ...texts]],
  ['stopSequences of sample', (ctx, stopSequences) => sample({ stopSequences })(ctx), ['undefined', 'null', 'a list']],
  ['modelPreferences of sample', (ctx, value) => sample({ modelPreferences: value })(ctx), ['undefined', ...objects]],
  ['includeContext of sample', (ctx, includeContext) => sample({ includeContext })(ctx), ['undefined', 'null']],
  ['unknown member of sample', (ctx, other) => sample({ other })(ctx), ['undefined', ...json]],
  [
    'schema of a tool of sample',
    (ctx, type) => sample({ tools: [{ name: 'a', inputSchema: { type } }] })(ctx),
    ['undefined', ...json],
  ],
  [
    'role of a message',
    (ctx, role) => sample({ messages: [{ role, content: { type: 'text', text: 'x' } }] })(ctx),
    none,
  ],
  ['key of roots', (ctx, value) => ctx.roots(value), ['undefined', ...texts]],
  ['requests of requestInput', (ctx, value) => ctx.requestInput(value), none],
  ['request of requestInput', (ctx, value) => ctx.requestInput({ a: value }), none],
  ['method of requestInput', (ctx, value) => ctx.requestInput({ a: { method: value, params: {} } }), none],
  [
    'params of requestInput',
    (ctx, params) => ctx.requestInput({ a: { method: 'elicitation/create', params } }),
    [...object, 'a date'],
  ],
  [
    'options of requestInput',
    (ctx, value) => ctx.requestInput({ a: { method: 'roots/list' } }, value),
    ['undefined', ...object],
  ],
  ['key of inputResponse', (ctx, value) => ctx.inputResponse(value), texts],
  ['key of once', (ctx, value) => ctx.once(value, () => 1), texts],
  ['effect of once', (ctx, value) => ctx.once('k', value), ['a function']],
  [
    'result of once',
    (ctx, value) => ctx.once('k', () => value),
    ['undefined', ...json, 'a promise', 'a list with undefined'],
  ],
  ['key of sleep', (ctx, value) => ctx.sleep(value, 1), ['a text']],
  ['duration of sleep', (ctx, value) => ctx.sleep('k', value), ['five', 'a fraction']],
  ['key of sleepUntil', (ctx, value) => ctx.sleepUntil(value, 1), ['a text']],
  ['moment of sleepUntil', (ctx, value) => ctx.sleepUntil('k', value), [...numbers, 'a date']],
  ['progress', (ctx, value) => ctx.progress(value), [...numbers, 'NaN', 'Infinity']],
  ['total of progress', (ctx, value) => ctx.progress(1, value), ['undefined', ...numbers, 'NaN', 'Infinity']],
  ['message of progress', (ctx, value) => ctx.progress(1, 2, value), ['undefined', ...texts]],
  ['level of log', (ctx, value) => ctx.log(value, 'x'), none],
  ['data of log', (ctx, value) => ctx.log('info', value), ['undefined', ...json, 'an error']],
  ['logger of log', (ctx, value) => ctx.log('info', 'x', value), ['undefined', ...texts]],
  ['declaration of state', (ctx, value) => ctx.state(value), none],
  ['handle of state', (ctx, value) => ctx.state(ofHandle, value).get('x'), none],
  ['declaration of createHandle', (ctx, value) => ctx.createHandle(value), none],
  ['options of closeStream', (ctx, value) => ctx.closeStream(value), ['undefined', ...object]],
  ['retryMs of closeStream', (ctx, retryMs) => ctx.closeStream({ retryMs }), ['undefined', 'five']],
  ['ctx of pageCursor', (_, value) => cursor.seal(value as never, 1), none],
  ['position of pageCursor', (ctx, value) => cursor.seal(ctx, value), json],
  ['cursor of pageCursor', (ctx, value) => cursor.open(ctx, value as never), ['undefined']],
])('%s', (argument, call, accepted) => {
  test.each(Object.keys(odd))('%s', async (name) => {
    const server = newServer().use((part) => {
      part.tool('t', { description: 'd' }, async (_, ctx: Context) => {
        const value = await call(ctx, odd[name])
        return `accepted ${typeof value}`
      })
    })
    const capabilities: ClientCapabilities = { ...everything, elicitation: { form: {}, url: {} } }
    const setting = { capabilities, date: argument.includes('elicitUrl') ? '2025-11-25' : '2026-07-28' }
    const ended = await play(server, 'tools/call', { name: 't' }, setting).catch((thrown: unknown) => thrown)
    const outcome = Object(ended).outcome
    const problem = outcome?.result?.isError ? textOf(outcome.result) : ''
    if (accepted.includes(name)) {
      expect(problem).toBe('')
      return
    }
    // The words of JavaScript engines.
    expect(problem).not.toMatch(
      /Cannot (?:read|convert|destructure|mix)|Do not know|call stack|is not (?:a function|iterable)/,
    )
    expect(problem).toMatch(/ctx\.|sleep|state|cursor|pageCursor|input request/)
  })
})

test('createHandle refuses a state without handles', async () => {
  const server = newServer().use((part) => {
    part.tool('t', { description: 'd' }, (_, ctx: Untyped) => ctx.createHandle(ofUser))
  })
  expect(textOf(await result(server, 'tools/call', { name: 't' }))).toBe(
    'The state "odd-arguments-of-user" is per "user" and has no handles: use per: "handle"',
  )
})
