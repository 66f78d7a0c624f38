import { afterAll, beforeAll, expect, test } from 'vitest'
import { parseKeyRing, sealer, sealerFor } from '../../worker/sealing/seal.ts'
import { connect } from '../../worker/testing/index.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { TaskClient, textOf } from './client.ts'

const ring = `test:${Buffer.alloc(32, 7).toString('base64url')}`

let server: TestServer
let client: TaskClient
beforeAll(async () => {
  server = await startServer('test/tasks/workflows', { EDGEMCP_KEYS: ring })
  client = new TaskClient(server.url)
})
afterAll(() => server[Symbol.asyncDispose]())

const status = async () => textOf({ result: await client.call('status') })

test('a workflow runs the work of a task, and survives the loss of the task’s object', async () => {
  const taskId = await client.begin('bake', { bread: 'rye', rest: '2 seconds' })
  await expect.poll(async () => (await client.get(taskId)).statusMessage).toMatch(/^The workflow is \w+$/)
  const name = await sealerFor(sealer(parseKeyRing(ring)), JSON.stringify(['workflows', '/mcp'])).open(
    'task',
    undefined,
    taskId,
  )
  const lost = await fetch(new URL(`/lose?name=${name}`, server.url))
  expect(await lost.text()).toContain('lost')
  expect(textOf(await client.until(taskId, 'completed'))).toBe('rye, begun 1 time')
})

test('a task fails with the error of its workflow', async () => {
  const taskId = await client.begin('bake', { bread: 'burnt' })
  expect((await client.until(taskId, 'completed')).result).toMatchObject({
    isError: true,
    content: [{ text: 'The oven is too hot' }],
  })
})

test('a cancelled task terminates its workflow', async () => {
  const taskId = await client.begin('bake', { bread: 'slow', rest: '1 hour' })
  await expect.poll(async () => (await client.get(taskId)).statusMessage).toMatch(/^The workflow is/)
  expect(await status()).not.toBe('terminated')
  await client.result('tasks/cancel', { taskId })
  await expect.poll(status).toBe('terminated')
})

test('a client without the tasks extension waits for the workflow', async () => {
  await using older = await connect(server.url, { revision: '2025-06-18' })
  expect(await older.callTool('bake', { bread: 'wheat' })).toMatchObject({
    content: [{ text: 'wheat, begun 1 time' }],
  })
})
