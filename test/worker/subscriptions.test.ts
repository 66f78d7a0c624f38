import { evictDurableObject, runInDurableObject } from 'cloudflare:test'
import { exports } from 'cloudflare:workers'
import { describe, expect, test, vi } from 'vitest'
import type { SessionRpc } from '../../durable-objects/session/rpc.ts'
import { SubscriptionsObject } from '../../durable-objects/subscriptions/object.ts'
import type { SubscriptionsRpc } from '../../durable-objects/subscriptions/rpc.ts'
import { readRelayMessage } from '../../worker/protocol/relay-messages.ts'
import { openingOf, post, postTo, relayUrl } from './session-post.ts'

type Stub = DurableObjectStub & SessionRpc
const { McpSession, McpSubscriptions } = exports as unknown as {
  McpSession: { getByName(name: string): Stub }
  McpSubscriptions: { getByName(name: string): DurableObjectStub & SubscriptionsRpc }
}

const shard = McpSubscriptions.getByName('subscriptions 0')

/** The topics that a session is registered for. */
const topicsOf = (session: Stub) =>
  runInDurableObject(shard, (_, { storage: { sql } }) =>
    sql
      .exec<{ topic: string }>('SELECT topic FROM subscriptions WHERE session = ? ORDER BY topic', String(session.name))
      .toArray()
      .map(({ topic }) => topic),
  )

test('a subscription that is made while a narrower token ends earlier ones is kept', async () => {
  const name = crypto.randomUUID()
  const stub = McpSession.getByName(name)
  await postTo(stub, post('resources/subscribe', { uri: 'note://1' }))
  // As after a subscription to a resource that takes a scope.
  await runInDurableObject(stub, (_, { storage }) => storage.kv.put('subscribedScopes', ['notes']))
  await evictDurableObject(stub)
  const { promise: mayLeave, resolve: leave } = Promise.withResolvers<void>()
  const original = SubscriptionsObject.prototype.unsubscribeAll
  const leaving = vi.spyOn(SubscriptionsObject.prototype, 'unsubscribeAll').mockImplementation(async function (
    this: SubscriptionsObject,
    ...args
  ) {
    await mayLeave
    return original.apply(this, args)
  })
  try {
    const admitted = stub.admit(openingOf())
    await vi.waitFor(() => expect(leaving).toHaveBeenCalled())
    const subscribed = postTo(stub, post('resources/subscribe', { uri: 'note://2' }))
    // Time to overtake, if it could.
    await Promise.race([subscribed, scheduler.wait(100)])
    leave()
    expect(await admitted).toEqual({ admitted: true })
    expect(await subscribed).toMatchObject({ status: 200 })
  } finally {
    leaving.mockRestore()
  }
  const topics = await topicsOf(stub)
  expect(topics.filter((topic) => topic.startsWith('resource:'))).toEqual(['resource:note://2'])
})

test('a session receives changes of lists while a narrower token ends its subscriptions, and after an attempt that failed', async () => {
  const stub = McpSession.getByName(crypto.randomUUID())
  const ada = { issuer: 'https://issuer.example', subject: 'ada', tenant: 'acme' }
  const principal = { ...ada, scopes: ['notes'], claims: {} }
  const wide = openingOf({ ...ada, scopes: ['notes'] })
  expect(await stub.admit(wide)).toEqual({ admitted: true })
  const lists = await topicsOf(stub)
  expect(lists).toContain('tools')
  await postTo(stub, post('resources/subscribe', { uri: 'note://1' }, { principal }))
  expect((await topicsOf(stub)).length).toBe(lists.length + 3)
  // As after a subscription to a resource that takes a scope.
  await runInDurableObject(stub, (_, { storage }) => storage.kv.put('subscribedScopes', ['notes']))
  await evictDurableObject(stub)
  const original = SubscriptionsObject.prototype.unsubscribeAll
  const leaving = vi.spyOn(SubscriptionsObject.prototype, 'unsubscribeAll').mockImplementationOnce(async function (
    this: SubscriptionsObject,
    ...args
  ) {
    await original.apply(this, args)
    throw new Error('lost')
  })
  const narrow = { ...wide, scopes: [] }
  try {
    expect(await stub.admit(narrow).then(JSON.stringify, String)).toContain('lost')
  } finally {
    leaving.mockRestore()
  }
  expect(await topicsOf(stub)).toEqual(lists)
  const subscribing = vi.spyOn(SubscriptionsObject.prototype, 'subscribe').mockRejectedValue(new Error('lost'))
  try {
    expect(await stub.admit(narrow)).toEqual({ admitted: true })
  } finally {
    subscribing.mockRestore()
  }
  expect(await topicsOf(stub)).toEqual(lists)
})

describe('a session over HTTP+SSE', () => {
  const hello = { protocolVersion: '2024-11-05', capabilities: {}, clientInfo: { name: 'test', version: '1' } }
  const initialize = post('initialize', hello, { handshake: undefined })

  const dial = async (stub: Stub, query: string) => {
    const url = relayUrl(`relay=one&sse=1&${query}`)
    const { status, webSocket } = await stub.fetch(new Request(url, { headers: { Upgrade: 'websocket' } }))
    expect(status).toBe(101)
    const events: string[] = []
    webSocket?.addEventListener('message', ({ data }) => events.push(readRelayMessage(data)?.payload ?? ''))
    webSocket?.accept()
    return events
  }

  test('whose object is lost while it registers does not acknowledge initialize, and is initialized by the next one', async () => {
    const name = crypto.randomUUID()
    const lost = McpSession.getByName(name)
    const { promise: registered, resolve: register } = Promise.withResolvers<boolean>()
    const subscribing = vi.spyOn(SubscriptionsObject.prototype, 'subscribe').mockReturnValueOnce(registered)
    try {
      await dial(lost, '')
      const posted = postTo(lost, initialize).then(JSON.stringify, String)
      await vi.waitFor(() => expect(subscribing).toHaveBeenCalled())
      await runInDurableObject(lost, (_, state) => state.abort('lost')).catch(() => {})
      expect(await posted).toContain('lost')
    } finally {
      register(true)
      subscribing.mockRestore()
    }
    const stub = McpSession.getByName(name)
    const events = await dial(stub, 'after=0.0&again=1')
    expect(await postTo(stub, initialize)).toEqual({ status: 202 })
    await vi.waitFor(() => expect(events.join('')).toContain('"serverInfo"'))
    expect(events.join('')).not.toContain('"error"')
  })

  test('whose registration failed registers with its next request, and announces all lists', async () => {
    const stub = McpSession.getByName(crypto.randomUUID())
    const subscribing = vi.spyOn(SubscriptionsObject.prototype, 'subscribe').mockRejectedValueOnce(new Error('lost'))
    const events = await dial(stub, '')
    try {
      expect(await postTo(stub, initialize)).toEqual({ status: 202 })
      await vi.waitFor(() => expect(events.join('')).toContain('"serverInfo"'))
      expect(await topicsOf(stub)).toEqual([])
    } finally {
      subscribing.mockRestore()
    }
    await postTo(stub, post('ping', {}, { handshake: undefined }))
    await vi.waitFor(() => {
      for (const list of ['tools', 'prompts', 'resources']) expect(events.join('')).toContain(`${list}/list_changed`)
    })
    expect(await topicsOf(stub)).toEqual(expect.arrayContaining(['tools', 'prompts', 'resources']))
  })
})
