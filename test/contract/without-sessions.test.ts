import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { connect } from '../../worker/testing/index.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { request, sendRaw } from './raw-messages.ts'

let server: TestServer

beforeAll(async () => {
  server = await startServer('test/contract/without-sessions', {
    EDGEMCP_KEYS: 'k1:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8',
  })
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
})

const send = (body: unknown, headers?: Record<string, string>, method?: string, path = '/mcp') =>
  sendRaw(new URL(path, server.url), body, headers, method)

const call = (id: number, name: string, more: object = {}) => request(id, 'tools/call', { name, ...more })
const response = { jsonrpc: '2.0', id: 'ask-1', result: {} }

describe.each(['2025-03-26', '2025-06-18', '2025-11-25'])(
  'a server without sessions() and a client of %s',
  (version) => {
    test('the client of edgemcp/testing states its version after the handshake', async () => {
      const sent: (string | null)[] = []
      const record = (request: Request) => {
        sent.push(request.headers.get('MCP-Protocol-Version'))
        return fetch(request)
      }
      await using client = await connect(record, { url: server.url, revision: version })
      await client.callTool('echo', { text: 'hi' })
      expect(sent).toEqual([null, version, version])
    })

    describe.each<[string, Record<string, string>]>([
      ['without Mcp-Session-Id', {}],
      ['with an Mcp-Session-Id of before', { 'Mcp-Session-Id': 'of-an-earlier-deployment' }],
    ])('%s', (_, session) => {
      const headers = { 'MCP-Protocol-Version': version, ...session }

      test('initialize gives no session id, and declares nothing that requires a session', async () => {
        const params = { protocolVersion: version, capabilities: {}, clientInfo: { name: 'raw', version: '1' } }
        const answer = await send(request(0, 'initialize', params), session)
        expect(answer.status).toBe(200)
        expect(answer.headers.has('Mcp-Session-Id')).toBe(false)
        const [{ result }] = answer.messages as [{ result: { protocolVersion: string; capabilities: object } }]
        expect(result.protocolVersion).toBe(version)
        expect(result.capabilities).not.toHaveProperty('logging')
        expect(result.capabilities).toHaveProperty('resources.subscribe', false)
      })

      test('calls are answered, with their progress', async () => {
        const echoed = await send(call(1, 'echo', { arguments: { text: 'hi' } }), headers)
        expect(echoed).toMatchObject({ status: 200, messages: [{ id: 1, result: { content: [{ text: 'hi' }] } }] })
        const steps = await send(call(2, 'steps', { _meta: { progressToken: 'p' } }), headers)
        expect(steps.messages).toMatchObject([
          { method: 'notifications/progress', params: { progressToken: 'p', progress: 1 } },
          { id: 2, result: { content: [{ text: 'done' }] } },
        ])
      })

      test('a call that requests input returns an error to the model', async () => {
        const { status, messages } = await send(call(3, 'ask'), headers)
        expect(status).toBe(200)
        expect(messages).toMatchObject([{ id: 3 }])
        expect(JSON.stringify(messages)).toContain(
          `This call needs a client that supports elicitation, and clients of ${version} answer in sessions only: see sessions()`,
        )
      })

      test('a response is refused, because the server sends no requests', async () => {
        const { status, messages } = await send(response, headers)
        expect(status).toBe(400)
        const error = { code: -32600, message: 'This server has no sessions, so it expects no responses' }
        expect(messages).toEqual([{ jsonrpc: '2.0', error }])
      })

      test.each([
        ['resources/subscribe', { uri: 'note://1' }],
        ['resources/unsubscribe', { uri: 'note://1' }],
        ['logging/setLevel', { level: 'debug' }],
      ])('%s is an unknown method', async (method, params) => {
        const { messages } = await send(request(4, method, params), headers)
        const error = { code: -32601, message: `Method not found: ${method}` }
        expect(messages).toEqual([{ jsonrpc: '2.0', id: 4, error }])
      })

      test.each(['notifications/initialized', 'notifications/cancelled'])('%s is accepted', async (method) => {
        const { status, messages } = await send({ jsonrpc: '2.0', method, params: { requestId: 1 } }, headers)
        expect({ status, messages }).toEqual({ status: 202, messages: [] })
      })

      test.each(['GET', 'DELETE'])('%s is not allowed', async (method) => {
        const { status, messages, headers: sent } = await send(undefined, headers, method)
        expect([status, sent.get('Allow')]).toEqual([405, 'POST, OPTIONS'])
        expect(messages).toEqual([{ jsonrpc: '2.0', error: { code: -32600, message: 'Use POST, OPTIONS' } }])
      })

      test('a batch is served where the protocol version has batches, and refused otherwise', async () => {
        const batch = [
          call(5, 'echo', { arguments: { text: 'one' } }),
          request(6, 'logging/setLevel'),
          request(7, 'ping'),
        ]
        const { status, messages } = await send(batch, headers)
        if (version === '2025-03-26') {
          expect(status).toBe(200)
          expect(messages).toMatchObject([
            { id: 5, result: { content: [{ text: 'one' }] } },
            { id: 6, error: { code: -32601 } },
            { id: 7, result: {} },
          ])
          return
        }
        expect(status).toBe(400)
        expect(messages).toMatchObject([{ error: { message: expect.stringContaining('has no batches') } }])
      })

      test('a batch with a response is refused whole', async () => {
        const { status } = await send([request(8, 'ping'), response], headers)
        expect(status).toBe(400)
      })
    })
  },
)

test.each([
  ['GET', '/sse'],
  ['POST', '/messages?session=none'],
])('%s %s of HTTP+SSE is not found', async (method, path) => {
  const body = method === 'POST' ? JSON.stringify(request(1, 'ping')) : null
  const response = await fetch(new URL(path, server.url), { method, body })
  expect([response.status, await response.text()]).toEqual([404, 'Not found. The MCP endpoint is /mcp\n'])
})
