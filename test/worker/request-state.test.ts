import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test'
import { exports } from 'cloudflare:workers'
import { expect, test } from 'vitest'
import { Schema } from '../../durable-objects/shared/schema.ts'
import { RequestState } from '../../durable-objects/store/request-state.ts'
import type { RequestStateRpc } from '../../durable-objects/store/rpc.ts'

type Stub = DurableObjectStub & RequestStateRpc
const namespace = (exports as unknown as { McpSession: { getByName(name: string): Stub } }).McpSession
const fresh = () => namespace.getByName(`request-state ${crypto.randomUUID()}`)
const day = 24 * 60 * 60_000

test('a state is used once, and the same use gets the same outcome', async () => {
  const stub = fresh()
  const expires = Date.now() + day
  expect(await stub.consume('yes', expires)).toEqual({ is: 'first' })
  const waiting = stub.consume('yes', expires)
  expect(await stub.consume('no', expires)).toEqual({ is: 'other' })
  await stub.put('paid', expires)
  expect(await waiting).toEqual({ is: 'answered', text: 'paid' })
  await evictDurableObject(stub)
  expect(await stub.consume('yes', expires)).toEqual({ is: 'answered', text: 'paid' })
  expect(await stub.consume('no', expires)).toEqual({ is: 'other' })
})

test('a repeated use awaits the outcome after an eviction, while the Worker extends its lease', async () => {
  const expires = Date.now() + day
  const stub = fresh()
  await stub.consume('yes', expires)
  await evictDurableObject(stub)
  const waiting = stub.consume('yes', expires)
  await stub.put('paid', expires)
  expect(await waiting).toEqual({ is: 'answered', text: 'paid' })

  await runInDurableObject(fresh(), async (_, { storage }) => {
    const schema = new Schema(storage, [])
    await new RequestState(storage, schema, { patienceMs: 20, leaseMs: 60_000 }).consume('yes', expires)
    // Another instance, as after an eviction.
    const impatient = new RequestState(storage, schema, { patienceMs: 20, leaseMs: 0 })
    expect(await impatient.consume('yes', expires)).toEqual({ is: 'working' })
    await impatient.extend()
    expect(await impatient.consume('yes', expires)).toEqual({ is: 'lost' })
    // An outcome that is late is better than none.
    await impatient.put('paid', expires)
    expect(await impatient.consume('yes', expires)).toEqual({ is: 'answered', text: 'paid' })
  })
})

test('a late use does not consume the state, and returns the outcome of an earlier use', async () => {
  const expires = Date.now() + day
  const stub = fresh()
  expect(await stub.consume('yes', expires, true)).toEqual({ is: 'late' })
  expect(await stub.consume('yes', expires)).toEqual({ is: 'first' })
  await stub.put('paid', expires)
  expect(await stub.consume('yes', expires, true)).toEqual({ is: 'answered', text: 'paid' })
})

test('extend() does nothing without a lease', async () => {
  const stub = fresh()
  await stub.extend()
  expect(await valueSizesOf(stub)).toEqual([])
})

/** Bytes of each value in storage, keys left out: a character beyond Latin-1 takes two. */
const valueSizesOf = (stub: Stub) =>
  runInDurableObject(stub, (_, { storage }) =>
    [...storage.kv.list<string>()].map(([, value]) => new Blob([String(value)]).size),
  )

test.each([
  ['of Latin letters', 'x'.repeat(3_000_000)],
  ['of other letters', 'ж'.repeat(1_500_000)],
  ['of characters that are surrogate pairs', `x${'😀'.repeat(1_500_000)}`],
])("an outcome of 3 MB %s is stored in values below the platform's limit", async (_, text) => {
  const stub = fresh()
  const expires = Date.now() + day
  await stub.consume('yes', expires)
  await stub.put(text, expires)
  await evictDurableObject(stub)
  // Each of 2 MB at most, in the encoding that takes the most.
  for (const size of await valueSizesOf(stub)) expect(size).toBeLessThan(2_000_000)
  expect(await stub.consume('yes', expires)).toEqual({ is: 'answered', text })
  expect(await stub.get()).toBe(text)
  expect(await runDurableObjectAlarm(stub)).toBe(true)
  expect(await valueSizesOf(stub)).toEqual([])
})

test('a shorter outcome replaces a longer one completely', async () => {
  const stub = fresh()
  await stub.put('x'.repeat(3_000_000), Date.now() + day)
  await stub.put('short', Date.now() + day)
  expect(await stub.get()).toBe('short')
})

test('the alarm deletes the state after its expiry', async () => {
  const stub = fresh()
  await stub.consume('yes', Date.now() + day)
  await stub.put('much', Date.now() + day)
  expect(await runDurableObjectAlarm(stub)).toBe(true)
  const left = await runInDurableObject(stub, async (_, { storage }) => [
    [...storage.kv.list()].length,
    await storage.getAlarm(),
  ])
  expect(left).toEqual([0, null])
})
