/** Values that belong to no session, in objects of the class of sessions. */
import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test'
import { exports } from 'cloudflare:workers'
import { expect, test } from 'vitest'
import type { StoreRpc } from '../../durable-objects/store/rpc.ts'

type Stub = DurableObjectStub & StoreRpc
const namespace = (exports as unknown as { McpSession: { getByName(name: string): Stub } }).McpSession
const newObject = () => namespace.getByName(crypto.randomUUID())

test('the key ring is generated once', async () => {
  const stub = newObject()
  const [first, second] = await Promise.all([stub.keys(true), stub.keys(true)])
  await evictDurableObject(stub)
  expect(second).toEqual(first)
  expect(await stub.keys(true)).toEqual(first)
  expect(Object.keys(first?.keys ?? {})).toEqual([first?.current])
})

test('a request state is deleted after its expiry', async () => {
  const stub = newObject()
  await stub.put('journal', Date.now() + 60_000)
  expect(await stub.get()).toBe('journal')
  expect(await runDurableObjectAlarm(stub)).toBe(true)
  expect(await stub.get()).toBeUndefined()
  expect(await runInDurableObject(stub, (_, { storage }) => [...storage.kv.list()])).toEqual([])
})

test('a DPoP proof is used once, also after a restart, and all proofs are deleted after their expiry', async () => {
  const stub = newObject()
  const expires = Date.now() + 60_000
  const uses = await Promise.all(['a', 'b', 'a', 'a'].map((id) => stub.useProof(id, expires)))
  expect(uses).toEqual(['first', 'first', 'used', 'used'])
  await evictDurableObject(stub)
  expect(await stub.useProof('b', expires)).toBe('used')
  const stored = () =>
    runInDurableObject(stub, async (_, { storage }) => ({
      keys: [...storage.kv.list()].map(([key]) => key),
      alarm: await storage.getAlarm(),
    }))
  expect(await stored()).toEqual({ keys: ['proof:a', 'proof:b', 'schema'], alarm: expires })
  expect(await runDurableObjectAlarm(stub)).toBe(true)
  expect(await stored()).toEqual({ keys: [], alarm: null })
  expect(await stub.useProof('b', expires)).toBe('first')
  expect(await stored()).toEqual({ keys: ['proof:b', 'schema'], alarm: expires })
})

test('an object with 16 MB of DPoP proofs takes no more', async () => {
  const stub = newObject()
  const expires = Date.now() + 60_000
  expect(await stub.useProof('a', expires)).toBe('first')
  await runInDurableObject(stub, (_, { storage }) => {
    for (let part = 0; part < 17; part += 1) storage.kv.put(`filler:${part}`, 'x'.repeat(1024 * 1024))
  })
  expect(await stub.useProof('b', expires)).toBe('full')
  expect(await stub.useProof('a', expires)).toBe('used')
})
