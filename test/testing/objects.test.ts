import { afterAll, beforeAll, expect, test } from 'vitest'
import { parseKeyRing, sealer } from '../../worker/sealing/seal.ts'
import { connect } from '../../worker/testing/index.ts'
import { type RunningServer, startServer } from '../../worker/testing/node/index.ts'
import { objectOf } from '../../worker/testing/objects.ts'

const secret = `test:${Buffer.alloc(32, 7).toString('base64url')}`
const ring = parseKeyRing(secret)
const ada = { issuer: 'https://issuer.example', subject: 'ada', scopes: [], claims: {} }

let server: RunningServer
beforeAll(async () => {
  server = await startServer({ config: 'examples/basket/wrangler.toml', secrets: { EDGEMCP_KEYS: secret } })
})
afterAll(() => server.close())

test('an object is found by what it keeps, whoever that is for', async () => {
  const session = await sealer(ring).seal('session', ada, { name: 'of ada' }, 1000)
  expect(await objectOf({ session }, ring)).toEqual({ class: 'McpSession', name: 'of ada' })
  expect(await objectOf({ session }, ring, 'Other')).toEqual({ class: 'Other', name: 'of ada' })
  const task = await sealer(ring).seal('task', ada, { name: 'one', scopes: [] }, 1000)
  expect(await objectOf({ task }, ring)).toEqual({ class: 'McpTask', name: 'task one' })
  await expect(objectOf({ task: `${task.slice(0, -40)}` }, ring)).rejects.toThrow('Not the id of a task')
})

test('so is one that keeps a state with a handle', async () => {
  await using client = await connect(server, { revision: '2026-07-28' })
  const { content } = await client.callTool('new_basket')
  const [{ text: basket }] = content as unknown as [{ text: string }]
  await client.callTool('add_to_basket', { basket, item: 'tea' })
  const kept = { state: 'basket', handle: basket }
  const { class: className, name } = await objectOf(kept, ring)
  // One that nobody has made before would show here.
  await server.harness.getWorker().evictDurableObject(className, { name, webSockets: 'hibernate' })
  await server.evict(kept)
  expect(await client.callTool('show_basket', { basket })).toMatchObject({ content: [{ text: '1 tea: 5' }] })
})
