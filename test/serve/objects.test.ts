import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { connect } from '../../worker/testing/index.ts'
import { logText, startServer, type TestServer } from '../support/server.ts'

describe('a Worker without exported Durable Object classes', () => {
  let server: TestServer
  beforeAll(async () => {
    // What is missing is told in development.
    vi.stubEnv('NODE_ENV', 'development')
    server = await startServer('test/serve/bare')
    vi.unstubAllEnvs()
  })
  afterAll(() => server[Symbol.asyncDispose]())

  test('serves every protocol version without sessions, and logs once which exports to add', async () => {
    for (const revision of ['2026-07-28', '2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05']) {
      const client = await connect(server.url, { revision })
      expect(client.session).toBeUndefined()
      expect((await client.callTool('greet')).content).toEqual([{ type: 'text', text: 'Hello!' }])
      expect(client.initializeResult.capabilities).toMatchObject({ tools: { listChanged: false } })
    }
    const warnings = () => server.harness.getLogs().filter(({ message }) => message.includes('McpSession'))
    await expect.poll(warnings).toHaveLength(1)
    expect(warnings()[0]?.message).toContain('export const { McpSession, McpSubscriptions } = worker')
    expect(warnings()[0]?.message).toContain('new_sqlite_classes = ["McpSession", "McpSubscriptions"]')
  })

  test('returns an error that names the missing class when a handler needs it', async () => {
    const answers = { elicit: () => ({ action: 'decline' }) }
    for (const [revision, tool] of [
      ['2026-07-28', 'ask'],
      ['2026-07-28', 'announce'],
      ['2025-11-25', 'announce'],
    ] as const) {
      const client = await connect(server.url, { revision, answers })
      const said = await client.callTool(tool).then(
        ({ content }) => JSON.stringify(content),
        (problem) => problem.message,
      )
      expect(said, `${revision} ${tool}`).toMatch(/McpSession|McpSubscriptions|EDGEMCP_KEYS/)
    }
    const client = await connect(server.url, { revision: '2025-11-25', answers })
    expect(await client.callTool('ask')).toMatchObject({ isError: true })
  })

  test('refuses GET and DELETE', async () => {
    for (const method of ['GET', 'DELETE']) {
      const response = await fetch(server.url, { method, headers: { Accept: 'text/event-stream' } })
      expect(response.status).toBe(405)
      expect(response.headers.get('Allow')).toBe('POST, OPTIONS')
    }
    const client = await connect(server.url, { revision: '2026-07-28' })
    await expect(client.subscribe({ toolsListChanged: true })).rejects.toMatchObject({ code: -32601, status: 404 })
  })
})

describe('keys', () => {
  const key = () => `k${randomBytes(4).toString('hex')}:${randomBytes(32).toString('base64url')}`
  const hello = 'examples/hello'

  async function sessionOf(server: TestServer) {
    const { session } = await connect(server.url, { revision: '2025-11-25' })
    return session as string
  }

  const ping = async (server: TestServer, session: string) => {
    const response = await fetch(server.url, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'Mcp-Session-Id': session },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' }),
    })
    await response.body?.cancel()
    return response.status
  }

  test('come from the secret, and rotate without ending sessions', async () => {
    const [older, newer] = [key(), key()]
    await using first = await startServer(hello, { EDGEMCP_KEYS: older })
    const session = await sessionOf(first)
    expect(session.startsWith(older.split(':')[0] as string)).toBe(true)
    await using rotated = await startServer(hello, { EDGEMCP_KEYS: `${newer},${older}` })
    expect(await ping(rotated, session)).toBe(200)
    expect(await sessionOf(rotated)).toMatch(new RegExp(`^${newer.split(':')[0]}`))
    await using retired = await startServer(hello, { EDGEMCP_KEYS: newer })
    expect(await ping(retired, session)).toBe(404)
  })

  test('that are malformed are refused without repeating their value', async () => {
    await using server = await startServer(hello, { EDGEMCP_KEYS: 'secret:tooshort' })
    const client = connect(server.url, { revision: '2025-11-25' })
    await expect(client).rejects.toMatchObject({ code: -32603, message: 'Internal error' })
    const logs = () => logText(server)
    await expect.poll(logs).toContain('The secret EDGEMCP_KEYS must be a comma-separated list of "id:key"')
    expect(logs()).not.toContain('tooshort')
  })
})
