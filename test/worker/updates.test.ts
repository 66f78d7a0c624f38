import { evictDurableObject, runInDurableObject } from 'cloudflare:test'
import { exports } from 'cloudflare:workers'
import { expect, test, vi } from 'vitest'
import type { UpdatesRpc } from '../../durable-objects/updates.ts'
import type { SubscriptionFilter } from '../../worker/protocol/types.ts'

type Stub = DurableObjectStub & UpdatesRpc
const namespace = (exports as unknown as { McpUpdates: { getByName(name: string): Stub } }).McpUpdates
const updates = () => namespace.getByName(crypto.randomUUID())

async function listen(stub: Stub, filter: SubscriptionFilter) {
  const query = encodeURIComponent(JSON.stringify(filter))
  const request = new Request(`https://updates/listen?filter=${query}`, { headers: { Upgrade: 'websocket' } })
  const { webSocket } = await stub.fetch(request)
  const heard: unknown[] = []
  webSocket?.addEventListener('message', ({ data }) => {
    heard.push(JSON.parse(String(data)))
  })
  webSocket?.accept()
  return heard
}

test('each listener hears what it asked for, also after the object slept', async () => {
  const stub = updates()
  const tools = await listen(stub, { toolsListChanged: true })
  const note = await listen(stub, { resourceSubscriptions: ['note://1'] })
  await stub.publish({ list: 'tools' })
  await evictDurableObject(stub, { webSockets: 'hibernate' })
  await stub.publish({ resource: 'note://1' })
  await stub.publish({ resource: 'note://2' })
  await stub.publish({ list: 'prompts' })
  await stub.publish({ list: 'tools' })
  await vi.waitFor(() => expect(tools).toEqual([{ list: 'tools' }, { list: 'tools' }]))
  expect(note).toEqual([{ resource: 'note://1' }])
})

test('the key ring is minted once', async () => {
  const stub = updates()
  const [first, second] = await Promise.all([stub.keys(), stub.keys()])
  await evictDurableObject(stub)
  expect(second).toEqual(first)
  expect(await stub.keys()).toEqual(first)
  expect(Object.keys(first.keys)).toEqual([first.current])
})

test('a session that is gone is forgotten', async () => {
  const stub = updates()
  await stub.subscribe('a session that never was', ['resource:note://1'])
  const rows = () =>
    runInDurableObject(stub, (_, state) => state.storage.sql.exec('SELECT * FROM subscriptions').toArray().length)
  expect(await rows()).toBe(1)
  await stub.publish({ resource: 'note://1' })
  expect(await rows()).toBe(0)
})
