import { afterEach, describe, expect, test, vi } from 'vitest'
import { connect } from '../../worker/testing/index.ts'
import { startServer } from '../support/server.ts'

afterEach(() => vi.unstubAllEnvs())

const printedBy = async (folder: string): Promise<string[]> => {
  vi.stubEnv('NODE_ENV', 'development')
  await using server = await startServer(folder)
  await using client = await connect(server.url, { revision: '2026-07-28' })
  await client.callTool('greet', { name: 'Ada' })
  await client.callTool('greet', { name: 'Ada' })
  const printed = () => server.harness.getLogs().filter(({ message }) => message.startsWith('edgemcp cannot run '))
  await vi.waitFor(() => expect(printed().length).toBe(folder.startsWith('examples/') ? 0 : 1))
  return printed().map(({ message }) => message)
}

test('a Worker without the classes prints once, at the first call, which exports and migration to add', async () => {
  expect(await printedBy('test/serve/bare')).toEqual([
    `edgemcp cannot run sessions and streams: this Worker has no Durable Object class McpSession and McpSubscriptions. Add to it

export const { McpSession, McpSubscriptions } = worker

and a migration of its own to the end of its wrangler.toml

[[migrations]]
tag = "add-McpSession-McpSubscriptions"
new_sqlite_classes = ["McpSession", "McpSubscriptions"]`,
  ])
})

test('a Worker that exports the classes without a migration prints which migration to add', async () => {
  expect(await printedBy('test/development/undeclared')).toEqual([
    `edgemcp cannot run sessions and streams: this Worker has no Durable Object class McpSession. Add a migration of its own to the end of its wrangler.toml

[[migrations]]
tag = "add-McpSession"
new_sqlite_classes = ["McpSession"]`,
  ])
})

test('a server without sessions() prints once what older clients do without', async () => {
  vi.stubEnv('NODE_ENV', 'development')
  await using server = await startServer('test/contract/without-sessions')
  await using client = await connect(server.url, { revision: '2026-07-28' })
  await client.callTool('echo', { text: 'one' })
  await client.callTool('echo', { text: 'two' })
  const printed = () => server.harness.getLogs().filter(({ message }) => message.startsWith('edgemcp serves '))
  await vi.waitFor(() =>
    expect(printed().map(({ message }) => message)).toEqual([
      'edgemcp serves "without-sessions" without sessions: clients of 2025-11-25 and older versions get no input requests, no streams of their own and no subscriptions. If they need them, add sessions() of "edgemcp/sessions" to the plugins of serve().',
    ]),
  )
})

test('a Worker with the classes prints no warning', async () => {
  expect(await printedBy('examples/hello')).toEqual([])
})

describe('a Worker with a state', () => {
  const printedAtFirst = async (folder: string): Promise<string[]> => {
    vi.stubEnv('NODE_ENV', 'development')
    await using server = await startServer(folder)
    // Not a call: a warning must not depend on whether calls are refused.
    await (await fetch(new URL('/nowhere', server.url))).text()
    await (await fetch(new URL('/', server.url))).text()
    const lines = () => server.harness.getLogs().map(({ message }) => message)
    await vi.waitFor(() => expect(lines().join()).toContain('edgemcp: the inspector'))
    return lines().filter((line) => line.startsWith('edgemcp '))
  }

  test('prints the missing class and what needs it at the first request', async () => {
    expect(await printedAtFirst('test/development/counting')).toEqual([
      `edgemcp cannot store the rate "600/m" of rateLimit() (which has no binding RATE_600_PER_60S), the quota "5/d" of "greet" and the state "basket": this Worker has no Durable Object class Counters. Requests that need it fail. Add to it

export { McpState as Counters } from 'edgemcp/state'

and a migration of its own to the end of its wrangler.toml

[[migrations]]
tag = "add-Counters"
new_sqlite_classes = ["Counters"]`,
    ])
  })

  test('prints nothing when it has the class', async () => {
    expect(await printedAtFirst('test/limits/limited')).toEqual([])
  })
})
