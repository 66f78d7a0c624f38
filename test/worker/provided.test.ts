import { createExecutionContext } from 'cloudflare:test'
import { createServer, McpError, type Plugin, serve } from 'edgemcp'
import { expect, test } from 'vitest'

test('a plugin that provides no limiter leaves that of another one', async () => {
  const refusing: Plugin = {
    name: 'refusing',
    provide: () => ({ limiter: { check: async () => new McpError('too_many_requests', 'Nobody may call') } }),
  }
  const other = { name: 'other', provide: () => ({ limiter: undefined, transport: undefined }) } as unknown as Plugin
  const worker = serve(createServer({ name: 'provided', version: '1.0.0' }), { plugins: [refusing, other] })
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' })
  const request = new Request('https://mcp.example/mcp', { method: 'POST', body })
  request.headers.set('Content-Type', 'application/json')
  request.headers.set('Accept', 'application/json, text/event-stream')
  expect((await worker.fetch(request, {}, createExecutionContext())).status).toBe(429)
})
