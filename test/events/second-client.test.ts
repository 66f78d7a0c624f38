/** A client that is written from the guide receives events by webhook, by poll and on a stream. */
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { type EventOccurrence, type Revision, SecondClient } from './second-client.ts'
import { openShop, tokenOf } from './shop.ts'

let shop: Awaited<ReturnType<typeof openShop>>
beforeAll(async () => {
  shop = await openShop()
})
afterAll(() => shop[Symbol.asyncDispose]())

/** A client whose callback URL is routed, and the requests that its receiver has got. */
function clientOf(revision: Revision, name: string, user: string | object = name) {
  const callback = `https://hooks.example/${name}`
  const client = new SecondClient({ endpoint: String(shop.server.url), revision, token: tokenOf(user), callback })
  const requests: Request[] = []
  shop.internet.handlers.set(callback, async (request) => {
    requests.push(request.clone() as Request)
    return client.receive(request)
  })
  return { client, requests }
}

const waiting = { timeout: 10_000 }
const totals = (events: readonly { data: object }[]) => events.map(({ data }) => Object(data).total)

describe.each<Revision>(['2026-07-28', '2025-11-25'])('a client of %s', (revision) => {
  test('receives events by webhook, across a refresh with a new secret', async () => {
    const { client, requests } = clientOf(revision, `webhook-${revision}`)
    const tea = `tea-${revision}`
    const webhookOf = (total: number) => vi.waitFor(() => expect(totals(client.events)).toContain(total), waiting)

    const listed = (await client.list()).find(({ name }) => name === 'order.paid')
    expect(listed?.delivery).toEqual(expect.arrayContaining(['webhook', 'poll']))
    expect(listed?.delivery.includes('push')).toBe(revision === '2026-07-28')

    const subscribed = await client.subscribe('order.paid', { shop: tea }, { ttlMs: 3_600_000 })
    expect(subscribed).toMatchObject({ id: expect.any(String), cursor: expect.any(String), truncated: false })
    expect(Date.parse(subscribed.refreshBefore)).toBeGreaterThan(Date.now())
    expect(await requests[0]?.clone().json()).toMatchObject({ type: 'verification' })

    await shop.paid(tea, 1)
    await shop.paid(tea, 2)
    await webhookOf(1)
    await webhookOf(2)
    expect((await client.refresh()).id).toBe(subscribed.id)
    await shop.paid(tea, 3)
    await webhookOf(3)
    // The order of events without a key is not promised.
    expect(totals(client.events).sort()).toEqual([1, 2, 3])

    const page = await client.poll(subscribed.cursor)
    expect(page).toMatchObject({ truncated: false, hasMore: false, nextPollMs: expect.any(Number) })
    expect(totals(page.events)).toEqual([1, 2, 3])
    expect(page.events.map(({ eventId }) => eventId).sort()).toEqual(client.events.map(({ eventId }) => eventId).sort())

    await client.unsubscribe()
    await expect(client.unsubscribe()).rejects.toMatchObject({ code: -32011, data: { kind: 'subscription' } })
    await shop.paid(tea, 4)
    expect(totals((await client.poll(page.cursor)).events)).toEqual([4])
    expect(client.events).toHaveLength(3)
  })

  test('rejects what the server has not signed, and recognizes repetitions', async () => {
    const { client, requests } = clientOf(revision, `signatures-${revision}`)
    const other = clientOf(revision, `other-${revision}`).client
    const tea = `signed-${revision}`
    await client.subscribe('order.paid', { shop: tea })
    await shop.paid(tea)
    await vi.waitFor(() => expect(client.events).toHaveLength(1), waiting)
    const delivered = requests.at(-1) as Request
    const body = await delivered.clone().text()
    const statusOf = async (headers: Record<string, string> = {}, changed = body, receiver = client) => {
      const all = { ...Object.fromEntries(delivered.headers), ...headers }
      const request = new Request(delivered.url, { method: 'POST', headers: all, body: changed })
      return (await receiver.receive(request)).status
    }

    expect(await statusOf()).toBe(204)
    expect(await statusOf({}, `${body} `)).toBe(401)
    expect(await statusOf({}, body, other)).toBe(401)
    for (const name of ['webhook-id', 'webhook-timestamp', 'webhook-signature', 'x-mcp-subscription-id'])
      expect(await statusOf({ [name]: '' }), name).toBe(401)
    expect(await statusOf({ 'webhook-id': 'evt_other' })).toBe(401)
    const clock = vi.spyOn(Date, 'now').mockReturnValue(Date.now() + 301_000)
    expect(await statusOf()).toBe(401)
    clock.mockRestore()

    await client.refresh()
    expect(await statusOf(), 'the previous secret').toBe(204)
    await client.refresh()
    expect(await statusOf(), 'the secret before the previous one').toBe(401)
    expect(client.events).toHaveLength(1)
    await client.unsubscribe()
  })

  test('learns that its subscription was terminated', async () => {
    const subject = `terminated-${revision}`
    const { client } = clientOf(revision, subject, { issuer: 'https://idp.example', subject })
    await client.subscribe('order.paid', { shop: subject })
    shop.internet.users.set(subject, undefined)
    await shop.paid(subject)
    await vi.waitFor(() => expect(client.terminated).toMatchObject({ code: -32012 }), waiting)
    expect(client.events).toEqual([])
  })
})

test('a client of 2026-07-28 reads a stream, and goes on with the cursor of its last event', async () => {
  const { client } = clientOf('2026-07-28', 'stream')
  const { cursor } = await client.subscribe('order.paid', { shop: 'stream' })
  await shop.paid('stream', 1)
  await shop.paid('stream', 2)
  const events: EventOccurrence[] = []
  for await (const event of client.stream(cursor)) {
    events.push(event)
    if (events.length === 2) await shop.paid('stream', 3)
    if (events.length === 3) break
  }
  expect(totals(events)).toEqual([1, 2, 3])
  for await (const event of client.stream(events[1]?.cursor ?? null)) {
    expect(event.eventId).toBe(events[2]?.eventId)
    break
  }
  await client.unsubscribe()
})
