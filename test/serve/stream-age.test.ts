/** Streams that reach `limits.maxStreamAgeMs`, and clients that continue on other ones. */
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import { ResourceUpdatedNotificationSchema } from '@modelcontextprotocol/sdk/types.js'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { type Event, EventStreamReader } from '../../worker/client/event-stream-reader.ts'
import { events } from '../../worker/client/wire.ts'
import { connect } from '../../worker/testing/index.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { initializeSession, postMessage } from '../support/session-http.ts'

let server: TestServer
beforeAll(async () => {
  server = await startServer('test/serve/aged')
})
afterAll(() => server[Symbol.asyncDispose]())

const open = (session: string, after?: string) =>
  fetch(server.url, {
    headers: {
      Accept: 'text/event-stream',
      'Mcp-Session-Id': session,
      ...(after !== undefined && { 'Last-Event-ID': after }),
    },
  })

const change = (session: string, id: string) =>
  postMessage(server.url, { id: 1, method: 'tools/call', params: { name: 'change', arguments: { id } } }, session)

const walk = { name: 'walk', arguments: { steps: 30 }, _meta: { progressToken: 'p' } }

/** A stream of a session that its client continues whenever its connection ends, and what has arrived on it. */
class Resumed {
  readonly messages: { method?: string; params?: { uri: string; progress: number }; result?: object }[] = []
  readonly retries: (number | undefined)[] = []
  connections = 0
  lastId: string | undefined
  readonly #session: string

  constructor(session: string) {
    this.#session = session
  }

  /** Reads until it has so many messages, then leaves. */
  async read(first: Response, count: number): Promise<this> {
    let response = first
    while (!(await this.readToEnd(response, count))) response = await open(this.#session, this.lastId)
    return this
  }

  /** Reads one connection. Returns whether it has so many messages; otherwise the connection has ended. */
  async readToEnd(response: Response, count = Number.POSITIVE_INFINITY): Promise<boolean> {
    expect(response.status).toBe(200)
    this.connections += 1
    const reader = new EventStreamReader()
    for await (const event of events(response, undefined, reader)) {
      this.#onEvent(event)
      if (this.messages.length === count) return true
    }
    this.retries.push(reader.retryMs)
    return false
  }

  #onEvent({ id, data }: Event): void {
    this.lastId = id ?? this.lastId
    if (data !== '') this.messages.push(JSON.parse(data))
  }
}

const progress = Array.from({ length: 30 }, (_, index) => index + 1)

async function subscribed(revision: string, count: number): Promise<{ session: string; ids: string[] }> {
  const { session } = await initializeSession(server.url, revision)
  const ids = Array.from({ length: count }, (_, index) => `${revision}-${index}`)
  for (const id of ids) {
    await postMessage(server.url, { id, method: 'resources/subscribe', params: { uri: `note://${id}` } }, session)
  }
  return { session, ids }
}

const urisOf = ({ messages }: Resumed) => messages.map(({ params }) => params?.uri)

test('a GET stream of 2025-11-25 ends and is continued without a gap', async () => {
  const { session, ids } = await subscribed('2025-11-25', 8)
  const stream = new Resumed(session)
  for (const [index, id] of ids.entries()) {
    const response = await open(session, stream.lastId)
    // Of each pair, the first change is published while the stream is open, the second between two connections.
    if (index % 2 === 0) await change(session, id)
    await stream.readToEnd(response)
    if (index % 2 === 1) await change(session, id)
  }
  await stream.readToEnd(await open(session, stream.lastId))
  expect(urisOf(stream)).toEqual(ids.map((id) => `note://${id}`))
  expect(stream.retries).toEqual(Array.from({ length: 9 }, () => 1000))
})

test.each(['2025-03-26', '2025-06-18'])(
  'a GET stream of %s does not end, because its client would not open another one',
  async (revision) => {
    const { session, ids } = await subscribed(revision, 2)
    const stream = new Resumed(session)
    const reading = stream.read(await open(session), 2)
    for (const id of ids) {
      await change(session, id)
      // Two streams that were opened later have ended.
      await messagesOf(await listenTo('note://never'))
      await messagesOf(await listenTo('note://never'))
    }
    await reading
    expect(urisOf(stream)).toEqual(ids.map((id) => `note://${id}`))
    expect(stream.connections).toBe(1)
  },
)

test('the stream of a call in a session of 2025-11-25 ends and is continued to its result', async () => {
  const { session } = await initializeSession(server.url, '2025-11-25')
  const posted = await postMessage(server.url, { id: 1, method: 'tools/call', params: walk }, session)
  const stream = await new Resumed(session).read(posted, 31)
  expect(stream.messages.slice(0, -1).map(({ params }) => params?.progress)).toEqual(progress)
  expect(stream.messages.at(-1)?.result).toMatchObject({ content: [{ text: 'arrived' }] })
  expect(stream.connections).toBeGreaterThan(1)
  expect(stream.retries).toEqual(stream.retries.map(() => 1000))
})

test.each(['2025-03-26', '2025-06-18'])(
  'the stream of a call in a session of %s does not end, because its client would not resume it',
  async (revision) => {
    const { session } = await initializeSession(server.url, revision)
    const posted = await postMessage(server.url, { id: 1, method: 'tools/call', params: walk }, session)
    const stream = await new Resumed(session).read(posted, 31)
    expect(stream.messages.at(-1)?.result).toMatchObject({ content: [{ text: 'arrived' }] })
    expect(stream.connections).toBe(1)
  },
)

test('a stream of HTTP+SSE does not end, because its session would end with it', async () => {
  const client = await connect(server.url, { revision: '2024-11-05' })
  const steps: number[] = []
  const result = await client.request('tools/call', walk, {
    onProgress: ({ progress: step }) => steps.push(Number(step)),
  })
  expect(result).toMatchObject({ content: [{ text: 'arrived' }] })
  expect(steps).toEqual(progress)
  expect(await client.request('ping')).toEqual({})
  await client.close()
})

test('the response of a stateless call does not end before its result', async () => {
  const client = await connect(server.url, { revision: '2026-07-28' })
  expect(await client.request('tools/call', walk)).toMatchObject({ content: [{ text: 'arrived' }] })
  await client.close()
})

test('a published client of 2025-11-25 gets all events of a call and all changes, over several connections', async () => {
  const client = new Client({ name: 'published', version: '1.0.0' })
  const transport = new StreamableHTTPClientTransport(server.url)
  const uris: string[] = []
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => void uris.push(params.uri))
  // Its types have optional members that its own interface does not expect.
  await client.connect(transport as Transport)
  await client.subscribeResource({ uri: 'note://published' })
  const steps: number[] = []
  const result = await client.callTool({ name: 'walk', arguments: { steps: 30 } }, undefined, {
    onprogress: ({ progress: step }) => void steps.push(step),
  })
  expect(result.content).toMatchObject([{ text: 'arrived' }])
  expect(steps).toEqual(progress)
  await client.callTool({ name: 'change', arguments: { id: 'published' } })
  await vi.waitFor(() => expect(uris).toEqual(['note://published']), { timeout: 30_000 })
  await client.close()
})

test('a published client of 2025-11-25 sends the last event id each time, also after connections without a message', async () => {
  const client = new Client({ name: 'published', version: '1.0.0' })
  const lastIds: (string | null)[] = []
  const recorded: typeof fetch = (url, init) => {
    if (init?.method === 'GET') lastIds.push(new Headers(init.headers).get('Last-Event-ID'))
    return fetch(url, init)
  }
  const transport = new StreamableHTTPClientTransport(server.url, { fetch: recorded })
  await client.connect(transport as Transport)
  await vi.waitFor(() => expect(lastIds.length).toBeGreaterThan(3), { timeout: 30_000 })
  await client.close()
  expect(new Set(lastIds.slice(1))).toEqual(new Set(['0.0']))
})

const listenTo = (...uris: string[]) =>
  fetch(server.url, {
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream',
      'MCP-Protocol-Version': '2026-07-28',
      'Mcp-Method': 'subscriptions/listen',
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 'listen',
      method: 'subscriptions/listen',
      params: {
        notifications: { resourceSubscriptions: uris },
        _meta: {
          'io.modelcontextprotocol/protocolVersion': '2026-07-28',
          'io.modelcontextprotocol/clientCapabilities': {},
        },
      },
    }),
  })

test('a client that listens again receives each change once', async () => {
  const { session } = await initializeSession(server.url, '2025-11-25')
  const uris: string[] = []
  const changed: string[] = []
  const readToEnd = async (response: Response) => {
    for (const message of await messagesOf(response)) {
      if (message.method === 'notifications/resources/updated') uris.push(String(message.params?.uri))
    }
  }
  const ids = Array.from({ length: 8 }, (_, index) => `again-${index}`)
  for (const [index, id] of ids.entries()) {
    const response = await listenTo(...ids.map((id) => `note://${id}`))
    // Of each pair, the first change is published while the stream is open, the second between two streams.
    if (index % 2 === 0) await change(session, id)
    await readToEnd(response)
    if (index % 2 === 1) await change(session, id)
    changed.push(`note://${id}`)
  }
  await readToEnd(await listenTo(...ids.map((id) => `note://${id}`)))
  expect(uris).toEqual(changed)
})

type Received = { method?: string; params?: { uri?: string } }

async function messagesOf(response: Response): Promise<Received[]> {
  const messages: Received[] = []
  for await (const { data } of events(response)) messages.push(JSON.parse(data))
  return messages
}

test('a stream of subscriptions/listen ends with its result, and its client can listen again', async () => {
  for (let time = 1; time <= 2; time += 1) {
    expect(await messagesOf(await listenTo('note://1'))).toEqual([
      expect.objectContaining({ method: 'notifications/subscriptions/acknowledged' }),
      {
        jsonrpc: '2.0',
        id: 'listen',
        result: { resultType: 'complete', _meta: { 'io.modelcontextprotocol/subscriptionId': 'listen' } },
      },
    ])
  }
})
