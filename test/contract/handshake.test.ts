import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { connect, everyRevision } from '../../worker/testing/index.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { statelessHeaders } from '../support/stateless.ts'

let server: TestServer

beforeAll(async () => {
  server = await startServer('test/contract/handshake')
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
})

const json = { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' }

const post = (body: unknown, headers: Record<string, string> = {}) =>
  fetch(server.url, { method: 'POST', headers: { ...json, ...headers }, body: JSON.stringify(body) })

const sessionRevisions = everyRevision.filter((revision) => revision < '2026')

test.each(everyRevision)('experimental capabilities are declared to a client of %s', async (revision) => {
  await using client = await connect(server.url, { revision })
  expect(client.initializeResult.capabilities).toMatchObject({ experimental: { 'com.example/trial': { level: 1 } } })
})

test.each(sessionRevisions)('initialize of %s without capabilities declares none', async (protocolVersion) => {
  const params = { protocolVersion, clientInfo: { name: 'raw', version: '1' } }
  const response = await post({ jsonrpc: '2.0', id: 0, method: 'initialize', params })
  expect(response.status).toBe(200)
  expect(await response.json()).toMatchObject({ id: 0, result: { protocolVersion } })
  const headers = { 'Mcp-Session-Id': response.headers.get('Mcp-Session-Id') ?? '' }
  expect(await (await post({ jsonrpc: '2.0', id: 1, method: 'ping' }, headers)).json()).toMatchObject({ result: {} })
})

describe.each([7, 'seven'])('the id %j of a request', (id) => {
  const result = { content: [{ type: 'text', text: JSON.stringify(id) }] }

  test.each(sessionRevisions)(
    'is available to the handler, in a session of %s and without one',
    async (protocolVersion) => {
      const params = { protocolVersion, capabilities: {}, clientInfo: { name: 'raw', version: '1' } }
      const welcome = await post({ jsonrpc: '2.0', id: 0, method: 'initialize', params })
      await welcome.text()
      const sessions: Record<string, string>[] = [{}, { 'Mcp-Session-Id': welcome.headers.get('Mcp-Session-Id') ?? '' }]
      for (const headers of sessions) {
        const response = await post(
          { jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'request_id' } },
          headers,
        )
        expect(await response.json()).toMatchObject({ id, result })
      }
    },
  )

  test('is available to the handler of a stateless request', async () => {
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': {},
    }
    const body = { jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'request_id', _meta } }
    const response = await post(body, statelessHeaders('tools/call', 'request_id'))
    expect(await response.json()).toMatchObject({ id, result })
  })
})
