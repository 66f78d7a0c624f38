import { afterEach, expect, test, vi } from 'vitest'
import { connect } from '../../worker/testing/index.ts'
import { startServer } from '../support/server.ts'

afterEach(() => vi.unstubAllEnvs())

const said = 'edgemcp runs "long" without tasks, so clients wait for the result.'

test.each([
  ['development', 1],
  ['production', 0],
])('a tool with a task option and no tasks() plugin is reported in %s: %i time', async (environment, times) => {
  vi.stubEnv('NODE_ENV', environment)
  await using server = await startServer('test/development/taskless')
  await using client = await connect(server.url, { revision: '2026-07-28' })
  expect(await client.callTool('long')).toMatchObject({ content: [{ text: 'done' }] })
  expect(await client.callTool('print')).toMatchObject({ content: [{ text: 'printed' }] })
  const messages = () => server.harness.getLogs().map(({ message }) => message)
  await vi.waitFor(() => expect(messages()).toContain('printed'))
  expect(messages().filter((message) => message.startsWith(said)).length).toBe(times)
})
