/** Callback URLs of this machine, in a Worker that is built for development. */
import { resolve } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { unstable_readConfig as readConfig } from 'wrangler'
import { connect } from '../../worker/testing/index.ts'
import { startWorker, type TestServer } from '../support/server.ts'
import { statelessHeaders } from '../support/stateless.ts'
import { Internet, Receiver } from './receivers.ts'

const internet = new Internet()
const receiver = new Receiver(internet, 'local')
const url = 'http://127.0.0.1:9/local'
internet.handlers.set(url, (request) => receiver.fetch(request))

const config = readConfig({ config: resolve('test/events/server/wrangler.toml') }, { hideWarnings: true })
let server: TestServer
beforeAll(async () => {
  server = await startWorker(config, {}, 'development', (request) => internet.answer(request))
})
afterAll(() => server[Symbol.asyncDispose]())

const Authorization = `Bearer ${JSON.stringify({ subject: 'ada' })}`
const params = {
  name: 'order.paid',
  arguments: { shop: 'tea' },
  delivery: { mode: 'webhook', url, secret: receiver.secret },
}

test.each(['2026-07-28', '2025-11-25'])('are accepted in requests to this machine, in %s', async (revision) => {
  await using client = await connect(server.url, { revision, headers: { Authorization } })
  expect(await client.request('events/subscribe', params)).toMatchObject({ id: expect.stringMatching(/^sub_/) })
})

test('are refused in requests to another host, as a deployed Worker gets them', async () => {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
    'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
  }
  const response = await server.harness.fetch('https://mcp.example.com/mcp', {
    method: 'POST',
    headers: { ...statelessHeaders('events/subscribe', undefined), Authorization },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'events/subscribe', params: { ...params, _meta } }),
  })
  expect(await response.json()).toMatchObject({ error: { message: expect.stringContaining('delivery.url') } })
})

test('a Worker without the flag global_fetch_strictly_public is warned of', async () => {
  const warning = 'edgemcp/events needs compatibility_flags = ["global_fetch_strictly_public"]'
  const warnings = ({ harness }: TestServer) => harness.getLogs().filter(({ message }) => message.includes(warning))
  const open = { ...config, compatibility_flags: ['enable_request_signal'] }
  await using unsafe = await startWorker(open, {}, 'development', (request) => internet.answer(request))
  await expect.poll(() => warnings(unsafe)).toHaveLength(1)
  expect(warnings(server)).toEqual([])
})
