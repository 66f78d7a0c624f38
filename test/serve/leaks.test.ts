import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { count } from '../support/full.ts'
import { abandon, dropListeners, settled, wayCount } from './leaky/abandon.ts'
import { Connection } from './leaky/connection.ts'
import { refuse } from './leaky/refuse.ts'
import { type LeakyServer, startLeaky } from './leaky/server.ts'
import { sessionIn, vanish } from './leaky/vanish.ts'
import { initialize, Visitor } from './leaky/visitor.ts'

const keepAliveMs = 1000
const hourMs = 60 * 60_000

let server: LeakyServer
beforeAll(async () => {
  // Sessions live for a day, however slow this machine is: their time is over when the clock is put forward.
  server = await startLeaky({ limits: { keepAliveMs: keepAliveMs } }, 'leaky-timed')
})
afterAll(() => server?.[Symbol.asyncDispose]())

test('an abandoned session holds no resources after it expires, however it was used', async () => {
  const abandoned = await abandon(server, count(2 * wayCount, 10 * wayCount))
  await dropListeners(server, count(5, 25))
  // A connection that was dropped still counts until the next keep-alive.
  for (const { name } of abandoned) await server.session(name, { alone: true })
  await server.advance(25 * hourMs)
  await settled(server, abandoned, Date.now() + 60_000)
})

test('an error as input response, or an unexpected error, is accepted and leaves no call open', async () => {
  await refuse(server, count(40, 200))
})

test('the server notices within two keep-alives that a client vanished', async () => {
  // Counted in keep-alives on another stream of the same server, which a busy machine delays as well.
  for (const { where, how, keepAlives } of await vanish(server)) {
    expect(keepAlives, `${where}, ${how}`).toBeLessThanOrEqual(2)
  }
})

test('a session over HTTP+SSE ends when its client stops reading, and holds no resources', async () => {
  // Nothing of this may be owed to a session's idle end.
  await using server = await startLeaky({ limits: { keepAliveMs: 300 } })
  const connection = await Connection.open(server.url, { path: '/sse' })
  await connection.readUntil('\n\n')
  const session = sessionIn(connection.text)
  const name = await server.objectOf(session)
  const visitor = new Visitor(new URL(`/messages?session=${encodeURIComponent(session)}`, server.url))
  await visitor.post({ id: 0, ...initialize })
  await connection.readUntil('"id":0')
  // More than all buffers on the way can hold.
  await visitor.call('pour', { lines: 600, characters: 65_536, atOnce: 4 })
  const isOver = async () => {
    const { sockets, tables, keys, alarm } = await server.session(name)
    expect({ sockets, tables, keys, alarm }).toEqual({ sockets: 0, tables: {}, keys: [], alarm: null })
  }
  await vi.waitFor(isOver, { timeout: 60_000, interval: 100 })
  expect((await visitor.call('echo', { text: 'hi' })).status).toBe(404)
  connection.vanish('FIN')
})
