/** What a handler asks with arguments of the wrong shape: an error names the argument, and nothing reaches the client. */
import { expect, test } from 'vitest'
import * as z from 'zod'
import { audio, image } from '../../worker/declarations/content.ts'
import type { Context } from '../../worker/declarations/context.ts'
import type { Server } from '../../worker/declarations/server.ts'
import { clientFeatures } from '../../worker/engine/check-arguments.ts'
import { accept, converse, newServer, play, textOf } from './stage.ts'

// biome-ignore lint/suspicious/noExplicitAny: JavaScript has no types that would refuse these calls
type Untyped = any

const schema = z.object({ name: z.string() })

const listOfMessages = "a list of messages such as { role: 'user', content: { type: 'text', text: 'Hi' } }"

test.each<[given: string, handler: (ctx: Untyped) => Untyped, problem: string]>([
  [
    'elicit without a key',
    (ctx) => ctx.elicit('Name?', schema),
    '"message" of ctx.elicit("Name?", …) must be a string, not an object',
  ],
  [
    'elicit without a schema',
    (ctx) => ctx.elicit('k', 'Name?'),
    '"schema" of ctx.elicit("k", …) must be a schema such as z.object({ name: z.string() }), not undefined',
  ],
  [
    'elicit with params',
    (ctx) => ctx.elicit({ message: 'Name?', requestedSchema: {} }),
    '"key" of ctx.elicit() must be a string that names the input request in this call, not an object',
  ],
  [
    'elicit without a key beside another',
    (ctx) => Promise.all([ctx.elicit('a', 'A?', schema), ctx.elicit(undefined, 'B?', schema)]),
    '"key" of ctx.elicit() must be a string that names the input request in this call, not undefined',
  ],
  [
    'elicit with a timeout in the place of the options',
    (ctx) => ctx.elicit('k', 'Name?', schema, '30s'),
    'ctx.elicit("k", …) takes an object with timeout and task, not "30s"',
  ],
  [
    'supports with a spelling mistake',
    (ctx) => ctx.supports('elicitation.URL'),
    `"feature" of ctx.supports() must be one of ${[...clientFeatures].join(', ')}, not "elicitation.URL"`,
  ],
  [
    'sleepUntil null',
    (ctx) => ctx.sleepUntil('due', null),
    'The date of the sleep "due" is invalid: use a valid Date, or milliseconds since 1970',
  ],
  [
    'sample with a BigInt',
    (ctx) => ctx.sample('k', { prompt: 'p', maxTokens: 5, metadata: { account: 5n } }),
    '"params" of the input request "k" has a bigint at metadata.account, which has no JSON form: use plain objects, arrays, strings, finite numbers, booleans and null',
  ],
  [
    'state with an object',
    (ctx) => ctx.state({}),
    '"of" of ctx.state() must be what state() of "edgemcp/state" returned, not an object',
  ],
  [
    'elicitUrl without a key',
    (ctx) => ctx.elicitUrl(undefined, 'Pay', 'https://pay.example.com'),
    '"key" of ctx.elicitUrl() must be a string that names the input request in this call, not undefined',
  ],
  [
    'sample with text',
    (ctx) => ctx.sample('k', 'Say hi'),
    `"request" of ctx.sample("k", …) must be an object such as { prompt: 'Say hi', maxTokens: 100 }, not "Say hi"`,
  ],
  [
    'sample without maxTokens',
    (ctx) => ctx.sample('k', { messages: [] }),
    '"maxTokens" of ctx.sample("k", …) must be a whole number of 1 or more, not undefined',
  ],
  [
    'sample without a prompt',
    (ctx) => ctx.sample('k', { maxTokens: 5 }),
    '"prompt" of ctx.sample("k", …) must be a string, or give it messages, not undefined',
  ],
  [
    'sample without a key',
    (ctx) => ctx.sample({ prompt: 'p', maxTokens: 5 }),
    '"key" of ctx.sample() must be a string that names the input request in this call, not an object',
  ],
  [
    'roots with options',
    (ctx) => ctx.roots({ timeout: 1 }),
    '"key" of ctx.roots() must be a string that names the input request in this call, not an object',
  ],
  [
    'closeStream with text',
    (ctx) => ctx.closeStream({ retryMs: '1\nevent: message\ndata: {}' }),
    '"retryMs" of ctx.closeStream() must be a whole number of 0 or more, not "1\\nevent: message\\ndata: {}"',
  ],
  [
    'closeStream with a fraction',
    (ctx) => ctx.closeStream({ retryMs: 0.5 }),
    '"retryMs" of ctx.closeStream() must be a whole number of 0 or more, not 0.5',
  ],
  ['closeStream with a number', (ctx) => ctx.closeStream(5), 'ctx.closeStream() takes an object with retryMs, not 5'],
  [
    'sample with a message of the role system',
    (ctx) => ctx.sample('k', { messages: [{ role: 'system', content: { type: 'text', text: 'Hi' } }], maxTokens: 5 }),
    `"messages" of ctx.sample("k", …) must be ${listOfMessages}, not [an object]`,
  ],
  [
    'sample with a list as role',
    (ctx) => ctx.sample('k', { messages: [{ role: ['user'], content: { type: 'text', text: 'Hi' } }], maxTokens: 5 }),
    `"messages" of ctx.sample("k", …) must be ${listOfMessages}, not [an object]`,
  ],
  [
    'sample with a symbol as role',
    (ctx) => ctx.sample('k', { messages: [{ role: Symbol('user'), content: [] }], maxTokens: 5 }),
    `"messages" of ctx.sample("k", …) must be ${listOfMessages}, not [an object]`,
  ],
  [
    'ask with a list as method',
    (ctx) => ctx.requestInput({ a: { method: ['roots/list'], params: {} } }),
    `"a" of ctx.requestInput() must be a request such as { method: 'elicitation/create', params: { … } }, not an object`,
  ],
  [
    'sample with a text as temperature',
    (ctx) => ctx.sample('k', { prompt: 'p', maxTokens: 5, temperature: '1' }),
    '"temperature" of ctx.sample("k", …) must be a number, not "1"',
  ],
  [
    'sample with a tool without inputSchema',
    (ctx) => ctx.sample('k', { prompt: 'p', maxTokens: 5, tools: [{ name: 'add' }] }),
    `"tools" of ctx.sample("k", …) must be a list of tools such as { name: 'add', inputSchema: { type: 'object' } }, not [an object]`,
  ],
  [
    'ask with an unknown method',
    (ctx) => ctx.requestInput({ a: { method: 'x/y', params: {} } }),
    `"a" of ctx.requestInput() must be a request such as { method: 'elicitation/create', params: { … } }, not an object`,
  ],
  [
    'ask with text',
    (ctx) => ctx.requestInput({ a: 'Name?' }),
    `"a" of ctx.requestInput() must be a request such as { method: 'elicitation/create', params: { … } }, not "Name?"`,
  ],
  [
    'ask without params',
    (ctx) => ctx.requestInput({ a: { method: 'sampling/createMessage' } }),
    `"a" of ctx.requestInput() must be a request such as { method: 'elicitation/create', params: { … } }, not an object`,
  ],
  [
    'sample with an invalid message',
    (ctx) => ctx.sample('k', { messages: [null], maxTokens: 5 }),
    `"messages" of ctx.sample("k", …) must be ${listOfMessages}, not [null]`,
  ],
  [
    'ask for a message without messages',
    (ctx) => ctx.requestInput({ a: { method: 'sampling/createMessage', params: {} } }),
    `"messages" of ctx.requestInput({ a }) must be ${listOfMessages}, not undefined`,
  ],
  [
    'ask for a message with text as content',
    (ctx) => ctx.requestInput({ a: { method: 'sampling/createMessage', params: { messages: [{ content: 'Hi' }] } } }),
    `"messages" of ctx.requestInput({ a }) must be ${listOfMessages}, not [an object]`,
  ],
  [
    'ask without requests',
    (ctx) => ctx.requestInput(),
    `"requests" of ctx.requestInput() must be an object such as { name: { method: 'elicitation/create', params: { … } } }, not undefined`,
  ],
  [
    'once without a key',
    (ctx) => ctx.once(() => 1),
    '"key" of ctx.once() must be a string that names the effect in this call, not a function',
  ],
  ['once without an effect', (ctx) => ctx.once('k'), '"effect" of ctx.once("k", …) must be a function, not undefined'],
  [
    'image with a data URL',
    () => image('data:image/png;base64,AAAA', 'image/png'),
    '"data" of image() must be a Uint8Array, or base64 with its padding and nothing before it, not "data:image/png;base64,AAAA"',
  ],
  [
    'audio with text',
    () => audio('not base64!!', 'audio/wav'),
    '"data" of audio() must be a Uint8Array, or base64 with its padding and nothing before it, not "not base64!!"',
  ],
])('%s is an error that names the problem', async (_, handler, problem) => {
  const server = newServer().use(
    (server: Server) => void server.tool('t', { description: 'd' }, async (_, ctx: Context) => await handler(ctx)),
  )
  const { result, rounds } = await converse(server, 'tools/call', { name: 't' }, () => ({ result: accept({}) }))
  expect([textOf(result), rounds]).toEqual([problem, []])
})

test.each<[method: string, handler: (ctx: Untyped) => Untyped]>([
  ['sample', (ctx) => ctx.sample('k', { messages: [], maxTokens: 5 })],
  [
    'requestInput',
    (ctx) => ctx.requestInput({ k: { method: 'sampling/createMessage', params: { messages: [], maxTokens: 5 } } }),
  ],
])('%s() sends an empty list of messages, which MCP allows', async (_, handler) => {
  const server = newServer().use(
    (server: Server) => void server.tool('t', { description: 'd' }, async (_, ctx: Context) => await handler(ctx)),
  )
  const { outcome } = await play(server, 'tools/call', { name: 't' }, { capabilities: { sampling: {} } })
  expect(outcome).toMatchObject({ inputRequests: { k: { params: { messages: [], maxTokens: 5 } } } })
})

test.each(['', 'AA==', 'AAA=', 'AAAA', '+/+/AAA='])('image() and audio() accept the base64 "%s"', (data) => {
  expect([image(data, 'image/png').data, audio(data, 'audio/wav').data]).toEqual([data, data])
})

test.each(['A', 'AA', 'A===', 'A=A=', 'AA_-', 'AA A', 'AAAA\n'])('image() refuses "%s"', (data) => {
  expect(() => image(data, 'image/png')).toThrow('"data" of image() must be')
})

test('image() accepts base64 of several megabytes unchanged', () => {
  const data = 'A'.repeat(16_000_000)
  expect(image(data, 'image/png').data).toBe(data)
})
