/**
 * What tasks, lists of tasks, subscriptions, states, keys and request states of schema version 1 have stored, and that this release reads it. For
 * sessions see `schema.test.ts`.
 */

import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test'
import { exports } from 'cloudflare:workers'
import { createServer } from 'edgemcp'
import { state } from 'edgemcp/state'
import { describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import type { SessionRpc } from '../../durable-objects/session/rpc.ts'
import type { StoreRpc } from '../../durable-objects/store/rpc.ts'
import type { SubscriptionsRpc } from '../../durable-objects/subscriptions/rpc.ts'
import { Task } from '../../durable-objects/task/object.ts'
import type { StateRpc } from '../../worker/declarations/state.ts'
import { post, postTo, relayUrl, week } from './session-post.ts'
import { taskHost } from './task-host.ts'

type Namespace<Rpc> = { getByName(name: string): DurableObjectStub & Rpc }
const { McpSession, McpSubscriptions, McpState } = exports as unknown as {
  McpSession: Namespace<SessionRpc & StoreRpc>
  McpSubscriptions: Namespace<SubscriptionsRpc>
  McpState: Namespace<StateRpc>
}

/** `values`: of key-value storage, at a time in milliseconds. */
type Stored = {
  readonly values: (now: number) => Readonly<Record<string, unknown>>
  readonly statements?: readonly string[]
}

// Each of these is what version 1 has stored. Not to be changed: later releases must read it.

const taskCall = {
  params: { name: 'book', arguments: { room: 'blue' } },
  capabilities: { elicitation: { form: {} } },
}

const taskValues = (now: number) => ({
  schema: 1,
  call: taskCall,
  task: {
    ...{ after: 0, ttl: 1_000_000_000, poll: 1000, retries: 0, name: 'task x', taskId: 'sealed', announced: true },
    ...{
      scopes: [],
      createdAt: now,
      lastUpdatedAt: now,
      failures: 0,
      rounds: 1,
      shards: [],
      reauthorizeFailures: 0,
      lostRuns: 0,
    },
    ...{ status: 'input_required', due: now + 86_400_000, asleep: false },
  },
})

const taskEffects = [
  'CREATE TABLE effects (key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID',
  `INSERT INTO effects VALUES ('hold', '{"value":"hold of version 1"}')`,
]

const askingTask: Stored = {
  values: (now) => ({
    ...taskValues(now),
    'inputRequests:0':
      '{"guests":{"method":"elicitation/create","params":{"mode":"form","message":"How many guests?","requestedSchema":{"type":"object","properties":{"guests":{"type":"number"}},"required":["guests"]}}}}',
    'journal:0':
      '{"answers":{},"effects":{},"notificationsSent":0,"requestFingerprints":{"guests":"3yEoWCyTnF2krgCgPjrRClljcSxauMVvl64I9qIIgFY"},"rounds":1,"unusedRounds":0}',
  }),
  statements: [...taskEffects, `INSERT INTO effects VALUES (char(0) || 'sleep soon', '{"value":1795370598006}')`],
}

const sleepingTask: Stored = {
  values: (now) => {
    const { task, ...values } = taskValues(now)
    return { ...values, task: { ...task, status: 'working', due: 1_795_370_598_006, asleep: true, rounds: 0 } }
  },
  statements: [...taskEffects, `INSERT INTO effects VALUES (char(0) || 'sleep soon', '{"value":1795370598006}')`],
}

const completedTask: Stored = {
  values: (now) => {
    const { task, ...values } = taskValues(now)
    const end = '{"result":{"content":[{"type":"text","text":"hold of version 1 for 2"}]}}'
    return { ...values, task: { ...task, status: 'completed', due: undefined }, 'end:0': end }
  },
  statements: taskEffects.slice(0, 1),
}

const taskList: Stored = {
  values: () => ({ schema: 1 }),
  statements: [
    'CREATE TABLE tasks (seq INTEGER PRIMARY KEY, task TEXT, expires INTEGER)',
    `INSERT INTO tasks VALUES (1, '{"name":"x","taskId":"sealed"}', 4102444800000)`,
  ],
}

const keyRing = {
  current: 'k1',
  keys: { k1: 'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA' },
}

const keys: Stored = { values: () => ({ schema: 1, keys: keyRing }) }

const subscriptions = (session: string): Stored => ({
  values: () => ({
    schema: 1,
    shards: 2,
    enabledOverrides: { 'tools echo': false },
    listeners: true,
    pruned: 3,
  }),
  statements: [
    'CREATE TABLE subscriptions (topic TEXT, session TEXT, PRIMARY KEY (topic, session)) WITHOUT ROWID',
    'CREATE INDEX by_session ON subscriptions (session)',
    'CREATE TABLE changes (seq INTEGER PRIMARY KEY, change TEXT, topics TEXT, at INTEGER, deliveredTo TEXT)',
    'CREATE INDEX undelivered ON changes (seq) WHERE deliveredTo IS NOT NULL',
    'CREATE INDEX waiting ON changes (seq) WHERE at IS NULL',
    'CREATE TABLE agedStreams (stream TEXT, at INTEGER, position INTEGER, PRIMARY KEY (stream, at)) WITHOUT ROWID',
    'CREATE TABLE parkedSessions (session TEXT PRIMARY KEY, seq INTEGER, since INTEGER, due INTEGER) WITHOUT ROWID',
    'CREATE INDEX parked_by_due ON parkedSessions (due)',
    `INSERT INTO subscriptions VALUES ('resource:note://1', '${session}'), ('tools', '${session}')`,
    `INSERT INTO changes VALUES (4, '{"resource":"note://1"}', '["resource:note://1"]', 4102444800000, '')`,
    `INSERT INTO changes VALUES (5, '{"list":"tools"}', '["tools"]', NULL, '')`,
  ],
})

const usedState: Stored = {
  values: (now) => ({
    schema: 1,
    'of:a': { count: 1 },
    tables: 1,
    used: { state: 'test_stored', at: now, ttl: 86_400_000 },
  }),
  statements: ['CREATE TABLE things (name TEXT)', "INSERT INTO things VALUES ('stored')"],
}

const endedState: Stored = { values: (now) => ({ schema: 1, ended: now + 86_400_000 }) }

const round: Stored = { values: () => ({ schema: 1, use: 'yes', lease: 0, 'kept:0': 'paid' }) }

/** Puts stored data into an object, which is then not in memory. */
async function put(stub: DurableObjectStub, { values, statements = [] }: Stored): Promise<void> {
  await runInDurableObject(stub, (_, { storage }) => {
    for (const statement of statements) storage.sql.exec(statement)
    for (const [key, value] of Object.entries(values(Date.now()))) storage.kv.put(key, value)
  })
  await evictDurableObject(stub)
}

/** Runs a task on stored data, in an object that nothing else uses. */
async function withTask(stored: Stored, use: (task: Task) => Promise<void>): Promise<void> {
  const server = createServer({ name: 'stored', version: '1.0.0' })
  const guests = z.object({ guests: z.number() })
  const inputSchema = z.object({ room: z.string() })
  server.tool('book', { description: 'Books a room', task: true, inputSchema }, async (_, ctx) => {
    const hold = await ctx.once('hold', () => 'a second hold')
    await ctx.sleep('soon', '1d')
    const answer = await ctx.elicit('guests', 'How many guests?', guests)
    return `${hold} for ${answer.content?.guests}`
  })
  const report = (problem: unknown) => expect.unreachable(String(problem))
  const host = taskHost({ server, report })
  await runInDurableObject(McpState.getByName(crypto.randomUUID()), async (_, context) => {
    for (const statement of stored.statements ?? []) context.storage.sql.exec(statement)
    for (const [key, value] of Object.entries(stored.values(Date.now()))) context.storage.kv.put(key, value)
    await use(new Task(context, {} as never, host))
    await context.storage.deleteAll()
  })
}

const booked = { status: 'completed', result: { content: [{ type: 'text', text: 'hold of version 1 for 2' }] } }

describe('the stored data of schema version 1', () => {
  test('is read for a task that waits for input: it accepts the response and keeps its effects', () =>
    withTask(askingTask, async (task) => {
      expect(await task.get()).toMatchObject({ status: 'input_required', inputRequests: { guests: expect.anything() } })
      await task.update({ guests: { result: { action: 'accept', content: { guests: 2 } } } })
      await task.alarm()
      expect(await task.get()).toMatchObject(booked)
    }))

  test('is read for a sleeping task: it continues', () =>
    withTask(sleepingTask, async (task) => {
      await task.alarm()
      expect(await task.get()).toMatchObject({ status: 'input_required' })
    }))

  test('is read for a completed task: it has its result', () =>
    withTask(completedTask, async (task) => expect(await task.get()).toMatchObject(booked)))

  test('is read for a list of tasks: they are listed', () =>
    withTask(taskList, async (task) => {
      const listed = { tasks: [{ name: 'x', taskId: 'sealed' }], next: undefined }
      expect(await task.listed(0, 10)).toEqual(listed)
    }))

  test('is read for a key ring: it has the same keys', async () => {
    const stub = McpSession.getByName(crypto.randomUUID())
    await put(stub, keys)
    expect(await stub.keys(false)).toEqual(keyRing)
  })

  test('is read for subscriptions: sessions get undelivered changes', async () => {
    const session = McpSession.getByName(crypto.randomUUID())
    const sent = await opened(session)
    const name = session.id.name ?? ''
    const updates = McpSubscriptions.getByName(crypto.randomUUID())
    await put(updates, subscriptions(name))
    await runInDurableObject(updates, (_, { storage }) => storage.setAlarm(Date.now()))
    await runDurableObjectAlarm(updates)
    await vi.waitFor(() => expect(sent()).toContain('notifications/tools/list_changed'))
    expect(sent()).toContain('"uri":"note://1"')
    expect(await updates.enabledOverrides()).toEqual({ 'tools echo': false })
    expect(await updates.unsubscribeAll(name)).toBe(true)
  })

  test('is read for a state: it has its values and tables', async () => {
    state('test_stored', { per: 'user', ttl: 86_400_000, tables: ['CREATE TABLE things (name TEXT)'] }, (store) => ({
      read: () => [store.get('a'), store.sql('SELECT name FROM things')],
    }))
    const stub = McpState.getByName(crypto.randomUUID())
    await put(stub, usedState)
    const read = { state: 'test_stored', operation: 'read', args: [], expires: undefined }
    expect(await stub.run(read)).toEqual({ value: [{ count: 1 }, [{ name: 'stored' }]] })
  })

  test('is read for a deleted state: its handle stays invalid', async () => {
    const stub = McpState.getByName(crypto.randomUUID())
    await put(stub, endedState)
    expect(await stub.run({ state: 'any', operation: 'read', args: [], expires: undefined })).toEqual({ gone: true })
  })

  test('is read for a used request state: the same use gets the same outcome', async () => {
    const stub = McpSession.getByName(`request-state ${crypto.randomUUID()}`)
    await put(stub, round)
    expect(await stub.consume('yes', Date.now() + week)).toEqual({ is: 'answered', text: 'paid' })
    expect(await stub.consume('no', Date.now() + week)).toEqual({ is: 'other' })
  })
})

/** Opens the standing stream of a session. Returns what has come on it. */
async function opened(stub: DurableObjectStub & SessionRpc): Promise<() => string> {
  await postTo(stub, post('ping'))
  const request = new Request(relayUrl(''), {
    headers: { Upgrade: 'websocket' },
  })
  const { webSocket } = await stub.fetch(request)
  let text = ''
  webSocket?.addEventListener('message', ({ data }) => {
    text += data
  })
  webSocket?.accept()
  return () => text
}
