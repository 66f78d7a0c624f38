import { afterEach, expect, test, vi } from 'vitest'
import { connect } from '../../worker/testing/index.ts'
import { startServer } from '../support/server.ts'

afterEach(() => vi.unstubAllEnvs())

test.each(['development', 'production'])(
  'an endpoint at the root of its host serves clients in %s',
  async (environment) => {
    vi.stubEnv('NODE_ENV', environment)
    await using server = await startServer('test/development/at-root')
    await using client = await connect(new URL('/', server.url), { revision: '2026-07-28' })
    expect(await client.callTool('hello')).toMatchObject({ content: [{ text: 'Hello' }] })
  },
)
