/** The bytes of lists: caches of prompts at hosts depend on them. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startServer, type TestServer } from '../support/server.ts'

let servers: TestServer[]
beforeAll(async () => {
  servers = [await startServer('examples/conformance'), await startServer('examples/conformance')]
})
afterAll(() => Promise.all(servers?.map((server) => server[Symbol.asyncDispose]()) ?? []))

const methods = ['tools/list', 'resources/list', 'resources/templates/list', 'prompts/list'] as const
const client = { capabilities: {}, clientInfo: { name: 'test', version: '1' } }
const meta = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': client.clientInfo,
  'io.modelcontextprotocol/clientCapabilities': client.capabilities,
}

async function send({ url }: TestServer, headers: Record<string, string>, message: object): Promise<Response> {
  return fetch(url, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream', ...headers },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, ...message }),
  })
}

/** Returns the bodies of the responses to all lists, as they are on the wire. */
async function listsOf(server: TestServer, version: string): Promise<string[]> {
  const headers: Record<string, string> = { 'MCP-Protocol-Version': version }
  if (version < '2026-07-28') {
    const initialize = { method: 'initialize', params: { protocolVersion: version, ...client } }
    const response = await send(server, {}, initialize)
    await response.body?.cancel()
    headers['Mcp-Session-Id'] = response.headers.get('Mcp-Session-Id') ?? ''
  }
  const params = version < '2026-07-28' ? {} : { _meta: meta }
  return Promise.all(
    methods.map(async (method) => {
      const response = await send(server, { ...headers, 'Mcp-Method': method }, { method, params })
      expect(response.status, method).toBe(200)
      return response.text()
    }),
  )
}

test.each(['2026-07-28', '2025-11-25', '2025-06-18', '2025-03-26'])(
  'the same declarations give the same bytes in %s: from another start, and again',
  async (version) => {
    const [one, other] = servers as [TestServer, TestServer]
    const lists = await listsOf(one, version)
    expect(lists.every((list) => list.includes('"name":') && !list.includes('nextCursor'))).toBe(true)
    expect(await listsOf(one, version)).toEqual(lists)
    expect(await listsOf(other, version)).toEqual(lists)
  },
)
