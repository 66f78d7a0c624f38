import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { connect } from '../../worker/testing/index.ts'
import { withoutSessions } from '../support/behaviour.ts'
import { startEverything, type TestServer } from '../support/server.ts'

let server: TestServer

beforeAll(async () => {
  server = await startEverything()
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
})

const json = { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' }

function send(body: unknown, headers: Record<string, string>, method = 'POST'): Promise<Response> {
  const init = { method, headers: { ...json, ...headers } }
  return fetch(server.url, method === 'POST' ? { ...init, body: JSON.stringify(body) } : init)
}

const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'raw', version: '1' } }
const hello = { jsonrpc: '2.0', id: 7, method: 'initialize', params }
const list = { jsonrpc: '2.0', id: 7, method: 'tools/list' }
const claim = (version: string) => ({
  ...list,
  params: {
    _meta: {
      'io.modelcontextprotocol/protocolVersion': version,
      'io.modelcontextprotocol/clientCapabilities': {},
    },
  },
})

async function startSession(): Promise<Record<string, string>> {
  const response = await send(hello, {})
  await response.text()
  return { 'Mcp-Session-Id': response.headers.get('Mcp-Session-Id') ?? '' }
}

describe.each(['2099-01-01', '2026-07-29', '2024-10-07', '1999', 'v999.0.0', 'DRAFT-2026-v1'])(
  'the unknown MCP-Protocol-Version %s',
  (version) => {
    const refusal = (id?: number) => ({
      jsonrpc: '2.0',
      ...(id !== undefined && { id }),
      error: {
        code: -32022,
        message: expect.stringContaining(`Unsupported protocol version ${version}`),
        data: { supported: withoutSessions, requested: version },
      },
    })

    test.each<[string, unknown, number?]>([
      ['a request', list, 7],
      ['a request of the same version', claim(version), 7],
      ['initialize', hello, 7],
      ['a notification', { jsonrpc: '2.0', method: 'notifications/initialized' }],
      ['a response', { jsonrpc: '2.0', id: 'ask-1', result: {} }],
      ['a batch', [list]],
      ['a batch of notifications', [{ jsonrpc: '2.0', method: 'notifications/initialized' }]],
    ])('is refused for %s, in a session and without one', async (_, body, id) => {
      for (const session of [{}, await startSession()]) {
        const response = await send(body, { ...session, 'MCP-Protocol-Version': version })
        expect(response.status).toBe(400)
        expect(await response.json()).toMatchObject(refusal(id))
      }
    })

    test.each(['GET', 'DELETE'])('is refused for %s', async (method) => {
      const response = await send(undefined, { ...(await startSession()), 'MCP-Protocol-Version': version }, method)
      expect(response.status).toBe(400)
      expect(await response.json()).toMatchObject(refusal())
    })

    test('is refused over HTTP+SSE, for the stream and for messages', async () => {
      const headers = { ...json, 'MCP-Protocol-Version': version }
      const stream = await fetch(new URL('/sse', server.url), { headers })
      expect(stream.status).toBe(400)
      expect(await stream.json()).toMatchObject(refusal())
      await using client = await connect(server.url, { revision: '2024-11-05', sse: true })
      const endpoint = new URL(`/messages?session=${client.session}`, server.url)
      for (const [body, id] of [[list, 7], [{ jsonrpc: '2.0', method: 'notifications/initialized' }]] as const) {
        const response = await fetch(endpoint, { method: 'POST', headers, body: JSON.stringify(body) })
        expect(response.status).toBe(400)
        expect(await response.json()).toMatchObject(refusal(id))
      }
    })

    test('in the params of initialize makes the server offer a version that it supports', async () => {
      const response = await send({ ...hello, params: { ...params, protocolVersion: version } }, {})
      expect(response.status).toBe(200)
      expect(await response.json()).toMatchObject({ result: { protocolVersion: '2025-11-25' } })
    })
  },
)
