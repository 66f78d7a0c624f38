/** While nothing happens, an object behind open connections can be put to sleep, and costs nothing. */
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { events } from '../../worker/client/wire.ts'
import { connect, type TestClient } from '../../worker/testing/index.ts'
import { count } from '../support/full.ts'
import { evict } from '../support/objects.ts'
import { startServer } from '../support/server.ts'
import type { Inventory } from './leaky/inventory.ts'
import { type LeakyServer, startLeaky } from './leaky/server.ts'
import { messagesOf, readUntil, Visitor } from './leaky/visitor.ts'

let server: LeakyServer
beforeAll(async () => {
  server = await startLeaky({ limits: { keepAliveMs: 200 } })
})
afterAll(() => server[Symbol.asyncDispose]())

/** Puts an object with one connection to sleep. Resolves to what checks, in the end, that it was another one that woke. */
async function fallAsleep(kind: 'McpSession' | 'McpSubscriptions', name: string): Promise<() => Promise<void>> {
  const inspect = (): Promise<Inventory> => (kind === 'McpSession' ? server.session(name) : server.subscriptions())
  // An object that was just asked something waits for a moment without a socket.
  const { instance } = await vi.waitFor(async () => {
    const inventory = await inspect()
    expect(inventory.sockets).toBe(1)
    return inventory
  })
  // This waits for whatever keeps the object in memory, and gives up after half a minute.
  await evict(server, kind, name, 'hibernate')
  return async () => expect((await inspect()).instance).not.toBe(instance)
}

/** Somebody else changes a note. */
async function touch(id: string): Promise<void> {
  const visitor = await Visitor.arrive(server.url)
  await messagesOf(await visitor.call('touch', { id }))
}

const word = { action: 'accept', content: { word: 'Good morning' } }

test('a session with a standing stream hibernates, and its next event arrives on the same stream', async () => {
  const visitor = await Visitor.arrive(server.url)
  const stream = events(await visitor.stream())
  await messagesOf(await visitor.ask('resources/subscribe', { uri: 'note://1' }))
  const isAnother = await fallAsleep('McpSession', await server.objectOf(visitor.session))
  await touch('1')
  await readUntil(stream, ({ method }) => method === 'notifications/resources/updated')
  await isAnother()
  await stream.return(undefined)
})

test('a session that waits for an input response hibernates, and the call ends on the same stream', async () => {
  const visitor = await Visitor.arrive(server.url)
  const stream = events(await visitor.call('ask'))
  const { id } = await readUntil(stream, ({ method }) => method === 'elicitation/create')
  const isAnother = await fallAsleep('McpSession', await server.objectOf(visitor.session))
  expect((await visitor.post({ id, result: word })).status).toBe(202)
  const { result } = await readUntil(stream, (message) => 'result' in message)
  expect(result?.content?.[0]?.text).toBe('Good morning')
  expect((await stream.next()).done).toBe(true)
  await isAnother()
})

test('the Subscriptions object hibernates, and the next change arrives on the same stream', async () => {
  const client = await connect(server.url, { revision: '2026-07-28' })
  const watched = await client.subscribe({ resourceSubscriptions: ['note://2'] })
  const isAnother = await fallAsleep('McpSubscriptions', 'subscriptions 0')
  await touch('2')
  const { params } = await client.next('notifications/resources/updated')
  expect(params).toMatchObject({ uri: 'note://2' })
  await isAnother()
  await watched.close()
})

test('a session over HTTP+SSE hibernates while its client is idle and while it waits for an input response', async () => {
  const { visitor, session, stream, leave } = await Visitor.arriveOverSse(server.url)
  const name = await server.objectOf(session)
  const isAnother = await fallAsleep('McpSession', name)
  await visitor.call('ask')
  const { id } = await readUntil(stream, ({ method }) => method === 'elicitation/create')
  await isAnother()
  const isYetAnother = await fallAsleep('McpSession', name)
  await visitor.post({ id, result: word })
  const { result } = await readUntil(stream, (message) => 'result' in message)
  expect(result?.content?.[0]?.text).toBe('Good morning')
  await isYetAnother()
  leave()
})

const idle = count(200, 1000)

type Listening = { readonly instance: string; readonly sockets: number }

test('many idle streams get a change once, after hibernation and after eviction', async () => {
  // Idle means idle: no comment is due while this runs.
  await using server = await startServer('test/serve/listening')
  const shards = ['subscriptions 0', 'subscriptions 1', 'subscriptions 2']
  const post = async (path: string) => {
    const { status } = await fetch(new URL(path, server.url), { method: 'POST' })
    expect(status).toBe(204)
  }
  const inventory = (): Promise<Listening[]> =>
    Promise.all(shards.map(async (name) => (await fetch(new URL(`/objects/${name}`, server.url))).json()))
  const uris = ['page://asleep', 'page://lost', 'page://last'] as const
  const open = async (index: number) => {
    // One network for each, so that they are spread over the objects.
    const address = `10.${index >> 8}.${index & 255}.1`
    const from = (request: Request) => {
      request.headers.set('CF-Connecting-IP', address)
      return fetch(new URL('/mcp', server.url), request)
    }
    const client = await connect({ fetch: from }, { revision: '2026-07-28' })
    await client.subscribe({ resourceSubscriptions: [...uris] })
    return client
  }
  const clients: TestClient[] = []
  while (clients.length < idle) {
    clients.push(...(await Promise.all(Array.from({ length: 50 }, (_, index) => open(clients.length + index)))))
  }
  const publish = async (uri: string) => {
    await post(`/publish?uri=${uri}`)
    await Promise.all(clients.map((client) => client.next('notifications/resources/updated')))
  }
  const before = await inventory()
  expect(before.reduce((sum, { sockets }) => sum + sockets, 0)).toBe(idle)
  for (const name of shards) await evict(server, 'McpSubscriptions', name, 'hibernate')
  await publish(uris[0])
  const asleep = await inventory()
  for (const name of shards) await post(`/objects/${name}`)
  // Nobody may have come back yet.
  await publish(uris[1])
  const lost = await inventory()
  // What came twice has come before this.
  await publish(uris[2])
  expect(new Set([before, asleep, lost].flat().map(({ instance }) => instance)).size).toBe(9)
  for (const { notifications } of clients) {
    const updates = notifications.filter(({ method }) => method === 'notifications/resources/updated')
    expect(updates.map(({ params }) => params?.uri)).toEqual(uris)
  }
  await Promise.all(clients.map((client) => client.close()))
})
