/** Events by webhook: subscriptions, deliveries and their limits, over HTTP. */
import { createMCPClient, experimental_createMCPEventWebhook } from '@ai-sdk/mcp'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { connect } from '../../worker/testing/index.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { Internet, Receiver } from './receivers.ts'

const internet = new Internet()
let server: TestServer
beforeAll(async () => {
  server = await startServer('test/events/server', {}, (request) => internet.answer(request))
})
afterAll(() => server[Symbol.asyncDispose]())

const revisions = ['2026-07-28', '2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05']
const tokenOf = (user: string | object) => JSON.stringify(typeof user === 'string' ? { subject: user } : user)
const clientOf = (user: string | object, revision = '2025-11-25') =>
  connect(server.url, { revision, headers: { Authorization: `Bearer ${tokenOf(user)}` } })

async function publish(name: string, payload: object, recipients: object, options: object = {}): Promise<string> {
  const body = JSON.stringify({ name, payload, recipients, options })
  const response = await fetch(new URL('/publish', server.url), { method: 'POST', body })
  const answer = (await response.json()) as string | { problem: string }
  if (typeof answer === 'string') return answer
  throw new Error(answer.problem)
}

const paid = (shop: string, total = 1) => publish('order.paid', { shop, total }, { everyone: true })
const wanting = ({ url, secret }: Pick<Receiver, 'url' | 'secret'>, shop: string) => ({
  name: 'order.paid',
  arguments: { shop },
  delivery: { mode: 'webhook', url, secret },
  cursor: null,
})

describe.each(revisions)('in %s', (revision) => {
  test('events are listed, subscribed to, delivered and unsubscribed from', async () => {
    const shop = `shop of ${revision}`
    const receiver = new Receiver(internet, revision)
    await using client = await clientOf(`user ${revision}`, revision)
    expect(client.initializeResult.capabilities).toMatchObject({
      events: {},
      extensions: { 'io.modelcontextprotocol/events': {} },
    })
    const { events } = (await client.request('events/list')) as { events: object[] }
    expect(events).toEqual([
      {
        name: 'order.paid',
        description: 'An order was paid',
        delivery: ['webhook'],
        inputSchema: expect.objectContaining({ type: 'object', required: ['shop'] }),
        payloadSchema: expect.objectContaining({ type: 'object', required: ['shop', 'total'] }),
      },
    ])
    const subscribed = await client.request('events/subscribe', wanting(receiver, shop))
    expect(subscribed).toMatchObject({ id: expect.stringMatching(/^sub_[\w-]{43}$/), cursor: null, truncated: false })
    const [verification] = receiver.verifications
    expect(verification).toMatchObject({ subscription: subscribed.id, id: expect.stringMatching(/^msg_verification_/) })
    const id = await paid(shop, 5)
    const [event] = await receiver.received(1)
    expect(event).toMatchObject({
      id,
      subscription: subscribed.id,
      body: { eventId: id, name: 'order.paid', data: { shop, total: 5 }, timestamp: expect.any(String) },
    })
    const again = await client.request('events/subscribe', wanting(receiver, shop))
    expect(again).toMatchObject({ id: subscribed.id, deliveryStatus: { active: true, lastError: null } })
    expect(receiver.verifications).toHaveLength(1)
    const { mode: _, ...delivery } = wanting(receiver, shop).delivery
    expect(await client.request('events/unsubscribe', { ...wanting(receiver, shop), delivery })).toMatchObject({})
    await expect(client.request('events/unsubscribe', wanting(receiver, shop))).rejects.toMatchObject({
      code: -32011,
      data: { kind: 'subscription' },
    })
  })
})

test('the client of the AI SDK subscribes, verifies, receives, refreshes and unsubscribes', async () => {
  const stored = new Map<string, { key: string; id?: string; status: string; delivery: { url: string } }>()
  const store = {
    get: async (key: string) => stored.get(key),
    getById: async (id: string) => [...stored.values()].find((one) => one.id === id),
    set: async (one: never) => void stored.set((one as { key: string }).key, one),
    update: async (key: string, change: object) => void stored.set(key, { ...stored.get(key), ...change } as never),
    delete: async (key: string) => void stored.delete(key),
  }
  const received = Promise.withResolvers<{ name: string; data: unknown }>()
  const webhook = experimental_createMCPEventWebhook({
    store: store as never,
    onEvent: async ({ event }) => received.resolve(event as never),
  })
  const headers = { Authorization: `Bearer ${tokenOf('agent')}` }
  const client = await createMCPClient({
    transport: { type: 'http', url: String(server.url), headers },
    experimental_events: { store: store as never },
  } as never)
  type Action = (args: object) => Promise<{ id: string }>
  type Actions = { readonly subscribe: Action; readonly refresh: Action; readonly unsubscribe: Action }
  const { experimental_events: events } = client as unknown as { experimental_events: Actions }
  const url = 'https://hooks.example/agent'
  const known = internet.answer
  internet.answer = async (request) => (request.url.startsWith(url) ? webhook(request) : known(request))
  const { id } = await events.subscribe({
    name: 'order.paid',
    arguments: { shop: 'sdk' },
    delivery: { mode: 'webhook', url },
  })
  await paid('sdk', 7)
  expect(await received.promise).toMatchObject({ name: 'order.paid', data: { shop: 'sdk', total: 7 } })
  expect(await events.refresh({ id })).toMatchObject({ id })
  await events.unsubscribe({ id })
  expect(stored.size).toBe(0)
  internet.answer = known
  await client.close()
})
