import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { connect } from 'edgemcp/testing'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestHarness } from 'wrangler'

/** Requests that the HTTP API received. */
const received: { method: string | undefined; url: string | undefined; key: string | undefined }[] = []
const api = createServer((request: IncomingMessage, response: ServerResponse) => {
  received.push({ method: request.method, url: request.url, key: request.headers.authorization })
  response.setHeader('Content-Type', 'application/json').end(JSON.stringify([{ id: '1', status: 'open' }]))
})

const upstream = createTestHarness({ workers: [{ configPath: 'test/upstream/wrangler.toml' }] })
const gateway = createTestHarness()
let url: URL

beforeAll(async () => {
  api.listen(0, '127.0.0.1')
  await once(api, 'listening')
  const vars = {
    API_URL: `http://127.0.0.1:${(api.address() as AddressInfo).port}`,
    UPSTREAM_URL: new URL('/mcp', (await upstream.listen()).url).href,
    API_KEY: 'test-key',
  }
  await gateway.update({ workers: [{ configPath: 'wrangler.toml', vars }] })
  url = new URL('/mcp', (await gateway.listen()).url)
}, 60_000)
afterAll(async () => {
  await gateway.close()
  await upstream.close()
  api.close()
})

test('lists the operations of the API and the tools of the upstream', async () => {
  const client = await connect(url, { revision: '2026-07-28' })
  const { tools } = await client.request('tools/list')
  expect((tools as { name: string }[]).map(({ name }) => name).sort()).toEqual([
    'add_order_note',
    'list_orders',
    'upstream_ping',
  ])
  await client.close()
})

test('sends a call of an operation to the API, with the key', async () => {
  const client = await connect(url, { revision: '2025-11-25' })
  const { content } = await client.callTool('list_orders', { status: 'open' })
  expect(content).toMatchObject([{ text: expect.stringContaining('"id":"1"') }])
  expect(received.at(-1)).toEqual({ method: 'GET', url: '/orders?status=open', key: 'Bearer test-key' })
  await client.close()
})

test('sends a call of a proxied tool to the upstream', async () => {
  const client = await connect(url, { revision: '2025-11-25' })
  expect((await client.callTool('upstream_ping')).content).toEqual([{ type: 'text', text: 'pong' }])
  await client.close()
})
