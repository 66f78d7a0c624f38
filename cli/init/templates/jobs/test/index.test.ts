import { connect } from 'edgemcp/testing'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestHarness } from 'wrangler'

const harness = createTestHarness({ workers: [{ configPath: 'wrangler.toml' }] })
let url: URL

beforeAll(async () => {
  url = new URL('/mcp', (await harness.listen()).url)
}, 60_000)
afterAll(() => harness.close())

const answers = { elicit: () => ({ action: 'accept' as const, content: { sections: 1 } }) }

test.each(['2025-06-18', '2025-11-25', '2026-07-28'])(
  'a client of %s waits for the report',
  async (revision) => {
    const client = await connect(url, { revision, answers })
    const { content } = await client.callTool('write_report', { topic: 'Tea' })
    const { uri } = (content as { uri: string }[])[0] ?? { uri: '' }
    const { contents } = await client.request('resources/read', { uri })
    expect(contents).toMatchObject([{ text: '# Tea\n\n## news\n\nWhat the news say about Tea.' }])
    await client.close()
  },
  30_000,
)

test('a client with tasks receives a task at once, and its result later', async () => {
  const client = await connect(url, { revision: '2025-11-25', answers })
  const params = { name: 'write_report', arguments: { topic: 'Coffee' }, task: {} }
  const { task } = (await client.request('tools/call', params)) as { task: { taskId: string; status: string } }
  expect(task.status).toBe('working')
  const { content } = await client.request('tasks/result', { taskId: task.taskId })
  expect(content).toMatchObject([{ type: 'resource_link', name: 'Coffee.md' }])
  await client.close()
})
