import { evictDurableObject, runInDurableObject } from 'cloudflare:test'
import { exports } from 'cloudflare:workers'
import { expect, test, vi } from 'vitest'
import type { SessionRpc, SubscriptionsRpc } from '../../durable-objects/rpc.ts'
import { SubscriptionsObject } from '../../durable-objects/subscriptions/object.ts'
import { post, week } from './session-post.ts'

type Stub = DurableObjectStub & SessionRpc
const { McpSession, McpSubscriptions } = exports as unknown as {
  McpSession: { getByName(name: string): Stub }
  McpSubscriptions: { getByName(name: string): DurableObjectStub & SubscriptionsRpc }
}

test('a subscription that is made while a narrower token ends earlier ones is kept', async () => {
  const name = crypto.randomUUID()
  const stub = McpSession.getByName(name)
  await stub.post(post('resources/subscribe', { uri: 'note://1' }))
  // As after a subscription to a resource that takes a scope.
  await runInDurableObject(stub, (_, { storage }) => storage.kv.put('subscribedScopes', ['notes']))
  await evictDurableObject(stub)
  const { promise: mayLeave, resolve: leave } = Promise.withResolvers<void>()
  const original = SubscriptionsObject.prototype.unsubscribeAll
  const leaving = vi.spyOn(SubscriptionsObject.prototype, 'unsubscribeAll').mockImplementation(async function (
    this: SubscriptionsObject,
    session,
  ) {
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
  const topics = await runInDurableObject(McpSubscriptions.getByName('subscriptions 0 everything'), (_, { storage }) =>
    storage.sql
      .exec<{ topic: string }>('SELECT topic FROM subscriptions WHERE session = ?', name)
      .toArray()
      .map(({ topic }) => topic),
  )
  expect(topics.filter((topic) => topic.startsWith('resource:'))).toEqual(['resource:note://2'])
})
