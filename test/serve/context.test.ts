import { afterAll, beforeAll, expect, test } from 'vitest'
import { connect } from '../../worker/testing/index.ts'
import { startServer, type TestServer } from '../support/server.ts'

let server: TestServer
beforeAll(async () => {
  server = await startServer('test/serve/context')
})
afterAll(() => server[Symbol.asyncDispose]())

test.each(['2026-07-28', '2025-11-25'])('plugins add members to ctx, and replace others: %s', async (revision) => {
  const logged: unknown[] = []
  for (const yes of [true, false]) {
    const answers = { elicit: () => ({ action: 'accept', content: { yes } }) }
    await using client = await connect(server.url, { revision, answers, logLevel: 'info' })
    expect(await client.callTool('delete')).toMatchObject({ content: [{ text: yes ? 'deleted' : 'kept' }] })
    logged.push(...client.notifications.map(({ params }) => params))
  }
  const logger = JSON.stringify(['confirmed', '/mcp'])
  expect(logged).toMatchObject([
    { data: true, logger },
    { data: false, logger },
  ])
})
