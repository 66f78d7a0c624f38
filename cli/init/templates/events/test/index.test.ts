import { connect, fakeIssuer, startReceiver } from 'edgemcp/testing'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestHarness } from 'wrangler'

const issuer = await fakeIssuer('https://issuer.test')
const vars = { ISSUER: issuer.issuer, KEYS: JSON.stringify(issuer.keys) }
const harness = createTestHarness({ workers: [{ configPath: 'wrangler.toml', vars }] })
let url: URL

beforeAll(async () => {
  url = new URL('/mcp', (await harness.listen()).url)
}, 60_000)
afterAll(() => harness.close())

const clientOf = (sub: string, revision = '2026-07-28') => connect(url, { revision, token: issuer.tokenFor({ sub }) })

test.each(['2025-11-25', '2026-07-28'])(
  'an agent of %s receives the orders of its shop',
  async (revision) => {
    const receiver = startReceiver()
    const client = await clientOf(`ada of ${revision}`, revision)
    const { delivery } = receiver
    await client.request('events/subscribe', { name: 'order.paid', arguments: { shop: 'tea' }, delivery })
    await client.callTool('pay_order', { id: '1', shop: 'coffee', total: 3 })
    await client.callTool('pay_order', { id: '2', shop: 'tea', total: 5 })
    expect((await receiver.next()).data).toEqual({ id: '2', shop: 'tea', total: 5 })
    await client.close()
  },
  30_000,
)

test('the agent of another user receives nothing', async () => {
  const receivers = [startReceiver(), startReceiver()]
  const clients = [await clientOf('bob'), await clientOf('eve')]
  for (const [index, client] of clients.entries()) {
    const delivery = receivers[index]?.delivery
    await client.request('events/subscribe', { name: 'order.paid', arguments: { shop: 'tea' }, delivery })
  }
  await clients[0]?.callTool('pay_order', { id: '3', shop: 'tea', total: 5 })
  await clients[1]?.callTool('pay_order', { id: '4', shop: 'tea', total: 7 })
  const received = await Promise.all(receivers.map((receiver) => receiver.next()))
  expect(received.map(({ data }) => data.id)).toEqual(['3', '4'])
  for (const client of clients) await client.close()
}, 30_000)
