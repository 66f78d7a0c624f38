/** What another entry of a session changes between two entries, or while one of them waits. */
import { createServer } from 'edgemcp'
import { expect, test, vi } from 'vitest'
import * as z from 'zod'
import { type AddedParts, ClientTasksPart, SubscriptionsPart } from '../../durable-objects/session/added-parts.ts'
import { migrations } from '../../durable-objects/session/migrations.ts'
import type { Session } from '../../durable-objects/session/object.ts'
import { versionOf } from '../../durable-objects/shared/schema.ts'
import type { SubscriptionsRpc } from '../../durable-objects/subscriptions/rpc.ts'
import { Subscriptions } from '../../durable-objects/subscriptions/session-part.ts'
import { ClientTasks } from '../../durable-objects/task/client-tasks.ts'
import type { Principal } from '../../worker/protocol/principal.ts'
import { running } from './running-session.ts'
import { openingOf, post, postTo, relayUrl, sessionSettings, week } from './session-post.ts'

const privileged: Principal = { issuer: 'i', subject: 's', scopes: ['hr'], claims: {} }

/** Opens a relay whose token was admitted. Returns the status, and what it receives. */
async function open(session: Session, relay: string, after?: string) {
  const query = `relay=${relay}&admitted=1${after === undefined ? '' : `&after=${after}`}`
  const { status, webSocket } = await session.fetch(new Request(relayUrl(query), { headers: { Upgrade: 'websocket' } }))
  const frames: string[] = []
  webSocket?.addEventListener('message', ({ data }) => void frames.push(String(data)))
  webSocket?.accept()
  return { status, frames }
}

test('a token that was admitted to a stream of the future does not read the call that gets this stream', async () => {
  const server = createServer({ name: 'test', version: '1.0.0' })
  server.tool('say', { description: 'Says', scopes: ['hr'] }, (_, ctx) => {
    ctx.progress(1)
    return 'a secret'
  })
  await running({ server }, async ({ session }) => {
    expect(await session.admit(openingOf({ relay: 'low', after: '1.0' }))).toEqual({ admitted: true })
    const call = { name: 'say', _meta: { progressToken: 'p' } }
    await postTo(session, post('tools/call', call, { scopes: [['hr']], principal: privileged }))
    expect(await open(session, 'low', '1.0')).toEqual({ status: 412, frames: [] })
    expect(await session.admit(openingOf({ relay: 'low', after: '1.0' }))).toEqual({ lacks: ['hr'] })
    expect(await session.admit(openingOf({ relay: 'high', after: '1.0', scopes: ['hr'] }))).toEqual({ admitted: true })
    expect((await open(session, 'high', '1.0')).status).toBe(101)
  })
})

const shard = {
  subscribe: async () => true,
  unsubscribeAll: async () => true,
  hasSubscribed: async () => true,
}
const withSubscriptions: AddedParts = { subscriptions: new SubscriptionsPart({ Subscriptions, shardOf: () => 0 }) }

test('a token that was admitted to the standing stream does not read what another reader got meanwhile', async () => {
  const server = createServer({ name: 'test', version: '1.0.0' })
  server.resource('secret://1', { description: 'A secret', scopes: ['hr'] }, () => 'a secret')
  const host = { server, subscriptionsAt: () => shard as unknown as SubscriptionsRpc }
  await running(
    host,
    async ({ session }) => {
      await session.admit(openingOf({ relay: 'first', scopes: ['hr'] }))
      await open(session, 'first')
      const low = openingOf({ relay: 'low', after: '0.0' })
      expect(await session.admit(low)).toEqual({ admitted: true })
      await session.admit(openingOf({ relay: 'high', after: '0.0', scopes: ['hr'] }))
      expect((await open(session, 'high', '0.0')).status).toBe(101)
      const subscribe = post('resources/subscribe', { uri: 'secret://1' }, { principal: privileged, scopes: [['hr']] })
      expect(await postTo(session, subscribe)).toMatchObject({ status: 200 })
      await session.changed({ resource: 'secret://1' })
      expect((await open(session, 'low', '0.0')).status).toBe(412)
      expect(await session.admit(low)).toEqual({ admitted: true })
      const { status, frames } = await open(session, 'low', '0.0')
      expect(status).toBe(101)
      await scheduler.wait(0)
      expect(frames.join('')).not.toContain('secret')
    },
    withSubscriptions,
  )
})

test('a response about a task of the client changes neither its id nor the alarm of the session', async () => {
  const server = createServer({ name: 'test', version: '1.0.0' })
  server.tool('ask', { description: 'Asks' }, async (_, ctx) => {
    await ctx.elicit('sure', 'Sure?', z.object({ sure: z.boolean() }), { task: {} })
    return 'asked'
  })
  const handshake = {
    version: '2025-11-25',
    capabilities: { elicitation: { form: {} }, tasks: { requests: { elicitation: { create: {} } } } },
    client: { name: 'test', version: '1' },
  }
  await running(
    { server },
    async ({ session, storage }) => {
      await postTo(session, post('tools/call', { name: 'ask' }, { handshake }))
      const respond = (id: string, result: object) =>
        postTo(session, { ...post('x', {}, { handshake }), messages: [{ jsonrpc: '2.0', id, result }] as never })
      const long = { taskId: '€'.repeat(666_650), status: 'working', pollInterval: 1000 }
      const tasks = () => storage.sql.exec<{ task: string | null }>('SELECT task FROM client_tasks').toArray()
      // Before the client has created a task.
      expect(await respond('poll-1-1', long)).toMatchObject({ status: 202 })
      expect(tasks()).toEqual([{ task: null }])
      expect(await respond('ask-1', { task: { ...long, taskId: 'mine' } })).toMatchObject({ status: 202 })
      expect(await respond('poll-1-1', long)).toMatchObject({ status: 202 })
      expect(tasks()).toEqual([{ task: 'mine' }])
    },
    { clientTasks: new ClientTasksPart(ClientTasks) },
  )
})

test('an end that fails fails the requests that wait for it, and is attempted once for each', async () => {
  await running(
    { state: () => ({ deleteAll: async () => {} }) as never },
    async ({ session, storage, name, ...seen }) => {
      const stored = {
        schema: versionOf(migrations),
        id: { name, expires: Date.now() + week, since: Date.now() },
        lastSeenAt: 1,
        stateObjects: ['board'],
      }
      for (const [key, value] of Object.entries(stored)) storage.kv.put(key, value)
      const deleting = vi.spyOn(storage, 'deleteAll').mockRejectedValue(new Error('refused'))
      await expect(session.alarm()).rejects.toThrow('refused')
      expect(deleting).toHaveBeenCalledTimes(1)
      await expect(postTo(session, post('ping'))).rejects.toThrow('refused')
      expect(deleting).toHaveBeenCalledTimes(2)
      expect(seen.aborted).toHaveLength(1)
      expect(String(seen.reported.at(-1))).toContain('refused')
    },
  )
})

test('a registration of an earlier life that is late leaves that of the next life', async () => {
  const registered = new Set<string>()
  const late = Promise.withResolvers<void>()
  let isFirst = true
  const slow = {
    async subscribe(_: string, topics: string[]) {
      const waits = isFirst
      isFirst = false
      if (waits) await late.promise
      for (const topic of topics) registered.add(topic)
      return true
    },
    async unsubscribeAll() {
      registered.clear()
      return true
    },
  }
  const host = {
    subscriptionsAt: () => slow as unknown as SubscriptionsRpc,
    options: { ...sessionSettings, ttl: 60_000 },
  }
  await running(
    host,
    async ({ session, storage }) => {
      const first = session.admit(openingOf({ relay: 'one' }))
      await vi.waitFor(() => expect(isFirst).toBe(false))
      vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + week - 1000 })
      await session.alarm()
      vi.useRealTimers()
      expect(await session.admit(openingOf({ relay: 'two' }))).toEqual({ admitted: true })
      late.resolve()
      expect(await first).toEqual({ gone: true })
      expect(registered.size).toBeGreaterThan(0)
      expect(storage.kv.get('registration')).toEqual({ shard: 0 })
    },
    withSubscriptions,
  )
})
