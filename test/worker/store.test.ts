/** Values that belong to no session, in objects of the class of sessions. */
import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test'
import { exports } from 'cloudflare:workers'
import { expect, test } from 'vitest'
import type { StoreRpc } from '../../durable-objects/rpc.ts'

type Stub = DurableObjectStub & StoreRpc
const namespace = (exports as unknown as { McpSession: { getByName(name: string): Stub } }).McpSession
const newObject = () => namespace.getByName(crypto.randomUUID())

test('the key ring is generated once', async () => {
  const stub = newObject()
  const [first, second] = await Promise.all([stub.keys(), stub.keys()])
  await evictDurableObject(stub)
  expect(second).toEqual(first)
  expect(await stub.keys()).toEqual(first)
  expect(Object.keys(first.keys)).toEqual([first.current])
})

test('a request state is deleted after its expiry', async () => {
  const stub = newObject()
  await stub.put('journal', Date.now() + 60_000)
  expect(await stub.get()).toBe('journal')
  expect(await runDurableObjectAlarm(stub)).toBe(true)
  expect(await stub.get()).toBeUndefined()
  expect(await runInDurableObject(stub, (_, { storage }) => [...storage.kv.list()])).toEqual([])
})
