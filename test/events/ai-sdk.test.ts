/** The client of the AI SDK, as it is published, with the server of `examples/orders`. */
import { createMCPClient, experimental_createMCPEventWebhook } from '@ai-sdk/mcp'
import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startIssuer } from '../../worker/testing/node/index.ts'
import { startServer, type TestServer } from '../support/server.ts'

const url = 'https://agent.example/events'
/** What the server posts, in order: to the webhook of the SDK. */
const posts: { readonly headers: Record<string, string>; readonly text: string; readonly status: number }[] = []
let webhook: (request: Request) => Promise<Response>
let issuer: Awaited<ReturnType<typeof startIssuer>>
let server: TestServer
beforeAll(async () => {
  issuer = await startIssuer()
  server = await startServer('examples/orders', { ISSUER: issuer.issuer }, (request) => {
    // The SDK adds the id of the subscription.
    return request.url.startsWith(url) ? receive(request) : undefined
  })
})
afterAll(async () => {
  await server?.[Symbol.asyncDispose]()
  await issuer?.close()
})

async function receive(request: Request): Promise<Response> {
  const [headers, text] = [Object.fromEntries(request.headers), await request.clone().text()]
  const response = await webhook(request)
  posts.push({ headers, text, status: response.status })
  return response
}

type Stored = { key: string; id?: string; status: string; delivery: { url: string; secret: string } }
type Received = { readonly name: string; readonly data: unknown }

/** Stores subscriptions as an application of the SDK does. */
function storeOf(stored: Map<string, Stored>) {
  return {
    get: async (key: string) => stored.get(key),
    getById: async (id: string) => [...stored.values()].find((one) => one.id === id),
    set: async (one: Stored) => void stored.set(one.key, one),
    update: async (key: string, change: object) => void stored.set(key, Object.assign({}, stored.get(key), change)),
    delete: async (key: string) => void stored.delete(key),
  }
}

test('subscribes, verifies, receives, refreshes and unsubscribes', async () => {
  const stored = new Map<string, Stored>()
  const store = storeOf(stored)
  const received: Received[] = []
  const arrived = Promise.withResolvers<void>()
  webhook = experimental_createMCPEventWebhook({
    // The types of the SDK have more members than it uses.
    store: store as never,
    onEvent: async ({ event }) => {
      received.push(event)
      if (received.length === 2) arrived.resolve()
    },
  })
  const token = await issuer.tokenFor({ sub: 'ada' })(server.url.href)
  const headers = { Authorization: `Bearer ${token}` }
  const client = await createMCPClient({
    transport: { type: 'http', url: String(server.url), headers },
    experimental_events: { store: store as never },
  } as never)
  try {
    type Action = (args: object) => Promise<{ id: string }>
    type Actions = { readonly subscribe: Action; readonly refresh: Action; readonly unsubscribe: Action }
    const { experimental_events: events } = client as unknown as { experimental_events: Actions }
    const { id } = await events.subscribe({
      name: 'order.paid',
      arguments: { shop: 'tea' },
      delivery: { mode: 'webhook', url },
    })
    const [{ delivery: { secret = '' } = {} } = {}] = stored.values()
    const tools = await client.tools()
    const pay = (order: string) =>
      tools.pay_order?.execute?.({ id: order, shop: 'tea', total: 7 }, { toolCallId: order, messages: [] } as never)
    await pay('1')
    expect(await events.refresh({ id })).toMatchObject({ id })
    await pay('2')
    await arrived.promise
    expect(received).toMatchObject([
      { name: 'order.paid', data: { id: '1', shop: 'tea', total: 7 } },
      { name: 'order.paid', data: { id: '2', shop: 'tea', total: 7 } },
    ])
    await events.unsubscribe({ id })
    await pay('3')
    expect(stored.size).toBe(0)
    // A challenge, and two events. The SDK answers 503 soon after it has subscribed or refreshed.
    expect(posts.map(({ status }) => status).filter((status) => status !== 503)).toEqual([200, 204, 204])
    for (const { text, headers } of posts) expect(new Webhook(secret).verify(text, headers)).toEqual(JSON.parse(text))
  } finally {
    await client.close()
  }
})
