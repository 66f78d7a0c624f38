import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { connect } from '../../worker/testing/index.ts'
import { startServer, type TestServer } from '../support/server.ts'

let server: TestServer
beforeAll(async () => {
  server = await startServer('test/serve/rollback')
})
afterAll(() => server[Symbol.asyncDispose]())

const error = (supported: number) => ({
  code: -32603,
  message: expect.stringContaining(`A newer release stored this object (schema 99; this one reads ${supported})`),
  data: { reason: 'newer_schema', retryable: true },
})

/** Opens a session whose object holds what a newer release has stored. */
async function newerSession(): Promise<Record<string, string>> {
  const send = (headers: Record<string, string>, message: object) =>
    fetch(server.url, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream', ...headers },
      body: JSON.stringify({ jsonrpc: '2.0', ...message }),
    })
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } }
  const opened = await send({}, { id: 1, method: 'initialize', params })
  const session = { 'Mcp-Session-Id': opened.headers.get('Mcp-Session-Id') as string }
  await send(session, { method: 'notifications/cancelled', params: { requestId: 'newer' } })
  return session
}

describe('data that a newer release has stored', () => {
  test.each([
    ['POST', { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' }],
    ['GET', { Accept: 'text/event-stream' }],
    ['DELETE', {}],
  ])('makes %s of its session a retryable error', async (method, headers) => {
    const session = await newerSession()
    const call = { jsonrpc: '2.0', id: 7, method: 'tools/call', params: { name: 'echo', arguments: { text: 'hi' } } }
    const response = await fetch(server.url, {
      method,
      headers: { ...headers, ...session },
      ...(method === 'POST' && { body: JSON.stringify(call) }),
    })
    expect(response.status).toBe(503)
    expect(Number(response.headers.get('Retry-After'))).toBeGreaterThan(0)
    expect(await response.json()).toMatchObject({ jsonrpc: '2.0', error: error(1) })
  })

  test('makes tasks/get of its task a retryable error', async () => {
    await using client = await connect(server.url, {
      revision: '2026-07-28',
      capabilities: { extensions: { 'io.modelcontextprotocol/tasks': {} } },
    })
    const { taskId } = await client.request('tools/call', { name: 'wait', arguments: {} })
    await client.request('tasks/cancel', { taskId }).catch(() => {})
    await expect(client.request('tasks/get', { taskId })).rejects.toMatchObject(error(1))
  })
})
