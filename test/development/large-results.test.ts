import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { connect } from '../../worker/testing/index.ts'
import { startServer, type TestServer } from '../support/server.ts'

let server: TestServer
beforeAll(async () => {
  vi.stubEnv('NODE_ENV', 'development')
  server = await startServer('test/results/server')
})
afterAll(async () => {
  vi.unstubAllEnvs()
  await server[Symbol.asyncDispose]()
})

const warned = (tool: string) =>
  server.harness.getLogs().some(({ message }) => message.startsWith(`The tool "${tool}" returned `))
const call = async (endpoint: string, tool: string) => {
  await using client = await connect(new URL(`/${endpoint}/mcp`, server.url), { revision: '2026-07-28' })
  await client.callTool(tool, { size: 6_000_000 })
}

test('a large result that resultStore() stores causes no warning, and one that is sent does', async () => {
  await call('default', 'text')
  // Structured content of a tool with an output schema is never stored.
  await call('default', 'rows')
  await vi.waitFor(() => expect(warned('rows')).toBe(true))
  expect(warned('text')).toBe(false)
  await call('upstream', 'text')
  await vi.waitFor(() => expect(warned('text')).toBe(true))
})
