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

test('objectOf() finds the object of a session id or a task id', async () => {
  const session = await sealer(ring).seal('session', ada, {}, 1000)
  const name = session.slice('test.'.length, 'test.'.length + 16)
  expect(await objectOf({ session }, ring)).toEqual({ class: 'McpSession', name })
  expect(await objectOf({ session }, ring, 'Other')).toEqual({ class: 'Other', name })
  const task = await sealer(ring).createId('task', ada, 1000, false)
  expect(await objectOf({ task }, ring)).toEqual({ class: 'McpTask', name: `task ${task.slice(0, 22)}` })
  await expect(objectOf({ session: `${session.slice(0, -40)}` }, ring)).rejects.toThrow('Not the id of a session')
  await expect(objectOf({ task: `${task.slice(0, -4)}` }, ring)).rejects.toThrow('Not the id of a task')
})

test('objectOf() finds the object of a state with a handle', async () => {
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
