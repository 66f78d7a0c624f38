/** A call that has been counted, and waits for its turn, is decided about again before it runs. */
import { expect, test } from 'vitest'
import { startServer } from '../support/server.ts'

const version = '2025-03-26'

test.each([
  ['in a session', true],
  ['without a session', false],
] as const)('a call of a batch that an earlier call hides does not run: %s', async (_, hasSession) => {
  await using server = await startServer('test/limits/waiting')
  const post = (body: unknown, headers: Record<string, string> = {}) =>
    fetch(server.url, {
      method: 'POST',
      body: JSON.stringify(body),
      headers: {
        'Content-Type': 'application/json',
        Accept: 'application/json, text/event-stream',
        'MCP-Protocol-Version': version,
        ...headers,
      },
    })
  const call = (id: number, name: string) => ({ jsonrpc: '2.0', id, method: 'tools/call', params: { name } })
  const clientInfo = { name: 'test', version: '1.0.0' }
  const params = { protocolVersion: version, capabilities: {}, clientInfo }
  const welcome = await post({ jsonrpc: '2.0', id: 0, method: 'initialize', params })
  const session = welcome.headers.get('Mcp-Session-Id') ?? ''
  const headers: Record<string, string> = hasSession ? { 'Mcp-Session-Id': session } : {}
  const answers = await (await post([call(1, 'off'), call(2, 'limited')], headers)).text()
  expect(answers).not.toContain('limited ran')
  expect(answers).toContain('Unknown tool')
})
