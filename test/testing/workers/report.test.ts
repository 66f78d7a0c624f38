import { connect, type TestClient } from 'edgemcp/testing'
import { server } from 'edgemcp/testing/workers'
import { expect, test } from 'vitest'

const day = 24 * 60 * 60_000
const twoChapters = { action: 'accept', content: { chapters: 2 } }

async function begin(client: TestClient, topic: string): Promise<string> {
  const { task } = await client.request('tools/call', { name: 'write_report', arguments: { topic }, task: {} })
  return (task as { taskId: string }).taskId
}

test('a report is written, although its Durable Objects are evicted', async () => {
  const elicit = [
    async () => {
      await server.evict()
      return twoChapters
    },
  ]
  await using client = await connect(server, { revision: '2025-11-25', answers: { elicit } })
  const taskId = await begin(client, 'Tea')
  await server.evict({ task: taskId })
  const { content } = await client.request('tasks/result', { taskId })
  expect(content).toMatchObject([{ text: 'The report about Tea has 2 chapters.' }, { type: 'resource_link' }])
  expect(client.unusedAnswers).toEqual([])
})

test('the report expires after a week, and its task after a day', async () => {
  const options = { revision: '2025-11-25', answers: { elicit: [twoChapters] } }
  await using client = await connect(server, options)
  const taskId = await begin(client, 'Coffee')
  const { content } = await client.request('tasks/result', { taskId })
  const [, { uri }] = content as [unknown, { uri: string }]
  await server.advance(day)
  await expect(client.request('tasks/get', { taskId })).rejects.toThrow('Unknown task')
  await using other = await connect(server, options)
  expect(await other.request('resources/read', { uri })).toMatchObject({ contents: [{ uri }] })
  await server.advance(6 * day)
  await expect(other.request('resources/read', { uri })).rejects.toThrow()
})

test('a session expires after a week', async () => {
  await using client = await connect(server, { revision: '2025-11-25' })
  await server.advance(7 * day)
  await expect(client.request('ping')).rejects.toMatchObject({ status: 404 })
})

test('evicting an object that does not exist is an error', async () => {
  await using stateless = await connect(server, { revision: '2026-07-28' })
  await expect(server.evict(stateless)).rejects.toThrow('This client has no session')
  await expect(server.evict({ task: 'mine' })).rejects.toThrow('Not the id of a task')
  await expect(server.evict({ object: 'a', class: 'Notebook' })).rejects.toThrow('exports no Durable Object Notebook')
})
