/** The hooks of plugins: `onInitialize`, `onSubscribe`, `onUnsubscribe` and `onSessionEnd`. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { ConnectOptions } from '../../worker/client/connection.ts'
import { connect, RpcError, type TestClient } from '../../worker/testing/index.ts'
import { startServer, type TestServer } from '../support/server.ts'

let server: TestServer
beforeAll(async () => {
  server = await startServer('test/subscriptions/hooked')
})
afterAll(() => server[Symbol.asyncDispose]())

type Recorded = { hook: string; [member: string]: unknown }

async function events(method = 'GET'): Promise<Recorded[]> {
  return (await fetch(new URL('/events', server.url), { method })).json() as Promise<Recorded[]>
}
beforeEach(() => events('DELETE'))

const eventsOf = async (hook: string) => (await events()).filter((event) => event.hook === hook)
/** The end of other sessions may be noticed at any time. */
const endsOf = async (id: unknown) =>
  (await eventsOf('onSessionEnd')).filter(({ session }) => (session as { id: string }).id === id)

async function idOf(client: TestClient): Promise<string> {
  const { content } = await client.callTool('session_id')
  return (content[0] as { text: string }).text
}

/** Returns the id in `ctx.session`, without a request. */
const nameOf = ({ session = '' }: TestClient) => session.slice(session.indexOf('.') + 1).slice(0, 16)

const session = { revision: '2025-11-25' }
const sse = { revision: '2024-11-05', sse: true }
const stateless = { revision: '2026-07-28' }
const connectTo = (options: ConnectOptions) => connect(server.url, { token: 'ada', ...options })
const ada = { issuer: 'https://issuer.example', subject: 'ada', scopes: [] }

describe.each([
  ['a session', session],
  ['HTTP+SSE', sse],
])('over %s', (_, transport) => {
  test('onInitialize is called once for each session', async () => {
    await using client = await connectTo({ ...transport, name: 'hooked client' })
    expect(await eventsOf('onInitialize')).toEqual([
      {
        hook: 'onInitialize',
        identity: '["hooked","/mcp"]',
        protocolVersion: transport.revision,
        client: { name: 'hooked client', version: '1.0.0' },
        principal: { ...ada, claims: { secret: 'x' } },
        session: { id: await idOf(client) },
        requestContext: { account: 'acme' },
      },
    ])
  })

  test('an McpError of onInitialize refuses the client, and any other error is not revealed', async () => {
    await expect(connectTo({ ...transport, name: 'banned' })).rejects.toThrow('This client is banned')
    await expect(connectTo({ ...transport, name: 'broken' })).rejects.toThrow('Internal error')
  })

  test('onSubscribe and onUnsubscribe are called for each request, with the session', async () => {
    await using client = await connectTo({ ...transport, name: 'subscriber' })
    const subscription = await client.subscribe({ resourceSubscriptions: ['note://1', 'note://{id}'] })
    await subscription.close().catch(() => {})
    const id = await idOf(client)
    const uris = ['note://1', 'note://{id}']
    expect(await eventsOf('onSubscribe')).toEqual(
      uris.map((uri) => ({ hook: 'onSubscribe', uri, session: { id }, account: 'acme', subject: 'ada' })),
    )
    expect(await eventsOf('onUnsubscribe')).toEqual(
      uris.map((uri) => ({ hook: 'onUnsubscribe', uri, session: { id }, client: 'subscriber' })),
    )
  })

  test('an error of onSubscribe refuses the subscription, one of onUnsubscribe does not', async () => {
    await using client = await connectTo(transport)
    await client.subscribe({})
    const refused = client.request('resources/subscribe', { uri: 'note://full' })
    await expect(refused).rejects.toThrow('The note has enough subscribers')
    await expect(client.request('resources/subscribe', { uri: 'other://1' })).rejects.toThrow(RpcError)
    await client.request('resources/subscribe', { uri: 'note://broken' })
    expect(await client.request('resources/unsubscribe', { uri: 'note://broken' })).toEqual({})
    expect((await eventsOf('onSubscribe')).map(({ uri }) => uri)).toEqual(['note://full', 'note://broken'])
  })

  test('onSessionEnd is called once when the client ends the session, without claims', async () => {
    const client = await connectTo({ ...transport, name: 'visitor' })
    const id = await idOf(client)
    await client.close()
    const end = {
      hook: 'onSessionEnd',
      session: { id },
      client: { name: 'visitor', version: '1.0.0' },
      principal: { ...ada, claims: {} },
      reason: 'sse' in transport ? 'disconnected' : 'deleted',
    }
    await expect.poll(() => endsOf(id)).toEqual([end])
  })
})

test.each([session, sse, stateless])('onError receives what onSubscribe throws: %o', async (transport) => {
  await using client = await connectTo(transport)
  const isStateless = transport === stateless
  const uris = ['note://down', 'note://1']
  const subscribed = client.subscribe({ resourceSubscriptions: uris })
  if (isStateless) {
    await subscribed
    const { params } = await client.next('notifications/subscriptions/acknowledged')
    expect(params?.notifications).toEqual({ resourceSubscriptions: ['note://1'] })
  } else {
    await expect(subscribed).rejects.toThrow('Internal error')
  }
  const expected = {
    message: 'The database is down',
    method: isStateless ? 'subscriptions/listen' : 'resources/subscribe',
    subject: 'ada',
    protocolVersion: transport.revision,
    params: expect.objectContaining(
      isStateless ? { notifications: { resourceSubscriptions: uris } } : { uri: 'note://down' },
    ),
    errorId: expect.any(String),
  }
  expect(await eventsOf('onError')).toEqual([expect.objectContaining(expected)])
})

test('onSessionEnd that throws does not keep a session from ending', async () => {
  const client = await connectTo({ ...session, name: 'broken at the end' })
  const id = await idOf(client)
  await client.close()
  await expect(client.callTool('session_id')).rejects.toMatchObject({ status: 404 })
  expect(await endsOf(id)).toHaveLength(1)
})

test('onSessionEnd is called for an anonymous session that only has a stream', async () => {
  const client = await connect(server.url, session)
  await client.subscribe({})
  await client.close()
  expect(await endsOf(nameOf(client))).toMatchObject([{ reason: 'deleted' }])
})

test('onSessionEnd is not called for a session that no request has used', async () => {
  const unused = await connectTo(session)
  await unused.close()
  const used = await connectTo(session)
  const id = await idOf(used)
  await used.close()
  expect(await endsOf(id)).toHaveLength(1)
  expect(await endsOf(nameOf(unused))).toEqual([])
})

test('onSessionEnd is called when an idle session expires, and again when its client has used it again', async () => {
  const client = await connect(new URL('/short/mcp', server.url), { ...session, token: 'ada' })
  const id = await idOf(client)
  const ends = [{ reason: 'expired' }]
  await expect.poll(() => endsOf(id), { timeout: 60_000 }).toMatchObject(ends)
  expect(await idOf(client)).toBe(id)
  await expect.poll(() => endsOf(id), { timeout: 60_000 }).toMatchObject([...ends, ...ends])
})

describe('subscriptions/listen', () => {
  test('calls onSubscribe for each URI, and onUnsubscribe for each when the client disconnects', async () => {
    await using client = await connectTo({ ...stateless, name: 'listener' })
    const subscription = await client.subscribe({ resourceSubscriptions: ['note://1', 'note://2'] })
    const subscribed = await eventsOf('onSubscribe')
    expect(subscribed.toSorted((one, other) => (String(one.uri) < String(other.uri) ? -1 : 1))).toEqual([
      { hook: 'onSubscribe', uri: 'note://1', account: 'acme', subject: 'ada' },
      { hook: 'onSubscribe', uri: 'note://2', account: 'acme', subject: 'ada' },
    ])
    expect(await eventsOf('onUnsubscribe')).toEqual([])
    await subscription.close()
    await expect
      .poll(async () => (await eventsOf('onUnsubscribe')).map(({ uri, client: name }) => [uri, name]).toSorted())
      .toEqual([
        ['note://1', 'listener'],
        ['note://2', 'listener'],
      ])
    expect(await eventsOf('onInitialize')).toEqual([])
  })

  test('acknowledges the URIs that onSubscribe does not refuse', async () => {
    await using client = await connectTo(stateless)
    await client.subscribe({ resourceSubscriptions: ['note://full', 'note://1'] })
    const { params } = await client.next('notifications/subscriptions/acknowledged')
    expect(params?.notifications).toEqual({ resourceSubscriptions: ['note://1'] })
  })
})
