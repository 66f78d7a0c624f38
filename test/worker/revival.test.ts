/** Sessions that expired while they were idle, and whose clients go on with the same session id. */
import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test'
import { exports } from 'cloudflare:workers'
import { createServer, type Server } from 'edgemcp'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { migrations } from '../../durable-objects/session/migrations.ts'
import { Session } from '../../durable-objects/session/object.ts'
import type { Post, SessionRpc } from '../../durable-objects/session/rpc.ts'
import type { SessionHost } from '../../durable-objects/session/session-host.ts'
import { versionOf } from '../../durable-objects/shared/schema.ts'
import { readRelayMessage } from '../../worker/protocol/relay-messages.ts'
import { openingOf, postOf, postTo, post as postWith, relayUrl, sessionSettings, week } from './session-post.ts'

type Stub = DurableObjectStub & SessionRpc
const { McpSession } = exports as unknown as { McpSession: { getByName(name: string): Stub } }

const day = 24 * 60 * 60_000

let expires: number
beforeEach(() => {
  expires = Date.now() + week
})
afterEach(() => {
  vi.useRealTimers()
})

const fresh = () => McpSession.getByName(crypto.randomUUID())

const post = (method: string, params: object = {}): Post => postWith(method, params, { expires })

const call = (name: string, args: object = {}) => post('tools/call', { name, arguments: args })

const valuesIn = ({ kv }: DurableObjectStorage) =>
  [...kv.list()].flatMap(([key]) => (key === 'schema' ? [] : [key])).sort()

const valuesOf = (stub: Stub) => runInDurableObject(stub, (_, { storage }) => valuesIn(storage))

/** Lets a session be idle until it expires. The clock stays a day and two hours ahead. */
async function expire(stub: Stub): Promise<void> {
  await evictDurableObject(stub)
  await runInDurableObject(stub, (_, { storage }) => {
    if (storage.kv.get('id')) storage.kv.put('lastSeenAt', Date.now())
  })
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + day + day / 12 })
  await runDurableObjectAlarm(stub)
}

async function open(stub: Stub, query = '') {
  const response = await stub.fetch(
    new Request(relayUrl(`${query}&expires=${expires}`), { headers: { Upgrade: 'websocket' } }),
  )
  const methods: string[] = []
  response.webSocket?.addEventListener('message', ({ data }) => {
    const payload = readRelayMessage(data)?.payload ?? ''
    methods.push(...[...payload.matchAll(/"method":"notifications\/([^"]+)"/g)].map(([, method]) => method as string))
  })
  response.webSocket?.accept()
  return { status: response.status, methods, socket: response.webSocket }
}

const lists = ['tools/list_changed', 'prompts/list_changed', 'resources/list_changed']

describe('a session that expired while it was idle', () => {
  test.each([
    ['a log level', () => post('logging/setLevel', { level: 'debug' })],
    ['a subscription', () => post('resources/subscribe', { uri: 'note://1' })],
    ['an unanswered input request', () => call('ask_name')],
    ['a ping', () => post('ping')],
  ])('answers requests, and no longer stores data of %s', async (_, request) => {
    const stub = fresh()
    await postTo(stub, request())
    await expire(stub)
    expect(await valuesOf(stub)).toEqual([])
    expect(await postTo(stub, post('ping'))).toMatchObject({ status: 200 })
    expect(await postTo(stub, call('echo', { text: 'hi' }))).toMatchObject({ status: 200 })
    expect(await valuesOf(stub)).toEqual([])
  })

  test('sends the changes of all lists on its next stream, and on no later one', async () => {
    const stub = fresh()
    const before = await open(stub)
    before.socket?.close(4000)
    await postTo(stub, post('resources/subscribe', { uri: 'note://1' }))
    expect(before.methods).toEqual([])
    await expire(stub)
    const revived = await open(stub)
    await vi.waitFor(() => expect(revived.methods).toEqual(lists))
    revived.socket?.close(4000)
    await evictDurableObject(stub)
    const later = await open(stub)
    await stub.changed({ list: 'tools' })
    await vi.waitFor(() => expect(later.methods).toEqual(['tools/list_changed']))
    later.socket?.close(4000)
  })

  test('sends the changes of all lists also after other requests and an eviction of its object', async () => {
    const stub = fresh()
    await postTo(stub, post('logging/setLevel', { level: 'debug' }))
    await expire(stub)
    await postTo(stub, post('resources/subscribe', { uri: 'note://1' }))
    await postTo(stub, call('progress', { steps: 1 }))
    await evictDurableObject(stub)
    const revived = await open(stub)
    await vi.waitFor(() => expect(revived.methods).toEqual(lists))
    revived.socket?.close(4000)
  })

  test('sends the changes of all lists once to a client that opens two streams at the same time', async () => {
    const stub = fresh()
    await postTo(stub, post('logging/setLevel', { level: 'debug' }))
    await expire(stub)
    const [one, other, ...posted] = await Promise.all([
      open(stub),
      open(stub),
      postTo(stub, post('ping')),
      postTo(stub, post('ping')),
    ])
    expect([one, other, ...posted]).toMatchObject([{ status: 101 }, { status: 101 }, { status: 200 }, { status: 200 }])
    await stub.changed({ resource: 'note://1' })
    await vi.waitFor(() => expect([...one.methods, ...other.methods]).toContain('resources/updated'))
    expect([...one.methods, ...other.methods]).toEqual([...lists, 'resources/updated'])
    other.socket?.close(4000)
  })

  test('sends no changes of lists before it expires', async () => {
    const stub = fresh()
    const first = await open(stub)
    await stub.changed({ resource: 'note://1' })
    await vi.waitFor(() => expect(first.methods).toEqual(['resources/updated']))
    first.socket?.close(4000)
  })

  test('refuses to resume a stream from before its expiry', async () => {
    const stub = fresh()
    const standing = await open(stub)
    await stub.changed({ list: 'tools' })
    await vi.waitFor(() => expect(standing.methods).toHaveLength(1))
    standing.socket?.close(4000)
    expect(await postTo(stub, call('progress', { steps: 1 }))).toMatchObject({ status: 200 })
    const steps = { name: 'progress', arguments: { steps: 2 }, _meta: { progressToken: 'p' } }
    const posted = await postTo(stub, post('tools/call', steps))
    expect(posted).toMatchObject({ stream: expect.any(Number) })
    await expire(stub)
    const ids = ['0.0', '0.1', '1.0', '1.2']
    for (const after of ids) expect((await open(stub, `after=${after}`)).status, after).toBe(400)
    const revived = await open(stub)
    for (const after of ids) expect((await open(stub, `after=${after}`)).status, after).toBe(400)
    revived.socket?.close(4000)
  })

  test('stays ended after a DELETE that follows its expiry', async () => {
    const stub = fresh()
    await postTo(stub, post('logging/setLevel', { level: 'debug' }))
    await expire(stub)
    expect(await postTo(stub, post('ping'))).toMatchObject({ status: 200 })
    expect(await stub.end(expires)).toBe(true)
    expect(await valuesOf(stub)).toEqual(['ended'])
    await evictDurableObject(stub)
    expect(await postTo(stub, post('ping'))).toEqual({ gone: true })
    expect((await open(stub)).status).toBe(404)
    vi.setSystemTime(expires + 1)
    expect(await runDurableObjectAlarm(stub)).toBe(true)
    expect(await valuesOf(stub)).toEqual([])
  })
})

type End = { begun: Promise<void>; release: () => void; server: Server }

/** A session object that is registered for changes, and whose registration ends when the test says so. */
async function expiring(use: (session: Session, end: End, storage: DurableObjectStorage) => Promise<void>) {
  const began = Promise.withResolvers<void>()
  const released = Promise.withResolvers<boolean>()
  const server = createServer({ name: 'test', version: '1.0.0' })
  const host = {
    server,
    life: week,
    options: { ...sessionSettings, ttl: day },
    subscriptionsAt: () => ({
      unsubscribeAll() {
        began.resolve()
        return released.promise
      },
    }),
    at: () => ({ server: server, seals: () => ({}) }),
    report: (problem: unknown) => {
      throw problem
    },
  }
  const name = crypto.randomUUID()
  await runInDurableObject(McpSession.getByName(name), async (_, state) => {
    const { kv } = state.storage
    kv.put('schema', versionOf(migrations))
    kv.put('id', { name, expires, since: Date.now() })
    kv.put('registration', { shard: 0 })
    kv.put('lastSeenAt', Date.now() - day - day / 12)
    // Only what these tests use of a host.
    const session = new Session(state, {} as never, host as unknown as SessionHost, {})
    await use(session, { begun: began.promise, release: () => released.resolve(true), server }, state.storage)
  })
}

const ping = () => postOf([{ jsonrpc: '2.0', id: 1, method: 'ping' }], { expires })

describe('a request that arrives while a session expires', () => {
  test('waits for the expiry, and is the first request of the revived session', async () => {
    await expiring(async (session, { begun, release }, storage) => {
      const alarm = session.alarm()
      await begun
      const posted = Promise.all([postTo(session, ping()), postTo(session, ping())])
      const admitted = session.admit(openingOf({ expires }))
      release()
      expect(await posted).toMatchObject([{ status: 200 }, { status: 200 }])
      expect(await admitted).toEqual({ admitted: true })
      await alarm
      expect(valuesIn(storage)).toEqual(['id', 'lastSeenAt'])
    })
  })

  test('ends the session if it is a DELETE', async () => {
    await expiring(async (session, { begun, release }, storage) => {
      const alarm = session.alarm()
      await begun
      const ends = Promise.all([session.end(expires), session.end(expires)])
      const posted = postTo(session, ping())
      release()
      expect(await ends).toEqual([true, false])
      expect(await posted).toEqual({ gone: true })
      await alarm
      expect(valuesIn(storage)).toEqual(['ended'])
    })
  })

  test('keeps the session if it arrives before the alarm', async () => {
    await expiring(async (session, { release }, storage) => {
      const posted = postTo(session, ping())
      release()
      expect(await posted).toMatchObject({ status: 200 })
      await session.alarm()
      expect(valuesIn(storage)).toContain('registration')
    })
  })

  test('is answered without a stream although its call runs for longer than a session may be idle', async () => {
    await expiring(async (session, { server, release }, storage) => {
      release()
      const [running, ending] = [Promise.withResolvers<void>(), Promise.withResolvers<string>()]
      server.tool('slow', { description: 'Runs until the test ends it' }, () => {
        running.resolve()
        return ending.promise
      })
      const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'slow' } } as const
      const posted = postTo(session, postOf([message], { expires, streams: false }))
      await running.promise
      vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + day + day / 12 })
      const alarm = session.alarm()
      // The alarm waits for the call, unless it ends the session.
      await Promise.race([alarm, new Promise((resolve) => setTimeout(resolve, 0))])
      ending.resolve('done')
      expect(await posted).toMatchObject({ status: 200, text: expect.stringContaining('done') })
      await alarm
      expect(valuesIn(storage)).toContain('registration')
    })
  })

  test('is answered even if the expiry fails, and the next alarm repeats the expiry', async () => {
    await expiring(async (session, { begun, release }, storage) => {
      const deleting = vi.spyOn(storage, 'deleteAll').mockRejectedValueOnce(new Error('lost'))
      try {
        const alarm = session.alarm()
        await begun
        const posted = postTo(session, ping())
        release()
        await expect(alarm).rejects.toThrow('lost')
        expect(await posted).toMatchObject({ status: 200 })
        vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + day + day / 12 })
        await session.alarm()
        expect(valuesIn(storage)).toEqual([])
      } finally {
        deleting.mockRestore()
      }
    })
  })
})
