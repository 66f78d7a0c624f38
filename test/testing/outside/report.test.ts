import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { connect } from 'edgemcp/testing'
import { type RunningServer, startServer } from 'edgemcp/testing/node'

const day = 24 * 60 * 60_000

let server: RunningServer
before(async () => {
  server = await startServer({ config: 'test/testing/outside/wrangler.toml' })
})
after(() => server.close())

test('the report expires after a week, and its task after a day', async () => {
  const elicit = [
    async () => {
      await server.evict()
      return { action: 'accept', content: { chapters: 2 } }
    },
  ]
  const client = await connect(server, { revision: '2025-11-25', answers: { elicit } })
  const call = { name: 'write_report', arguments: { topic: 'Tea' }, task: {} }
  const { taskId } = (await client.request('tools/call', call)).task as { taskId: string }
  const { content } = await client.request('tasks/result', { taskId })
  const [, { uri }] = content as [unknown, { uri: string }]
  await server.advance(day)
  await assert.rejects(client.request('tasks/get', { taskId }), /Unknown task/)
  const other = await connect(server, { revision: '2026-07-28' })
  assert.match(JSON.stringify(await other.request('resources/read', { uri })), /# Tea/)
  await server.advance(6 * day)
  await assert.rejects(other.request('resources/read', { uri }))
})
