/** While nothing happens, an object behind open connections can be put to sleep, and costs nothing. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connect } from '../../worker/testing/index.ts'
import { events } from '../../worker/testing/wire.ts'
import type { Inventory } from '../chaos/leaky/inventory.ts'
import { type LeakyServer, startLeaky } from '../chaos/leaky/server.ts'
import { messagesOf, readUntil, Visitor } from '../chaos/leaky/visitor.ts'

let server: LeakyServer
beforeAll(async () => {
  server = await startLeaky({ limits: { keepAlive: 200 } })
})
afterAll(() => server[Symbol.asyncDispose]())

/** Puts an object with one connection to sleep. Resolves to what checks, in the end, that it was another one that woke. */
async function fallAsleep(kind: 'McpSession' | 'McpUpdates', name: string): Promise<() => Promise<void>> {
  const inspect = (): Promise<Inventory> => (kind === 'McpSession' ? server.session(name) : server.updates())
  const { sockets, instance } = await inspect()
  expect(sockets).toBe(1)
  // This waits for whatever keeps the object in memory, and gives up after half a minute.
  await server.harness.getWorker().evictDurableObject(kind, { name, webSockets: 'hibernate' })
  return async () => expect((await inspect()).instance).not.toBe(instance)
}

/** Somebody else changes a note. */
async function touch(id: string): Promise<void> {
  const visitor = await Visitor.arrive(server.url)
  await messagesOf(await visitor.call('touch', { id }))
}

const word = { action: 'accept', content: { word: 'Good morning' } }

test('an object whose client only listens sleeps, and its next event arrives on the same stream', async () => {
  const visitor = await Visitor.arrive(server.url)
  const stream = events(await visitor.stream())
  await messagesOf(await visitor.ask('resources/subscribe', { uri: 'note://1' }))
  const isAnother = await fallAsleep('McpSession', await server.objectOf(visitor.session))
  await touch('1')
  await readUntil(stream, ({ method }) => method === 'notifications/resources/updated')
  await isAnother()
  await stream.return(undefined)
})

test('an object that waits for a person sleeps, and the call ends on the same stream once it is answered', async () => {
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

test('the object behind streams of changes sleeps, and the next change arrives on the same stream', async () => {
  const client = await connect(server.url, { revision: '2026-07-28' })
  const watched = await client.watch({ resourceSubscriptions: ['note://2'] })
  const isAnother = await fallAsleep('McpUpdates', 'updates')
  await touch('2')
  const { params } = await client.next('notifications/resources/updated')
  expect(params).toMatchObject({ uri: 'note://2' })
  await isAnother()
  await watched.close()
})

test('an object sleeps behind HTTP+SSE, while its client is idle and while it waits for a person', async () => {
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
