import { afterEach, expect, test, vi } from 'vitest'
import { connect } from '../../worker/testing/index.ts'
import { startServer } from '../support/server.ts'

afterEach(() => vi.unstubAllEnvs())

const printedBy = async (folder: string): Promise<string[]> => {
  vi.stubEnv('NODE_ENV', 'development')
  await using server = await startServer(folder)
  await using client = await connect(server.url, { revision: '2026-07-28' })
  await client.callTool('greet', { name: 'Ada' })
  await client.callTool('greet', { name: 'Ada' })
  const printed = () => server.harness.getLogs().filter(({ message }) => message.startsWith('edgemcp runs '))
  await vi.waitFor(() => expect(printed().length).toBe(folder.startsWith('examples/') ? 0 : 1))
  return printed().map(({ message }) => message)
}

test('a Worker without the classes is told once, at the first call, what to export and to declare', async () => {
  expect(await printedBy('test/serve/bare')).toEqual([
    `edgemcp runs without sessions, streams and updates: this Worker has no Durable Object class McpSession and McpUpdates. Add to it

export const { McpSession, McpUpdates } = worker

and a migration of its own to the end of its wrangler.toml

[[migrations]]
tag = "add-McpSession-McpUpdates"
new_sqlite_classes = ["McpSession", "McpUpdates"]`,
  ])
})

test('a Worker that exports the classes and does not declare them is told to declare them only', async () => {
  expect(await printedBy('test/development/undeclared')).toEqual([
    `edgemcp runs without sessions, streams and updates: this Worker has no Durable Object class McpSession and McpUpdates. Add a migration of its own to the end of its wrangler.toml

[[migrations]]
tag = "add-McpSession-McpUpdates"
new_sqlite_classes = ["McpSession", "McpUpdates"]`,
  ])
})

test('a Worker with the classes is told nothing', async () => {
  expect(await printedBy('examples/hello')).toEqual([])
})
