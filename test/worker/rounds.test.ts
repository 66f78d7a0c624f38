import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test'
import { exports } from 'cloudflare:workers'
import { expect, test } from 'vitest'
import { type RoundRpc, Rounds } from '../../durable-objects/rounds.ts'
import { Schema } from '../../durable-objects/schema.ts'

type Stub = DurableObjectStub & RoundRpc
const namespace = (exports as unknown as { McpSession: { getByName(name: string): Stub } }).McpSession
const fresh = () => namespace.getByName(`round ${crypto.randomUUID()}`)
const day = 24 * 60 * 60_000

test('a state is used once, and whoever uses it the same way gets the same answer', async () => {
  const stub = fresh()
  const expires = Date.now() + day
  expect(await stub.claim('yes', expires)).toEqual({ is: 'first' })
  const waiting = stub.claim('yes', expires)
  expect(await stub.claim('no', expires)).toEqual({ is: 'other' })
  await stub.keep('paid', expires)
  expect(await waiting).toEqual({ is: 'answered', text: 'paid' })
  await evictDurableObject(stub)
  expect(await stub.claim('yes', expires)).toEqual({ is: 'answered', text: 'paid' })
  expect(await stub.claim('no', expires)).toEqual({ is: 'other' })
})

test('an answer that nobody gives is not waited for, whoever was to give it', async () => {
  const expires = Date.now() + day
  const lost = fresh()
  await lost.claim('yes', expires)
  await evictDurableObject(lost)
  expect(await lost.claim('yes', expires)).toEqual({ is: 'lost' })
  await runInDurableObject(fresh(), async (_, { storage }) => {
    const rounds = new Rounds(storage, new Schema(storage), 20)
    await rounds.claim('yes', expires)
    expect(await rounds.claim('yes', expires)).toEqual({ is: 'lost' })
  })
  // Late is better than never.
  await lost.keep('paid', expires)
  expect(await lost.claim('yes', expires)).toEqual({ is: 'answered', text: 'paid' })
})

test('nothing of it remains when its time is over', async () => {
  const stub = fresh()
  await stub.claim('yes', Date.now() + day)
  await stub.keep('much', Date.now() + day)
  expect(await runDurableObjectAlarm(stub)).toBe(true)
  const left = await runInDurableObject(stub, async (_, { storage }) => [
    [...storage.kv.list()].length,
    await storage.getAlarm(),
  ])
  expect(left).toEqual([0, null])
})
