/** The errors of tasks in the log of the Worker. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startServer, type TestServer } from '../support/server.ts'
import { behind, key, ring } from './behind.ts'
import { TaskClient } from './client.ts'

let server: TestServer
beforeAll(async () => {
  server = await startServer('test/tasks/server', { EDGEMCP_KEYS: ring })
})
afterAll(() => server[Symbol.asyncDispose]())

test('a task whose handler throws logs the error of each attempt once', async () => {
  const { later, left, tried } = behind(() => server, 'task')
  const client = new TaskClient(server.url)
  const it = key()
  const taskId = await client.begin('flaky', { key: it, fails: 3 })
  for (const times of ['1', '2']) {
    await expect.poll(() => tried(it)).toBe(times)
    await expect.poll(() => left(taskId)).toMatchObject({ alarm: true })
    await later(5000, taskId)
  }
  await client.until(taskId, 'completed')
  const messages = () => server.harness.getLogs().map(({ message }) => message)
  const counts = () =>
    [1, 2, 3].map((time) => messages().filter((text) => text.includes(`Failed, time ${time}`)).length)
  await expect.poll(() => counts().at(-1)).toBe(1)
  expect(counts()).toEqual([1, 1, 1])
})
