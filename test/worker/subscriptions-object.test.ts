import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test'
import { exports } from 'cloudflare:workers'
import { createServer } from 'edgemcp'
import { subscriptions as plugin } from 'edgemcp/subscriptions'
import { describe, expect, type Mock, test, vi } from 'vitest'
import {
  type SubscriptionsHost,
  SubscriptionsObject,
  subscriberKeyHeader,
  topicsHeader,
} from '../../durable-objects/subscriptions/object.ts'
import type { SubscriptionsRpc } from '../../durable-objects/subscriptions/rpc.ts'
import type { Changes } from '../../worker/declarations/change-hub.ts'
import type { Declarations } from '../../worker/declarations/declarations.ts'
import { draftOf } from '../../worker/declarations/declarations.ts'
import type { Runtime } from '../../worker/plugin.ts'
import { type Change, subscriberKey, topicOf, topicsFor } from '../../worker/protocol/changes.ts'
import { readRelayMessage } from '../../worker/protocol/relay-messages.ts'

type Stub = DurableObjectStub & SubscriptionsRpc
const namespace = (exports as unknown as { McpSubscriptions: { getByName(name: string): Stub } }).McpSubscriptions
const newShard = () => namespace.getByName(crypto.randomUUID())

const tools: Change = { list: 'tools' }
const note = (id: number | string): Change => ({ resource: `note://${id}` })
const publish = (stub: Stub, change: Change, scope = {}) => stub.publish(change, [topicOf(change, scope)])

type Feed = { status: number; heard: { id: number; change: Change }[]; lastId: string | null; socket: WebSocket | null }

async function listen(
  stub: Stub,
  topics: string[],
  query: Record<string, string> = {},
  subscriber?: string,
): Promise<Feed> {
  const asking = {
    Upgrade: 'websocket',
    [topicsHeader]: JSON.stringify(topics),
    ...(subscriber && { [subscriberKeyHeader]: subscriber }),
  }
  const request = new Request(`https://subscriptions/listen?${new URLSearchParams({ most: '100', ...query })}`, {
    headers: asking,
  })
  const { webSocket, status, headers } = await stub.fetch(request)
  const heard: Feed['heard'] = []
  webSocket?.addEventListener('message', ({ data }) => {
    const { id, payload = '' } = readRelayMessage(data) ?? {}
    if (payload) heard.push({ id: Number(id), change: JSON.parse(payload) })
  })
  webSocket?.accept()
  return { status, heard, lastId: headers.get('Last-Event-ID'), socket: webSocket }
}

const changes = ({ heard }: Feed) => heard.map(({ change }) => change)
const hears = (relay: Feed, expected: Change[]) => vi.waitFor(() => expect(changes(relay)).toEqual(expected))
const rowsOf = (stub: Stub, table: string) =>
  runInDurableObject(stub, (_, { storage: { sql } }) => sql.exec(`SELECT * FROM ${table}`).toArray())
const aged = (stub: Stub) =>
  runInDurableObject(stub, (_, { storage: { sql } }) => void sql.exec('UPDATE changes SET at = at - 3600000'))

describe('a subscriber', () => {
  test('gets the changes of its filter, also after hibernation', async () => {
    const stub = newShard()
    const [lists, first] = [await listen(stub, ['tools']), await listen(stub, ['resource:note://1', 'prompts'])]
    await publish(stub, tools)
    await evictDurableObject(stub, { webSockets: 'hibernate' })
    for (const change of [note(1), note(2), { list: 'resources' }, { list: 'prompts' }] as Change[]) {
      await publish(stub, change)
    }
    await hears(first, [note(1), { list: 'prompts' }])
    await publish(stub, tools)
    await hears(lists, [tools, tools])
  })

  test('gets a change once, however many of its topics match', async () => {
    const stub = newShard()
    const relay = await listen(stub, ['resource:note://1', 'resource:note://{id}', 'tools'])
    await stub.publish(note(1), ['resource:note://1', 'resource:note://{id}'])
    await publish(stub, tools)
    await hears(relay, [note(1), tools])
  })

  test('gets repeated changes coalesced', async () => {
    const stub = newShard()
    const relay = await listen(stub, ['resource:note://1', 'resource:note://2'])
    for (let turn = 0; turn < 20; turn++) await publish(stub, note(1))
    await publish(stub, note(2))
    await hears(relay, [note(1), note(2), note(1)])
    const ids = relay.heard.map(({ id }) => id)
    expect(ids).toEqual([...ids].sort((one, other) => one - other))
    await publish(stub, tools)
    await evictDurableObject(stub, { webSockets: 'hibernate' })
    await publish(stub, note(1))
    await hears(relay, [note(1), note(2), note(1), note(1)])
  })

  test.each(['a later change', 'a new stream', 'an alarm'])(
    'gets a coalesced change whose write was refused, once, after %s',
    async (cause) => {
      const stub = newShard()
      const relay = await listen(stub, ['resource:note://1', 'resource:note://2'])
      const refused = Promise.withResolvers<void>()
      await runInDurableObject<SubscriptionsObject, void>(stub, async (instance, { storage: { sql } }) => {
        // At one time, so that the second one is coalesced however busy the machine is.
        const clock = vi.spyOn(Date, 'now').mockReturnValue(Date.now())
        const first = instance.publish(note(1), ['resource:note://1'])
        sql.exec("CREATE TRIGGER full BEFORE UPDATE ON changes BEGIN SELECT RAISE(ABORT, 'full'); END")
        await Promise.all([first, instance.publish(note(1), ['resource:note://1'])])
        clock.mockRestore()
      })
      setTimeout(refused.resolve, 150)
      await refused.promise
      expect(changes(relay)).toEqual([note(1)])
      // An alarm that was set for something else does not replace the one that is due.
      expect(await runDurableObjectAlarm(stub)).toBe(true)
      await runInDurableObject(stub, (_, { storage: { sql } }) => void sql.exec('DROP TRIGGER full'))
      const later = cause === 'a later change' ? [note(2)] : []
      for (const change of later) await publish(stub, change)
      if (cause === 'a new stream') await listen(stub, ['tools'])
      if (cause === 'an alarm') expect(await runDurableObjectAlarm(stub)).toBe(true)
      await hears(relay, [note(1), note(1), ...later])
      const ids = relay.heard.map(({ id }) => id)
      expect(ids).toEqual([...new Set(ids)].sort((one, other) => one - other))
      expect(await rowsOf(stub, 'changes')).not.toContainEqual(expect.objectContaining({ at: null }))
    },
  )

  test('that reconnects gets missed changes once', async () => {
    const stub = newShard()
    const before = await listen(stub, ['tools', 'resource:note://1'])
    await publish(stub, note(1))
    await hears(before, [note(1)])
    before.socket?.close(1000)
    await evictDurableObject(stub, { webSockets: 'close' })
    await publish(stub, note(1))
    await publish(stub, note(2))
    await publish(stub, tools)
    const after = await listen(stub, ['tools', 'resource:note://1'], { after: String(before.heard[0]?.id) })
    await hears(after, [note(1), tools])
    const next = await listen(stub, ['tools'], { after: String(after.lastId) })
    await publish(stub, note(1))
    await hears(after, [note(1), tools, note(1)])
    expect(changes(next)).toEqual([])
  })

  describe('whose stream ended at its maximum age', () => {
    const topics = ['resource:note://1', 'resource:note://2']
    const [ada, nobody] = [{ listener: 'ada' }, { listener: '' }]
    /** Ends a stream that has received all changes up to a number. */
    const endAtMaximumAge = ({ socket }: Feed, position: number | string | null | undefined) =>
      socket?.close(4005, String(position))

    test('gets missed changes when it listens again', async () => {
      const stub = newShard()
      const first = await listen(stub, topics, ada)
      const other = await listen(stub, ['resource:note://3'], ada)
      await publish(stub, note(1))
      await hears(first, [note(1)])
      endAtMaximumAge(first, first.heard[0]?.id)
      endAtMaximumAge(other, 0)
      await publish(stub, note(2))
      const again = await listen(stub, topics, ada)
      await hears(again, [note(2)])
      const stranger = await listen(stub, ['resource:note://3', 'resource:note://2'], ada)
      await publish(stub, tools)
      await publish(stub, note(3))
      await hears(stranger, [note(3)])
    })

    test.each([
      ['of a caller', ada],
      ['without a caller', nobody],
    ])('gets them %s, however many equal streams open before', async (_, listener) => {
      const stub = newShard()
      const first = await listen(stub, topics, listener)
      endAtMaximumAge(first, first.lastId)
      await publish(stub, note(2))
      const opened = [await listen(stub, topics, listener), await listen(stub, topics, listener)]
      const again = await listen(stub, topics.toReversed(), listener)
      for (const feed of [...opened, again]) await hears(feed, [note(2)])
    })

    test.each([
      ['of a caller', ada],
      ['without a caller', nobody],
    ])('gets them %s when it listens again before the end of its stream has arrived', async (_, listener) => {
      const stub = newShard()
      const first = await listen(stub, topics, listener)
      const other = await listen(stub, ['resource:note://1'], listener)
      await publish(stub, note(1))
      await publish(stub, note(3))
      await hears(first, [note(1)])
      const again = await listen(stub, topics.toReversed(), listener)
      await publish(stub, note(2))
      await hears(again, [note(2)])
      endAtMaximumAge(first, first.lastId)
      await hears(again, [note(2), note(1)])
      endAtMaximumAge(other, other.heard[0]?.id)
      await publish(stub, note(2))
      await hears(again, [note(2), note(1), note(2)])
    })

    test('gets them when an equal stream ends after it', async () => {
      const stub = newShard()
      const [first, second] = [await listen(stub, topics, ada), await listen(stub, topics, ada)]
      endAtMaximumAge(first, first.lastId)
      await publish(stub, note(1))
      await hears(second, [note(1)])
      endAtMaximumAge(second, second.heard[0]?.id)
      await publish(stub, note(2))
      for (const feed of [await listen(stub, topics, ada), await listen(stub, topics, ada)]) {
        await hears(feed, [note(1), note(2)])
      }
    })

    test('gets them when the object was evicted meanwhile', async () => {
      const stub = newShard()
      const first = await listen(stub, topics, ada)
      endAtMaximumAge(first, first.lastId)
      await publish(stub, note(2))
      await evictDurableObject(stub, { webSockets: 'close' })
      await hears(await listen(stub, topics, ada), [note(2)])
    })

    test('gets them when its next socket is lost before it has received them', async () => {
      const stub = newShard()
      const first = await listen(stub, topics, ada)
      endAtMaximumAge(first, first.lastId)
      await publish(stub, note(2))
      const { lastId } = await listen(stub, topics, ada)
      await hears(await listen(stub, topics, { ...ada, after: String(lastId) }), [note(2)])
    })

    test('gets each once when the stream after it has ended as well', async () => {
      const stub = newShard()
      const first = await listen(stub, topics, ada)
      endAtMaximumAge(first, first.lastId)
      await publish(stub, note(1))
      vi.useFakeTimers({ toFake: ['Date'] })
      try {
        vi.setSystemTime(Date.now() + 1000)
        const second = await listen(stub, topics, ada)
        await hears(second, [note(1)])
        endAtMaximumAge(second, second.heard[0]?.id)
        await publish(stub, note(2))
        await hears(await listen(stub, topics, ada), [note(2)])
      } finally {
        vi.useRealTimers()
      }
    })

    test('gets them when an equal stream that has reconnected ends after it', async () => {
      const stub = newShard()
      const [first, second] = [await listen(stub, topics, ada), await listen(stub, topics, ada)]
      endAtMaximumAge(first, first.lastId)
      await publish(stub, note(1))
      await hears(second, [note(1)])
      vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 1000 })
      try {
        const last = second.heard[0]?.id
        endAtMaximumAge(await listen(stub, topics, { ...ada, after: String(last) }), last)
        await publish(stub, note(2))
        await hears(await listen(stub, topics, ada), [note(1), note(2)])
      } finally {
        vi.useRealTimers()
      }
    })

    test('gets them when there was no stream for a moment long before', async () => {
      const stub = newShard()
      const first = await listen(stub, topics, ada)
      endAtMaximumAge(first, first.lastId)
      await publish(stub, note(1))
      const second = await listen(stub, topics, ada)
      await hears(second, [note(1)])
      vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 3_600_000 })
      try {
        endAtMaximumAge(second, second.heard[0]?.id)
        await publish(stub, note(2))
        await hears(await listen(stub, topics, ada), [note(2)])
      } finally {
        vi.useRealTimers()
      }
    })

    test('is followed by equal streams without old changes half a minute later', async () => {
      const stub = newShard()
      const first = await listen(stub, topics, ada)
      endAtMaximumAge(first, first.lastId)
      await publish(stub, note(1))
      vi.useFakeTimers({ toFake: ['Date'] })
      try {
        vi.setSystemTime(Date.now() + 29_000)
        await hears(await listen(stub, topics, ada), [note(1)])
        vi.setSystemTime(Date.now() + 2_000)
        const late = await listen(stub, topics, ada)
        await publish(stub, note(2))
        await hears(late, [note(2)])
        await runDurableObjectAlarm(stub)
        expect(await rowsOf(stub, 'agedStreams')).toEqual([])
      } finally {
        vi.useRealTimers()
      }
    })
  })

  test('that reconnects too late is notified of a gap', async () => {
    const stub = newShard()
    const before = await listen(stub, ['tools'])
    await publish(stub, tools)
    await publish(stub, note(1))
    await aged(stub)
    await runDurableObjectAlarm(stub)
    expect(await rowsOf(stub, 'changes')).toHaveLength(1)
    expect((await listen(stub, ['tools'], { after: String(before.lastId) })).status).toBe(410)
    expect((await listen(stub, ['tools'], { after: '2' })).status).toBe(101)
    expect((await listen(stub, ['tools'], { after: '99' })).status).toBe(410)
  })

  test('that reconnects after a long time without subscribers is notified of a gap once', async () => {
    const stub = newShard()
    const before = await listen(stub, ['tools'])
    before.socket?.close(1000)
    await evictDurableObject(stub, { webSockets: 'close' })
    vi.useFakeTimers({ toFake: ['Date'] })
    try {
      await publish(stub, tools)
      vi.setSystemTime(Date.now() + 3_600_000)
      await publish(stub, tools)
    } finally {
      vi.useRealTimers()
    }
    expect((await listen(stub, ['tools'], { after: String(before.lastId) })).status).toBe(410)
    const later = await listen(stub, ['tools'])
    expect((await listen(stub, ['tools'], { after: String(later.lastId) })).status).toBe(101)
  })

  test('gets undelivered changes after its object was lost', async () => {
    const name = crypto.randomUUID()
    const relay = await listen(namespace.getByName(name), ['resource:note://1', 'tools'])
    const lost = runInDurableObject(namespace.getByName(name), async (instance, state) => {
      const object = instance as unknown as SubscriptionsRpc
      for (const change of [note(1), note(1), tools]) await object.publish(change, [topicOf(change)])
      await state.storage.sync()
      state.abort('lost')
    })
    await expect(lost).rejects.toThrow('lost')
    await hears(relay, [note(1), tools])
    const after = await listen(namespace.getByName(name), ['resource:note://1', 'tools'], {
      after: String(relay.heard.at(-1)?.id),
    })
    await hears(after, [note(1)])
  })

  test('above the limit is refused, until another one disconnects', async () => {
    const stub = newShard()
    const relays = await Promise.all(Array.from({ length: 100 }, () => listen(stub, ['tools'], { listener: 'ada' })))
    expect(relays.every(({ status }) => status === 101)).toBe(true)
    expect((await listen(stub, ['tools'], { listener: 'ada' })).status).toBe(429)
    expect((await listen(stub, ['tools'], { listener: 'bob' })).status).toBe(101)
    relays[0]?.socket?.close(1000)
    await vi.waitFor(async () => expect((await listen(stub, ['tools'], { listener: 'ada' })).status).toBe(101))
  })
})

test('a deployment that changes lists is published to streams that reconnect, once', async () => {
  const stub = newShard()
  const changed = vi.fn(async () => true)
  const hostOf = (lists: string) =>
    ({
      options: { storageBytes: 1e9, listeners: 10 },
      session: () => ({ changed }),
      lists: () => lists,
      report: vi.fn(),
    }) as unknown as SubscriptionsHost
  const requestAfter = (after: string) =>
    new Request(`https://subscriptions/listen?after=${after}`, {
      headers: { Upgrade: 'websocket', [topicsHeader]: '["tools","prompts"]' },
    })
  /** Opens a stream at an instance of a version, and returns what it receives at once. */
  async function open(state: DurableObjectState, lists: string, after: string) {
    const instance = new SubscriptionsObject(state, {} as never, hostOf(lists))
    await instance.subscribe('session', ['tools'])
    const reconnect = async (lastId: string) => {
      const { webSocket, headers } = await instance.fetch(requestAfter(lastId))
      const received: unknown[] = []
      webSocket?.addEventListener('message', ({ data }) => {
        received.push(JSON.parse(readRelayMessage(data)?.payload ?? ''))
      })
      webSocket?.accept()
      return { received, lastId: headers.get('Last-Event-ID') ?? '' }
    }
    return { first: await reconnect(after), reconnect }
  }
  await runInDurableObject(stub, async (_, state) => {
    const before = await open(state, 'a b c', '')
    const next = await open(state, 'A b C', before.first.lastId)
    const second = await next.reconnect(before.first.lastId)
    for (const { received } of [next.first, second]) {
      await vi.waitFor(() => expect(received).toEqual([tools]))
    }
    const fresh = await next.reconnect('')
    const again = await open(state, 'A b C', second.lastId)
    await again.reconnect(second.lastId)
    expect([before.first, fresh, again.first].map(({ received }) => received)).toEqual([[tools], [], []])
    expect(changed).not.toHaveBeenCalled()
  })
})

/** Lets the storage of an object refuse one write of a value. */
function refuseOnce({ storage: { kv } }: DurableObjectState, refused: string): void {
  const put: typeof kv.put = (key, value) => {
    if (key !== refused) return Object.getPrototypeOf(kv).put.call(kv, key, value)
    Reflect.deleteProperty(kv, 'put')
    throw new Error('database or disk is full')
  }
  Object.assign(kv, { put })
}

test.each(['the lists', 'the change'])(
  'a deployment that changes lists is published when the storage has refused %s before',
  (refused) =>
    runInDurableObject(newShard(), async (_, state) => {
      const { sql } = state.storage
      const instance = (lists: string) => {
        const options = { storageBytes: 1e9, listeners: 10 }
        return new SubscriptionsObject(
          state,
          {} as never,
          { options, lists: () => lists } as unknown as SubscriptionsHost,
        )
      }
      const request = () =>
        new Request('https://subscriptions/listen', { headers: { Upgrade: 'websocket', [topicsHeader]: '["tools"]' } })
      const published = () => sql.exec('SELECT DISTINCT change FROM changes').toArray()
      await instance('a b c').fetch(request())
      await instance('a b c').publish({ list: 'prompts' }, ['prompts'])
      const next = instance('A b c')
      if (refused === 'the lists') refuseOnce(state, 'listeners')
      else sql.exec("CREATE TRIGGER full BEFORE INSERT ON changes BEGIN SELECT RAISE(ABORT, 'full'); END")
      await expect(next.fetch(request())).rejects.toThrow('full')
      sql.exec('DROP TRIGGER IF EXISTS full')
      expect((await next.fetch(request())).status).toBe(101)
      expect(published()).toEqual([{ change: '{"list":"prompts"}' }, { change: '{"list":"tools"}' }])
      expect(state.storage.kv.get('listeners')).toBe('A b c')
    }),
)

test('a stream whose first write the storage refuses opens no socket', () =>
  runInDurableObject(newShard(), async (_, state) => {
    const options = { storageBytes: 1e9, listeners: 10 }
    const instance = new SubscriptionsObject(state, {} as never, { options } as unknown as SubscriptionsHost)
    const headers = { Upgrade: 'websocket', [topicsHeader]: '["tools"]' }
    const open = () => instance.fetch(new Request('https://subscriptions/listen', { headers }))
    refuseOnce(state, 'listeners')
    await expect(open()).rejects.toThrow('full')
    expect(state.getWebSockets()).toEqual([])
    expect((await open()).status).toBe(101)
    expect(state.getWebSockets()).toHaveLength(1)
  }))

describe('a change', () => {
  test('without subscribers is not stored', async () => {
    const stub = newShard()
    await publish(stub, tools)
    const tables = await runInDurableObject(stub, (_, { storage: { sql } }) =>
      sql.exec("SELECT name FROM sqlite_master WHERE name = 'changes'").toArray(),
    )
    expect(tables).toEqual([])
  })

  test('for one tenant reaches only that tenant', async () => {
    const stub = newShard()
    const issuer = 'https://one.example'
    const topics = (tenant: string) => topicsFor([tools], { issuer, tenant })
    const acme = await listen(stub, topics('acme'))
    const other = await listen(stub, topics('other'))
    const nobody = await listen(stub, ['tools'])
    await publish(stub, tools, { issuer, tenant: 'acme' })
    await publish(stub, tools)
    await hears(acme, [tools, tools])
    await hears(other, [tools])
    await hears(nobody, [tools])
  })

  test('for a user is sent after hibernation, and to a listener that reconnects', async () => {
    const stub = newShard()
    const user = { issuer: 'https://one.example', tenant: 'acme', subject: 'ada' }
    const keys = [{ ...user, client: 'phone' }, user, { ...user, subject: 'bob' }].map(subscriberKey)
    const [phone, anyClient, bob] = await Promise.all(
      keys.map((subscriber) => listen(stub, ['tools', 'prompts'], {}, subscriber)),
    )
    if (!phone || !anyClient || !bob) throw new Error('Three listeners')
    await evictDurableObject(stub, { webSockets: 'hibernate' })
    await publish(stub, tools, { user })
    await publish(stub, { list: 'prompts' }, { user, client: 'phone' })
    await publish(stub, note(1), { user })
    await hears(phone, [tools, { list: 'prompts' }])
    await hears(anyClient, [tools])
    expect(bob.heard).toEqual([])
    const later = await Promise.all(
      keys.map((subscriber) => listen(stub, ['tools', 'prompts'], { after: String(phone.lastId) }, subscriber)),
    )
    const missed = [[tools, { list: 'prompts' }], [tools], []] as Change[][]
    for (const [index, feed] of later.entries()) await hears(feed, missed[index] ?? [])
  })

  test('reaches subscribers of every shard, once the first shard knows them', async () => {
    const [hub, ...shards] = [
      'subscriptions 0',
      'subscriptions 1',
      'subscriptions 16',
      'subscriptions 17',
      'subscriptions 40',
    ].map((name) => namespace.getByName(name)) as [Stub, ...Stub[]]
    const topic = `resource:${crypto.randomUUID()}`
    const relays = await Promise.all(shards.map((shard) => listen(shard, [topic])))
    const change = { resource: topic.slice('resource:'.length) }
    await publish(hub, change)
    for (const relay of relays) await hears(relay, [change])
    expect(await runInDurableObject(hub, (_, { storage }) => storage.kv.get('shards'))).toBe(41)
  })
})

test('delivered changes are deleted, however long ago the last alarm was set', async () => {
  const stub = newShard()
  await listen(stub, ['tools', 'resource:note://1', 'resource:note://2'])
  for (const change of [tools, note(1), note(2)]) await publish(stub, change)
  await runInDurableObject(
    stub,
    (_, { storage: { sql } }) => void sql.exec('UPDATE changes SET at = at - 600000 WHERE seq = 1'),
  )
  await runDurableObjectAlarm(stub)
  expect(await rowsOf(stub, 'changes')).toHaveLength(2)
  await aged(stub)
  expect(await runDurableObjectAlarm(stub)).toBe(true)
  expect(await rowsOf(stub, 'changes')).toHaveLength(1)
  expect(await runDurableObjectAlarm(stub)).toBe(false)
})

test('delivered changes are stored until it is stored that they are deleted', async () => {
  const stub = newShard()
  await listen(stub, ['tools', 'resource:note://1'])
  for (const change of [tools, note(1)]) await publish(stub, change)
  await aged(stub)
  await runInDurableObject(stub, async (instance, state) => {
    refuseOnce(state, 'pruned')
    await expect(Promise.resolve(instance.alarm?.())).rejects.toThrow('full')
  })
  expect(await rowsOf(stub, 'changes')).toHaveLength(2)
  expect(await runDurableObjectAlarm(stub)).toBe(true)
  expect(await rowsOf(stub, 'changes')).toHaveLength(1)
})

describe('sessions', () => {
  test('that have ended are removed', async () => {
    const stub = newShard()
    await stub.subscribe('a session that never was', ['resource:note://1'])
    expect(await rowsOf(stub, 'subscriptions')).toHaveLength(1)
    await publish(stub, note(1))
    await vi.waitFor(async () => expect(await rowsOf(stub, 'subscriptions')).toEqual([]))
  })

  test('that subscribe while a change is undelivered get it', async () => {
    const stub = newShard()
    await listen(stub, ['resource:note://1'])
    await publish(stub, note(1))
    await publish(stub, note(1))
    await stub.subscribe('a session that never was', ['resource:note://1'])
    await publish(stub, note(1))
    await vi.waitFor(async () => expect(await rowsOf(stub, 'subscriptions')).toEqual([]))
  })

  test('of any number are notified, by alarms if necessary', async () => {
    const stub = newShard()
    const names = Array.from({ length: 501 }, (_, index) => `${crypto.randomUUID()}-${index}`)
    for (const name of names) await stub.subscribe(name, ['tools'])
    await publish(stub, tools)
    // None of them ever was, so each that is told is forgotten.
    for (let turn = 0; turn < 2; turn++) {
      await vi.waitFor(async () => {
        await runDurableObjectAlarm(stub)
        expect((await rowsOf(stub, 'subscriptions')).length).toBeLessThanOrEqual(Math.max(0, 501 - 500 * (turn + 1)))
      })
    }
    await vi.waitFor(async () =>
      expect((await rowsOf(stub, 'changes')).map(({ deliveredTo }) => deliveredTo)).toEqual([null]),
    )
  })
})

describe('a session that cannot be called', () => {
  type Call = (change: Change) => Promise<boolean>

  /** An object with the sessions `absent` and `present`, and a clock of its own. Calls of `absent` do what a test says. */
  const withSessions = (use: (scene: Scene) => Promise<void>) =>
    runInDurableObject(newShard(), async (_, state) => {
      const unavailable: Call = async () => {
        throw new Error('unavailable')
      }
      const calls = { absent: vi.fn(unavailable), present: vi.fn<Call>(async () => true) }
      const missed = vi.fn(async (_: readonly string[]) => true)
      const report = vi.fn()
      const session = (address: keyof typeof calls) => ({ changed: calls[address], missed })
      const host = { options: { storageBytes: 1e9 }, session, report } as unknown as SubscriptionsHost
      const instance = () => new SubscriptionsObject(state, {} as never, host)
      // The runtime does not run the alarms of another year.
      const now = Date.now() + 365 * 86_400_000
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'], now })
      try {
        const object = instance()
        for (const name of Object.keys(calls))
          await object.subscribe(name, ['tools', ...[1, 2, 3].map((id) => topicOf(note(id)))])
        const told = (name: keyof typeof calls) => calls[name].mock.calls.map(([change]) => change)
        const parked = () => state.storage.sql.exec('SELECT session FROM parkedSessions').toArray()
        const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms)
        /** The time of the alarm comes. */
        const alarm = async (by = object) => {
          const due = (await state.storage.getAlarm()) ?? Number.NaN
          const pauseMs = due - Date.now()
          await state.storage.deleteAlarm()
          await pass(Math.max(0, pauseMs))
          await by.alarm()
          await pass(100)
          return pauseMs
        }
        await use({ object, instance, told, parked, pass, alarm, report, missed, absent: calls.absent, state })
      } finally {
        vi.useRealTimers()
      }
    })
  type Scene = {
    object: SubscriptionsObject
    instance(): SubscriptionsObject
    told(name: 'absent' | 'present'): Change[]
    parked(): unknown[]
    pass(ms: number): Promise<unknown>
    alarm(by?: SubscriptionsObject): Promise<number>
    report: Mock
    missed: Mock<(uris: readonly string[]) => Promise<boolean>>
    absent: Mock<Call>
    state: DurableObjectState
  }
  const publishAt = (object: SubscriptionsObject, change: Change) => object.publish(change, [topicOf(change)])

  test('gets each change once it can be called, in order, also after its Subscriptions object was lost', () =>
    withSessions(async ({ object, instance, told, parked, pass, alarm, report, absent }) => {
      await publishAt(object, note(1))
      await pass(100)
      expect([absent.mock.calls.length, report.mock.calls]).toEqual([2, [[new Error('unavailable')]]])
      await publishAt(object, note(2))
      await pass(100)
      expect([told('present'), absent.mock.calls.length, parked().length]).toEqual([[note(1), note(2)], 2, 1])
      absent.mockResolvedValue(true)
      absent.mockClear()
      await alarm(instance())
      expect([told('absent'), parked()]).toEqual([[note(1), note(2)], []])
      await publishAt(object, note(3))
      await pass(100)
      expect(told('absent')).toEqual([note(1), note(2), note(3)])
    }))

  test.each(['while it is called', 'while it is called again'])(
    'that ends, and subscribes %s, gets what is published afterwards',
    (when) =>
      withSessions(async ({ object, told, parked, pass, alarm, absent }) => {
        const isAgain = when === 'while it is called again'
        const lastLife = Promise.withResolvers<boolean>()
        if (!isAgain) absent.mockReturnValueOnce(lastLife.promise)
        await publishAt(object, note(1))
        await pass(100)
        if (isAgain) {
          absent.mockReturnValueOnce(lastLife.promise)
          await alarm()
        }
        absent.mockResolvedValue(true)
        await object.subscribe('absent', ['tools'])
        await publishAt(object, tools)
        await pass(100)
        absent.mockClear()
        lastLife.resolve(false)
        await pass(100)
        expect([told('absent'), parked()]).toEqual([[tools], []])
      }),
  )

  test('is called after pauses that grow to ten minutes, and is removed when its id has expired', () =>
    withSessions(async ({ object, parked, pass, alarm, state, report }) => {
      await publishAt(object, tools)
      await pass(100)
      await state.storage.setAlarm(Date.now() + 1000)
      const age = (days: number) =>
        state.storage.sql.exec('UPDATE parkedSessions SET since = since - ? * 86400000', days)
      const pauses = [await alarm(), await alarm(), await alarm(), await alarm()]
      expect(pauses.map((ms) => Math.round(ms / 1000))).toEqual([1, 1, 2, 4])
      age(1)
      await alarm()
      expect(await alarm()).toBeGreaterThan(590_000)
      age(6)
      await alarm()
      expect(parked()).toEqual([])
      expect(state.storage.sql.exec("SELECT 1 FROM subscriptions WHERE session = 'absent'").toArray()).toEqual([])
      expect(report).toHaveBeenCalledTimes(1)
    }))

  test('does not delay the others, and receives a change once if it was only slow', () =>
    withSessions(async ({ object, told, pass, alarm, report, absent }) => {
      const slow = Promise.withResolvers<boolean>()
      absent.mockReturnValue(slow.promise)
      await publishAt(object, note(1))
      await pass(5_000)
      expect(report).toHaveBeenCalledWith(new Error('The session absent did not answer a change notification'))
      for (const change of [note(2), note(3), tools]) await publishAt(object, change)
      await pass(0)
      expect(told('present')).toEqual([note(1), note(2), note(3), tools])
      expect(told('absent')).toEqual([note(1)])
      await alarm()
      const [first, second] = absent.mock.calls.map((args: unknown[]) => args[3])
      expect([first, second]).toEqual([expect.stringMatching(/ 1$/), first])
    }))

  test('delays no change of the others until its time is over', () =>
    withSessions(async ({ object, told, parked, pass, absent, state }) => {
      absent.mockReturnValue(new Promise(() => {}))
      const published = [note(1), note(2), note(3), tools]
      for (const change of published) await publishAt(object, change)
      await pass(0)
      expect([told('present'), told('absent')]).toEqual([published, [note(1)]])
      const undelivered = () => state.storage.sql.exec('SELECT 1 FROM changes WHERE deliveredTo IS NOT NULL').toArray()
      expect(undelivered()).toHaveLength(4)
      await pass(5_000)
      expect([parked().length, undelivered()]).toEqual([1, []])
    }))

  test('does not keep the changes before from being deleted', () =>
    withSessions(async ({ object, pass, absent, state }) => {
      absent.mockResolvedValue(true)
      await publishAt(object, note(1))
      await pass(100)
      state.storage.sql.exec('UPDATE changes SET at = at - 3600000')
      absent.mockReturnValue(new Promise(() => {}))
      await publishAt(object, note(2))
      await object.alarm()
      expect(state.storage.sql.exec('SELECT seq FROM changes').toArray()).toEqual([{ seq: 2 }])
      expect(await state.storage.getAlarm()).toBeLessThan(Date.now() + 60_000)
    }))

  test('has a bounded number of changes in memory, and receives those after them in order', () =>
    withSessions(async ({ object, told, pass, alarm, absent, state }) => {
      const slow = Promise.withResolvers<boolean>()
      absent.mockReturnValue(slow.promise)
      const published = Array.from({ length: 300 }, (_, id) => note(id))
      const topics = published.map((change) => topicOf(change))
      for (const name of ['absent', 'present']) await object.subscribe(name, topics)
      for (const change of published) await publishAt(object, change)
      await pass(0)
      expect(told('present')).toEqual(published)
      expect(state.storage.sql.exec('SELECT 1 FROM changes WHERE deliveredTo IS NOT NULL').toArray()).toHaveLength(256)
      await alarm()
      expect(told('absent')).toEqual(published.slice(0, 1))
      slow.resolve(true)
      await pass(0)
      expect(told('absent')).toEqual(published.slice(0, 256))
      await alarm()
      expect(told('absent')).toEqual(published)
    }))

  test.each(['it fails', 'its Subscriptions object is lost'])(
    'receives all changes that it missed when %s while its queue is full',
    (cause) =>
      withSessions(async ({ object, instance, told, parked, pass, alarm, absent }) => {
        absent.mockReturnValue(new Promise(() => {}))
        const published = Array.from({ length: 300 }, (_, id) => note(id))
        const topics = published.map((change) => topicOf(change))
        await object.subscribe('absent', topics)
        for (const change of published) await publishAt(object, change)
        await pass(cause === 'it fails' ? 5_000 : 0)
        absent.mockClear()
        absent.mockResolvedValue(true)
        await alarm(cause === 'it fails' ? object : instance())
        expect([told('absent'), parked()]).toEqual([published, []])
      }),
  )

  test('is notified that everything may have changed when a change was not delivered for too long', () =>
    withSessions(async ({ object, instance, told, parked, pass, alarm, missed, absent, state }) => {
      absent.mockReturnValue(new Promise(() => {}))
      await publishAt(object, note(1))
      await pass(0)
      state.storage.sql.exec('UPDATE changes SET at = at - 3600000')
      absent.mockClear()
      const next = instance()
      await next.publish(note(2), [topicOf(note(2))])
      await pass(100)
      await alarm(next)
      await alarm(next)
      expect(missed).toHaveBeenCalledTimes(2)
      expect([told('absent'), parked()]).toEqual([[], []])
      expect(state.storage.sql.exec('SELECT seq FROM changes').toArray()).toEqual([{ seq: 2 }])
    }))

  test('is notified once that everything may have changed if it was only slow', () =>
    withSessions(async ({ object, pass, alarm, missed, absent, state, parked }) => {
      await publishAt(object, note(1))
      await pass(100)
      await publishAt(object, tools)
      await pass(100)
      state.storage.sql.exec('UPDATE changes SET at = at - 3600000')
      missed.mockReturnValueOnce(new Promise(() => {}))
      absent.mockResolvedValue(true)
      await alarm()
      await pass(5_000)
      await publishAt(object, note(2))
      await alarm()
      const [first, second] = missed.mock.calls.map((args: unknown[]) => args[1])
      expect([first, second]).toEqual([expect.stringMatching(/ to 2$/), first])
      expect(absent).toHaveBeenLastCalledWith(note(2), undefined, undefined, expect.stringMatching(/ 3$/))
      expect(parked()).toEqual([])
    }))

  test('is notified that everything may have changed when the changes were deleted', () =>
    withSessions(async ({ object, told, parked, pass, alarm, missed, absent, state }) => {
      for (const change of [note(1), tools]) {
        await publishAt(object, change)
        await pass(100)
      }
      state.storage.sql.exec('UPDATE changes SET at = at - 3600000')
      await alarm()
      absent.mockResolvedValue(true)
      absent.mockClear()
      await alarm()
      const uris = ['note://1', 'note://2', 'note://3']
      expect(missed.mock.calls).toEqual([[uris, expect.stringMatching(/ to 2$/)]])
      expect([told('absent'), parked()]).toEqual([[], []])
    }))
})

test('sessions that can be called again receive their changes in turns, between which other events run', () =>
  runInDurableObject(newShard(), async (_, state) => {
    // The runtime does not run the alarms of another year.
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'], now: Date.now() + 365 * 86_400_000 })
    try {
      const parked = Array.from({ length: 40 }, (_, index) => `session ${index}`)
      const received = new Map<string, Change[]>(parked.map((name) => [name, []]))
      let isAvailable = false
      const session = (address: string) => ({
        changed: async (change: Change) => {
          if (address === 'hanging') return new Promise(() => {})
          if (!isAvailable) throw new Error('unavailable')
          received.get(address)?.push(change)
          return true
        },
      })
      const host = { options: { storageBytes: 1e9 }, session, report: () => {} } as unknown as SubscriptionsHost
      const first = new SubscriptionsObject(state, {} as never, host)
      const published = Array.from({ length: 300 }, (_, id) => note(id))
      for (const name of ['hanging', ...parked])
        await first.subscribe(
          name,
          published.map((change) => topicOf(change)),
        )
      for (const change of published) await first.publish(change, [topicOf(change)])
      await vi.advanceTimersByTimeAsync(10_000)
      isAvailable = true
      const next = new SubscriptionsObject(state, {} as never, host)
      const exec = vi.spyOn(state.storage.sql, 'exec')
      const rowsRead = () => exec.mock.results.reduce((sum, { value }) => sum + value.rowsRead, 0)
      await next.alarm()
      const turns = [rowsRead()]
      const isComplete = () => [...received.values()].every(({ length }) => length === 300)
      for (let before = rowsRead(); !isComplete() && turns.length < 1_000; before = rowsRead()) {
        await vi.advanceTimersToNextTimerAsync()
        turns.push(rowsRead() - before)
      }
      exec.mockRestore()
      expect(Math.max(...turns)).toBeLessThan(2_000)
      expect([...received.values()]).toEqual(parked.map(() => published))
    } finally {
      vi.useRealTimers()
    }
  }))

test('a session receives the changes that were published while it answered, in order, within one more answer', () =>
  runInDurableObject(newShard(), async (_, state) => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'], now: Date.now() + 365 * 86_400_000 })
    try {
      const received: unknown[] = []
      const changed = async (change: Change) => {
        received.push(change)
        await new Promise((resolve) => setTimeout(resolve, 100))
        return true
      }
      const host = { options: { storageBytes: 1e9 }, session: () => ({ changed }) } as unknown as SubscriptionsHost
      const instance = new SubscriptionsObject(state, {} as never, host)
      const published = Array.from({ length: 20 }, (_, id) => note(id))
      await instance.subscribe(
        'distant',
        published.map((change) => topicOf(change)),
      )
      for (const change of published) await instance.publish(change, [topicOf(change)])
      await vi.advanceTimersByTimeAsync(200)
      expect(received).toEqual(published)
      expect(state.storage.sql.exec('SELECT 1 FROM changes WHERE deliveredTo IS NOT NULL').toArray()).toEqual([])
    } finally {
      vi.useRealTimers()
    }
  }))

test('sessions that were called are not called again when the object is lost before it has called all of them', () =>
  runInDurableObject(newShard(), async (_, state) => {
    const called = vi.fn((_: string) => true)
    const session = (address: string) => ({ changed: async () => called(address) })
    const host = { options: { storageBytes: 1e9 }, session } as unknown as SubscriptionsHost
    const instance = () => new SubscriptionsObject(state, {} as never, host)
    const names = Array.from({ length: 700 }, (_, index) => `session ${String(index).padStart(3, '0')}`)
    const first = instance()
    for (const name of names) await first.subscribe(name, ['tools'])
    // The runtime does not run the alarm, so that the next instance continues.
    const setAlarm = vi.spyOn(state.storage, 'setAlarm').mockResolvedValue()
    await first.publish(tools, ['tools'])
    const deliveredTo = () => state.storage.sql.exec('SELECT deliveredTo FROM changes').one().deliveredTo
    await vi.waitFor(() => expect(deliveredTo()).toBe('session 499'))
    expect(setAlarm.mock.calls.some(([due]) => Number(due) <= Date.now())).toBe(true)
    await instance().alarm()
    await vi.waitFor(() => expect(called.mock.calls.map(([name]) => name)).toEqual(names))
  }))

const ada = { issuer: 'https://issuer.example', subject: 'ada' }
test.each<[string, Change, string[], string?]>([
  ['a list', tools, ['tools']],
  ['a resource of two topics', note(1), ['resource:note://1', 'resource:note://{id}']],
  ['a list for a user', tools, [topicOf(tools, { user: ada })], subscriberKey(ada)],
])('a change of %s reads as many rows for each session, however many there are', (_, change, topics, key) =>
  runInDurableObject(newShard(), async (_, state) => {
    const { sql } = state.storage
    const changed = vi.fn(async () => true)
    const host = { options: { storageBytes: 1e9 }, session: () => ({ changed }) } as unknown as SubscriptionsHost
    let count = 0
    /** Adds sessions. Returns how many rows a change reads that all of them receive. */
    const rowsReadWith = async (sessions: number) => {
      const instance = new SubscriptionsObject(state, {} as never, host)
      for (; count < sessions; count++) await instance.subscribe(`session ${count}`, key ? ['tools', key] : topics)
      changed.mockClear()
      const exec = vi.spyOn(sql, 'exec')
      try {
        await instance.publish(change, topics)
        await vi.waitFor(() => {
          expect(changed).toHaveBeenCalledTimes(sessions)
          expect(state.storage.sql.exec('SELECT 1 FROM changes WHERE deliveredTo IS NOT NULL').toArray()).toEqual([])
        })
        return exec.mock.results.reduce((sum, { value }) => sum + value.rowsRead, 0)
      } finally {
        exec.mockRestore()
      }
    }
    const [few, many] = [await rowsReadWith(200), await rowsReadWith(400)]
    expect(many).toBeLessThan(few * 2.1)
  }),
)

test('500 sessions that answer slowly do not keep a change from another one', () =>
  runInDurableObject(newShard(), async (_, state) => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'], now: Date.now() + 365 * 86_400_000 })
    try {
      const answer = (seconds: number) => () =>
        new Promise<boolean>((resolve) => setTimeout(resolve, seconds * 1000, true))
      const [slow, quick] = [vi.fn(answer(4)), vi.fn<(change: Change) => Promise<boolean>>(async () => true)]
      const host = {
        options: { storageBytes: 1e9 },
        report() {},
        session: (name: string) => ({ changed: name === 'the last' ? quick : slow }),
      }
      const instance = new SubscriptionsObject(state, {} as never, host as unknown as SubscriptionsHost)
      for (let index = 0; index < 500; index++) await instance.subscribe(`slow ${index}`, ['tools'])
      await instance.subscribe('the last', ['tools', topicOf(note(1))])
      for (let second = 0; second < 20; second++) {
        await instance.publish(tools, ['tools'])
        if (second === 5) await instance.publish(note(1), [topicOf(note(1))])
        await vi.advanceTimersByTimeAsync(1000)
        if (Number(await state.storage.getAlarm()) <= Date.now()) await instance.alarm()
      }
      expect(quick.mock.calls.map(([change]) => change)).toContainEqual(note(1))
      await state.storage.deleteAlarm()
    } finally {
      vi.useRealTimers()
    }
  }))

test('a session whose object is lost during delivery is notified again', async () => {
  await runInDurableObject(newShard(), async (_, state) => {
    const changed = vi.fn(async () => true)
    changed.mockRejectedValueOnce(new Error('lost'))
    const host = { options: { storageBytes: 1e9 }, session: () => ({ changed }) } as unknown as SubscriptionsHost
    const instance = new SubscriptionsObject(state, {} as never, host)
    await instance.subscribe('unlucky', ['tools'])
    await instance.publish(tools, ['tools'])
    await vi.waitFor(() => expect(changed).toHaveBeenCalledTimes(2))
  })
})

test.each([
  ['has ended', false, []],
  ['has ended, and was revived meanwhile', true, ['prompts', 'tools']],
])('a session that %s is removed with its earlier subscriptions only', async (_, isRevived, topics) => {
  await runInDurableObject(newShard(), async (_, state) => {
    const changed = vi.fn(async () => {
      if (isRevived) await instance.subscribe('idle', ['prompts'])
      return false
    })
    const host = { options: { storageBytes: 1e9 }, session: () => ({ changed }) } as unknown as SubscriptionsHost
    const instance = new SubscriptionsObject(state, {} as never, host)
    await instance.subscribe('idle', ['tools'])
    await instance.publish(tools, ['tools'])
    await vi.waitFor(() =>
      expect(state.storage.sql.exec('SELECT deliveredTo FROM changes').toArray()).toEqual([{ deliveredTo: null }]),
    )
    const rows = state.storage.sql.exec<{ topic: string }>('SELECT topic FROM subscriptions ORDER BY topic').toArray()
    expect(rows.map(({ topic }) => topic)).toEqual(topics)
  })
})

test('an alarm during a delivery sets another alarm', async () => {
  await runInDurableObject(newShard(), async (_, state) => {
    const told = Promise.withResolvers<boolean>()
    // Only what one object with one session uses.
    const host = {
      options: { storageBytes: 1e9 },
      session: () => ({ changed: () => told.promise }),
      report: () => {},
    } as unknown as SubscriptionsHost
    const instance = new SubscriptionsObject(state, {} as never, host)
    await instance.subscribe('slow', ['tools'])
    await instance.publish(tools, ['tools'])
    // The alarm that publishing has set fires.
    await state.storage.deleteAlarm()
    await instance.alarm()
    expect(await state.storage.getAlarm()).toBeGreaterThan(Date.now())
    told.resolve(true)
  })
})

/** The changes that `subscriptions()` provides to an endpoint. @param object makes the first object of its class */
function changesOf(declarations: Declarations, object: () => object): Changes {
  const runtime = { declarations, object } as unknown as Runtime
  return plugin().provide?.(runtime).changes as Changes
}

describe('an entry that is enabled while an object with subscribers is unavailable', () => {
  /** The first of two objects: publishing to the second one fails as often as this says. */
  const withFailures = (failures: number, use: (turned: Turned) => Promise<void>) =>
    runInDurableObject(newShard(), async (_, state) => {
      const publish = vi.fn<SubscriptionsRpc['publish']>(async () => {})
      for (let failure = 0; failure < failures; failure++) publish.mockRejectedValueOnce(new Error('out of reach'))
      const host = {
        options: {},
        shardAt: () => ({ publish }),
        report: () => {},
      } as unknown as SubscriptionsHost
      state.storage.kv.put('shards', 2)
      const instance = () => new SubscriptionsObject(state, {} as never, host)
      const { declarations } = createServer({ name: 'turned', version: '1.0.0' })
      const changes = changesOf(declarations, instance)
      await use({
        publish,
        instance,
        enable: () => changes.setEnabled('tools', 'hammer', true),
        storage: state.storage,
      })
    })
  type Turned = {
    publish: Mock<SubscriptionsRpc['publish']>
    instance(): SubscriptionsObject
    enable(): Promise<void>
    storage: DurableObjectStorage
  }

  test('is announced when enable() is called again', () =>
    withFailures(1, async ({ enable, publish }) => {
      await expect(enable()).rejects.toThrow('out of reach')
      await enable()
      expect(publish).toHaveBeenCalledTimes(2)
      expect(publish).toHaveBeenLastCalledWith(tools, ['tools'], 2)
      await enable()
      expect(publish).toHaveBeenCalledTimes(2)
    }))

  test('is announced by an alarm, also of another instance', () =>
    withFailures(2, async ({ enable, publish, instance, storage }) => {
      await expect(enable()).rejects.toThrow('out of reach')
      for (const calls of [2, 3]) {
        expect(await storage.getAlarm()).toBeLessThan(Date.now() + 60_000)
        await storage.deleteAlarm()
        await instance().alarm()
        expect(publish).toHaveBeenCalledTimes(calls)
      }
      await instance().alarm()
      expect(publish).toHaveBeenCalledTimes(3)
    }))
})

test.each(['enabledOverrides', 'unannounced'])(
  'an entry is enabled and announced when enable() is called again after the storage has refused %s',
  (refused) =>
    runInDurableObject(newShard(), async (_, state) => {
      const host = { options: { storageBytes: 1e9, listeners: 10 } } as unknown as SubscriptionsHost
      const instance = new SubscriptionsObject(state, {} as never, host)
      const publish = vi.spyOn(instance, 'publish').mockResolvedValue()
      refuseOnce(state, refused)
      const enable = () => instance.setEnabled('tools hammer', true, tools, ['tools'])
      await expect(enable()).rejects.toThrow('full')
      await enable()
      expect(publish).toHaveBeenCalledWith(tools, ['tools'])
      expect(await instance.enabledOverrides()).toEqual({ 'tools hammer': true })
    }),
)

test('a server publishes to the objects of each of its endpoints, once for each class', async () => {
  const server = createServer({ name: 'served-twice', version: '1.0.0' })
  const { changes } = draftOf(server)
  const shards = ['McpSubscriptions', 'OtherSubscriptions', 'OtherSubscriptions'].map((className) => {
    const publish = vi.fn<SubscriptionsRpc['publish']>(async () => {})
    const setEnabled = vi.fn<SubscriptionsRpc['setEnabled']>(async () => {})
    changes.connect(
      className,
      changesOf(server.declarations, () => ({ id: className, publish, setEnabled })),
    )
    return { publish, setEnabled }
  })
  await changes.publish({ list: 'tools' })
  await changes.setEnabled('tools', 'hammer', true)
  expect(shards.map(({ publish, setEnabled }) => [publish.mock.calls.length, setEnabled.mock.calls.length])).toEqual([
    [1, 1],
    [0, 0],
    [1, 1],
  ])
})
