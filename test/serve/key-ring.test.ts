import { resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { connect } from '../../worker/testing/index.ts'
import { startServer, startWithWrangler, type TestServer } from '../support/server.ts'

const folder = 'test/serve/key-ring'

async function greet(server: TestServer, path: string, session: string): Promise<unknown> {
  const response = await fetch(new URL(path, server.url), {
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream',
      'MCP-Protocol-Version': '2025-11-25',
      'Mcp-Session-Id': session,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'greet', arguments: {} } }),
  })
  return response.json()
}

describe('sessions of a Worker without EDGEMCP_KEYS', () => {
  test.each([
    ['a server whose class is McpSession is added', '', 'server-added'],
    ['the class McpSession is no longer there', 'default-class', ''],
    ['a class of the application is exported as McpSession', '', 'foreign-class'],
  ])('continue when %s', async (_, before, after) => {
    await using server = await startWithWrangler(`${folder}/${before}`)
    const opened = await Promise.all(
      ['notes', 'admin'].map(async (name) => {
        const { session } = await connect(new URL(`/${name}`, server.url), { revision: '2025-11-25' })
        return { name, session: session as string }
      }),
    )
    await server.harness.update({ workers: [{ configPath: resolve(folder, after, 'wrangler.toml') }] })
    for (const { name, session } of opened) {
      expect(await greet(server, `/${name}`, session)).toMatchObject({ result: { content: [{ text: name }] } })
    }
    // New sessions are opened with the same keys.
    for (const { name, session } of opened) {
      const { session: later } = await connect(new URL(`/${name}`, server.url), { revision: '2025-11-25' })
      expect(later?.split('.')[0]).toBe(session.split('.')[0])
    }
  })
})

describe('a class of the application with the name of a session class', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer(`${folder}/wrong-class`)
  })
  afterAll(() => server[Symbol.asyncDispose]())

  test('is an error that names the class and the option to use', async () => {
    await expect(connect(new URL('/notes', server.url), { revision: '2025-11-25' })).rejects.toMatchObject({
      code: -32603,
      message: expect.stringMatching(/class McpSession .*durableObjects\.names/s),
    })
  })
})
