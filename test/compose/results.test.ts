/** What an upstream returns is data: it reaches a client as far as the protocol has words for it. */
import { describe, expect, test } from 'vitest'
import { withAnswers } from '../../worker/engine/journal.ts'
import { readResult } from '../../worker/plugins/compose/proxy/results.ts'
import { newServer, play, refusal, result } from '../engine/stage.ts'
import { nodeProxy } from './node-proxy.ts'

const read = (method: string, result: Record<string, unknown>, canBeAsked = true) =>
  readResult(method, result, canBeAsked, 'upstream.example')
const visit = (url: string) => ({ method: 'elicitation/create', params: { mode: 'url', url, message: 'Sign in' } })
const form = (properties: object) => ({ message: 'm', requestedSchema: { type: 'object', properties } })
const text = { type: 'text', text: 'a' }
const asks = (request: unknown) => ({ resultType: 'input_required', inputRequests: { a: request }, requestState: 's' })

describe('a result of an upstream without sessions', () => {
  test.each<[string, Record<string, unknown>]>([
    ['tools/call', { resultType: 'task', taskId: '1' }],
    ['tools/call', { resultType: 'surprise', content: [] }],
    ['tools/call', { resultType: 7, content: [] }],
    ['tools/call', asks({ method: 'tools/call', params: {} })],
    ['tools/call', asks('x')],
    ['tools/call', asks(visit('javascript://localhost/%0aalert(1)'))],
    ['tools/call', asks(visit('http://login.example'))],
    ...[
      visit('https://bank.example@evil.example/'),
      visit('https://ada:secret@evil.example/'),
      { method: 'elicitation/create', params: { mode: 'URL', url: 'javascript:alert(1)', message: 'm' } },
      { method: 'elicitation/create', params: { mode: 'url', url: 'https://login.example' } },
      { method: 'elicitation/create', params: { message: 5, requestedSchema: { type: 'object', properties: {} } } },
      { method: 'elicitation/create', params: { message: 'm' } },
      { method: 'elicitation/create', params: { message: 'm', requestedSchema: 7 } },
      { method: 'elicitation/create', params: form({ a: { type: 'object' } }) },
      { method: 'elicitation/create', params: form({ a: { type: 'array', items: {} } }) },
      { method: 'sampling/createMessage' },
      { method: 'sampling/createMessage', params: { maxTokens: 1 } },
      { method: 'sampling/createMessage', params: { maxTokens: 1, messages: 'x' } },
      { method: 'sampling/createMessage', params: { maxTokens: 1, messages: [null] } },
      { method: 'sampling/createMessage', params: { maxTokens: 1, messages: [{ role: 'user', content: [null] }] } },
      {
        method: 'sampling/createMessage',
        params: { messages: [{ role: 'user', content: { type: 'text', text: 'a' } }] },
      },
      {
        method: 'sampling/createMessage',
        params: { maxTokens: 1, messages: [{ role: 'assistant', content: { type: 'tool_use', id: '1' } }] },
      },
    ].map((request): [string, Record<string, unknown>] => ['tools/call', asks(request)]),
    ...[{}, { role: 'system', content: text }, { role: 'user', content: [text] }, { role: 'user', content: null }].map(
      (message): [string, Record<string, unknown>] => ['prompts/get', { messages: [message] }],
    ),
    ['resources/read', { contents: [{ uri: 'a:b' }] }],
    ['resources/read', { contents: [{ text: 'b' }] }],
    ['tools/call', { resultType: 'input_required', inputRequests: [], requestState: 's' }],
    ['tools/call', { resultType: 'input_required', inputRequests: {}, requestState: 7 }],
    ['completion/complete', asks({ method: 'roots/list' })],
    ['tools/list', asks({ method: 'roots/list' })],
    ['tools/call', { content: 'x' }],
    ['tools/call', { content: ['x'] }],
    ['prompts/get', { description: 'd' }],
    ['resources/read', { contents: {} }],
    ['completion/complete', { completion: [] }],
  ])('of %s is invalid: %j', (method, result) => {
    expect(() => read(method, result)).toThrow(
      expect.objectContaining({
        kind: 'unavailable',
        message: expect.stringMatching(/^The server at upstream\.example answered .* with an invalid result: /),
      }),
    )
  })

  test('keeps the members of its type, and no others', () => {
    const more = { task: {}, taskId: '1', inputRequests: {}, requestState: 's', x: 1 }
    expect(read('tools/call', { resultType: 'complete', content: [], isError: true, ...more })).toEqual({
      content: [],
      isError: true,
    })
    expect(read('tools/call', { structuredContent: 1 })).toEqual({ content: [], structuredContent: 1 })
    expect(read('resources/read', { contents: [], ttlMs: 1, cacheScope: 'public', _meta: { a: 1 }, ...more })).toEqual({
      contents: [],
      ttlMs: 1,
      cacheScope: 'public',
      _meta: { a: 1 },
    })
  })

  test('with input requests keeps these, and no other members', () => {
    const request = visit('https://login.example')
    expect(read('prompts/get', { ...asks(request), content: [], x: 1 })).toEqual(asks(request))
  })
})

test.each([
  { method: 'roots/list' },
  { method: 'elicitation/create', params: { mode: 'form', ...form({ a: { type: 'string' }, b: { enum: ['x'] } }) } },
  { method: 'elicitation/create', params: form({ a: { type: 'array', items: { type: 'string', enum: ['x'] } } }) },
  { method: 'sampling/createMessage', params: { maxTokens: 1, messages: [{ role: 'user', content: text }] } },
  { method: 'sampling/createMessage', params: { maxTokens: 1, messages: [{ role: 'user', content: [text] }] } },
])('an upstream can send each input request that a handler can send: %j', (request) => {
  expect(read('tools/call', asks(request))).toEqual(asks(request))
})

const megabyte = 'x'.repeat(1024 * 1024)
test.each(['application/json', 'text/event-stream'])('a response as %s is limited to 16 MiB', async (type) => {
  let sent = 0
  const upstream = async (_: string, { body }: RequestInit) => {
    const { id, method } = JSON.parse(String(body))
    const described = { supportedVersions: ['2026-07-28'], capabilities: { tools: {} } }
    if (method === 'server/discover') return Response.json({ jsonrpc: '2.0', id, result: described })
    const flood = new ReadableStream<Uint8Array>({
      pull(controller) {
        sent += 1
        if (sent > 100) controller.close()
        else controller.enqueue(new TextEncoder().encode((sent === 1 ? 'data: ' : '') + megabyte))
      },
    })
    return new Response(flood, { headers: { 'Content-Type': type } })
  }
  const server = newServer().use(nodeProxy('https://upstream.example/mcp', upstream))
  expect(await refusal(server, 'tools/call', { name: 'x' })).toMatchObject({
    kind: 'unavailable',
    message:
      'The server at upstream.example answered tools/call with more than 16777216 bytes, more than proxy() reads: let it answer in parts',
  })
  expect(sent).toBeLessThan(25)
})

test.each(['2026-07-28', '2025-11-25'])(
  'the model gets an error when a client of %s refuses the input request of an upstream',
  async (date) => {
    const upstream = async (_: string, { body }: RequestInit) => {
      const { id, method } = JSON.parse(String(body))
      const described = { supportedVersions: ['2026-07-28'], capabilities: { tools: {} } }
      const result = method === 'server/discover' ? described : asks({ method: 'roots/list' })
      return Response.json({ jsonrpc: '2.0', id, result })
    }
    const server = newServer().use(nodeProxy('https://upstream.example/mcp', upstream))
    const first = await play(server, 'tools/call', { name: 'x' }, { date })
    if (!('inputRequests' in first.outcome)) throw new Error('It asks nothing')
    const refused = { '1 a': { error: { code: -1, message: 'The person said no' } } }
    const journal = withAnswers(first.outcome.journal, refused)
    expect(await result(server, 'tools/call', { name: 'x' }, { date, journal })).toMatchObject({
      isError: true,
      content: [{ type: 'text', text: 'The client returned an error for "1 a": The person said no' }],
    })
  },
)

test('input requests in the result of an upstream with sessions are ignored', () => {
  expect(read('tools/call', { ...asks({ method: 'roots/list' }), content: [] }, false)).toEqual({ content: [] })
  expect(() => read('tools/call', asks({ method: 'roots/list' }), false)).toThrow('"content" must be a list of objects')
})

test('input requests of an upstream reach only clients that declare the capability', async () => {
  const upstream = async (_: string, { body }: RequestInit) => {
    const { id, method } = JSON.parse(String(body))
    const described = { supportedVersions: ['2026-07-28'], capabilities: { tools: {} } }
    const result = method === 'server/discover' ? described : asks(visit('https://evil.example/login'))
    return Response.json({ jsonrpc: '2.0', id, result })
  }
  const server = newServer().use(nodeProxy('https://upstream.example/mcp', upstream))
  const refused = (capabilities: object) => refusal(server, 'tools/call', { name: 'x' }, { capabilities })
  for (const capabilities of [{}, { elicitation: { form: {} } }, { sampling: {} }]) {
    expect(await refused(capabilities)).toMatchObject({ kind: 'missing_client_capability' })
  }
  const { outcome } = await play(server, 'tools/call', { name: 'x' }, { capabilities: { elicitation: { url: {} } } })
  expect(outcome).toMatchObject({ inputRequests: { '1 a': visit('https://evil.example/login') } })
})

test('an upstream that requests no input, but another round, fails after 100 rounds', async () => {
  let rounds = 0
  const upstream = async (_: string, { body }: RequestInit) => {
    const { id, method } = JSON.parse(String(body))
    const described = { supportedVersions: ['2026-07-28'], capabilities: { tools: {} } }
    if (method !== 'server/discover') rounds += 1
    const result = method === 'server/discover' ? described : { resultType: 'input_required', requestState: 's' }
    return Response.json({ jsonrpc: '2.0', id, result })
  }
  const server = newServer().use(nodeProxy('https://upstream.example/mcp', upstream))
  expect(await refusal(server, 'tools/call', { name: 'x' })).toMatchObject({
    kind: 'unavailable',
    message: 'The upstream server still requests input after 100 rounds',
  })
  expect(rounds).toBe(100)
})
