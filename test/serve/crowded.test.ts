import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import * as bounds from '../../worker/protocol/bounds.ts'
import { connect, type TestClient } from '../../worker/testing/index.ts'
import { startServer, type TestServer } from '../support/server.ts'

let server: TestServer
beforeAll(async () => {
  server = await startServer('test/serve/crowded')
})
afterAll(() => server[Symbol.asyncDispose]())

const revision = '2026-07-28'
const listen = (client: TestClient) => client.subscribe({ toolsListChanged: true })
const refused = {
  status: 429,
  code: -32600,
  message: 'Too many subscription streams are open: close one, or wait 60 seconds, then try again',
  data: { retryAfter: 60, reason: 'listeners' },
}

test('subscription streams are refused above the limit per principal or in total, until one ends', async () => {
  await using ada = await connect(server.url, { revision, token: 'ada' })
  await using bob = await connect(server.url, { revision, token: 'bob' })
  await using eve = await connect(server.url, { revision, token: 'eve' })
  const first = await listen(ada)
  const second = await listen(ada)
  await expect(listen(ada)).rejects.toMatchObject(refused)
  await listen(bob)
  await listen(bob)
  await listen(eve)
  await expect(listen(eve)).rejects.toMatchObject(refused)
  // Everything else goes on.
  expect((await ada.callTool('greet')).content).toEqual([{ type: 'text', text: 'Hello!' }])
  await first.close()
  await vi.waitFor(() => listen(eve))
  await second.close()
  await vi.waitFor(() => listen(ada))
})

test('anonymous callers share a limit of subscription streams per address', async () => {
  // Another server: this one may still count the streams of clients that have just left.
  await using server = await startServer('test/serve/crowded')
  await using nobody = await connect(server.url, { revision })
  await listen(nobody)
  const second = await listen(nobody)
  await listen(nobody)
  await expect(listen(nobody)).rejects.toMatchObject(refused)
  await using ada = await connect(server.url, { revision, token: 'ada' })
  await listen(ada)
  await second.close()
  await vi.waitFor(() => listen(nobody))
})

test('a refused subscription stream has Retry-After', async () => {
  await using carl = await connect(server.url, { revision, token: 'carl' })
  // The streams of the test before may not have ended yet.
  await vi.waitFor(() => listen(carl))
  await vi.waitFor(() => listen(carl))
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': revision,
    'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  }
  const params = { notifications: { toolsListChanged: true }, _meta }
  const response = await fetch(server.url, {
    method: 'POST',
    headers: {
      Authorization: 'Bearer carl',
      'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream',
      'MCP-Protocol-Version': revision,
      'Mcp-Method': 'subscriptions/listen',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'subscriptions/listen', params }),
  })
  expect([response.status, response.headers.get('Retry-After')]).toEqual([429, '60'])
  expect(await response.json()).toMatchObject({ id: 1, error: { data: refused.data } })
})

describe('a session', () => {
  const full = {
    status: 429,
    code: -32600,
    message: 'Too many subscriptions: unsubscribe from a resource, or wait 60 seconds, then try again',
    data: { retryAfter: 60, reason: 'subscriptions' },
  }
  const open = (token?: string, url = server.url) => connect(url, { revision: '2025-11-25', ...(token && { token }) })
  const subscribe = (client: TestClient, uri: string) => client.request('resources/subscribe', { uri })

  test('can subscribe to URIs with a limited number of characters in total', async () => {
    await using client = await open()
    const long = (index: number) => `note://${index}/`.padEnd(bounds.uriCharacters, 'a')
    const most = bounds.sessionSubscriptionCharacters / bounds.uriCharacters
    for (let index = 0; index < most; index++) await subscribe(client, long(index))
    await expect(subscribe(client, 'note://another')).rejects.toMatchObject(full)
    const response = await fetch(server.url, {
      method: 'POST',
      headers: {
        'Mcp-Session-Id': client.session as string,
        'Content-Type': 'application/json',
        Accept: 'application/json, text/event-stream',
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 'x',
        method: 'resources/subscribe',
        params: { uri: 'note://another' },
      }),
    })
    expect([response.status, response.headers.get('Retry-After')]).toEqual([429, '60'])
  })

  const long = (index: number) => `note://${index}/`.padEnd(bounds.uriCharacters, 'a')

  /** Opens sessions, each with many subscriptions, until one is refused. */
  async function fill(sessions: AsyncDisposableStack, url: URL, tokenOf?: (session: number) => string) {
    for (let session = 0; session < 10; session++) {
      const client = sessions.use(await open(tokenOf?.(session), url))
      for (let index = 0; index < 30; index++) await subscribe(client, long(index))
    }
  }

  test('cannot subscribe when the subscriptions of all sessions fill the Durable Object', async () => {
    await using sessions = new AsyncDisposableStack()
    await expect(fill(sessions, server.url, (session) => `person ${session}`)).rejects.toMatchObject(full)
    await using client = await open()
    await expect(subscribe(client, long(1))).rejects.toMatchObject(full)
    expect((await client.callTool('greet')).content).toEqual([{ type: 'text', text: 'Hello!' }])
  })

  test.each([
    ['one address', undefined],
    ['one principal', () => 'ada'],
  ])('can subscribe when %s has used up its share', async (_, tokenOf) => {
    await using server = await startServer('test/serve/crowded')
    await using sessions = new AsyncDisposableStack()
    await expect(fill(sessions, server.url, tokenOf)).rejects.toMatchObject(full)
    await using other = await open('bob', server.url)
    await subscribe(other, long(1))
    // Ended sessions give their share back.
    await sessions.disposeAsync()
    await using again = await open(tokenOf?.(), server.url)
    await subscribe(again, long(1))
  })
})
