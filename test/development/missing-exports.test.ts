import { afterEach, expect, test, vi } from 'vitest'
import { connect } from '../../worker/testing/index.ts'
import { startServer } from '../support/server.ts'

afterEach(() => vi.unstubAllEnvs())

const said = 'edgemcp runs without sessions, streams and updates: this Worker has no Durable Object class '

test.each([
  ['test/serve/bare', ['McpSession and McpUpdates.']],
  ['examples/hello', []],
])('what a Worker does not export is told of once, at the first call: %s', async (folder, expected) => {
  vi.stubEnv('NODE_ENV', 'development')
  await using server = await startServer(folder)
  await using client = await connect(server.url, { revision: '2026-07-28' })
  await client.callTool('greet', { name: 'Ada' })
  await client.callTool('greet', { name: 'Ada' })
  const heard = () => server.harness.getLogs().filter(({ message }) => message.startsWith(said))
  await vi.waitFor(() => expect(heard().length).toBe(expected.length))
  expect(heard().map(({ message }) => message.slice(said.length).split(' Add')[0])).toEqual(expected)
})
