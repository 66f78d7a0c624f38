import { evictDurableObject, runInDurableObject } from 'cloudflare:test'
import { exports } from 'cloudflare:workers'
import { expect, test, vi } from 'vitest'
import type { Post, SessionRpc } from '../../durable-objects/session.ts'
import { Updates, type UpdatesRpc } from '../../durable-objects/updates.ts'

type Stub = DurableObjectStub & SessionRpc
const { McpSession, McpUpdates } = exports as unknown as {
  McpSession: { getByName(name: string): Stub }
  McpUpdates: { getByName(name: string): DurableObjectStub & UpdatesRpc }
}
const week = 7 * 24 * 60 * 60_000

const post = (method: string, params: object): Post => ({
  messages: [{ jsonrpc: '2.0', id: 1, method, params: params as Record<string, unknown> }],
  batch: false,
  handshake: { version: '2025-11-25', capabilities: {}, client: { name: 'test', version: '1' } },
  principal: undefined,
  caller: undefined,
  session: 'sealed',
  identity: 'test',
  expires: Date.now() + week,
  streams: true,
})

test('a subscription made while a narrower token ends the older ones is kept', async () => {
  const name = crypto.randomUUID()
  const stub = McpSession.getByName(name)
  await stub.post(post('resources/subscribe', { uri: 'note://1' }))
  // As after a subscription to a resource that takes a scope.
  await runInDurableObject(stub, (_, { storage }) => storage.kv.put('takes', ['notes']))
  await evictDurableObject(stub)
  const { promise: mayLeave, resolve: leave } = Promise.withResolvers<void>()
  const original = Updates.prototype.leave
  const leaving = vi.spyOn(Updates.prototype, 'leave').mockImplementation(async function (this: Updates, session) {
    await mayLeave
    return original.call(this, session)
  })
  try {
    const admitted = stub.admit({ expires: Date.now() + week, tenant: undefined, scopes: [], after: undefined })
    await vi.waitFor(() => expect(leaving).toHaveBeenCalled())
    const subscribed = stub.post(post('resources/subscribe', { uri: 'note://2' }))
    // Time to overtake, if it could.
    await Promise.race([subscribed, scheduler.wait(100)])
    leave()
    expect(await admitted).toEqual({ admitted: true })
    expect(await subscribed).toMatchObject({ status: 200 })
  } finally {
    leaving.mockRestore()
  }
  const topics = await runInDurableObject(McpUpdates.getByName('updates'), (_, { storage }) =>
    storage.sql
      .exec<{ topic: string }>('SELECT topic FROM subscriptions WHERE session = ?', name)
      .toArray()
      .map(({ topic }) => topic),
  )
  expect(topics.filter((topic) => topic.startsWith('resource:'))).toEqual(['resource:note://2'])
})
