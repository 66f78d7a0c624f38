/** Sessions that end while something fails, or while they wait for something. */
import { runInDurableObject } from 'cloudflare:test'
import { exports } from 'cloudflare:workers'
import { createServer } from 'edgemcp'
import { describe, expect, test, vi } from 'vitest'
import { type AddedParts, SubscriptionsPart } from '../../durable-objects/session/added-parts.ts'
import { migrations } from '../../durable-objects/session/migrations.ts'
import type { Session } from '../../durable-objects/session/object.ts'
import type { SessionRpc } from '../../durable-objects/session/rpc.ts'
import type { SessionHost } from '../../durable-objects/session/session-host.ts'
import { versionOf } from '../../durable-objects/shared/schema.ts'
import type { SubscriptionsRpc } from '../../durable-objects/subscriptions/rpc.ts'
import { Subscriptions } from '../../durable-objects/subscriptions/session-part.ts'
import * as closeCode from '../../worker/protocol/close-code.ts'
import { type Running, running } from './running-session.ts'
import { post, postTo, relayUrl, sessionSettings, week } from './session-post.ts'

type Stub = DurableObjectStub & SessionRpc
const { McpSession } = exports as unknown as { McpSession: { getByName(name: string): Stub } }

const subscribingParts: AddedParts = {
  subscriptions: new SubscriptionsPart({ Subscriptions, shardOf: () => 0 }),
}

const alarmOf = (stub: Stub) => runInDurableObject(stub, (_, state) => state.storage.getAlarm())

const valuesIn = ({ kv }: DurableObjectStorage) => [...kv.list()].flatMap(([key]) => (key === 'schema' ? [] : [key]))

describe('a session ends although', () => {
  const gone = new Error('This Worker has no Durable Object McpState')
  test.each<[string, SessionHost['state']]>([
    [
      'the class of its state was removed',
      () => {
        throw gone
      },
    ],
    ['its state cannot be deleted', () => ({ deleteAll: () => Promise.reject(gone) }) as never],
  ])('%s', async (_, stateOf) => {
    const deleted: string[] = []
    const state: SessionHost['state'] = (name) => {
      if (name !== 'third') return stateOf(name)
      return { deleteAll: async () => void deleted.push(name) } as never
    }
    await running({ state }, async ({ session, storage, reported, name }) => {
      const expires = Date.now() + week
      storage.kv.put('schema', versionOf(migrations))
      storage.kv.put('id', { name, expires, since: Date.now() })
      storage.kv.put('stateObjects', ['first', 'second', 'third'])
      expect(await session.end(expires)).toBe(true)
      expect(valuesIn(storage)).toEqual(['ended'])
      expect(await session.end(expires)).toBe(false)
      expect(deleted).toEqual(['third'])
      expect(reported).toEqual([gone, gone])
    })
  })

  test('the last events of its streams cannot be written', async () => {
    const { promise: cancelled, resolve: onCancelled } = Promise.withResolvers<void>()
    const server = createServer({ name: 'test', version: '1.0.0' })
    server.tool('run', { description: 'Runs until it is cancelled' }, async (_, ctx) => {
      ctx.progress(1)
      ctx.signal.addEventListener('abort', () => onCancelled())
      await cancelled
    })
    await running({ server }, async ({ session, storage, reported }) => {
      const call = { name: 'run', _meta: { progressToken: 'p' } }
      expect(await postTo(session, post('tools/call', call))).toEqual({ stream: 1 })
      const relay = await open(session, 'stream=1')
      storage.sql.exec('DROP TABLE events')
      storage.sql.exec('DROP TABLE streams')
      expect(await session.end(Date.now() + week)).toBe(true)
      expect(await relay.closed).toBe(1000)
      await cancelled
      expect(valuesIn(storage)).toEqual(['ended'])
      expect(String(reported[0])).toContain('no such table')
    })
  })
})

describe('a session whose expiry fails once', () => {
  const expires = Date.now() + week
  /** Lets a session with a subscription expire, and the storage refuse to delete it. */
  async function failing(revive: boolean, use: (running: Running, registered: string[]) => Promise<void>) {
    const registered: string[] = []
    const shard = {
      subscribe: async (_: string, topics: string[]) => registered.push(...topics) > 0,
      unsubscribeAll: async () => registered.splice(0).length > 0,
    }
    const subscribing = {
      subscriptionsAt: () => shard as unknown as SubscriptionsRpc,
      options: { ...sessionSettings, revive },
    }
    await running(
      subscribing,
      async (parts) => {
        const { session, storage, name } = parts
        const stored = {
          schema: versionOf(migrations),
          id: { name, expires, since: Date.now() },
          lastSeenAt: 1,
          registration: { shard: 0 },
          stateObjects: ['board'],
        }
        for (const [key, value] of Object.entries(stored)) storage.kv.put(key, value)
        registered.push('resource:note://1')
        const deleting = revive
          ? vi.spyOn(storage, 'deleteAll').mockRejectedValueOnce(new Error('lost'))
          : vi.spyOn(storage, 'transactionSync').mockImplementationOnce(() => {
              throw new Error('lost')
            })
        try {
          await expect(session.alarm()).rejects.toThrow('lost')
          expect(registered).toEqual([])
          await use(parts, registered)
        } finally {
          deleting.mockRestore()
        }
      },
      subscribingParts,
    )
  }

  test('has ended without revive, and deletes the rest with the next request', async () => {
    await failing(false, async ({ session, storage }) => {
      expect(valuesIn(storage)).toContain('id')
      expect(await postTo(session, post('ping'))).toEqual({ gone: true })
      expect(valuesIn(storage)).toEqual(['ended'])
      expect(await storage.getAlarm()).toBe(expires)
      expect(await postTo(session, post('ping'))).toEqual({ gone: true })
    })
  })

  test('registers again for changes with its next stream', async () => {
    await failing(true, async ({ session }, registered) => {
      expect(await postTo(session, post('ping'))).toMatchObject({ status: 200 })
      expect((await open(session, '')).status).toBe(101)
      expect(registered).toContain('tools')
    })
  })
})

describe('a session whose object is lost while it ends', () => {
  /** Stores a session that is subscribed to changes, and has state. */
  async function subscribed(
    revive: boolean,
    host: Partial<SessionHost>,
    use: (running: Running, registered: string[], deleted: string[]) => Promise<void>,
  ) {
    const registered: string[] = []
    const deleted: string[] = []
    const shard = {
      subscribe: async (_: string, topics: string[]) => registered.push(...topics) > 0,
      unsubscribeAll: async () => registered.splice(0).length > 0,
    }
    const own: Partial<SessionHost> = {
      // Only what a session uses of them.
      subscriptionsAt: () => shard as unknown as SubscriptionsRpc,
      state: (name) => ({ deleteAll: async () => void deleted.push(name) }) as never,
      options: { ...sessionSettings, revive },
    }
    await running(
      { ...own, ...host },
      async (parts) => {
        expect(await postTo(parts.session, post('resources/subscribe', { uri: 'note://1' }))).toMatchObject({
          status: 200,
        })
        expect(registered).toContain('resource:note://1')
        parts.storage.kv.put('stateObjects', ['board'])
        await use(parts, registered, deleted)
      },
      subscribingParts,
    )
  }

  const server = createServer({ name: 'test', version: '1.0.0' })
  server.resource('note://1', { description: 'A note' }, () => 'a note')

  /** Returns a function that never completes, as of an instance that is lost, and a promise of its first call. */
  function lost() {
    const { promise: reached, resolve } = Promise.withResolvers<void>()
    const hang = () => {
      resolve()
      return new Promise<never>(() => {})
    }
    return { reached, hang }
  }

  test('expires before its next request, which registers it again for changes', async () => {
    await subscribed(true, { server }, async ({ next, storage }, registered, deleted) => {
      storage.kv.put('lastSeenAt', 1)
      const { reached, hang } = lost()
      void next({ state: () => ({ deleteAll: hang }) as never }).alarm()
      await reached
      expect(registered).toEqual([])
      const session = next()
      expect(await postTo(session, post('ping'))).toMatchObject({ status: 200 })
      expect(deleted).toEqual(['board'])
      expect(valuesIn(storage)).toEqual([])
      expect((await open(session, '')).status).toBe(101)
      expect(registered).toContain('tools')
    })
  })

  test('has ended without revive, because it has lost subscriptions', async () => {
    await subscribed(false, { server }, async ({ next, storage }) => {
      storage.kv.put('lastSeenAt', 1)
      storage.kv.delete('stateObjects')
      const { reached, hang } = lost()
      // As after another instance has deregistered the session.
      const shard = { unsubscribeAll: hang } as unknown as SubscriptionsRpc
      void next({ subscriptionsAt: () => shard }).alarm()
      await reached
      const gone = { unsubscribeAll: async () => false } as unknown as SubscriptionsRpc
      const session = next({ subscriptionsAt: () => gone })
      expect(await postTo(session, post('ping'))).toEqual({ gone: true })
      expect(valuesIn(storage)).toEqual(['ended'])
    })
  })

  test.each<[string, (session: Session) => Promise<unknown>, unknown]>([
    ['a request', (session) => postTo(session, post('ping')), { gone: true }],
    ['a DELETE', (session) => session.end(Date.now() + week), false],
    ['a stream', async (session) => (await open(session, '')).status, 404],
    ['an alarm', (session) => session.alarm(), undefined],
  ])('completes the DELETE at %s', async (_, request, answer) => {
    const ends: string[] = []
    const { reached, hang } = lost()
    const hooked = createServer({ name: 'test', version: '1.0.0' })
    hooked.resource('note://1', { description: 'A note' }, () => 'a note')
    // As `serve` does with the hooks of plugins.
    Object.assign(hooked.declarations, {
      hooks: { onSessionEnd: ({ reason }: { reason: string }) => void ends.push(reason) },
    })
    await subscribed(true, { server: hooked }, async ({ next, storage }, registered, deleted) => {
      storage.kv.put('owner', { client: { name: 'test', version: '1' } })
      void next({ at: () => ({ server: { declarations: { hooks: { onSessionEnd: hang } } } }) as never }).end(
        Date.now() + week,
      )
      await reached
      const session = next()
      expect(await request(session)).toEqual(answer)
      expect({ registered, deleted, ends }).toEqual({ registered: [], deleted: ['board'], ends: ['deleted'] })
      expect(valuesIn(storage)).toEqual(['ended'])
      expect(await postTo(session, post('ping'))).toEqual({ gone: true })
      expect(ends).toEqual(['deleted'])
    })
  })

  test('has its tombstone once its data is deleted', async () => {
    const name = crypto.randomUUID()
    // A stub whose object was lost stays broken.
    const stub = () => McpSession.getByName(name)
    expect(await postTo(stub(), post('logging/setLevel', { level: 'debug' }))).toMatchObject({ status: 200 })
    await runInDurableObject(stub(), (_, state) => {
      const setAlarm = state.storage.setAlarm.bind(state.storage)
      state.storage.setAlarm = async (time) => {
        await setAlarm(time)
        await state.storage.sync()
        state.abort('lost')
      }
    })
    const expires = Date.now() + week
    expect(await stub().end(expires).then(String, String)).toBe('Error: lost')
    expect(await postTo(stub(), post('ping'))).toEqual({ gone: true })
    expect(await alarmOf(stub())).toBe(expires)
  })
})

test('a session whose tombstone is refused gives its instance up', async () => {
  const stub = McpSession.getByName(crypto.randomUUID())
  expect(await postTo(stub, post('logging/setLevel', { level: 'debug' }))).toMatchObject({ status: 200 })
  await runInDurableObject(stub, (_, { storage: { kv } }) => {
    vi.spyOn(kv, 'put').mockImplementation(() => {
      throw new Error('full')
    })
  })
  expect(await stub.end(Date.now() + week).then(String, String)).toContain('The session cannot write to its storage')
})

describe('a session whose end is not stored', () => {
  const lost = async (fail: (state: DurableObjectState) => void) => {
    const name = crypto.randomUUID()
    const stub = () => McpSession.getByName(name)
    expect(await postTo(stub(), post('logging/setLevel', { level: 'debug' }))).toMatchObject({ status: 200 })
    await runInDurableObject(stub(), (_, state) => fail(state))
    expect(
      await stub()
        .end(Date.now() + week)
        .then(String, String),
    ).toContain('Error: ')
    // The instance may not have ended yet.
    await vi.waitFor(() => postTo(stub(), post('ping')))
    return stub()
  }
  test.each<[string, (state: DurableObjectState) => void]>([
    [
      'because its tombstone is refused',
      ({ storage: { kv } }) => {
        vi.spyOn(kv, 'put').mockImplementation(() => {
          throw new Error('full')
        })
      },
    ],
    [
      'because its object is lost in that turn',
      (state) => {
        const { kv } = state.storage
        const put = kv.put.bind(kv)
        vi.spyOn(kv, 'put').mockImplementation((key, value) => {
          put(key, value)
          if (key === 'ended') state.abort('lost')
        })
      },
    ],
  ])('keeps what it stored, and can be ended again: %s', async (_, fail) => {
    const stub = await lost(fail)
    await runInDurableObject(stub, (_, { storage }) => expect(valuesIn(storage)).toContain('logLevel'))
    const expires = Date.now() + week
    expect(await stub.end(expires)).toBe(true)
    expect(await postTo(stub, post('ping'))).toEqual({ gone: true })
    expect(await alarmOf(stub)).toBe(expires)
  })
})

test('a session whose stream has paused for a slow reader can be ended', async () => {
  const stub = McpSession.getByName(crypto.randomUUID())
  const _meta = { progressToken: 'p'.repeat(1000) }
  const call = post('tools/call', { name: 'progress', arguments: { steps: 900 }, _meta })
  expect(await postTo(stub, call)).toMatchObject({ stream: 1 })
  const paused = await stub.fetch(new Request(relayUrl('after=1.1'), { headers: { Upgrade: 'websocket' } }))
  expect(paused.status).toBe(101)
  paused.webSocket?.accept()
  expect(await stub.end(call.expires)).toBe(true)
  expect(await postTo(stub, post('ping'))).toEqual({ gone: true })
})

describe('a session that ends', () => {
  test('over HTTP+SSE while onInitialize runs stores nothing afterwards', async () => {
    const { promise: initialized, resolve: finish } = Promise.withResolvers<void>()
    const onInitialize = vi.fn(() => initialized)
    const server = createServer({ name: 'test', version: '1.0.0' })
    // As `serve` does with the hooks of plugins.
    Object.assign(server.declarations, { hooks: { onInitialize, onSessionEnd() {} } })
    await running({ server }, async ({ session, storage, sockets }) => {
      expect((await open(session, 'sse=1')).status).toBe(101)
      const hello = { protocolVersion: '2024-11-05', capabilities: {}, clientInfo: { name: 'test', version: '1' } }
      const posted = postTo(session, post('initialize', hello, { handshake: undefined }))
      await vi.waitFor(() => expect(onInitialize).toHaveBeenCalled())
      const [socket] = sockets()
      if (socket) await session.webSocketClose(socket, closeCode.clientGone)
      expect(valuesIn(storage)).toEqual([])
      finish()
      expect(await posted).toEqual({ gone: true })
      expect(valuesIn(storage)).toEqual([])
      expect(await storage.getAlarm()).toBeNull()
    })
  })

  test('while it subscribes to a resource stores nothing afterwards, and ends its registration', async () => {
    const registering = Promise.withResolvers<boolean>()
    const left: string[] = []
    const server = createServer({ name: 'test', version: '1.0.0' })
    server.resource('note://1', { description: 'A note', scopes: ['notes'] }, () => 'a note')
    const shard = {
      subscribe: () => registering.promise,
      unsubscribeAll: async (session: string) => left.push(session) > 0,
    }
    const subscribing = { server, subscriptionsAt: () => shard as unknown as SubscriptionsRpc }
    await running(
      subscribing,
      async ({ session, storage, name }) => {
        const principal = { issuer: 'i', subject: 's', scopes: ['notes'], claims: {} }
        const more = { principal }
        const posted = postTo(session, post('resources/subscribe', { uri: 'note://1' }, more))
        await vi.waitFor(() => expect(valuesIn(storage)).toContain('id'))
        expect(await session.end(Date.now() + week)).toBe(true)
        registering.resolve(true)
        expect(await posted).toEqual({ gone: true })
        await vi.waitFor(() => expect(left).toEqual([name]))
        await scheduler.wait(0)
        expect(valuesIn(storage)).toEqual(['ended'])
      },
      subscribingParts,
    )
  })
})

describe('a session over HTTP+SSE acknowledges', () => {
  const hello = { protocolVersion: '2024-11-05', capabilities: {}, clientInfo: { name: 'test', version: '1' } }
  const waits = async (work: Promise<unknown>) =>
    (await Promise.race([work.then(() => 'acknowledged'), scheduler.wait(0)])) === undefined
  const eventsIn = ({ sql }: DurableObjectStorage) =>
    sql
      .exec<{ data: string }>('SELECT data FROM events')
      .toArray()
      .map(({ data }) => JSON.parse(data))

  test('initialize once its response is stored, and can be initialized after a failure', async () => {
    const initialized = Promise.withResolvers<void>()
    const offered = Promise.withResolvers<object>()
    const capabilities = vi.fn(() => offered.promise).mockRejectedValueOnce(new Error('Not yet'))
    const server = createServer({ name: 'test', version: '1.0.0' })
    // As `serve` does with those of plugins.
    Object.assign(server.declarations, { hooks: { onInitialize: () => initialized.promise }, capabilities })
    await running({ server }, async ({ session, storage }) => {
      await open(session, 'sse=1')
      const initialize = () => postTo(session, post('initialize', hello, { handshake: undefined }))
      const failed = initialize()
      expect(await waits(failed)).toBe(true)
      initialized.resolve()
      expect(await failed).toEqual({ status: 202 })
      const succeeded = initialize()
      expect(await waits(succeeded)).toBe(true)
      expect(storage.kv.get('handshake')).toBeNull()
      offered.resolve({})
      expect(await succeeded).toEqual({ status: 202 })
      expect(eventsIn(storage)).toMatchObject([{ error: {} }, { result: { serverInfo: { name: 'test' } } }])
      expect(storage.kv.get('handshake')).toMatchObject({ version: '2024-11-05' })
    })
  })

  test('a ping once it was counted and its response is stored', async () => {
    let counting = Promise.withResolvers<() => void>()
    await running({ countRoundOf: () => () => counting.promise }, async ({ session, storage }) => {
      // In the context of the object, where its limits count.
      counting = Promise.withResolvers()
      await open(session, 'sse=1')
      const posted = postTo(session, post('ping', {}, { handshake: undefined, caller: 'ada' }))
      expect(await waits(posted)).toBe(true)
      counting.resolve(() => {})
      expect(await posted).toEqual({ status: 202 })
      expect(eventsIn(storage)).toEqual([{ jsonrpc: '2.0', id: 1, result: {} }])
    })
  })
})

async function open(session: Session, query: string) {
  const url = relayUrl(`relay=one&${query}`)
  const { status, webSocket } = await session.fetch(new Request(url, { headers: { Upgrade: 'websocket' } }))
  const closed = new Promise<number>((resolve) => {
    webSocket?.addEventListener('close', ({ code }) => resolve(code))
  })
  webSocket?.accept()
  return { status, closed }
}
