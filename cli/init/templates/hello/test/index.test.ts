import { connect, everyRevision } from 'edgemcp/testing'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestHarness } from 'wrangler'

const harness = createTestHarness({ workers: [{ configPath: 'wrangler.toml' }] })
let url: URL

beforeAll(async () => {
  url = new URL('/mcp', (await harness.listen()).url)
}, 60_000)
afterAll(() => harness.close())

test.each(everyRevision)('a client of %s is greeted', async (revision) => {
  const client = await connect(url, { revision })
  const { content } = await client.callTool('greet', { name: 'Ada' })
  expect(content).toEqual([{ type: 'text', text: 'Hello, Ada!' }])
  await client.close()
})
