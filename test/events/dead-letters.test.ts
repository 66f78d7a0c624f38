/** Events that did not reach a subscription: listed and sent again by the code of the Worker. */
import { afterAll, expect, test } from 'vitest'
import { Receiver } from './receivers.ts'
import { openShop, wanting } from './shop.ts'

const shop = await openShop({ MAX_WAITING: '3' })
afterAll(() => shop[Symbol.asyncDispose]())
const { internet, server, call, publish, paid, subscribed } = shop

type Letter = { id: string; subscription: string; reason: string; at: string }

const issuer = 'https://idp.example'
const lettersOf = (subject: string, name = 'order.paid') =>
  call<Letter[]>('/dead-letters', { name, recipients: { user: { issuer, subject } } })
const redeliver = (subject: string, ids?: string[], name = 'order.paid') =>
  call<number>('/redeliver', { name, recipients: { user: { issuer, subject } }, ids })

const answering = (status: number) => () => new Response(null, { status })
const totalsOf = ({ events }: Receiver) => events.map(({ data }) => data.total)

/** Publishes events with one key, and resolves once the receiver has refused them. @returns their ids */
async function refuse(receiver: Receiver, of: string, totals: readonly number[], status: number): Promise<string[]> {
  receiver.answers = answering(status)
  const before = receiver.events.length
  const ids: string[] = []
  for (const total of totals) {
    ids.push(await publish('order.paid', { shop: of, total }, { everyone: true }, { key: 'k' }))
    await receiver.received(before + ids.length)
  }
  return ids
}

test.each([
  [410, 'gone'],
  [413, 'too_large'],
])('an event that is refused with %i is a dead letter, which is sent again', async (status, reason) => {
  const subject = `refuser ${status}`
  const receiver = new Receiver(internet, `refuser-${status}`)
  const other = new Receiver(internet, `other-${status}`)
  await using one = await subscribed(subject, receiver, subject)
  await using _ = await subscribed(`other ${status}`, other, subject)
  const ids = await refuse(receiver, subject, [1, 2], status)
  const letter = { subscription: one.id, reason, at: expect.stringMatching(/^\d{4}-.*Z$/) }
  await expect.poll(() => lettersOf(subject)).toEqual(ids.map((id) => ({ id, ...letter })))
  expect(await lettersOf(`other ${status}`)).toEqual([])
  expect(await lettersOf(subject, 'order.audited')).toEqual([])
  expect(await redeliver(`other ${status}`)).toBe(0)
  expect(await redeliver(subject, undefined, 'order.audited')).toBe(0)
  expect(await redeliver(subject, ['evt_unknown'])).toBe(0)
  receiver.answers = answering(204)
  expect(await redeliver(subject, ids.slice(1))).toBe(1)
  await receiver.received(3)
  expect(receiver.events[2]).toEqual(receiver.events[1])
  expect((await lettersOf(subject)).map(({ id }) => id)).toEqual(ids.slice(0, 1))
  expect(await redeliver(subject)).toBe(1)
  await receiver.received(4)
  expect(totalsOf(receiver)).toEqual([1, 2, 2, 1])
  // A busy machine may repeat an attempt.
  expect(new Set(totalsOf(other))).toEqual(new Set([1, 2]))
  await expect.poll(() => lettersOf(subject)).toEqual([])
})

test('events that are dropped, because too many wait, are dead letters, which precede those of their key', async () => {
  const receiver = new Receiver(internet, 'dropped')
  await using one = await subscribed('dropped', receiver, 'dropped')
  await refuse(receiver, 'dropped', [1, 2, 3, 4, 5], 410)
  await expect.poll(() => lettersOf('dropped')).toHaveLength(5)
  // The subscription is suspended.
  const send = (total: number) => publish('order.paid', { shop: 'dropped', total }, { everyone: true }, { key: 'k' })
  const dropped = await send(6)
  for (const total of [7, 8, 9]) await send(total)
  await expect.poll(async () => (await lettersOf('dropped')).at(-1)).toMatchObject({ id: dropped, reason: 'dropped' })
  expect(await redeliver('dropped', [dropped])).toBe(1)
  receiver.answers = answering(204)
  expect(receiver.events).toHaveLength(5)
  await one.client.request('events/subscribe', wanting(receiver, 'dropped'))
  await receiver.received(9)
  expect(totalsOf(receiver).slice(5)).toEqual([6, 7, 8, 9])
})

test('of two events with one id are sent again each by its name', async () => {
  internet.users.set('names', ['audit'])
  const receiver = new Receiver(internet, 'names')
  await using one = await subscribed({ subject: 'names', scopes: ['audit'] }, receiver, 'names')
  await one.client.request('events/subscribe', { ...wanting(receiver, ''), name: 'order.audited', arguments: {} })
  const send = (name: string, payload: object) => publish(name, payload, { everyone: true }, { id: 'order-7' })
  receiver.answers = answering(410)
  await send('order.paid', { shop: 'names', total: 1 })
  await receiver.received(1)
  await send('order.audited', { id: '7' })
  await expect.poll(() => lettersOf('names', 'order.audited')).toMatchObject([{ id: 'order-7' }])
  receiver.answers = answering(204)
  for (const name of ['order.audited', 'order.paid']) {
    expect(await redeliver('names', ['order-7'], name)).toBe(1)
    await expect.poll(() => lettersOf('names', name)).toEqual([])
  }
  const events = await receiver.received(4)
  expect(events.slice(2).map(({ name }) => name)).toEqual(['order.audited', 'order.paid'])
})

test('end with their subscription', async () => {
  const receiver = new Receiver(internet, 'ended')
  await using one = await subscribed('ended', receiver, 'ended')
  await refuse(receiver, 'ended', [1], 410)
  await expect.poll(() => lettersOf('ended')).toHaveLength(1)
  await one.client.request('events/unsubscribe', wanting(receiver, 'ended'))
  await one.client.request('events/subscribe', wanting(receiver, 'ended'))
  expect(await lettersOf('ended')).toEqual([])
})

test('are sent again only to those who may receive them then', async () => {
  const receiver = new Receiver(internet, 'revoked')
  await using _ = await subscribed('revoked', receiver, 'revoked')
  await refuse(receiver, 'revoked', [1], 410)
  await expect.poll(() => lettersOf('revoked')).toHaveLength(1)
  internet.users.set('revoked', undefined)
  expect(await redeliver('revoked')).toBe(1)
  await expect.poll(() => receiver.terminations.length).toBe(1)
  expect(receiver.events).toHaveLength(1)
})

test('are the newest 100 of a user, for seven days', async () => {
  const receiver = new Receiver(internet, 'full')
  await using _ = await subscribed('full', receiver, 'full')
  receiver.answers = answering(413)
  const ids: string[] = []
  for (let total = 1; total <= 103; total += 1) {
    ids.push(await paid('full', total))
    await receiver.received(total)
  }
  await expect.poll(async () => (await lettersOf('full')).map(({ id }) => id)).toEqual(ids.slice(3))
  const worker = server.harness.getWorker()
  let bodies = 0
  for (const id of await worker.listDurableObjectIds('McpEvents')) {
    const storage = await worker.getDurableObjectStorage('McpEvents', { id })
    const [isOwner] = await storage.exec("SELECT 1 FROM sqlite_master WHERE name = 'subscriptions'")
    const [own] = isOwner ? await storage.exec(`SELECT 1 FROM events WHERE id = '${ids[0]}' AND body IS NULL`) : []
    if (!own) continue
    const [{ count }] = (await storage.exec('SELECT count(body) AS count FROM events')) as [{ count: number }]
    bodies = count
    await storage.exec(`UPDATE deliveries SET endedAt = endedAt - 7 * 86400000 WHERE event <> '${ids.at(-1)}'`)
  }
  expect(bodies).toBe(100)
  // The alarm of another event deletes them.
  receiver.answers = answering(204)
  await paid('full', 104)
  await expect.poll(async () => (await lettersOf('full')).map(({ id }) => id)).toEqual(ids.slice(-1))
})

test.each([[{ everyone: true }], [{ tenant: { issuer, tenant: 'a' } }], [null]])(
  'are those of one user: %j',
  async (recipients) => {
    const params = { name: 'order.paid', recipients }
    await expect(call('/dead-letters', params)).rejects.toThrow('one user')
    await expect(call('/redeliver', params)).rejects.toThrow('one user')
  },
)

test('do not hold back the cursor of their subscription', async () => {
  const receiver = new Receiver(internet, 'cursor')
  await using one = await subscribed('cursor', receiver, 'cursor')
  const cursor = async () =>
    Number(Object(await one.client.request('events/subscribe', wanting(receiver, 'cursor'))).cursor)
  const before = await cursor()
  await refuse(receiver, 'cursor', [1], 410)
  await expect.poll(() => lettersOf('cursor')).toHaveLength(1)
  expect(await cursor()).toBeGreaterThan(before)
})
