import { afterAll, beforeAll, expect, test } from 'vitest'
import { connect } from '../../worker/testing/index.ts'
import { startServer, type TestServer } from '../support/server.ts'

let server: TestServer
beforeAll(async () => {
  server = await startServer('test/serve/pair')
})
afterAll(() => server[Symbol.asyncDispose]())

test('a session of one server of a Worker is unknown to another server, also after use', async () => {
  const [one, other] = [server.url, new URL('/other/mcp', server.url)]
  for (const [mine, theirs, name] of [
    [one, other, 'one'],
    [other, one, 'other'],
  ] as const) {
    await using client = await connect(mine, { revision: '2025-11-25' })
    expect(await client.callTool('name')).toMatchObject({ content: [{ text: name }] })
    const response = await fetch(theirs, {
      method: 'POST',
      headers: {
        'Content-Type': 'application/json',
        Accept: 'application/json, text/event-stream',
        'MCP-Protocol-Version': '2025-11-25',
        'Mcp-Session-Id': client.session as string,
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' }),
    })
    expect(response.status).toBe(404)
  }
})

test.each(['2026-07-28', '2025-11-25'])(
  'a list of %s has entries that were declared after it was last requested',
  async (revision) => {
    await using one = await connect(server.url, { revision })
    await using other = await connect(new URL('/other/mcp', server.url), { revision })
    const names = async (client: typeof one) => {
      const { tools } = (await client.request('tools/list')) as { tools: { name: string }[] }
      return tools.map(({ name }) => name)
    }
    const [before, others] = [await names(one), await names(other)]
    expect(await names(one)).toEqual(before)
    await one.callTool('learn', { tool: revision })
    expect(await names(one)).toEqual([...before, revision])
    expect(await names(one)).toEqual([...before, revision])
    expect(await names(other)).toEqual(others)
  },
)
