import { connect, everyRevision } from 'edgemcp/testing'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestHarness } from 'wrangler'

const harness = createTestHarness({ workers: [{ configPath: 'wrangler.toml' }] })
let url: URL

beforeAll(async () => {
  url = new URL('/mcp', (await harness.listen()).url)
  await harness.getWorker().applyD1Migrations('DB')
}, 60_000)
afterAll(() => harness.close())

test.each(everyRevision)('a client of %s finds what it wrote', async (revision) => {
  const client = await connect(url, { revision })
  await client.callTool('write_note', { id: revision, text: `Written in ${revision}` })
  const { content } = await client.callTool('search_notes', { query: `in ${revision}` })
  expect(content[0]).toMatchObject({ text: JSON.stringify({ ids: [revision] }) })
  await client.close()
})

test('notifies subscribers of a note when it changes', async () => {
  const reader = await connect(url, { revision: '2025-11-25' })
  const writer = await connect(url, { revision: '2026-07-28' })
  await writer.callTool('write_note', { id: 'shared', text: 'first' })
  await reader.subscribe({ resourceSubscriptions: ['note://shared'] })
  await writer.callTool('write_note', { id: 'shared', text: 'second' })
  const { params } = await reader.next('notifications/resources/updated')
  expect(params).toMatchObject({ uri: 'note://shared' })
  await reader.close()
  await writer.close()
})
