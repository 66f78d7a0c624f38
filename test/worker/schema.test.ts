import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test'
import { exports } from 'cloudflare:workers'
import { describe, expect, test } from 'vitest'
import type { SessionRpc } from '../../durable-objects/session/rpc.ts'
import { defaultLogBounds, EventLog } from '../../durable-objects/shared/event-log.ts'
import { Schema, versionOf } from '../../durable-objects/shared/schema.ts'
import { migrations, migrationsOf } from '../../durable-objects/store/migrations.ts'
import type { StoreRpc } from '../../durable-objects/store/rpc.ts'
import { readRelayMessage } from '../../worker/protocol/relay-messages.ts'
import { post, postOf, postTo, relayUrl, week } from './session-post.ts'

type Stub = DurableObjectStub & SessionRpc & StoreRpc
const namespace = (exports as unknown as { McpSession: { getByName(name: string): Stub } }).McpSession

/** The version of what this release stores of a session. */
const current = versionOf(migrations.session)

/** What a session of schema version 1 has stored that waits for an answer. Not to be changed: later releases must read it. */
const version1 = {
  values: (name: string, now: number) => ({
    schema: 1,
    id: { name, expires: now + week, since: now },
    lastSeenAt: now,
    logLevel: 'info',
  }),
  statements: [
    'CREATE TABLE streams (id INTEGER PRIMARY KEY AUTOINCREMENT, unanswered INTEGER, at INTEGER, scopes TEXT, droppedNotification INTEGER, droppedMessage INTEGER)',
    'CREATE TABLE events (stream INTEGER, seq INTEGER, data TEXT, total INTEGER, call INTEGER, said INTEGER, scoped INTEGER, isMessage INTEGER, messages INTEGER, messageTotal INTEGER, PRIMARY KEY (stream, seq)) WITHOUT ROWID',
    'CREATE TABLE calls (id INTEGER PRIMARY KEY AUTOINCREMENT, request TEXT, call TEXT, due INTEGER)',
    'CREATE TABLE questions (id INTEGER PRIMARY KEY AUTOINCREMENT, call INTEGER, key TEXT)',
    'INSERT INTO streams (id, unanswered) VALUES (1, 1)',
    `INSERT INTO events VALUES (1, 1, '{"jsonrpc":"2.0","id":"ask-1","method":"elicitation/create","params":{"mode":"form","message":"What is your name?","requestedSchema":{"type":"object","properties":{"name":{"type":"string","minLength":1}},"required":["name"]}}}', 207, NULL, NULL, NULL, 1, 1, 207)`,
    `INSERT INTO calls VALUES (1, '1', '{"request":{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask_name","arguments":{}}},"stream":1,"journal":MEMO,"handshake":{"version":"2025-11-25","capabilities":{"elicitation":{}},"client":{"name":"test","version":"1"}},"session":"sealed","isPersonal":false,"repeats":0}', 4102444800000)`,
    "INSERT INTO questions VALUES (1, 1, 'name')",
  ],
}

/**
 * What a session of schema version 1 has stored of streams that lost their oldest notifications. Not to be changed: later releases must
 * read it.
 */
const version1Streams = {
  values: version1.values,
  statements: [
    ...version1.statements.slice(0, 4),
    'INSERT INTO streams (id, unanswered, droppedNotification, droppedMessage) VALUES (0, 1, 2, 2)',
    `INSERT INTO events VALUES (0, 3, '{"jsonrpc":"2.0","id":"ask-1","method":"roots/list"}', 156, NULL, NULL, NULL, 1, 1, 52)`,
    `INSERT INTO events VALUES (0, 4, '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}', 217, NULL, NULL, NULL, NULL, 1, 52)`,
    `INSERT INTO events VALUES (0, 5, '{"jsonrpc":"2.0","id":7,"result":{}}', 253, NULL, NULL, NULL, 1, 2, 88)`,
    "INSERT INTO events VALUES (0, 6, '', 400, NULL, NULL, 1, NULL, 2, 88)",
    `INSERT INTO events VALUES (0, 7, '{"jsonrpc":"2.0","id":8,"error":{"code":-32603,"message":"x"}}', 463, NULL, NULL, NULL, 1, 3, 150)`,
    'INSERT INTO streams (id, unanswered, at) VALUES (1, 0, 4102444800000)',
    `INSERT INTO events VALUES (1, 1, '{"jsonrpc":"2.0","id":1,"result":{}}', 36, NULL, NULL, NULL, 1, 1, 36)`,
  ],
}

/** A session whose object has the data of version 1, not in memory. */
async function stored({ values, statements }: typeof version1 = version1): Promise<{ stub: Stub; name: string }> {
  const name = crypto.randomUUID()
  const stub = namespace.getByName(name)
  // Its journal is taken from a call of this release, because it names the tool's questions.
  const other = namespace.getByName(crypto.randomUUID())
  await postTo(other, post('tools/call', { name: 'ask_name', arguments: {} }))
  const journal = await runInDurableObject(other, (_, { storage }) => {
    const [row] = storage.sql.exec<{ call: string }>('SELECT call FROM calls').toArray()
    return JSON.stringify(JSON.parse(row?.call ?? '{}').journal)
  })
  await runInDurableObject(stub, (_, { storage }) => {
    for (const statement of statements) storage.sql.exec(statement.replace('MEMO', () => journal.replaceAll("'", "''")))
    for (const [key, value] of Object.entries(values(name, Date.now()))) storage.kv.put(key, value)
  })
  await evictDurableObject(stub)
  return { stub, name }
}

const dump = (stub: Stub) =>
  runInDurableObject(stub, (_, { storage }) => ({
    values: [...storage.kv.list()],
    tables: ['streams', 'events', 'calls', 'questions'].map((table) =>
      storage.sql.exec(`SELECT * FROM ${table}`).toArray(),
    ),
  }))

async function refusalOf(call: () => PromiseLike<unknown>): Promise<string> {
  try {
    await call()
    return 'nothing was refused'
  } catch (problem) {
    return String(problem)
  }
}

const answer = () => postOf([{ jsonrpc: '2.0', id: 'ask-1', result: { action: 'accept', content: { name: 'Ada' } } }])

describe('the stored data of schema version 1', () => {
  test('is read by this release: the call continues and its stream is resumed', async () => {
    const { stub } = await stored()
    expect(await postTo(stub, answer())).toEqual({ status: 202 })
    const query = 'after=1.1&relay=one'
    const { webSocket } = await stub.fetch(new Request(relayUrl(query), { headers: { Upgrade: 'websocket' } }))
    let text = ''
    const closed = Promise.withResolvers<number>()
    webSocket?.addEventListener('message', ({ data }) => {
      text += readRelayMessage(data)?.payload
    })
    webSocket?.addEventListener('close', ({ code }) => closed.resolve(code))
    webSocket?.accept()
    expect(await closed.promise).toBe(1000)
    expect(text).toContain('Hello, Ada!')
  })

  test('is migrated in one transaction, in order and once', async () => {
    const { stub } = await stored()
    const versions = await runInDurableObject(stub, (_, { storage }) => {
      const addColumn = ({ sql }: DurableObjectStorage) => {
        sql.exec("ALTER TABLE streams ADD COLUMN label TEXT DEFAULT 'none'")
      }
      const rename = ({ kv }: DurableObjectStorage) => {
        kv.put('least', kv.get('logLevel'))
        kv.delete('level')
      }
      const fail = () => {
        throw new Error('This migration fails')
      }
      const added = [...migrations.session, addColumn, rename]
      expect(() => new Schema(storage, [...added, fail])).toThrow('This migration fails')
      expect(storage.kv.get('schema')).toBe(current)
      expect(storage.kv.get('logLevel')).toBe('info')
      for (let wake = 0; wake < 2; wake += 1) new Schema(storage, added).check()
      const log = new EventLog(storage.sql, () => defaultLogBounds)
      return {
        schema: storage.kv.get('schema'),
        least: storage.kv.get('least'),
        streams: storage.sql.exec('SELECT id, label FROM streams').toArray(),
        events: [...log.after({ stream: 1, seq: 0 })].length,
      }
    })
    expect(versions).toEqual({ schema: current + 2, least: 'info', streams: [{ id: 1, label: 'none' }], events: 1 })
  })
})

describe('the stored streams of schema version 1', () => {
  test('are read unchanged', async () => {
    const { stub } = await stored(version1Streams)
    await runInDurableObject(stub, (_, { storage }) => {
      expect(storage.kv.get('schema')).toBe(current)
      const rows = [...storage.sql.exec('SELECT stream, seq, isMessage, messages, messageTotal FROM events').raw()]
      expect(rows).toEqual([
        [0, 3, 1, 1, 52],
        [0, 4, null, 1, 52],
        [0, 5, 1, 2, 88],
        [0, 6, null, 2, 88],
        [0, 7, 1, 3, 150],
        [1, 1, 1, 1, 36],
      ])
      const dropped = 'SELECT id, droppedNotification, droppedMessage FROM streams'
      expect([...storage.sql.exec(dropped).raw()]).toEqual([
        [0, 2, 2],
        [1, null, null],
      ])
    })
  })

  test('replace notifications beyond their limit, and no other events', async () => {
    const { stub } = await stored(version1Streams)
    await runInDurableObject(stub, (_, { storage }) => {
      const log = new EventLog(storage.sql, () => ({ ...defaultLogBounds, maxEvents: 2 }))
      for (const data of ['one', 'two', 'three']) log.append(0, data)
      expect([...log.after({ stream: 0, seq: 2 })].map(({ id }) => id.seq)).toEqual([3, 5, 7, 9, 10])
      expect([1, 2].map((seq) => log.onFrom({ stream: 0, seq }, true) !== undefined)).toEqual([false, true])
    })
  })
})

test('an object with data of a newer release refuses all requests, keeps its data, and works with that release', async () => {
  const { stub } = await stored()
  await runInDurableObject(stub, (_, { storage }) => storage.kv.put('schema', current + 1))
  await evictDurableObject(stub)
  const before = await dump(stub)
  const refusal = `A newer release stored this object (schema ${current + 1}; this one reads ${current})`
  expect(await refusalOf(() => postTo(stub, answer()))).toContain(refusal)
  expect(await refusalOf(() => stub.end(Date.now() + week))).toContain(refusal)
  expect(await refusalOf(() => stub.changed({ list: 'tools' }))).toContain(refusal)
  expect(await refusalOf(() => stub.put('text', Date.now() + week))).toContain(refusal)
  expect(await refusalOf(() => stub.fetch(new Request(relayUrl('stream=1'))))).toContain(refusal)
  await runInDurableObject(stub, (_, { storage }) => storage.setAlarm(Date.now() + week))
  expect(await runDurableObjectAlarm(stub)).toBe(true)
  const alarm = await runInDurableObject(stub, (_, { storage }) => storage.getAlarm())
  expect(alarm).toBeGreaterThan(Date.now())
  expect(alarm).toBeLessThan(Date.now() + 2 * 60 * 60_000)
  expect(await dump(stub)).toEqual(before)
  await runInDurableObject(stub, (_, { storage }) => storage.kv.put('schema', current))
  await evictDurableObject(stub)
  expect(await postTo(stub, answer())).toEqual({ status: 202 })
})

test('a session stores the schema version with its first data', async () => {
  const { stub } = await stored()
  const fresh = namespace.getByName(crypto.randomUUID())
  const ping = { ...answer(), messages: [{ jsonrpc: '2.0' as const, id: 1, method: 'ping' }] }
  await postTo(fresh, ping)
  expect(await runInDurableObject(fresh, (_, { storage }) => [...storage.kv.list()])).toEqual([])
  const level = { jsonrpc: '2.0' as const, id: 2, method: 'logging/setLevel', params: { level: 'info' } }
  await postTo(fresh, { ...ping, messages: [level] })
  expect(await runInDurableObject(fresh, (_, { storage }) => storage.kv.get('schema'))).toBe(current)
  expect(await runInDurableObject(stub, (_, { storage }) => storage.kv.get('schema'))).toBe(current)
})

test.each([
  ['a session', crypto.randomUUID(), 'id', migrations.session],
  ['the key ring', 'keys', 'keys', migrations.keyRing],
  ['a request state', 'request-state 1', 'use', migrations.requestState],
  ['a journal', 'request-state 1', 'kept:0', migrations.requestState],
  ['used proofs', 'dpop 1', 'proof:1', migrations.usedProofs],
])(
  'the object of %s has the migrations of its kind, also in an alarm that does not know its name',
  (_, name, key, own) =>
    runInDurableObject(namespace.getByName(crypto.randomUUID()), (_, { storage: { kv } }) => {
      expect(migrationsOf(name, kv)).toBe(own)
      kv.put(key, 'anything')
      expect(migrationsOf(undefined, kv)).toBe(own)
      kv.delete(key)
    }),
)
