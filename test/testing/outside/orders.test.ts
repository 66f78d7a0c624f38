import assert from 'node:assert/strict'
import { test } from 'node:test'
import { connect, startReceiver } from 'edgemcp/testing'
import { startIssuer, startServer } from 'edgemcp/testing/node'

test('a paid order reaches the agent, also after its receiver failed', async () => {
  const { issuer, tokenFor, close } = await startIssuer()
  const server = await startServer({
    config: 'test/testing/orders/wrangler.toml',
    vars: { ISSUER: issuer },
  })
  const token = tokenFor({ sub: 'ada' })
  const client = await connect(server, { revision: '2026-07-28', token })
  const receiver = startReceiver({ answers: [503] })
  await client.request('events/subscribe', {
    name: 'order.paid',
    arguments: { shop: 'tea' },
    delivery: receiver.delivery,
  })
  await client.callTool('pay_order', { id: '7', shop: 'tea', total: 5 })
  const { id, data } = await receiver.next()
  assert.deepEqual(data, { id: '7', shop: 'tea', total: 5 })
  await server.advance(1000)
  assert.equal((await receiver.next()).id, id)
  await client.close()
  await server.close()
  await close()
})
