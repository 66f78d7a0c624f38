import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test'
import { exports } from 'cloudflare:workers'
import { type Store, state } from 'edgemcp/state'
import { expect, test, vi } from 'vitest'
import type { StateRpc } from '../../worker/declarations/state.ts'

type Stub = DurableObjectStub & StateRpc
const namespace = (exports as unknown as { McpState: { getByName(name: string): Stub } }).McpState
const fresh = () => namespace.getByName(crypto.randomUUID())
const day = 24 * 60 * 60_000

const operations = (store: Store<Record<string, unknown>>) => ({
  add(name: string, count: number) {
    store.sql('INSERT INTO things (name, count) VALUES (?, ?)', name, count)
    return store.sql<{ name: string; count: number }>('SELECT name, count FROM things ORDER BY name')
  },
  all: () => store.sql('SELECT name FROM things'),
  drop: () => store.sql('DROP INDEX by_count'),
  change: (count: number) => store.sql('UPDATE things SET count = ?', count),
  put: (key: string, value: unknown) => store.put(key, value),
  get: (key: string) => store.get(key),
  delete: (key: string) => store.delete(key),
  entries: () => store.entries(),
  fail() {
    store.put('half', 'done')
    throw new RangeError('No further')
  },
  async wait() {
    store.put('half', 'done')
  },
  strange() {
    store.put('half', 'done')
    return () => 'a function'
  },
})
const tables = ['CREATE TABLE things (name TEXT, count INTEGER)', 'CREATE INDEX by_count ON things (count)']
state('test_kept', { per: 'user', ttl: Number.POSITIVE_INFINITY, tables }, operations)
state('test_day', { per: 'user', ttl: day, tables }, operations)
// 24 does not divide it into whole milliseconds: see `last-use.ts`.
state('test_uneven', { per: 'user', ttl: day + 10, tables }, operations)
state('test_long', { per: 'user', ttl: 48 * day, tables }, operations)
state('test_handle', { per: 'handle', ttl: day, tables }, operations)

const run = async (stub: Stub, name: string, operation: string, ...args: unknown[]) =>
  stub.run({ state: name, operation, args, expires: undefined })
const until = (stub: Stub, expires: number, operation: string, ...args: unknown[]) =>
  stub.run({ state: 'test_handle', operation, args, expires })

/** Everything that is stored. */
const stored = (stub: Stub) =>
  runInDurableObject(stub, async (_, { storage }) => ({
    tables: storage.sql
      .exec<{ name: string }>(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '\\_cf\\_%' ESCAPE '\\'",
      )
      .toArray()
      .map(({ name }) => name),
    keys: [...storage.kv.list()].flatMap(([key]) => (key === 'schema' ? [] : [key])),
    alarm: await storage.getAlarm(),
  }))
const nothing = { tables: [], keys: [], alarm: null }

test('reading a state stores no data', async () => {
  for (const name of ['test_kept', 'test_day', 'test_handle']) {
    const stub = fresh()
    expect(await run(stub, name, 'all')).toEqual({ value: [] })
    expect(await run(stub, name, 'get', 'a')).toEqual({ value: undefined })
    expect(await run(stub, name, 'delete', 'a')).toEqual({ value: false })
    expect(await run(stub, name, 'change', 1)).toEqual({ value: [] })
    expect(await run(stub, name, 'entries')).toEqual({ value: [] })
    expect(await stored(stub), name).toEqual(nothing)
  }
})

test('values and rows survive an eviction', async () => {
  const stub = fresh()
  const value = { list: [1, 'two'], at: new Date(0), bytes: new Uint8Array([1, 2]) }
  await run(stub, 'test_kept', 'put', 'b', value)
  await run(stub, 'test_kept', 'put', 'a', 1)
  await run(stub, 'test_kept', 'add', 'x', 1)
  await evictDurableObject(stub)
  expect(await run(stub, 'test_kept', 'entries')).toEqual({
    value: [
      ['a', 1],
      ['b', value],
    ],
  })
  expect(await run(stub, 'test_kept', 'add', 'w', 2)).toEqual({
    value: [
      { name: 'w', count: 2 },
      { name: 'x', count: 1 },
    ],
  })
  expect(await run(stub, 'test_kept', 'delete', 'a')).toEqual({ value: true })
  expect(await run(stub, 'test_kept', 'get', 'a')).toEqual({ value: undefined })
  expect((await stored(stub)).alarm).toBeNull()
})

test.each([
  ['fail', 'No further'],
  [
    'wait',
    'The operation "wait" of the state "test_kept" returned a promise, and a transaction cannot wait: await before you call it',
  ],
  ['strange', 'could not be cloned'],
  ['toString', 'The state "test_kept" no longer has the operation "toString"'],
])('the operation %s is rolled back', async (operation, message) => {
  const stub = fresh()
  const said = { thrown: { message: expect.stringContaining(message) } }
  expect(await run(stub, 'test_kept', operation)).toMatchObject(said)
  expect(await stored(stub)).toEqual(nothing)
  await run(stub, 'test_kept', 'put', 'a', 1)
  expect(await run(stub, 'test_kept', operation)).toMatchObject(said)
  expect(await run(stub, 'test_kept', 'entries')).toEqual({ value: [['a', 1]] })
})

test('a change of tables persists in every type of state', async () => {
  for (const name of ['test_kept', 'test_day']) {
    const stub = fresh()
    await run(stub, name, 'add', 'x', 1)
    expect(await run(stub, name, 'drop')).toEqual({ value: [] })
    expect(await run(stub, name, 'drop')).toMatchObject({
      thrown: { message: expect.stringContaining('no such index') },
    })
  }
})

test('an undeclared state is an error', async () => {
  expect(await run(fresh(), 'test_gone', 'get', 'a')).toMatchObject({
    thrown: { message: 'This Worker no longer declares the state "test_gone"' },
  })
})

test('table statements of a later release run once, on existing data', async () => {
  const stub = fresh()
  await run(stub, 'test_kept', 'add', 'x', 1)
  await runInDurableObject(stub, (_, { storage }) => {
    storage.sql.exec('DROP INDEX by_count')
    storage.kv.put('tables', 1)
  })
  for (let turn = 0; turn < 2; turn++) await run(stub, 'test_kept', 'put', 'turn', turn)
  expect(await run(stub, 'test_kept', 'all')).toEqual({ value: [{ name: 'x' }] })
  await runInDurableObject(stub, (_, { storage }) => {
    expect(storage.sql.exec("SELECT name FROM sqlite_master WHERE name = 'by_count'").toArray()).toHaveLength(1)
  })
})

test('a state expires when it is unused for its ttl, and not when it is used', async () => {
  const stub = fresh()
  await run(stub, 'test_day', 'add', 'x', 1)
  const { alarm } = await stored(stub)
  expect(alarm).toBeGreaterThan(Date.now() + day - 60_000)
  const lapsesIn = (milliseconds: number) =>
    runInDurableObject(stub, (_, { storage }) =>
      storage.kv.put('used', { state: 'test_day', at: Date.now() - day + milliseconds, ttl: day }),
    )
  // Reading is using: it moves the end on, but the alarm only when it fires.
  await lapsesIn(day / 2)
  expect(await run(stub, 'test_day', 'all')).toEqual({ value: [{ name: 'x' }] })
  expect((await stored(stub)).alarm).toBe(alarm)
  expect(await runDurableObjectAlarm(stub)).toBe(true)
  expect((await stored(stub)).alarm).toBeGreaterThan(Date.now() + day - 60_000)
  // The last use may have been an hour after the stored one.
  await lapsesIn(-day / 24 - 1)
  expect(await runDurableObjectAlarm(stub)).toBe(true)
  expect(await stored(stub)).toEqual(nothing)
  expect(await run(stub, 'test_day', 'all')).toEqual({ value: [] })
  expect(await stored(stub)).toEqual(nothing)
})

test('a state does not expire within its ttl of a use that was not stored', async () => {
  const stub = fresh()
  await run(stub, 'test_day', 'put', 'a', 1)
  const usedAt = Date.now() + day / 25
  vi.useFakeTimers({ toFake: ['Date'], now: usedAt })
  try {
    await run(stub, 'test_day', 'get', 'a')
    vi.setSystemTime(usedAt + day - 1000)
    expect(await runDurableObjectAlarm(stub)).toBe(true)
    expect(await run(stub, 'test_day', 'get', 'a')).toEqual({ value: 1 })
  } finally {
    vi.useRealTimers()
  }
})

/** Runs a function at times that it sets. */
async function atTimes(use: (at: (milliseconds: number) => void) => Promise<void>): Promise<void> {
  const start = Date.now()
  vi.useFakeTimers({ toFake: ['Date'], now: start })
  try {
    await use((milliseconds) => vi.setSystemTime(start + milliseconds))
  } finally {
    vi.useRealTimers()
  }
}

test('a state that is only read does not expire after a release has added a table statement', () =>
  atTimes(async (at) => {
    const stub = fresh()
    await run(stub, 'test_day', 'put', 'a', 1)
    await runInDurableObject(stub, (_, { storage }) => {
      storage.sql.exec('DROP INDEX by_count')
      storage.kv.put('tables', 1)
    })
    for (const days of [0.5, 1, 1.5, 2]) {
      at(days * day)
      expect(await run(stub, 'test_day', 'get', 'a'), `day ${days}`).toEqual({ value: 1 })
    }
  }))

test('a state whose operations throw does not expire', () =>
  atTimes(async (at) => {
    const stub = fresh()
    await run(stub, 'test_day', 'put', 'a', 1)
    for (const days of [0.5, 1, 1.5, 2]) {
      at(days * day)
      expect(await run(stub, 'test_day', 'fail')).toMatchObject({ thrown: { message: 'No further' } })
    }
    expect(await run(stub, 'test_day', 'entries')).toEqual({ value: [['a', 1]] })
  }))

test('a state does not expire within a shortened ttl of a use that was not stored under the longer one', () =>
  atTimes(async (at) => {
    const stub = fresh()
    await run(stub, 'test_long', 'put', 'a', 1)
    at(1.9 * day)
    await run(stub, 'test_long', 'get', 'a')
    // The object reads the `ttl` of the declaration that this name has after a deployment.
    await runInDurableObject(stub, (_, { storage: { kv } }) =>
      kv.put('used', { ...kv.get<object>('used'), state: 'test_day' }),
    )
    at(2.8 * day)
    expect(await runDurableObjectAlarm(stub)).toBe(true)
    expect(await run(stub, 'test_day', 'get', 'a')).toEqual({ value: 1 })
    // From now on, the short one holds alone.
    at(2.8 * day + day + day / 23)
    expect(await run(stub, 'test_day', 'get', 'a')).toEqual({ value: undefined })
  }))

test('a state that never expired expires after a release has given it a ttl, although it is only read', () =>
  atTimes(async (at) => {
    const stub = fresh()
    await run(stub, 'test_kept', 'put', 'a', 1)
    at(5 * day)
    expect(await run(stub, 'test_day', 'get', 'a')).toEqual({ value: 1 })
    expect((await stored(stub)).alarm).toBeGreaterThan(Date.now() + day - 1000)
    at(6 * day + day / 23)
    expect(await run(stub, 'test_day', 'get', 'a')).toEqual({ value: undefined })
    expect(await stored(stub)).toEqual(nothing)
  }))

test('a use of a state without ttl counts after a later release has given it one', () =>
  atTimes(async (at) => {
    const stub = fresh()
    await run(stub, 'test_day', 'put', 'a', 1)
    await runInDurableObject(stub, (_, { storage: { kv } }) =>
      kv.put('used', { ...kv.get<object>('used'), state: 'test_kept' }),
    )
    at(9 * day)
    expect(await run(stub, 'test_kept', 'get', 'a')).toEqual({ value: 1 })
    await runInDurableObject(stub, (_, { storage: { kv } }) => {
      const used = kv.get<object>('used')
      if (used) kv.put('used', { ...used, state: 'test_day' })
    })
    expect(await run(stub, 'test_day', 'get', 'a')).toEqual({ value: 1 })
  }))

test('a state whose alarm comes before a fraction of a millisecond is over has another alarm', () =>
  atTimes(async (at) => {
    const stub = fresh()
    await run(stub, 'test_uneven', 'put', 'a', 1)
    const { alarm } = await stored(stub)
    at(Number(alarm) - Date.now())
    expect(await runDurableObjectAlarm(stub)).toBe(true)
    expect((await stored(stub)).alarm).toBeGreaterThan(Number(alarm))
  }))

test('a state has expired after its ttl, even if its alarm is late', async () => {
  const stub = fresh()
  await run(stub, 'test_day', 'add', 'x', 1)
  await runInDurableObject(stub, (_, { storage }) =>
    storage.kv.put('used', { state: 'test_day', at: Date.now() - day - day / 24 - 1, ttl: day }),
  )
  expect(await run(stub, 'test_day', 'all')).toEqual({ value: [] })
  expect(await stored(stub)).toEqual(nothing)
})

test('the ttl of the current declaration applies', async () => {
  const used = (state: string, ttl: number) => async () => {
    const stub = fresh()
    await run(stub, 'test_day', 'put', 'a', 1)
    await runInDurableObject(stub, (_, { storage }) =>
      storage.kv.put('used', { state, at: Date.now() - 2 * 60 * 60_000, ttl }),
    )
    expect(await runDurableObjectAlarm(stub)).toBe(true)
    const { keys, alarm } = await stored(stub)
    return { isKept: keys.includes('of:a'), isWatched: alarm !== null }
  }
  const hour = 60 * 60_000
  // Two hours after its last use, an hour was what it was declared with then.
  expect(await used('test_day', hour)()).toEqual({ isKept: true, isWatched: true })
  expect(await used('test_kept', hour)()).toEqual({ isKept: true, isWatched: false })
  // Nobody declares it any more: what was said then counts.
  expect(await used('test_gone', hour)()).toEqual({ isKept: false, isWatched: false })
  expect(await used('test_gone', day)()).toEqual({ isKept: true, isWatched: true })
})

test('a shortened ttl applies after the next use of the state', async () => {
  const stub = fresh()
  await run(stub, 'test_day', 'put', 'a', 1)
  await runInDurableObject(stub, async (_, { storage }) => {
    storage.kv.put('used', { state: 'test_day', at: Date.now(), ttl: 365 * day })
    await storage.setAlarm(Date.now() + 365 * day)
  })
  await run(stub, 'test_day', 'get', 'a')
  expect((await stored(stub)).alarm).toBeLessThanOrEqual(Date.now() + day + day / 24)
})

test('a handle whose deletion is lost is known, with its data', async () => {
  const expires = Date.now() + day
  const name = crypto.randomUUID()
  const stub = () => namespace.getByName(name)
  await until(stub(), expires, 'add', 'x', 1)
  await runInDurableObject(stub(), (_, state) => {
    const { kv } = state.storage
    const put = kv.put.bind(kv)
    vi.spyOn(kv, 'put').mockImplementation((key, value) => {
      put(key, value)
      if (key === 'ended') state.abort('lost')
    })
  })
  expect(await stub().deleteAll(expires).then(String, String)).toContain('lost')
  // The instance may not have ended yet.
  await vi.waitFor(async () => expect(await until(stub(), expires, 'all')).toEqual({ value: [{ name: 'x' }] }))
  await stub().deleteAll(expires)
  expect(await until(stub(), expires, 'all')).toEqual({ gone: true })
})

test('a handle is unknown after its expiry or deletion, and no data is left', async () => {
  const expires = Date.now() + day
  const [lapsing, forgotten] = [fresh(), fresh()]
  for (const stub of [lapsing, forgotten]) {
    expect(await until(stub, expires, 'add', 'x', 1)).toMatchObject({ value: [{ name: 'x' }] })
    expect((await stored(stub)).alarm).toBe(expires)
  }
  expect(await until(lapsing, Date.now() - 1, 'all')).toEqual({ gone: true })
  await runInDurableObject(lapsing, (_, { storage }) => storage.kv.put('lapses', Date.now() - 1))
  expect(await runDurableObjectAlarm(lapsing)).toBe(true)
  expect(await stored(lapsing)).toEqual(nothing)

  await forgotten.deleteAll(expires)
  expect(await until(forgotten, expires, 'add', 'x', 1)).toEqual({ gone: true })
  expect(await stored(forgotten)).toEqual({ tables: [], keys: ['ended'], alarm: expires })
  await runInDurableObject(forgotten, (_, { storage }) => storage.kv.put('ended', Date.now() - 1))
  expect(await runDurableObjectAlarm(forgotten)).toBe(true)
  expect(await stored(forgotten)).toEqual(nothing)
})
