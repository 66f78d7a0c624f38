/** A call in a session runs with the plugins and options of the endpoint that was called, also if others have its identity. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connect } from '../../worker/testing/index.ts'
import { startServer, type TestServer } from '../support/server.ts'

let server: TestServer
beforeAll(async () => {
  server = await startServer('test/serve/same-identity')
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
})

const versions = ['2025-11-25', '2026-07-28'] as const

test.each(
  versions.flatMap((revision) => [
    [revision, 'one of two hosts', '127.0.0.1', '/mcp'],
    [revision, 'one of two paths', '127.0.0.1', '/first/mcp'],
  ]),
)('%s: the guard, the limit and the texts of the endpoint hold at %s', async (revision, _, hostname, path) => {
  const url = new URL(path, server.url)
  url.hostname = hostname
  await using client = await connect(url, { revision })
  await expect(client.callTool('secret')).rejects.toThrow('The guard refuses')
  expect(JSON.stringify(await client.callTool('fail'))).not.toContain('internal detail')
  await expect(client.callTool('take', { text: 'x'.repeat(100) })).rejects.toThrow()
})

test.each(versions)('%s: another endpoint of the identity runs without them', async (revision) => {
  for (const [hostname, path] of [
    ['localhost', '/mcp'],
    ['127.0.0.1', '/second/mcp'],
  ] as const) {
    const url = new URL(path, server.url)
    url.hostname = hostname
    await using client = await connect(url, { revision })
    expect(JSON.stringify(await client.callTool('secret'))).toContain('the secret')
  }
})

test.each([
  ['2025-11-25', false],
  ['2026-07-28', true],
] as const)('%s: a client that cannot be told of changes is not promised to be', async (revision, listChanged) => {
  await using client = await connect(new URL('/told/mcp', server.url), { revision })
  expect(client.initializeResult.capabilities).toMatchObject({ tools: { listChanged } })
})

test('an endpoint without sessions leaves the paths of HTTP+SSE to others', async () => {
  const response = await fetch(new URL('/told/sse', server.url))
  expect(await response.text()).not.toContain('/told/mcp')
})
