import { connect } from 'edgemcp/testing'
import { type RunningServer, startServer } from 'edgemcp/testing/node'
import { afterAll, beforeAll, expect, test } from 'vitest'

let server: RunningServer
beforeAll(async () => {
  server = await startServer({ config: 'test/docs/bindings/wrangler.toml' })
  await server.harness.getWorker().applyD1Migrations('DB')
})
afterAll(() => server.close())

test('finds a bookmark by its title', async () => {
  const client = await connect(server, { revision: '2026-07-28' })
  await client.callTool('add_bookmark', { url: 'https://example.com/', title: 'An example' })
  const { structuredContent } = await client.callTool('search_bookmarks', { query: 'example' })
  expect(structuredContent).toEqual({ bookmarks: [{ url: 'https://example.com/', title: 'An example' }] })
  await client.close()
})
