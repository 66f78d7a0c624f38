/** While nothing happens, an object behind open connections can be put to sleep, and costs nothing. */
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { events } from '../../worker/client/wire.ts'
import { connect } from '../../worker/testing/index.ts'
import type { Inventory } from '../chaos/leaky/inventory.ts'
import { type LeakyServer, startLeaky } from '../chaos/leaky/server.ts'
import { messagesOf, readUntil, Visitor } from '../chaos/leaky/visitor.ts'
import type { Audience, Hearer } from '../chaos/listening/book.ts'
import type { Holding } from '../chaos/listening/holding.ts'
import { Listener } from '../chaos/listening/listener.ts'
import { count } from '../support/full.ts'
import { evict } from '../support/objects.ts'
import { startServer } from '../support/server.ts'

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
  const isAnother = await fallAsleep('McpSubscriptions', 'subscriptions 0 leaky')
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

test('many idle streams get a change once, after hibernation and after eviction', async () => {
  // Idle means idle: no comment is due while this runs.
  await using server = await startServer('test/chaos/listening', { KEEP_ALIVE: '600000' })
  const shards = ['subscriptions 0 listening', 'subscriptions 1 listening', 'subscriptions 2 listening']
  const holding = async (shard: string): Promise<Holding> =>
    (await fetch(new URL(`/objects/McpSubscriptions/${shard}`, server.url))).json()
  const publish = async (uri: string) => {
    const { status } = await fetch(new URL(`/publish?change=${uri}`, server.url), { method: 'POST' })
    expect(status).toBe(204)
  }
  const audience = new CountingAudience()
  const uris = ['page://asleep', 'page://lost', 'page://last'] as const
  const listeners: Listener[] = []
  for (let opened = 0; opened < idle; opened += 50) {
    const some = Array.from({ length: 50 }, () =>
      Listener.open(server.url, { resourceSubscriptions: [...uris] }, audience),
    )
    listeners.push(...(await Promise.all(some)))
  }
  const before = await Promise.all(shards.map((shard) => holding(shard)))
  expect(before.reduce((sum, { sockets }) => sum + sockets, 0)).toBe(idle)
  for (const name of shards) await evict(server, 'McpSubscriptions', name, 'hibernate')
  await publish(uris[0])
  await audience.everyoneHas(idle)
  const asleep = await Promise.all(shards.map((shard) => holding(shard)))

  for (const shard of shards) {
    const { status } = await fetch(new URL(`/objects/McpSubscriptions/${shard}?do=abort`, server.url), {
      method: 'POST',
    })
    expect(status).toBe(204)
  }
  // Nobody may have come back yet.
  await publish(uris[1])
  await audience.everyoneHas(2 * idle)
  const lost = await Promise.all(shards.map((shard) => holding(shard)))
  // What came twice has come before this.
  await publish(uris[2])
  await audience.everyoneHas(3 * idle)

  const instances = [before, asleep, lost].flatMap((those) => those.map(({ instance }) => instance))
  expect(new Set(instances).size).toBe(9)
  expect(audience.problems).toEqual([])
  for (const listener of listeners) expect(audience.heard.get(listener)).toEqual(uris)
  for (const listener of listeners) listener.leave()
})

class CountingAudience implements Audience {
  readonly hearers = new Set<Hearer>()
  readonly heard = new Map<Hearer, string[]>()
  readonly problems: string[] = []
  #times = 0
  #awaited = Promise.withResolvers<void>()
  #least = 0

  hear(hearer: Hearer, topic: string): void {
    this.heard.set(hearer, [...(this.heard.get(hearer) ?? []), topic])
    this.#times += 1
    if (this.#times >= this.#least) this.#awaited.resolve()
  }

  problem(text: string): void {
    this.problems.push(text)
    this.#awaited.reject(new Error(text))
  }

  /** Resolves when changes have been heard so often. */
  async everyoneHas(times: number): Promise<void> {
    this.#least = times
    this.#awaited = Promise.withResolvers()
    if (this.#times < times) await this.#awaited.promise
  }
}
