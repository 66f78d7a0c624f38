import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { connect } from '../../worker/testing/index.ts'
import { logText, startServer, type TestServer } from '../support/server.ts'

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
      expect(logText(server)).toContain(
        'Change notifications are disabled: add subscriptions() of "edgemcp/subscriptions" to the plugins of serve()',
      ),
    )
  })

  const revisions = ['2026-07-28', '2025-11-25']

  /** Counts the log lines of a call. The next call is logged after all that this one logs. */
  async function linesOf(tool: string, revision: string): Promise<number> {
    await using client = await connect(new URL('/unheard/mcp', server.url), { revision })
    const lines = () =>
      server.harness.getLogs().filter(({ message }) => message.includes('notifications are disabled')).length
    server.harness.clearLogs()
    await client.callTool(tool)
    await client.callTool('edit')
    // Those of the call, and one of the next.
    await vi.waitFor(() => expect(lines()).toBeGreaterThanOrEqual(tool === 'edit_and_catch' ? 1 : 2))
    return lines() - 1
  }

  test.each(revisions)('is logged once if the handler awaits it, for a client of %s', async (revision) => {
    expect(await linesOf('edit_and_wait', revision)).toBe(1)
    expect(await linesOf('edit_and_return', revision)).toBe(1)
  })

  test.each(revisions)('is logged once if the handler does not await it, for a client of %s', async (revision) => {
    expect(await linesOf('edit', revision)).toBe(1)
    expect(await linesOf('enable', revision)).toBe(1)
  })

  test.each(revisions)('is not logged if the handler catches its failure, for a client of %s', async (revision) => {
    expect(await linesOf('edit_and_catch', revision)).toBe(0)
  })
})
