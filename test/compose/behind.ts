/** A gateway, and the servers behind it: one of ours, and two of the official SDK that have sessions only. */
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { completable } from '@modelcontextprotocol/sdk/server/completable.js'
import { McpServer, ResourceTemplate } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import * as z from 'zod'
import { startServer, type TestServer } from '../support/server.ts'

export type Sdk = {
  readonly url: string
  readonly sessions: Map<string, StreamableHTTPServerTransport>
  /** The methods that it was asked for. */
  readonly asked: string[]
  close(): void
}

export type Behind = { gateway: TestServer; older: Sdk; bare: Sdk } & AsyncDisposable

export async function startGateway(): Promise<Behind> {
  const silent = createServer(() => {}).listen(0, '127.0.0.1')
  await once(silent, 'listening')
  const [older, bare, upstream] = await Promise.all([
    startSdk(olderServer),
    startSdk(bareServer),
    startServer('test/compose/upstream'),
  ])
  const gateway = await startServer('test/compose/gateway', {
    NEWER: upstream.url.href,
    OLDER: older.url,
    BARE: bare.url,
    SILENT: `http://127.0.0.1:${portOf(silent)}/mcp`,
  })
  return {
    gateway,
    older,
    bare,
    async [Symbol.asyncDispose]() {
      await Promise.all([gateway, upstream].map((server) => server[Symbol.asyncDispose]()))
      older.close()
      bare.close()
      silent.closeAllConnections()
      silent.close()
    },
  }
}

const portOf = (server: Server) => (server.address() as AddressInfo).port

function olderServer(): McpServer {
  const server = new McpServer({ name: 'older', version: '1.0.0' })
  server.registerTool('add', { description: 'Adds', inputSchema: { a: z.number(), b: z.number() } }, ({ a, b }) => ({
    content: [{ type: 'text', text: String(a + b) }],
  }))
  const days = (typed: string) => ['Monday', 'Tuesday'].filter((day) => day.startsWith(typed))
  server.registerPrompt(
    'plan',
    { description: 'Plans a day', argsSchema: { day: completable(z.string(), days) } },
    ({ day }) => ({ messages: [{ role: 'user', content: { type: 'text', text: `Plan ${day}` } }] }),
  )
  server.registerPrompt('plain', { description: 'Takes nothing' }, () => ({
    messages: [{ role: 'user', content: { type: 'text', text: 'Older' } }],
  }))
  server.registerResource('readme', 'file:///readme', { description: 'About it' }, ({ href }) => ({
    contents: [{ uri: href, text: 'Older' }],
  }))
  const log = new ResourceTemplate('log://{day}', { list: undefined, complete: { day: days } })
  server.registerResource('log', log, { description: 'Of a day' }, ({ href }, { day }) => ({
    contents: [{ uri: href, text: `Log of ${day}` }],
  }))
  const both = new ResourceTemplate('both://{name}', { list: undefined })
  server.registerResource('both', both, {}, ({ href }) => ({ contents: [{ uri: href, text: 'Older' }] }))
  return server
}

/** It has tools, and nothing else. */
function bareServer(): McpServer {
  const server = new McpServer({ name: 'bare', version: '1.0.0' })
  const text = (said: string) => () => ({ content: [{ type: 'text' as const, text: said }] })
  server.registerTool('bare', { description: 'Says who' }, text('bare'))
  server.registerTool('who', { description: 'Says who' }, text('bare'))
  return server
}

export async function startSdk(newServer: () => McpServer): Promise<Sdk> {
  const sessions = new Map<string, StreamableHTTPServerTransport>()
  const asked: string[] = []
  const listener: Server = createServer(async (request, response) => {
    const id = request.headers['mcp-session-id']
    const body = request.method === 'POST' ? ((await json(request)) as { method: string }) : undefined
    if (body) asked.push(body.method)
    const known = typeof id === 'string' ? sessions.get(id) : undefined
    if (id && !known) return void response.writeHead(404).end()
    await (known ?? (await newSession())).handleRequest(request, response, body)
  }).listen(0, '127.0.0.1')
  await once(listener, 'listening')
  return {
    url: `http://127.0.0.1:${portOf(listener)}/mcp`,
    sessions,
    asked,
    close() {
      listener.closeAllConnections()
      listener.close()
    },
  }

  async function newSession(): Promise<StreamableHTTPServerTransport> {
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: () => crypto.randomUUID(),
      onsessioninitialized: (id) => void sessions.set(id, transport),
    })
    await newServer().connect(transport as never)
    return transport
  }
}
