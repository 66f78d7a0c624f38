import { afterEach, expect, test, vi } from 'vitest'
import { connect } from '../../worker/testing/index.ts'
import { startServer } from '../support/server.ts'

afterEach(() => vi.unstubAllEnvs())

const tasksExtension = 'io.modelcontextprotocol/tasks'

test.each(['development', 'production'])(
  'without McpTask, tasks() is not declared, its tools run as calls, and an error is logged, in %s',
  async (environment) => {
    vi.stubEnv('NODE_ENV', environment)
    await using server = await startServer('test/tasks/classless')
    await using client = await connect(server.url, {
      revision: '2026-07-28',
      capabilities: { extensions: { [tasksExtension]: {} } },
    })
    const { capabilities } = await client.request('server/discover')
    expect(capabilities).not.toMatchObject({ extensions: { [tasksExtension]: {} } })
    expect(await client.callTool('long')).toMatchObject({ content: [{ type: 'text', text: 'done' }] })
    await using inSession = await connect(server.url, { revision: '2025-11-25' })
    expect(inSession.initializeResult?.capabilities).not.toHaveProperty('tasks')
    const problem =
      environment === 'production' ? 'tasks() needs the Durable Object McpTask' : 'no Durable Object class McpTask'
    const problems = () => server.harness.getLogs().filter(({ message }) => message.includes(problem))
    await vi.waitFor(() => expect(problems()).toHaveLength(1))
  },
)
