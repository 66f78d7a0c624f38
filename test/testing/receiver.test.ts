/** `startReceiver()`: events reach a test in Node.js, and its answers decide what the server does. */
import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connect, type Receiver, type ReceiverAnswers, startReceiver } from '../../worker/testing/index.ts'
import { type RunningServer, startIssuer, startServer } from '../../worker/testing/node/index.ts'

let issuer: Awaited<ReturnType<typeof startIssuer>>
let server: RunningServer
beforeAll(async () => {
  issuer = await startIssuer()
  server = await startServer({ config: 'test/testing/orders/wrangler.toml', vars: { ISSUER: issuer.issuer } })
})
afterAll(async () => {
  await server?.close()
  await issuer?.close()
})

/** Subscribes a user to a shop of its own. */
async function subscribe(shop: string, receiver: Receiver) {
  const exp = Math.floor(Date.now() / 1000) + 86_400
  const client = await connect(server, { revision: '2026-07-28', token: issuer.tokenFor({ sub: shop, exp }) })
  const params = { name: 'order.paid', arguments: { shop }, delivery: receiver.delivery }
  const { id } = (await client.request('events/subscribe', params)) as { id: string }
  const pay = (order: string) => client.callTool('pay_order', { id: `${shop}-${order}`, shop, total: 5 })
  const unsubscribe = () => client.request('events/unsubscribe', params)
  return { id, pay, unsubscribe, [Symbol.asyncDispose]: () => client.close() }
}

test('an event arrives, once for a call that is repeated', async () => {
  using receiver = startReceiver()
  await using shop = await subscribe('tea', receiver)
  expect(receiver.challenges).toMatchObject([{ subscription: shop.id, challenge: expect.any(String) }])
  await Promise.all([shop.pay('1'), shop.pay('1')])
  expect(await receiver.next()).toMatchObject({
    id: 'paid-tea-1',
    subscription: shop.id,
    name: 'order.paid',
    data: { id: 'tea-1', shop: 'tea', total: 5 },
    timestamp: expect.stringMatching(/Z$/),
  })
  await shop.pay('2')
  expect((await receiver.next()).id).toBe('paid-tea-2')
  expect(receiver.events).toHaveLength(2)
})

test('an event that a receiver refuses comes again when time passes', async () => {
  using receiver = startReceiver({ answers: [503, 500] })
  await using shop = await subscribe('coffee', receiver)
  await shop.pay('1')
  const first = await receiver.next()
  await server.advance(1000)
  const second = await receiver.next()
  await server.advance(2000)
  expect([await receiver.next(), second]).toEqual([first, first])
})

test('a receiver that answers 410 refuses one event', async () => {
  using receiver = startReceiver({ answers: (event) => (event.id === 'paid-cocoa-1' ? 410 : new Response('ok')) })
  await using shop = await subscribe('cocoa', receiver)
  await shop.pay('1')
  await receiver.next()
  await shop.pay('2')
  expect((await receiver.next()).id).toBe('paid-cocoa-2')
  expect(await shop.unsubscribe()).toMatchObject({})
})

const refused: [string, ReceiverAnswers<unknown>, string][] = [
  ['404', [404], 'http_4xx'],
  ['503', () => 503, 'http_5xx'],
  ['another challenge', [Response.json({ challenge: 'x' })], 'challenge_failed'],
]
test.each(refused)(
  'a receiver that answers a challenge with %s gets no events',
  async (_, challengeAnswers, reason) => {
    using receiver = startReceiver({ challengeAnswers })
    await expect(subscribe('water', receiver)).rejects.toMatchObject({ code: -32015, data: { reason } })
  },
)

test('a webhook with another signature is an error for the test', async () => {
  using receiver = startReceiver({ url: 'https://agent.example' })
  const headers = { 'webhook-id': 'x', 'webhook-timestamp': '1', 'webhook-signature': `v1,${btoa('x')}` }
  const waiting = receiver.next()
  for (const request of [{ headers }, {}]) {
    expect((await fetch('https://agent.example', { method: 'POST', body: '{}', ...request })).status).toBe(401)
  }
  // Long enough for a rejection that nothing handles to be one.
  await new Promise((resolve) => void setImmediate(resolve))
  await expect(waiting).rejects.toThrow('does not match its secret')
  await expect(receiver.next()).rejects.toThrow('does not match its secret')
})

test('a receiver that never answers notices that nothing waits any more', async () => {
  using receiver = startReceiver({ answers: ['never'] })
  const body = JSON.stringify({ eventId: 'x', name: 'n', timestamp: '2026-11-30T10:00:00.000Z', data: {} })
  const headers = {
    'webhook-id': 'x',
    'webhook-timestamp': '1',
    'webhook-signature': `v1,AAAA ${new Webhook(receiver.secret).sign('x', new Date(1000), body)}`,
  }
  const request = new Request(receiver.url, { method: 'POST', headers, body })
  const controller = new AbortController()
  const answer = fetch(request, { signal: controller.signal })
  expect(await receiver.next()).toMatchObject({ id: 'x', name: 'n', data: {} })
  controller.abort(new Error('The server waits no longer'))
  await expect(answer).rejects.toThrow('The server waits no longer')
})

test('a URL has one receiver, until it is disposed', async () => {
  const url = 'https://agent.example/hook'
  {
    using _ = startReceiver({ url })
    expect(() => startReceiver({ url })).toThrow('Two receivers have the URL https://agent.example/hook')
  }
  using _ = startReceiver({ url })
})
