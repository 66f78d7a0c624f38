/** `startReceiver()` inside workerd, where the Worker and the test share `fetch` and the clock. */
import { connect, startReceiver } from 'edgemcp/testing'
import { server, startIssuer } from 'edgemcp/testing/workers'
import { expect, test } from 'vitest'

test('a paid order reaches the agent, also after its receiver failed', async () => {
  using issuer = await startIssuer('http://127.0.0.1:8788')
  using receiver = startReceiver({ answers: [503] })
  const token = issuer.tokenFor({ sub: 'ada' })
  await using client = await connect(server, { revision: '2026-07-28', token })
  const { delivery } = receiver
  await client.request('events/subscribe', { name: 'order.paid', arguments: { shop: 'tea' }, delivery })
  await client.callTool('pay_order', { id: '7', shop: 'tea', total: 5 })
  const { id, data } = await receiver.next()
  expect(data).toEqual({ id: '7', shop: 'tea', total: 5 })
  await server.advance(1000)
  expect((await receiver.next()).id).toBe(id)
})
