import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { connect } from '../../worker/testing/index.ts'
import { startServer, type TestServer } from '../support/server.ts'

describe('a change that a handler publishes without await', () => {
  let server: TestServer

  beforeAll(async () => {
    server = await startServer('test/serve/unawaited')
  })
  afterAll(() => server[Symbol.asyncDispose]())

  test('reaches its subscribers', async () => {
    await using client = await connect(new URL('/heard/mcp', server.url), { revision: '2026-07-28' })
    await client.subscribe({ resourceSubscriptions: ['note://1'] })
    await client.callTool('edit')
    expect(await client.next('notifications/resources/updated')).toMatchObject({ params: { uri: 'note://1' } })
  })

  test('is logged as an error when the server has no subscriptions()', async () => {
    await using client = await connect(new URL('/unheard/mcp', server.url), { revision: '2026-07-28' })
    expect(await client.callTool('edit')).toMatchObject({ content: [{ text: 'edited' }] })
    await vi.waitFor(() =>
      expect(
        server.harness
          .getLogs()
          .map(({ message }) => message)
          .join('\n'),
      ).toContain(
        'Change notifications are disabled: add subscriptions() of "edgemcp/subscriptions" to the plugins of serve()',
      ),
    )
  })
})
