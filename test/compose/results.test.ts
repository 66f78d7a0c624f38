/** What an upstream returns is data: it reaches a client as far as the protocol has words for it. */
import { CreateMessageRequestSchema, ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { describe, expect, test, vi } from 'vitest'
import { newReceived } from '../../worker/client/received.ts'
import { draftOf } from '../../worker/declarations/declarations.ts'
import { withAnswers } from '../../worker/engine/journal.ts'
import { readResult } from '../../worker/plugins/compose/proxy/check-results.ts'
import { matchResponse } from '../../worker/plugins/compose/proxy/match-response.ts'
import { Notices } from '../../worker/plugins/compose/proxy/notices.ts'
import { PrefixedUris } from '../../worker/plugins/compose/proxy/prefixed-uris.ts'
import { newServer, play, refusal, result } from '../engine/stage.ts'
import { nodeProxy } from './node-proxy.ts'
import { rpcError, scripted } from './scripted.ts'

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
    expect(read('resources/read', { contents: [], ttlMs: 1, cacheScope: 'public', _meta: { a: 1 }, ...more })).toEqual({
      contents: [],
      ttlMs: 1,
      cacheScope: 'public',
      _meta: { a: 1 },
    })
  })

  const link = { type: 'resource_link', uri: 'a:b', name: 'b' }
  const nullLink = { ...link, title: null, description: null, mimeType: null, size: null, icons: null }
  const nulls = { annotations: null, _meta: null }
  test.each<[string, Record<string, unknown>, Record<string, unknown>]>([
    ['tools/call', { content: [text], isError: null, _meta: null }, { content: [text] }],
    ['tools/call', { content: [{ ...text, ...nulls }] }, { content: [text] }],
    ['tools/call', { content: [{ ...nullLink, ...nulls }] }, { content: [link] }],
    [
      'tools/call',
      { content: [{ ...text, annotations: { lastModified: '2026-07-28', priority: 1 } }] },
      { content: [{ ...text, annotations: { priority: 1 } }] },
    ],
    [
      'tools/call',
      { content: [{ type: 'image', data: 'YWJj\r\nZGU', mimeType: 'image/png' }] },
      { content: [{ type: 'image', data: 'YWJjZGU=', mimeType: 'image/png' }] },
    ],
    [
      'tools/call',
      { content: [{ type: 'resource', resource: { uri: 'a:b', blob: 'YQ' } }] },
      { content: [{ type: 'resource', resource: { uri: 'a:b', blob: 'YQ==' } }] },
    ],
    ['resources/read', { contents: [{ uri: 'a:b', blob: 'YQ \n' }] }, { contents: [{ uri: 'a:b', blob: 'YQ==' }] }],
    [
      'tools/call',
      { content: [{ type: 'resource', resource: { uri: 'a:b', text: 'c', mimeType: null, blob: null }, ...nulls }] },
      { content: [{ type: 'resource', resource: { uri: 'a:b', text: 'c' } }] },
    ],
    [
      'prompts/get',
      { messages: [{ role: 'user', content: { ...text, ...nulls } }], description: null },
      { messages: [{ role: 'user', content: text }] },
    ],
    [
      'resources/read',
      { contents: [{ uri: 'a:b', text: 'c', mimeType: null, _meta: null, blob: null }], ttlMs: null, cacheScope: null },
      { contents: [{ uri: 'a:b', text: 'c' }] },
    ],
    [
      'completion/complete',
      { completion: { values: ['a'], total: null, hasMore: null } },
      { completion: { values: ['a'] } },
    ],
  ])('of %s has no members that are null: %j', (method, given, expected) => {
    expect(read(method, given)).toEqual(expected)
    expect(read(method, given, false)).toEqual(expected)
  })

  test.each<[string, Record<string, unknown>, string]>([
    ['tools/call', { content: [], isError: 'false' }, '"isError" of the result must be true or false, not "false"'],
    ['tools/call', { content: [text, { type: 'text' }] }, '"content[1].text" of the result must be a string'],
    ['tools/call', { content: [{ type: 'video' }] }, '"content[0].type" of the result must be one of text, image,'],
    ['tools/call', { content: [{ ...text, annotations: { priority: 5 } }] }, '"content[0].annotations.priority"'],
    ['tools/call', { content: [{ ...link, mimeType: 5 }] }, '"content[0].mimeType" of the result must be a string'],
    ['tools/call', { content: [{ type: 'resource', resource: { uri: 'a:b' } }] }, '"content[0].resource" of the'],
    ['prompts/get', { messages: [], description: 5 }, '"description" of the result must be a string, not 5'],
    ['prompts/get', { messages: [{ role: 'user', content: { type: 'text' } }] }, '"messages[0].content.text" of'],
    ['prompts/get', { messages: [{ role: 'system', content: text }] }, `"messages[0].role" of the result must be`],
    ['resources/read', { contents: [{ uri: 'a:b', text: 'c', mimeType: 5 }] }, '"contents[0].mimeType" of the'],
    ['resources/read', { contents: [{ uri: 'a:b', blob: 5 }] }, '"contents[0].blob" of the result must be'],
    ['resources/read', { contents: [{ uri: 'a:b', blob: '%%' }] }, '"contents[0].blob" of the result must be base64'],
    [
      'tools/call',
      { content: [{ type: 'image', data: '%%', mimeType: 'image/png' }] },
      '"content[0].data" of the result must be base64',
    ],
    ['completion/complete', { completion: {} }, '"completion.values" of the result must be a list of strings'],
    ['completion/complete', { completion: { values: null } }, '"completion.values" of the result must be'],
    ['completion/complete', { completion: { values: ['a', 5] } }, '"completion.values" of the result must be'],
    ['completion/complete', { completion: { values: [], total: 'x' } }, '"completion.total" of the result must be'],
  ])('of %s is an error that names the wrong member: %j', (method, result, problem) => {
    const message = expect.stringContaining(
      `The server at upstream.example answered ${method} with an invalid result: ${problem}`,
    )
    expect(() => read(method, result)).toThrow(expect.objectContaining({ kind: 'unavailable', message }))
  })

  test('has at most 100 completions', () => {
    const values = Array.from({ length: 150 }, (_, index) => `v${index}`)
    const hundred = values.slice(0, 100)
    const cut = { completion: { values: hundred, total: 150, hasMore: true } }
    expect(read('completion/complete', { completion: { values, total: 150, hasMore: false } })).toEqual(cut)
    expect(read('completion/complete', { completion: { values: hundred } })).toEqual({
      completion: { values: hundred },
    })
  })

  test.each([{}, { content: [] }, { content: null }])(
    'with structured content and %j has the text of the structured content',
    (given) => {
      const content = [{ type: 'text', text: '{"a":1}' }]
      expect(read('tools/call', { ...given, structuredContent: { a: 1 } })).toEqual({
        content,
        structuredContent: { a: 1 },
      })
      expect(read('tools/call', { ...given, structuredContent: 0 })).toMatchObject({ content: [{ text: '0' }] })
    },
  )

  test.each(['2025-03-26', '2025-11-25', '2026-07-28'])('reaches a client of %s with what it has', async (date) => {
    const upstream = scripted({
      'tools/list': {
        tools: [
          { name: 'plain', inputSchema: { type: 'object' } },
          { name: 'nullable', inputSchema: { type: 'object' }, outputSchema: { anyOf: [{}, { type: 'null' }] } },
        ],
      },
      'tools/call': ({ params }) =>
        params.name === 'data' ? { structuredContent: { a: 1 } } : { content: [text], structuredContent: null },
    })
    const server = newServer().use(nodeProxy('https://upstream.example/mcp', upstream.fetch))
    const call = async (name: string) => result(server, 'tools/call', { name }, { date })
    const data = await call('data')
    expect(data).toMatchObject({ content: [{ type: 'text', text: '{"a":1}' }] })
    expect(await call('plain')).not.toHaveProperty('structuredContent')
    const nullable = await call('nullable')
    expect(nullable).toHaveProperty('structuredContent', null)
  })

  test('with input requests keeps these, and no other members', () => {
    const request = visit('https://login.example')
    expect(read('prompts/get', { ...asks(request), content: [], x: 1 })).toEqual(asks(request))
  })
})

const asksForm = (field: object, more = {}) => ({
  method: 'elicitation/create',
  params: { message: 'm', requestedSchema: { type: 'object', properties: { n: field }, ...more } },
})
const samples = (more: object, content: unknown = text) => ({
  method: 'sampling/createMessage',
  params: { maxTokens: 1, messages: [{ role: 'user', content }], ...more },
})

test.each<[string, unknown]>([
  ['"requestedSchema.properties.n.format"', asksForm({ type: 'string', format: 7 })],
  ['"requestedSchema.properties.n.minLength"', asksForm({ type: 'string', minLength: 'x' })],
  ['"requestedSchema.properties.n.enum"', asksForm({ type: 'string', enum: [1] })],
  ['"requestedSchema.properties.n.oneOf.const"', asksForm({ type: 'string', oneOf: [{}] })],
  ['"requestedSchema.properties.n.default"', asksForm({ type: 'boolean', default: 'x' })],
  ['"requestedSchema.properties.n.minimum"', asksForm({ type: 'integer', minimum: '1' })],
  ['"requestedSchema.properties.n.items.enum"', asksForm({ type: 'array', items: { enum: [1] } })],
  ['"requestedSchema.required"', asksForm({ type: 'string' }, { required: 'n' })],
  ['"messages[0].content.text"', samples({}, { type: 'text' })],
  ['content', samples({}, { type: 'video' })],
  ['content', samples({}, { type: 'resource_link', uri: 'a:b', name: 'b' })],
  ['"messages[0].content.input"', samples({}, { type: 'tool_use', id: '1', name: 'a' })],
  ['maxTokens', samples({ maxTokens: -1.5 })],
  ['"temperature"', samples({ temperature: 'hot' })],
  ['"includeContext"', samples({ includeContext: 'everything' })],
  ['"toolChoice"', samples({ toolChoice: 'auto' })],
  ['"toolChoice.mode"', samples({ toolChoice: { mode: 'some' } })],
  ['"modelPreferences.costPriority"', samples({ modelPreferences: { costPriority: 2 } })],
  ['"name"', samples({ tools: [{}] })],
])('an input request that strict clients reject is not passed on, and the error names %s: %j', (member, request) => {
  expect(() => read('tools/call', asks(request))).toThrow(member)
  expect(() => read('tools/call', asks(request))).toThrow('with an invalid result: ')
})

test.each<[unknown, unknown]>([
  [
    asksForm({ type: 'string', title: null, default: null, format: null }, { required: null, $schema: null }),
    asksForm({ type: 'string' }),
  ],
  [asksForm({ enum: ['x'], enumNames: null }), asksForm({ enum: ['x'], type: 'string' })],
  [asksForm({ type: 'string', format: 'password', properties: {} }), asksForm({ type: 'string' })],
  [
    asksForm({ type: 'string', oneOf: [{ const: 'x', title: null }] }),
    asksForm({ type: 'string', oneOf: [{ const: 'x', title: 'x' }] }),
  ],
  [
    asksForm({ type: 'array', items: { enum: ['x'] }, minItems: null }),
    asksForm({ type: 'array', items: { type: 'string', enum: ['x'] } }),
  ],
  [
    samples({ systemPrompt: null, stopSequences: null, tools: null, modelPreferences: { hints: null } }, [
      { ...text, annotations: null, _meta: null },
    ]),
    samples({ modelPreferences: {} }, [text]),
  ],
  [{ method: 'roots/list', params: null }, { method: 'roots/list' }],
])('members that are null or unknown are left out of an input request: %j', (request, passed) => {
  expect(read('tools/call', asks(request))).toEqual(asks(passed))
  const { method } = passed as { method: string }
  const schema = { 'elicitation/create': ElicitRequestSchema, 'sampling/createMessage': CreateMessageRequestSchema }
  if (method in schema) expect(schema[method as keyof typeof schema].safeParse(passed).success).toBe(true)
})

test.each([
  { method: 'roots/list' },
  {
    method: 'elicitation/create',
    params: { mode: 'form', ...form({ a: { type: 'string' }, b: { type: 'string', enum: ['x'] } }) },
  },
  { method: 'elicitation/create', params: form({ a: { type: 'array', items: { type: 'string', enum: ['x'] } } }) },
  { method: 'sampling/createMessage', params: { maxTokens: 1, messages: [{ role: 'user', content: text }] } },
  { method: 'sampling/createMessage', params: { maxTokens: 1, messages: [{ role: 'user', content: [text] }] } },
])('an upstream can send each input request that a handler can send: %j', (request) => {
  expect(read('tools/call', asks(request))).toEqual(asks(request))
})

test.each([
  [{ resultType: null, content: [text] }, { content: [text] }],
  [
    { resultType: 'input_required', inputRequests: null, requestState: 's' },
    { inputRequests: {}, requestState: 's' },
  ],
  [{ resultType: 'input_required', inputRequests: {}, requestState: null }, { inputRequests: {} }],
])('members of input requests and results that are null are absent: %j', (given, members) => {
  const { resultType: _, ...others } = read('tools/call', given)
  expect(others).toEqual(members)
})

const wrong = (reason: string) => `The upstream answered with an invalid response: ${reason}`
test.each([
  [
    { error: { code: 5, data: { a: 1 } } },
    { message: wrong('"error" must be an object with an integer code and a message'), data: { a: 1 } },
  ],
  [{ error: { code: 1.5, message: 'No', data: 1 } }, { message: 'No', data: 1 }],
  [{ error: 'No' }, { message: wrong('"error" must be an object with an integer code and a message') }],
  [{ result: null }, { message: wrong('"result" must be an object') }],
  [{ result: [] }, { message: wrong('"result" must be an object') }],
  [{ jsonrpc: '1.0', result: {} }, { message: wrong('"jsonrpc" must be "2.0"') }],
  [{ result: {}, error: null }, { message: wrong('A response has a result or an error, not both') }],
])('a malformed response with the id of the request is its answer: %j', async (body, problem) => {
  for (const isStream of [false, true]) {
    const upstream = scripted({
      'tools/call': ({ id }) => {
        const text = JSON.stringify({ jsonrpc: '2.0', id, ...body })
        if (!isStream) return new Response(text, { headers: { 'Content-Type': 'application/json' } })
        return new Response(`data: ${text}\n\n`, { headers: { 'Content-Type': 'Text/Event-Stream; charset=UTF-8' } })
      },
    })
    const server = newServer().use(nodeProxy('https://upstream.example/mcp', upstream.fetch))
    expect(await refusal(server, 'tools/call', { name: 'x' })).toMatchObject({ kind: 'unavailable', ...problem })
  }
})

test('a request state of an upstream has at most as many characters as one of this server', () => {
  const state = (length: number) => ({ resultType: 'input_required', requestState: 's'.repeat(length) })
  expect(read('tools/call', state(393_216))).toMatchObject(state(393_216))
  expect(() => read('tools/call', state(393_217))).toThrow('"requestState" must have at most 393216 characters')
})

describe('a result that a call cannot continue with names the upstream', () => {
  const numbered = '{"content":[],"structuredContent":{"a":[1,1e400]}}'
  const requests = (keys: string[], request = '{"method":"roots/list"}') =>
    `{"resultType":"input_required","inputRequests":{${keys.map((key) => `"${key}":${request}`)}}}`
  const message = '{"mode":"form","message":"?","requestedSchema":{"type":"object","properties":{},"x":-1e999}}'
  const keys = (length: number) => Array.from({ length }, (_, index) => `k${index}`)
  const limits = '"inputRequests" must have at most 100 members, with names of at most 1020 characters'

  test.each<[what: string, result: string, reason: string]>([
    ['with a number that JSON does not have', numbered, 'it has Infinity at structuredContent.a[1]'],
    [
      'with such a number in an input request',
      requests(['k'], `{"method":"elicitation/create","params":${message}}`),
      'it has -Infinity at inputRequests.k.params.requestedSchema.x',
    ],
    ['with 101 input requests', requests(keys(101)), limits],
    ['with an input request with a long name', requests(['k'.repeat(1021)]), limits],
  ])('%s', async (_, text, reason) => {
    const answer = ({ id }: { id: unknown }) =>
      new Response(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${text}}`, {
        headers: { 'Content-Type': 'application/json' },
      })
    const server = newServer().use(nodeProxy('https://u.example/mcp', scripted({ 'tools/call': answer }).fetch))
    expect(await refusal(server, 'tools/call', { name: 'x', arguments: {} })).toMatchObject({
      kind: 'unavailable',
      message: expect.stringContaining(`The server at u.example answered tools/call with an invalid result: ${reason}`),
    })
  })

  test('of at most 100 requests, with names of at most 1020 characters, reaches the client', async () => {
    const asked = [...keys(99), 'k'.repeat(1020)]
    const upstream = scripted({ 'tools/call': JSON.parse(requests(asked)) })
    const server = newServer().use(nodeProxy('https://u.example/mcp', upstream.fetch))
    const { outcome } = await play(server, 'tools/call', { name: 'x', arguments: {} })
    expect(outcome).toMatchObject({ inputRequests: Object.fromEntries(asked.map((key) => [`1 ${key}`, {}])) })
  })
})

test.each([9007199254740992, -9007199254740992, Number.POSITIVE_INFINITY])(
  'the number %d in the arguments of a call, which may be rounded, is not sent',
  async (id) => {
    const upstream = scripted({ 'tools/call': { content: [] } })
    const server = newServer().use(nodeProxy('https://upstream.example/mcp', upstream.fetch))
    expect(await result(server, 'tools/call', { name: 'x', arguments: { note: { id } } })).toMatchObject({
      isError: true,
      content: [{ text: expect.stringMatching(/^"note.id" must be between -9007199254740991 and 9007199254740991/) }],
    })
    expect(upstream.requests.map(({ method }) => method)).not.toContain('tools/call')
    await result(server, 'tools/call', { name: 'x', arguments: { count: 1e21, id: 9007199254740991 } })
    expect(upstream.requests.at(-1)).toMatchObject({ params: { arguments: { count: 1e21, id: 9007199254740991 } } })
  },
)

test('the input requests of a result have at most 25,000 values', () => {
  const filled = (length: number) => {
    const messages = Array.from({ length }, () => ({ role: 'user', content: { type: 'text', text: 'a' } }))
    return asks({ method: 'sampling/createMessage', params: { maxTokens: 1, messages } })
  }
  expect(() => read('tools/call', filled(4_998))).not.toThrow()
  expect(() => read('tools/call', filled(4_999))).toThrow('"inputRequests" must have at most 25000 values')
})

test('a batch of malformed messages is parsed twice, whatever its size', async () => {
  const parsing = vi.spyOn(JSON, 'parse')
  for (const isStream of [false, true]) {
    const text = JSON.stringify(Array.from({ length: 100 }, () => ({})))
    const headers = { 'Content-Type': isStream ? 'text/event-stream' : 'application/json' }
    const response = new Response(isStream ? `data: ${text}\n\n` : text, { headers })
    parsing.mockClear()
    expect(await matchResponse(response, 1, new AbortController().signal, newReceived())).toMatchObject({
      kind: 'none',
    })
    expect(parsing.mock.calls.filter(([parsed]) => parsed === text)).toHaveLength(2)
  }
  parsing.mockRestore()
})

describe('half of a character in the JSON of an upstream', () => {
  const half = String.raw`a\ud800`
  const answer = (id: unknown, member: string) =>
    new Response(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},${member}}`, {
      headers: { 'Content-Type': 'application/json' },
    })
  const upstream = scripted({
    'tools/list': ({ id }) =>
      answer(id, `"result":{"tools":[{"name":"t","description":"${half}","inputSchema":{"type":"object"}}]}`),
    'tools/call': ({ id, params }) =>
      params.name === 't'
        ? answer(
            id,
            `"result":{"content":[{"type":"text","text":"${half}"}],"structuredContent":{"${half}":"${half}"}}`,
          )
        : answer(id, `"error":{"code":-32000,"message":"${half}","data":"${half}"}`),
    'resources/read': ({ id }) => answer(id, `"error":{"code":-32002,"message":"${half}","data":"${half}"}`),
  })
  const gateway = newServer().use(nodeProxy('https://u.example/mcp', upstream.fetch))

  test('is replaced in lists, results and errors', async () => {
    const text = 'a\ufffd'
    expect(await result(gateway, 'tools/list')).toMatchObject({ tools: [{ description: text }] })
    const called = await result(gateway, 'tools/call', { name: 't', arguments: {} })
    expect(called).toMatchObject({ content: [{ text }], structuredContent: { [text]: text } })
    expect(await refusal(gateway, 'resources/read', { uri: 'a:b' })).toMatchObject({ message: text, data: text })
    expect(await refusal(gateway, 'tools/call', { name: 'other' })).toMatchObject({ message: text, data: text })
  })
})

test('the message of an upstream is cut between two characters', async () => {
  const message = `a${'\u{1f600}'.repeat(4_000)}`
  const upstream = scripted({ 'resources/read': ({ id }) => rpcError(id, -32002, message) })
  const gateway = newServer().use(nodeProxy('https://u.example/mcp', upstream.fetch))
  const { message: cut } = await refusal(gateway, 'resources/read', { uri: 'a:b' })
  expect(cut).toBe(`a${'\u{1f600}'.repeat(1_999)}…`)
})

test('a result without URIs of the upstream is not copied', () => {
  const uris = new PrefixedUris('u_')
  const link = { type: 'resource_link', name: 'n', uri: 'https://a.example', _meta: { ui: {} } }
  const block = { type: 'resource', resource: { uri: 'a:b', text: 't' } }
  const result = {
    content: [link, block, text],
    messages: [{ role: 'user', content: link }],
    contents: [],
    _meta: { a: 1 },
  }
  expect(uris.result(result)).toBe(result)
  expect(uris.entry(link, 'uri')).toBe(link)
  const own = { ...link, uri: 'ui://a', _meta: { ui: { resourceUri: 'ui://b' }, 'ui/resourceUri': 'ui://c' } }
  const { content } = uris.result({ content: [own, block] })
  expect(content).toEqual([
    { ...own, uri: 'ui://u_a', _meta: { ui: { resourceUri: 'ui://u_b' }, 'ui/resourceUri': 'ui://u_c' } },
    block,
  ])
})

test('an answer with too many values is not parsed', async () => {
  const parsing = vi.spyOn(JSON, 'parse')
  for (const isStream of [false, true]) {
    const text = `{"jsonrpc":"2.0","id":1,"result":{"content":[{}${',{}'.repeat(100_000)}]}}`
    const headers = { 'Content-Type': isStream ? 'text/event-stream' : 'application/json' }
    const response = new Response(isStream ? `data: ${text}\n\n` : text, { headers })
    const match = await matchResponse(response, 1, new AbortController().signal, newReceived())
    expect(match).toEqual({ kind: 'too large', bound: '100000 values' })
  }
  expect(parsing).not.toHaveBeenCalled()
  parsing.mockRestore()
})

test.each(['application/json', 'text/event-stream'])(
  'a body of the type %s in a great many pieces is cut',
  async (type) => {
    let pieces = 0
    const piece = new TextEncoder().encode(' ')
    const body = new ReadableStream({
      pull(controller) {
        pieces += 1
        if (pieces > 20_000) controller.close()
        else controller.enqueue(piece)
      },
    })
    const response = new Response(body, { headers: { 'Content-Type': type } })
    const match = await matchResponse(response, 1, new AbortController().signal, newReceived())
    expect(match).toEqual({ kind: 'too large', bound: '8388608 bytes' })
  },
)

test.each([
  ['events', 'data:{"jsonrpc":"2.0","method":"a"}\n\n'.repeat(2_048), 2 * 1024 * 1024],
  ['malformed events', 'data:1\n\n'.repeat(2_048), 128 * 1024],
  ['malformed messages in batches', `data:[{}${',{}'.repeat(1_999)}]\n\n`, 128 * 1024],
])('a stream of a great many small %s is cut', async (_, text, most) => {
  let sent = 0
  const chunk = new TextEncoder().encode(text)
  const flood = new ReadableStream({
    pull(controller) {
      sent += chunk.byteLength
      if (sent > 8 * 1024 * 1024) controller.close()
      else controller.enqueue(chunk)
    },
  })
  const response = new Response(flood, { headers: { 'Content-Type': 'text/event-stream' } })
  expect(await matchResponse(response, 1, new AbortController().signal, newReceived())).toMatchObject({
    kind: 'too large',
  })
  expect(sent).toBeLessThan(most)
})

test.each(['-', 'ping'])('an event of the type %s is no message', async (type) => {
  const message = (result: object) => JSON.stringify({ jsonrpc: '2.0', id: 1, result })
  const text = `id: 1.1\nevent: ${type}\ndata: ${message({ a: 1 })}\n\nid: 1.2\ndata: ${message({ a: 2 })}\n\n`
  const response = new Response(text, { headers: { 'Content-Type': 'text/event-stream' } })
  const match = await matchResponse(response, 1, new AbortController().signal, newReceived())
  expect(match).toMatchObject({ kind: 'response', message: { result: { a: 2 } } })
})

test('at most 100 changes of lists are announced during one call', () => {
  const announced: string[] = []
  const proxied = { loggerOf: () => 'upstream', expireList: (_: unknown, list: string) => void announced.push(list) }
  const notices = new Notices({ call: { params: {} }, context: {} } as never, proxied)
  for (let count = 0; count < 1000; count += 1) notices.onListChanged('tools')
  expect(announced).toEqual(Array.from({ length: 100 }, () => 'tools'))
})

test.each([
  ['m'.repeat(3_000_000), { a: 1 }, `${'m'.repeat(4000)}…`, { a: 1 }],
  ['No', { a: 'd'.repeat(70_000) }, 'No', undefined],
])('an error of an upstream is passed on up to a size: %#', async (message, data, passed, passedData) => {
  for (const status of [200, 400, 503]) {
    const upstream = scripted({
      'tools/call': ({ id }) =>
        Response.json({ jsonrpc: '2.0', id, error: { code: -32000, message, data } }, { status }),
    })
    const server = newServer().use(nodeProxy('https://upstream.example/mcp', upstream.fetch))
    const refused = await refusal(server, 'tools/call', { name: 'x' })
    expect(refused).toMatchObject({ message: passed })
    if (status !== 503) expect(refused.data).toEqual(passedData)
  }
})

const long = 'm'.repeat(1_000_000)
const redirect = () => new Response(null, { status: 307, headers: { Location: `https://other.example/${long}` } })
const ofType = (type: string) => new Response('{}', { headers: { 'Content-Type': type } })
const calls = (id: string) => [
  { role: 'assistant', content: { type: 'tool_use', id, name: 'a', input: {} } },
  { role: 'user', content: text },
]
test.each<[what: string, answer: unknown]>([
  ['resultType', { resultType: long }],
  ['resultType that is an object', { resultType: { a: long } }],
  ['type of a block', { content: [{ type: long }] }],
  ['key of an input request', { resultType: 'input_required', inputRequests: { [long]: 7 } }],
  ['name of a field', asks({ method: 'elicitation/create', params: form({ [long]: { type: 'object' } }) })],
  [
    'name of an invalid field',
    asks({ method: 'elicitation/create', params: form({ [long]: { type: 'string', format: 7 } }) }),
  ],
  ['id of a tool call', asks(samples({ messages: calls(long) }))],
  ['Content-Type', () => ofType(`a/${long}`)],
  ['Location', redirect],
])('the error for an invalid answer with a long %s is short', async (_, answer) => {
  const upstream = scripted({ 'tools/call': answer as never })
  const server = newServer().use(nodeProxy('https://upstream.example/mcp', upstream.fetch))
  const { kind, message } = await refusal(server, 'tools/call', { name: 'x' })
  expect(kind).toBe('unavailable')
  expect(message).toMatch(/^The server at upstream\.example /)
  expect(message.length).toBeLessThan(4100)
})

test.each([long, { a: long }])(
  'the error for an invalid protocol version of an upstream is short: %#',
  async (version) => {
    const upstream = scripted({
      'server/discover': ({ id }) => rpcError(id, -32601, 'Method not found'),
      initialize: { protocolVersion: version, capabilities: { tools: {} } },
    })
    const server = newServer().use(nodeProxy('https://upstream.example/mcp', upstream.fetch))
    const { message } = await refusal(server, 'tools/call', { name: 'x' })
    expect(message).toContain('answered initialize with an invalid result: the protocol version ')
    expect(message.length).toBeLessThan(500)
  },
)

test('a result does not name a task of the upstream', () => {
  const related = { 'io.modelcontextprotocol/related-task': { taskId: 'x' } }
  expect(read('tools/call', { content: [], _meta: { a: 1, ...related } })).toEqual({ content: [], _meta: { a: 1 } })
  expect(read('tools/call', { content: [], _meta: related }, false)).toEqual({ content: [], _meta: {} })
})

test.each([
  ['elicitation/create', form({ a: { type: 'string' } })],
  ['sampling/createMessage', { maxTokens: 1, messages: [{ role: 'user', content: text }] }],
  ['roots/list', {}],
])('an input request does not name a task of the upstream: %s', (method, params) => {
  const _meta = { a: 1, 'io.modelcontextprotocol/related-task': { taskId: 'x' } }
  expect(read('tools/call', asks({ method, params: { ...params, _meta } }))).toMatchObject({
    inputRequests: { a: { method, params: { ...params, _meta: { a: 1 } } } },
  })
  expect(JSON.stringify(read('tools/call', asks({ method, params: { ...params, _meta } })))).not.toContain(
    'related-task',
  )
})

describe.each(['1e999', '-1e999'])('a notification with %s, which no JSON number can be, is ignored', (number) => {
  const sending = (method: string, params: (token: string) => readonly string[]) => {
    const upstream = scripted({
      'tools/call': ({ id, params: { _meta } }) => {
        const sent = params(JSON.stringify((_meta as { progressToken?: unknown }).progressToken)).map(
          (each) => `data: {"jsonrpc":"2.0","method":"notifications/${method}","params":${each}}\n\n`,
        )
        const answer = `data: ${JSON.stringify({ jsonrpc: '2.0', id, result: { content: [] } })}\n\n`
        return new Response(sent.join('') + answer, { headers: { 'Content-Type': 'text/event-stream' } })
      },
    })
    return newServer().use(nodeProxy('https://upstream.example/mcp', upstream.fetch))
  }

  test('of progress', async () => {
    const server = sending('progress', (token) =>
      [
        [number, 1],
        [1, number],
        [2, 3],
      ].map(([progress, total]) => `{"progressToken":${token},"progress":${progress},"total":${total}}`),
    )
    const { said, outcome } = await play(server, 'tools/call', { name: 'x', _meta: { progressToken: 't' } })
    expect(outcome).toMatchObject({ type: 'result' })
    expect(said.map(({ params }) => params)).toEqual([
      { progressToken: 't', progress: 1 },
      { progressToken: 't', progress: 2, total: 3 },
    ])
  })

  test('of a log message', async () => {
    const server = sending('message', () =>
      [number, `{"a":[${number}]}`, '1'].map((data) => `{"level":"info","data":${data}}`),
    )
    const params = { name: 'x', _meta: { 'io.modelcontextprotocol/logLevel': 'debug' } }
    const { said, outcome } = await play(server, 'tools/call', params)
    expect(outcome).toMatchObject({ type: 'result' })
    expect(said.map(({ params }) => params)).toEqual([{ level: 'info', logger: 'upstream.example', data: 1 }])
  })
})

test.each([undefined, null, 7, 'a\nb', '1999-01-01'])(
  'an upstream with sessions of the protocol version %j is refused, and its session is ended',
  async (protocolVersion) => {
    const upstream = scripted({
      'server/discover': ({ id }) => rpcError(id, -32601, 'Method not found'),
      initialize: ({ id }) => {
        const result = { protocolVersion, capabilities: { tools: {} } }
        return Response.json({ jsonrpc: '2.0', id, result }, { headers: { 'Mcp-Session-Id': 's' } })
      },
      'tools/call': { content: [] },
    })
    const server = newServer().use(nodeProxy('https://upstream.example/mcp', upstream.fetch))
    const problem = await refusal(server, 'tools/call', { name: 'x' })
    expect(problem).toMatchObject({ kind: 'unavailable' })
    expect(problem.message).toMatch(
      /^The server at upstream\.example answered initialize with an invalid result: the protocol version .* is not one of 2025-11-25, /,
    )
    expect(upstream.asked('tools/call')).toEqual([])
    expect(upstream.requests.filter(({ http }) => http === 'DELETE')).toHaveLength(1)
  },
)

const megabyte = 'x'.repeat(1024 * 1024)
test.each(['application/json', 'text/event-stream'])('a response as %s is limited to 8 MiB', async (type) => {
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
      'The server at upstream.example answered tools/call with more than 8388608 bytes for one POST, more than proxy() reads: let it send less',
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

test.each([
  ['8388608 bytes', 'x'.repeat(3 * 1024 * 1024)],
  ['100000 values', Array.from({ length: 40_000 }, () => 1)],
])('the calls of one POST together have at most %s of an upstream, and none of another one', async (bound, junk) => {
  const answering = () => scripted({ 'tools/call': { content: [], junk } })
  const [first, second] = [answering(), answering()]
  const server = newServer()
    .use(nodeProxy('https://first.example/mcp', first.fetch, { prefix: 'first_' }))
    .use(nodeProxy('https://second.example/mcp', second.fetch, { prefix: 'second_' }))
  const post = {}
  for (const name of ['first_x', 'first_x', 'second_x', 'second_x'])
    expect(await result(server, 'tools/call', { name }, { post })).toMatchObject({ content: [] })
  expect(await refusal(server, 'tools/call', { name: 'first_x' }, { post })).toMatchObject({
    message: `The server at first.example answered tools/call with more than ${bound} for one POST, more than proxy() reads: let it send less`,
  })
  expect(await result(server, 'tools/call', { name: 'first_x' }, { post: {} })).toMatchObject({ content: [] })
})

const inRounds = (answer: (round: number) => Record<string, unknown>) => {
  let round = 0
  const upstream = scripted({ 'tools/call': () => ({ resultType: 'input_required', ...answer(++round) }) })
  return { upstream, server: newServer().use(nodeProxy('https://upstream.example/mcp', upstream.fetch)) }
}

test('calls that one batch continues have as much of an upstream together as one call', async () => {
  const junk = 'x'.repeat(3 * 1024 * 1024)
  const { server, upstream } = inRounds((round) =>
    round <= 3 ? { ...asks({ method: 'roots/list' }), junk } : { resultType: 'complete', content: [], junk },
  )
  const waiting = await Promise.all(
    [1, 2, 3].map(async () => {
      const { outcome } = await play(server, 'tools/call', { name: 'x' })
      if (!('journal' in outcome)) throw new Error('It asks nothing')
      return withAnswers(outcome.journal, { '1 a': { result: { roots: [] } } })
    }),
  )
  const post = {}
  const [first, second, third] = waiting
  expect(await result(server, 'tools/call', { name: 'x' }, { journal: first, post })).toMatchObject({ content: [] })
  expect(await refusal(server, 'tools/call', { name: 'x' }, { journal: second, post })).toMatchObject({
    message: expect.stringContaining('with more than 8388608 bytes for one POST'),
  })
  expect(await result(server, 'tools/call', { name: 'x' }, { journal: third, post: {} })).toMatchObject({
    content: [],
  })
  expect(upstream.asked('tools/call')).toHaveLength(6)
})

test('an upstream may have 10 rounds in a row without an input request, of which no state is kept', async () => {
  const { upstream, server } = inRounds((round) => ({
    ...(round === 11 && asks({ method: 'roots/list' })),
    requestState: `state ${round}`,
  }))
  const { outcome } = await play(server, 'tools/call', { name: 'x' })
  if (!('journal' in outcome)) throw new Error('It asks nothing')
  expect(JSON.stringify(outcome.journal).match(/state \d+/g)).toEqual(['state 11'])
  const sent = upstream.asked('tools/call').map(({ params }) => params.requestState)
  expect(sent).toEqual([undefined, ...Array.from({ length: 10 }, (_, index) => `state ${index + 1}`)])
})

test('rounds without an input request are counted across tokens that the upstream refuses, and its list is read again once', async () => {
  let round = 0
  const upstream = scripted({
    'tools/list': { tools: [{ name: 'x', inputSchema: { type: 'object' } }] },
    'tools/call': ({ id }) => {
      round += 1
      if (round % 3 === 0) return new Response(null, { status: 401 })
      if (round % 3 === 1) return rpcError(id, -32020, 'Header mismatch', 400)
      return { resultType: 'input_required', requestState: `state ${round}`, inputRequests: {} }
    },
  })
  const server = newServer().use(
    nodeProxy('https://upstream.example/mcp', upstream.fetch, { upstream: { provider: 'github', scopes: [] } }),
  )
  Object.assign(draftOf(server), { context: { upstream: () => async () => 'token of the user' } })
  await refusal(server, 'tools/call', { name: 'x' }, { post: {} })
  expect(upstream.asked('tools/call').length).toBeLessThan(40)
  expect(upstream.asked('tools/list').length).toBeLessThan(3)

  round = 1
  const silent = scripted({
    'tools/call': () => {
      round += 1
      if (round % 3 === 0) return new Response(null, { status: 401 })
      return { resultType: 'input_required', requestState: `state ${round}`, inputRequests: {} }
    },
  })
  const other = newServer().use(
    nodeProxy('https://silent.example/mcp', silent.fetch, { upstream: { provider: 'github', scopes: [] } }),
  )
  Object.assign(draftOf(other), { context: { upstream: () => async () => 'token of the user' } })
  expect(await refusal(other, 'tools/call', { name: 'x' }, { post: {} })).toMatchObject({
    message: expect.stringContaining('more than 10 times in a row with a round that requests no input'),
  })
  expect(silent.asked('tools/call').length).toBeLessThan(40)
})

test('an upstream that requests no input, but another round, fails after 10 of them', async () => {
  const { upstream, server } = inRounds(() => ({ requestState: 's' }))
  expect(await refusal(server, 'tools/call', { name: 'x' })).toMatchObject({
    kind: 'unavailable',
    message:
      'The server at upstream.example answered tools/call more than 10 times in a row with a round that requests no input',
  })
  expect(upstream.asked('tools/call')).toHaveLength(11)
})

test.each([
  ['8388608 bytes', 3, 'x'.repeat(3 * 1024 * 1024)],
  ['100000 values', 3, Array.from({ length: 40_000 }, () => 1)],
])('all rounds of a call together have at most %s, also in later rounds of the client', async (bound, rounds, junk) => {
  const silent = inRounds(() => ({ junk }))
  const message = `The server at upstream.example answered tools/call with more than ${bound} for one POST, more than proxy() reads: let it send less`
  expect(await refusal(silent.server, 'tools/call', { name: 'x' })).toMatchObject({ kind: 'unavailable', message })
  expect(silent.upstream.asked('tools/call')).toHaveLength(rounds)

  const asking = inRounds(() => ({ ...asks({ method: 'roots/list' }), junk }))
  let journal: Parameters<typeof withAnswers>[0] | undefined
  for (let round = 1; round < rounds; round += 1) {
    const { outcome } = await play(asking.server, 'tools/call', { name: 'x' }, journal && { journal })
    if (!('journal' in outcome)) throw new Error('It asks nothing')
    journal = withAnswers(outcome.journal, { [`${round} a`]: { result: { roots: [] } } })
  }
  expect(await refusal(asking.server, 'tools/call', { name: 'x' }, journal && { journal })).toMatchObject({ message })
})
