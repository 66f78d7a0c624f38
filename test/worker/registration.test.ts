/** Sessions that registered for changes while their server had `subscriptions()`, after a deployment without it. */
import { runInDurableObject } from 'cloudflare:test'
import { exports } from 'cloudflare:workers'
import { createServer } from 'edgemcp'
import { expect, test } from 'vitest'
import { ClientTasksPart } from '../../durable-objects/session/added-parts.ts'
import { migrations } from '../../durable-objects/session/migrations.ts'
import { Session } from '../../durable-objects/session/object.ts'
import type { SessionRpc } from '../../durable-objects/session/rpc.ts'
import type { SessionHost } from '../../durable-objects/session/session-host.ts'
import { versionOf } from '../../durable-objects/shared/schema.ts'
import { ClientTasks } from '../../durable-objects/task/client-tasks.ts'
import { openingOf, post, postTo, relayUrl, sessionSettings, week } from './session-post.ts'

type Stub = DurableObjectStub & SessionRpc
const { McpSession } = exports as unknown as { McpSession: { getByName(name: string): Stub } }

const server = createServer({ name: 'test', version: '1.0.0' })
server.resource('note://1', { description: 'A note' }, () => 'a note')

/** Runs a session of a server without `subscriptions()` on the storage of one that is registered with the Subscriptions object 2. */
async function registered(use: (session: Session, storage: DurableObjectStorage, left: string[]) => Promise<void>) {
  const name = crypto.randomUUID()
  const left: string[] = []
  const host = {
    server,
    life: week,
    options: sessionSettings,
    subscriptionsAt: (shard: number) => ({
      unsubscribeAll: async (session: string, keepsLists = false) =>
        left.push(`${shard} ${session}${keepsLists ? ', but its lists' : ''}`) > 0,
    }),
    at: () => ({ server: server, seals: () => ({}) }),
    enterOf: () => undefined,
    report: (problem: unknown) => {
      throw problem
    },
  }
  await runInDurableObject(McpSession.getByName(name), async (_, state) => {
    state.storage.kv.put('schema', versionOf(migrations))
    state.storage.kv.put('id', { name, expires: Date.now() + week, since: Date.now() })
    state.storage.kv.put('registration', { shard: 2 })
    state.storage.kv.put('subscribedScopes', ['notes'])
    const parts = { clientTasks: new ClientTasksPart(ClientTasks) }
    // Only what these tests use of a host.
    await use(new Session(state, {} as never, host as unknown as SessionHost, parts), state.storage, left)
  })
  return { name, left }
}

test('a session that ends deletes its registration, and leaves a tombstone', async () => {
  const expires = Date.now() + week
  const { name, left } = await registered(async (session, storage) => {
    expect(await session.end(expires)).toBe(true)
    expect(storage.kv.get('ended')).toBe(expires)
  })
  expect(left).toEqual([`2 ${name}`])
})

test('a token without the scopes of the subscriptions ends those to resources', async () => {
  const { name, left } = await registered(async (session, storage, leftSoFar) => {
    expect(await session.admit(openingOf({ scopes: ['notes'] }))).toEqual({ admitted: true })
    expect(leftSoFar).toEqual([])
    expect(await session.admit(openingOf())).toEqual({ admitted: true })
    expect(storage.kv.get('subscribedScopes')).toBeUndefined()
  })
  expect(left).toEqual([`2 ${name}, but its lists`])
})

test('resources/subscribe is an unknown method', async () => {
  await registered(async (session) => {
    const posted = await postTo(session, post('resources/subscribe', { uri: 'note://1' }))
    expect(posted).toMatchObject({ text: expect.stringContaining('Method not found: resources/subscribe') })
  })
})

test('the standing stream sends the status of a task', async () => {
  await registered(async (session, storage) => {
    const opened = await session.fetch(
      new Request(relayUrl('relay=one'), {
        headers: { Upgrade: 'websocket' },
      }),
    )
    expect(opened.status).toBe(101)
    const params = { taskId: 'one', status: 'completed' }
    // A notification of an extension.
    expect(await session.changed({ method: 'notifications/tasks/status', params } as never)).toBe(true)
    const [event] = storage.sql.exec<{ data: string }>('SELECT data FROM events').toArray()
    expect(JSON.parse(event?.data ?? '{}')).toMatchObject({ method: 'notifications/tasks/status', params })
    opened.webSocket?.accept()
    opened.webSocket?.close(4000)
  })
})
