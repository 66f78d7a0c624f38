/** How often a call is looked up: its method, its entry, and whether its caller sees the entry. */
import { createExecutionContext, runInDurableObject } from 'cloudflare:test'
import { env, exports } from 'cloudflare:workers'
import { type Auth, type Caller, createServer, serve } from 'edgemcp'
import { jsonSchema } from 'edgemcp/json-schema'
import { rateLimit } from 'edgemcp/rate-limit'
import { sessions } from 'edgemcp/sessions'
import { tasks } from 'edgemcp/tasks'
import { afterAll, beforeEach, expect, test } from 'vitest'
import { endpointClasses } from '../../worker/check-plugins.ts'
import { methods } from '../../worker/engine/methods/index.ts'
import type { RequestMessage } from '../../worker/protocol/jsonrpc.ts'
import { enveloped } from '../../worker/protocol/stateless-request.ts'
import { statelessHeaders } from '../support/stateless.ts'
import { postOf, postTo } from './session-post.ts'

const { McpState } = exports as unknown as { McpState: DurableObjectNamespace }

/** Look-ups of the method of the protocol, of the method of plugins that precedes it and of the tool, and decisions of `visibleTo`. */
const counts = { method: 0, ofPlugin: 0, tool: 0, visible: 0 }
const once = { method: 1, ofPlugin: 1, tool: 1, visible: 1 }
const twice = { method: 2, ofPlugin: 2, tool: 2, visible: 2 }
const reset = () => void Object.assign(counts, { method: 0, ofPlugin: 0, tool: 0, visible: 0 })
beforeEach(reset)

const { get } = Map.prototype
const callTool = methods['tools/call']
Map.prototype.get = function (key) {
  const found = get.call(this, key)
  if (key === 'look' && found?.handler) counts.tool += 1
  if (key === 'tools/call' && found?.answer) counts.ofPlugin += 1
  return found
}
Object.defineProperty(methods, 'tools/call', {
  configurable: true,
  get() {
    counts.method += 1
    return callTool
  },
})
afterAll(() => {
  Map.prototype.get = get
  Object.defineProperty(methods, 'tools/call', { configurable: true, enumerable: true, value: callTool })
})

const principal = { issuer: 'https://issuer.example', subject: 'ada', scopes: ['look'], claims: {} }

/** Asks for the scopes that every message lacks, as `bearer()` does. */
const auth: Auth = {
  authenticate: async () => principal,
  async authorize(incoming, { lackedScopes }) {
    for (const message of incoming.messages ?? []) {
      if ('method' in message) await lackedScopes(principal, message, incoming)
    }
    return undefined
  },
}

const looking = serveLooking()

function serveLooking() {
  endpointClasses.clear()
  const server = createServer({ name: 'looking', version: '1.0.0', jsonSchema })
  const look = {
    description: 'Looks',
    // The argument repeats in a header, so the tool is needed before the call runs.
    inputSchema: { type: 'object', properties: { where: { type: 'string', 'x-mcp-header': 'Where' } } },
    scopes: ['look'],
    rateLimit: { concurrent: 5 },
    visibleTo: () => {
      counts.visible += 1
      return true
    },
  } as const
  server.tool('look', look, () => 'seen')
  const visibleTo = ({ protocolVersion }: Caller) => {
    counts.visible += 1
    return protocolVersion === '2025-03-26'
  }
  server.tool('secret', { description: 'Of old clients', scopes: ['admin'], visibleTo }, () => 'told')
  return serve(server, {
    plugins: [sessions(), tasks(), rateLimit()],
    auth,
    durableObjects: { names: { McpSession: 'LookingSession', McpTask: 'LookingTask' } },
  })
}

const call = (id: number, params = {}): RequestMessage => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name: 'look', ...params },
})
const old = { ...statelessHeaders('tools/call'), 'MCP-Protocol-Version': '2025-03-26' }
/** What comes before: the methods of plugins are merged for the first request of an endpoint. */
const ping = { jsonrpc: '2.0', id: 0, method: 'ping' } as const

function send(sent: unknown, headers: Record<string, string>): Promise<Response> {
  const request = new Request('https://mcp.example/mcp', { method: 'POST', headers, body: JSON.stringify(sent) })
  return looking.fetch(request, env, createExecutionContext())
}

/** Posts to an endpoint that has answered a request. Returns the body of the response. */
async function postWithoutSession(body: unknown, headers: Record<string, string>): Promise<string> {
  await send(ping, old)
  reset()
  return (await send(body, headers)).text()
}

/** Posts to the object of a session that has answered a request. */
function postToObject(calls: readonly RequestMessage[]): Promise<unknown> {
  const { McpSession } = looking
  const more = {
    batch: calls.length > 1,
    handshake: { version: '2025-03-26', capabilities: {}, client: { name: 'test', version: '1' } },
    principal,
    caller: 'ada',
  }
  return runInDurableObject(McpState.getByName(crypto.randomUUID()), async (_, context) => {
    const session = new McpSession(context, {} as never)
    await postTo(session, postOf([ping], more))
    reset()
    return postTo(session, postOf([...calls], more))
  })
}

test('a call without a session is looked up once', async () => {
  const envelope = { capabilities: {}, client: { name: 'test', version: '1' } }
  const body = call(1, enveloped({}, '2026-07-28', envelope))
  expect(await postWithoutSession(body, statelessHeaders('tools/call', 'look'))).toContain('seen')
  expect(counts).toEqual(once)
})

test('each call of a batch without a session is looked up once', async () => {
  expect(await postWithoutSession([call(1), call(2)], old)).toMatch(/seen.*seen/)
  expect(counts).toEqual(twice)
})

test('whether a caller sees a tool whose scopes it lacks is decided once, by the version that its request has', async () => {
  expect(await postWithoutSession(call(1, { name: 'secret' }), old)).toContain('Requires the scopes admin')
  expect(counts.visible).toBe(1)
})

test('a call in a session is looked up once in the Worker', async () => {
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } }
  const session = (await send({ ...ping, method: 'initialize', params }, old)).headers.get('Mcp-Session-Id')
  reset()
  const headers = { ...old, 'MCP-Protocol-Version': '2025-11-25', 'Mcp-Session-Id': String(session) }
  // The object is of the server of all tests, which has no such tool: it looks up the method, and ends the call.
  expect(await (await send(call(1), headers)).text()).toContain('Unknown tool: look')
  expect(counts).toEqual({ ...once, method: 2, visible: 0 })
})

test('a call in a session is looked up once in its object', async () => {
  expect(JSON.stringify(await postToObject([call(1)]))).toContain('seen')
  expect(counts).toEqual(once)
})

test('each call of a batch in a session is looked up once in its object', async () => {
  expect(JSON.stringify(await postToObject([call(1), call(2)]))).toMatch(/seen.*seen/)
  // Whether a caller sees an entry is decided to count a call, and again when its turn has come.
  expect(counts).toEqual({ ...twice, visible: 4 })
})
