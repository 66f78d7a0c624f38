/** Each client gets results and notifications in the form of its own version, and an older stateless version stays recognized. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connect, everyRevision } from '../../../worker/testing/index.ts'
import { startServer, type TestServer } from '../server.ts'

let server: TestServer
beforeAll(async () => {
  server = await startServer('test/tasks/server')
})
afterAll(() => server[Symbol.asyncDispose]())

const capabilities = { elicitation: { form: {} }, extensions: { 'io.modelcontextprotocol/tasks': {} } }

test.each([
  { revision: '2027-01-15', marks: {} },
  { revision: '2026-07-28', marks: { 'com.example/marked': true } },
])('a client of $revision', async ({ revision, marks }) => {
  await using client = await connect(server.url, { revision, capabilities })
  expect(client.initializeResult.supportedVersions).toEqual(['2027-01-15', '2026-07-28'])
  const { taskId } = await client.request('tools/call', { name: 'asks', arguments: { key: crypto.randomUUID() } })
  const subscription = await client.subscribe({ taskIds: [taskId] } as object)
  const { params } = await client.next('notifications/tasks')
  expect(params?._meta).toEqual({ ...marks, 'io.modelcontextprotocol/subscriptionId': expect.any(Number) })
  const { _meta } = await client.request('tasks/get', { taskId })
  expect(_meta).toMatchObject(marks)
  expect(Object.keys(_meta as object)).toHaveLength(1 + Object.keys(marks).length)
  await client.request('tasks/cancel', { taskId })
  await subscription.close()
})

test('tests and servers support it', () => {
  expect(everyRevision[0]).toBe('2027-01-15')
})
