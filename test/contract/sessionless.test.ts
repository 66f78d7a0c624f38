import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startEverything, type TestServer } from '../support/server.ts'
import { request, sendRaw } from './raw-messages.ts'

let server: TestServer

beforeAll(async () => {
  server = await startEverything()
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
})

async function send(body: unknown, headers?: Record<string, string>, method?: string) {
  const { status, messages } = await sendRaw(server.url, body, headers, method)
  return { status, messages }
}
const notification = (method: string, params: object = {}) => ({ jsonrpc: '2.0', method, params })
const hello = (protocolVersion: string) =>
  request(0, 'initialize', {
    protocolVersion,
    capabilities: { elicitation: {} },
    clientInfo: { name: 'raw', version: '1' },
  })

const served: [method: string, params: object, result: object][] = [
  ['ping', {}, {}],
  ['tools/list', {}, { tools: expect.arrayContaining([expect.objectContaining({ name: 'echo' })]) }],
  ['tools/call', { name: 'echo', arguments: { text: 'hi' } }, { content: [{ type: 'text', text: 'hi' }] }],
  ['resources/list', {}, { resources: expect.any(Array) }],
  ['resources/templates/list', {}, { resourceTemplates: expect.any(Array) }],
  ['resources/read', { uri: 'note://1' }, { contents: [expect.objectContaining({ uri: 'note://1' })] }],
  ['prompts/list', {}, { prompts: expect.any(Array) }],
  ['prompts/get', { name: 'review', arguments: { language: 'rust' } }, { messages: expect.any(Array) }],
  [
    'completion/complete',
    { ref: { type: 'ref/prompt', name: 'review' }, argument: { name: 'language', value: 'ru' } },
    { completion: expect.objectContaining({ values: ['rust', 'ruby'] }) },
  ],
]

const headersOf: [name: string, of: (version: string) => Record<string, string>][] = [
  ['with MCP-Protocol-Version', (version) => ({ 'MCP-Protocol-Version': version })],
  ['without MCP-Protocol-Version', () => ({})],
]

describe.each(['2025-03-26', '2025-06-18', '2025-11-25'])('a client of %s that sends no Mcp-Session-Id', (version) => {
  describe.each(headersOf)('%s', (_, of) => {
    const headers = of(version)

    test.each(served)('is answered %s', async (method, params, result) => {
      const answer = { status: 200, messages: [{ jsonrpc: '2.0', id: 7, result: expect.objectContaining(result) }] }
      expect(await send(request(7, method, params), headers)).toEqual(answer)
      const { status } = await send(hello(version), headers)
      expect(status).toBe(200)
      expect(await send(request(7, method, params), headers)).toEqual(answer)
    })

    test('gets progress and log messages of its call on the stream of the call', async () => {
      const { messages } = await send(
        request(7, 'tools/call', { name: 'progress', arguments: { steps: 2 }, _meta: { progressToken: 'p' } }),
        headers,
      )
      expect(messages.filter(({ method }) => method === 'notifications/progress').length).toBeGreaterThan(0)
      expect(messages.at(-1)).toMatchObject({ id: 7, result: { content: expect.any(Array) } })
      const logs = await send(request(8, 'tools/call', { name: 'logs' }), headers)
      const levels = logs.messages.flatMap(({ method, params }) =>
        method === 'notifications/message' ? [(params as { level: string }).level] : [],
      )
      expect(levels).toEqual(['info', 'warning', 'error'])
    })

    test.each([
      ['resources/subscribe', { uri: 'note://1' }],
      ['resources/unsubscribe', { uri: 'note://1' }],
      ['logging/setLevel', { level: 'debug' }],
    ])('is refused %s, which changes a session', async (method, params) => {
      const message = `Missing header Mcp-Session-Id: ${method} changes a session. Send initialize, then its Mcp-Session-Id with every request`
      expect(await send(request(7, method, params), headers)).toEqual({
        status: 400,
        messages: [{ jsonrpc: '2.0', id: 7, error: { code: -32600, message } }],
      })
    })

    test('is refused a response, which belongs to a session', async () => {
      const { status, messages } = await send({ jsonrpc: '2.0', id: 'ask-1', result: {} }, headers)
      expect(status).toBe(400)
      expect(messages).toMatchObject([{ error: { message: expect.stringContaining('Missing header Mcp-Session-Id') } }])
    })

    test.each(['GET', 'DELETE'])('is refused %s, which is about a session', async (method) => {
      const { status, messages } = await send(undefined, headers, method)
      expect(status).toBe(400)
      expect(messages).toMatchObject([{ error: { message: expect.stringContaining('Missing header Mcp-Session-Id') } }])
    })

    test.each(['notifications/initialized', 'notifications/cancelled', 'notifications/roots/list_changed'])(
      'is answered 202 to %s',
      async (method) => {
        expect(await send(notification(method, { requestId: 1 }), headers)).toEqual({ status: 202, messages: [] })
      },
    )

    test('gets no input requests', async () => {
      const { status, messages } = await send(request(7, 'tools/call', { name: 'ask_name' }), headers)
      expect(status).toBe(200)
      expect(JSON.stringify(messages)).toContain('This call needs a client that supports elicitation')
    })
  })
})

describe('a batch of 2025-03-26 without Mcp-Session-Id', () => {
  test.each<Record<string, string>>([{}, { 'MCP-Protocol-Version': '2025-03-26' }])(
    'is answered each request %o',
    async (headers) => {
      const { status, messages } = await send(
        [
          request(1, 'tools/call', { name: 'echo', arguments: { text: 'one' } }),
          notification('notifications/initialized'),
          request(2, 'logging/setLevel', { level: 'debug' }),
          request(3, 'ping'),
        ],
        headers,
      )
      expect(status).toBe(200)
      expect(messages).toMatchObject([
        { id: 1, result: { content: [{ type: 'text', text: 'one' }] } },
        { id: 2, error: { message: expect.stringContaining('Missing header Mcp-Session-Id') } },
        { id: 3, result: {} },
      ])
    },
  )

  test('with a response is refused whole', async () => {
    const { status } = await send([request(1, 'ping'), { jsonrpc: '2.0', id: 'ask-1', result: {} }])
    expect(status).toBe(400)
  })

  test('is refused in later revisions', async () => {
    const { status, messages } = await send([request(1, 'ping')], { 'MCP-Protocol-Version': '2025-06-18' })
    expect(status).toBe(400)
    expect(messages).toMatchObject([{ error: { message: expect.stringContaining('has no batches') } }])
  })
})

test('the official SDK is served when its session id gets lost', async () => {
  const client = new Client({ name: 'sdk', version: '1.0.0' })
  const transport = new StreamableHTTPClientTransport(server.url, {
    fetch: (url, init) => {
      const headers = new Headers(init?.headers)
      headers.delete('Mcp-Session-Id')
      return fetch(url, { ...init, headers })
    },
  })
  await client.connect(transport)
  expect((await client.listTools()).tools.length).toBeGreaterThan(0)
  expect(await client.callTool({ name: 'echo', arguments: { text: 'hi' } })).toMatchObject({
    content: [{ type: 'text', text: 'hi' }],
  })
  await client.ping()
  await client.close()
})
