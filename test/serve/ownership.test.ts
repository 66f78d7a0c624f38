import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type ConnectOptions, connect, type TestClient } from '../../worker/testing/index.ts'
import { evict } from '../support/objects.ts'
import { startServer, type TestServer } from '../support/server.ts'

let server: TestServer
beforeAll(async () => {
  server = await startServer('test/serve/owned')
})
afterAll(() => server[Symbol.asyncDispose]())

const as = (token: string, options: Partial<ConnectOptions> = {}): Promise<TestClient> =>
  connect(server.url, { revision: '2025-11-25', token, ...options })

type Raw = { method?: string; path?: string; token?: string; session?: string; body?: unknown; lastEventId?: string }

/** What a client gets, as it is on the wire. */
async function raw({ method = 'POST', path = '/mcp', token, session, body, lastEventId }: Raw) {
  const response = await fetch(new URL(path, server.url), {
    method,
    headers: {
      Accept: method === 'GET' ? 'text/event-stream' : 'application/json, text/event-stream',
      ...(token && { Authorization: `Bearer ${token}` }),
      ...(session && { 'Mcp-Session-Id': session }),
      ...(lastEventId && { 'Last-Event-ID': lastEventId }),
      ...(body !== undefined && { 'Content-Type': 'application/json' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const { status } = response
  // A stream that was opened by mistake would never end.
  if (response.headers.get('Content-Type')?.startsWith('text/event-stream')) {
    await response.body?.cancel()
    return { status, text: 'a stream' }
  }
  return { status, text: await response.text() }
}

const ping = { jsonrpc: '2.0', id: 1, method: 'ping' }
const textOf = (result: { content: unknown[] }) => (result.content[0] as { text: string }).text

describe('ctx.session.id', () => {
  const idOf = async (client: TestClient) => textOf(await client.callTool('session_id'))

  test.each<[string, Partial<ConnectOptions>]>([
    ['in a session', {}],
    ['over HTTP+SSE', { sse: true }],
  ])('is the same in all calls, also after an eviction, and differs between sessions: %s', async (_, options) => {
    await using ada = await as('ada', options)
    await using again = await as('ada', options)
    const id = await idOf(ada)
    expect(id).toMatch(/^[\w-]{16}$/)
    expect(await idOf(ada)).toBe(id)
    await evict(server, 'McpSession', id, 'hibernate')
    expect(await idOf(ada)).toBe(id)
    expect(await idOf(again)).not.toBe(id)
  })

  test('is no credential', async () => {
    await using ada = await as('ada')
    const id = await idOf(ada)
    const key = (ada.session as string).split('.')[0]
    for (const session of [id, `${key}.${id}`, (ada.session as string).slice(0, `${key}.${id}`.length + 20)]) {
      expect((await raw({ token: 'ada', session, body: ping })).status).toBe(404)
      expect((await raw({ token: 'ada', path: `/messages?session=${session}`, body: ping })).status).toBe(404)
    }
  })

  test('is undefined in 2026-07-28', async () => {
    expect(await idOf(await as('ada', { revision: '2026-07-28' }))).toBe('undefined')
  })
})

describe('a session', () => {
  test.each([
    ['POST', { body: ping }],
    ['GET', { method: 'GET' }],
    ['GET after an event', { method: 'GET', lastEventId: '1.0' }],
    ['DELETE', { method: 'DELETE' }],
  ] as [string, Raw][])('of another principal is answered to %s like an unknown session', async (_, request) => {
    const ada = await as('ada')
    const session = ada.session as string
    const flipped = session.slice(0, -1) + (session.endsWith('A') ? 'B' : 'A')
    const unknown = await raw({ ...request, token: 'ada', session: flipped })
    expect(unknown.status).toBe(404)
    expect(await raw({ ...request, token: 'bob', session })).toEqual(unknown)
    expect(await ada.request('ping')).toEqual({})
  })

  test('is refused for an anonymous caller', async () => {
    const { session } = await as('ada')
    for (const request of [{ body: ping }, { method: 'GET' }, { method: 'DELETE' }]) {
      expect((await raw({ ...request, session: session as string })).status).toBe(401)
    }
  })

  test('over HTTP+SSE accepts messages of its principal only', async () => {
    const ada = await as('ada', { sse: true })
    const path = `/messages?session=${encodeURIComponent(ada.session as string)}`
    const unknown = await raw({ path: '/messages?session=made.up', token: 'bob', body: ping })
    expect(await raw({ path, token: 'bob', body: ping })).toEqual(unknown)
    expect(unknown.status).toBe(404)
    expect((await raw({ path, body: ping })).status).toBe(401)
    expect((await raw({ path, token: 'ada', body: ping })).status).toBe(202)
    await ada.close()
  })

  test('does not wake up for requests of other principals', async () => {
    const ada = await as('ada', { logLevel: 'error' })
    const before = await server.harness.getWorker().listDurableObjectIds('McpSession')
    const bob = await as('bob')
    await raw({ token: 'bob', session: ada.session as string, body: ping })
    await raw({ token: 'ada', session: bob.session as string, body: ping })
    expect(await server.harness.getWorker().listDurableObjectIds('McpSession')).toEqual(before)
  })
})

for (const revision of ['2025-11-25', '2026-07-28']) {
  describe(`in ${revision}`, () => {
    test('a handler gets the principal of its request', async () => {
      const [ada, bob] = [await as('ada', { revision }), await as('bob', { revision })]
      expect(textOf(await ada.callTool('who'))).toBe('ada')
      expect(textOf(await bob.callTool('who'))).toBe('bob')
    })

    test('lists, calls, reads and cursors are those of the principal', async () => {
      const [ada, bob] = [await as('ada', { revision }), await as('bob', { revision })]
      const names = async (client: TestClient) => {
        const found: string[] = []
        for (let cursor: unknown, more = true; more; more = cursor !== undefined) {
          const page = await client.request('tools/list', cursor === undefined ? {} : { cursor })
          found.push(...(page.tools as { name: string }[]).map(({ name }) => name))
          cursor = page.nextCursor
        }
        return found
      }
      expect(await names(ada)).toEqual(['session_id', 'who', 'ask', 'admin'])
      expect(await names(bob)).toEqual(['session_id', 'who', 'ask'])
      await expect(bob.callTool('admin')).rejects.toMatchObject({ code: -32602, message: 'Unknown tool: admin' })
      await expect(bob.request('resources/read', { uri: 'ada://diary' })).rejects.toThrow('Resource not found')
      const { nextCursor } = await ada.request('tools/list')
      await expect(bob.request('tools/list', { cursor: nextCursor })).rejects.toMatchObject({ code: -32602 })
    })
  })
}

test('a client cannot answer input requests of another client', async () => {
  const envelope = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': { elicitation: {} },
  }
  const callAsk = async (token: string, more: object = {}) => {
    const response = await fetch(server.url, {
      method: 'POST',
      headers: {
        'Content-Type': 'application/json',
        Authorization: `Bearer ${token}`,
        'MCP-Protocol-Version': '2026-07-28',
        'Mcp-Method': 'tools/call',
        'Mcp-Name': 'ask',
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name: 'ask', _meta: envelope, ...more },
      }),
    })
    return response.json() as Promise<{ result?: Record<string, unknown>; error?: { code: number } }>
  }
  const { result } = await callAsk('ada')
  const { requestState } = result as { requestState: string }
  const inputResponses = { word: { action: 'accept', content: { word: 'hi' } } }
  expect((await callAsk('bob', { requestState, inputResponses })).error?.code).toBe(-32602)
  expect((await callAsk('ada', { requestState, inputResponses })).result).toMatchObject({
    content: [{ text: 'ada says hi' }],
  })
})

test('a caller cannot subscribe to a resource that it may not read', async () => {
  const bob = await as('bob', { revision: '2026-07-28' })
  const watched = await bob.subscribe({ resourceSubscriptions: ['ada://diary'] })
  const { params } = await bob.next('notifications/subscriptions/acknowledged')
  expect(params?.notifications).toEqual({ resourceSubscriptions: [] })
  await watched.close()
  const session = await as('bob')
  const subscribe = session.request('resources/subscribe', { uri: 'ada://diary' })
  await expect(subscribe).rejects.toMatchObject({ code: -32002 })
})
