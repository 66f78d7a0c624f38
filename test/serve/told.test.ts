import { afterAll, beforeAll, expect, test } from 'vitest'
import { connect } from '../../worker/testing/index.ts'
import { startServer, type TestServer } from '../support/server.ts'

let server: TestServer
beforeAll(async () => {
  server = await startServer('test/serve/told')
})
afterAll(() => server[Symbol.asyncDispose]())

test.each([
  ['2025-11-25', false],
  ['2026-07-28', true],
] as const)('%s: a client that cannot be told of changes is not promised to be', async (revision, listChanged) => {
  await using client = await connect(server.url, { revision })
  expect(client.initializeResult.capabilities).toMatchObject({ tools: { listChanged } })
})

test('an endpoint without sessions leaves the paths of HTTP+SSE to others', async () => {
  const response = await fetch(new URL('/sse', server.url))
  expect(await response.text()).toBe('The app has /sse')
})
