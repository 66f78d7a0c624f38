/** Which versions an upstream speaks, what it offers to whom, and how sessions with it begin. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { Server } from '../../worker/declarations/server.ts'
import type { Principal } from '../../worker/protocol/principal.ts'
import { newServer, play, refusal, result, textOf } from '../engine/stage.ts'
import { hasNextVersion } from '../support/next-version/replace.ts'
import { nodeProxy } from './node-proxy.ts'
import { described, rpcError, type ScriptedRequest, scripted } from './scripted.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'] }))
afterEach(() => void vi.useRealTimers())
const aMinuteLater = () => vi.setSystemTime(Date.now() + 61_000)

const named = (subject: string): Principal => ({ issuer: 'https://names.example', subject, scopes: [], claims: {} })
const headers = ({ principal }: { principal: Principal | undefined }) => ({ 'X-Name': principal?.subject ?? '' })
const tool = { name: 'work', inputSchema: { type: 'object' } }
const said = (text: string) => ({ content: [{ type: 'text', text }] })

/** An upstream that speaks 2026-07-28, sessions or both, and may change. */
function upstream() {
  const state = { isStateless: true, hasSessions: false, discover: undefined as number | undefined }
  const sessions = new Map<string, string[]>()
  const within =
    (answer: (request: ScriptedRequest, kept: string[]) => Response | object) => (request: ScriptedRequest) => {
      const id = request.headers.get('Mcp-Session-Id')
      const kept = id === null ? undefined : sessions.get(id)
      if (state.isStateless && id === null) return answer(request, []) as Response
      if (!state.hasSessions || id === null) return rpcError(null, -32000, 'No session', 400)
      return kept ? (answer(request, kept) as Response) : rpcError(null, -32001, 'Session not found', 404)
    }
  const script = scripted({
    'server/discover': ({ id }) => {
      if (state.discover) return rpcError(id, -32603, 'Not now', state.discover)
      return state.isStateless ? described() : rpcError(null, -32000, 'No session', 400)
    },
    initialize: async ({ id }) => {
      if (!state.hasSessions) return rpcError(id, -32602, 'no such method', 400)
      await new Promise((resolve) => setTimeout(resolve, 5))
      const session = crypto.randomUUID()
      sessions.set(session, [])
      const value = {
        protocolVersion: '2025-11-25',
        capabilities: { tools: {} },
        serverInfo: { name: 'u', version: '1' },
      }
      return Response.json({ jsonrpc: '2.0', id, result: value }, { headers: { 'Mcp-Session-Id': session } })
    },
    'tools/list': within(() => ({ tools: [tool] })),
    'tools/call': within(({ id, params, headers: sent }, kept) => {
      const { put, refuse } = params.arguments as { put?: string; refuse?: boolean }
      if (refuse) return rpcError('server-error', -32602, 'Validation error: arguments.x', 400)
      if (put) kept.push(put)
      const era = sent.has('Mcp-Session-Id') ? 'session' : 'stateless'
      return Response.json({ jsonrpc: '2.0', id, result: said([era, ...kept].join(' ')) })
    }),
    DELETE: ({ headers: sent }) => {
      sessions.delete(sent.get('Mcp-Session-Id') ?? '')
      return new Response(null)
    },
  })
  return { state, sessions, ...script }
}

const inFrontOf = ({ fetch }: { fetch: Parameters<typeof nodeProxy>[1] }, options = {}): Server =>
  newServer().use(nodeProxy('https://upstream.example/mcp', fetch, options))
const call = async (server: Server, subject: string, args = {}) =>
  textOf(await result(server, 'tools/call', { name: 'work', arguments: args }, { principal: named(subject) }))

test('an upstream without sessions is asked in the newest version that both support', async () => {
  const supported = ['2099-01-01', '2026-07-28']
  const { fetch, requests, asked } = scripted({
    'server/discover': ({ id, headers: sent }) => {
      const requested = sent.get('MCP-Protocol-Version')
      if (requested === '2026-07-28') return { supportedVersions: supported, capabilities: { tools: {} } }
      const error = { code: -32022, message: 'Unsupported protocol version', data: { supported, requested } }
      return Response.json({ jsonrpc: '2.0', id, error }, { status: 400 })
    },
    'tools/list': { tools: [tool] },
    'tools/call': said('done'),
  })
  const server = inFrontOf({ fetch }, { headers })
  expect(await call(server, 'ada')).toBe('done')
  aMinuteLater()
  expect(await call(server, 'ada')).toBe('done')
  expect(asked('initialize')).toEqual([])
  const versions = requests.map(({ headers: sent }) => sent.get('MCP-Protocol-Version'))
  // It is asked again in the version that it supported before.
  expect(versions.filter((version) => version !== '2026-07-28')).toHaveLength(hasNextVersion ? 1 : 0)
})

test('an upstream that lists the version that it refuses is asked once more only', async () => {
  const { fetch, asked } = scripted({
    'server/discover': ({ id }) => {
      const error = { code: -32022, message: 'Unsupported', data: { supported: ['2026-07-28'] } }
      return Response.json({ jsonrpc: '2.0', id, error }, { status: 400 })
    },
    initialize: ({ id }) => rpcError(id, -32601, 'Method not found', 400),
  })
  expect(await result(inFrontOf({ fetch }), 'tools/list')).toMatchObject({ tools: [] })
  expect(asked('server/discover')).toHaveLength(hasNextVersion ? 2 : 1)
})

describe('the capabilities of an upstream', () => {
  test('for one credential do not apply to another credential', async () => {
    const { fetch } = scripted({
      'server/discover': ({ headers: sent }) => described(sent.get('X-Name') === 'alice' ? { tools: {} } : {}),
      'tools/list': { tools: [tool] },
      'tools/call': said('done'),
    })
    const server = inFrontOf({ fetch }, { headers })
    const carol = { principal: named('carol') }
    expect(await refusal(server, 'tools/list', {}, carol)).toMatchObject({ kind: 'method_not_found' })
    expect(await call(server, 'alice')).toBe('done')
    expect((await result(server, 'tools/list', {}, { principal: named('alice') })).tools).toMatchObject([tool])
    expect(await refusal(server, 'tools/list', {}, carol)).toMatchObject({ kind: 'method_not_found' })
  })

  test('in one session do not apply to another session', async () => {
    const { fetch } = scripted({
      'server/discover': ({ id }) => rpcError(id, -32601, 'Method not found'),
      initialize: ({ id, headers: sent }) => {
        const capabilities = sent.get('X-Name') === 'alice' ? { tools: {} } : {}
        const value = { protocolVersion: '2025-11-25', capabilities, serverInfo: { name: 'u', version: '1' } }
        return Response.json(
          { jsonrpc: '2.0', id, result: value },
          { headers: { 'Mcp-Session-Id': crypto.randomUUID() } },
        )
      },
      'tools/list': { tools: [tool] },
      'tools/call': said('done'),
    })
    const server = inFrontOf({ fetch }, { headers })
    expect(await call(server, 'alice')).toBe('done')
    await refusal(server, 'tools/list', {}, { principal: named('carol') })
    expect(await call(server, 'alice')).toBe('done')
  })
})

describe('the protocol version of an upstream', () => {
  test('can change to an older one', async () => {
    const there = upstream()
    const server = inFrontOf(there)
    expect(await call(server, 'ada')).toBe('stateless')
    Object.assign(there.state, { isStateless: false, hasSessions: true })
    expect(await call(server, 'ada')).toBe('session')
    aMinuteLater()
    expect(await call(server, 'bob')).toBe('session')
  })

  test('can change to a newer one', async () => {
    const there = upstream()
    Object.assign(there.state, { isStateless: false, hasSessions: true })
    const server = inFrontOf(there)
    expect(await call(server, 'ada')).toBe('session')
    Object.assign(there.state, { isStateless: true, hasSessions: false })
    expect(await call(server, 'bob')).toBe('stateless')
    expect(await call(server, 'ada')).toBe('stateless')
  })

  test.each([401, 403, 408, 429, 500, 502, 503])('does not change because of HTTP %i', async (status) => {
    const there = upstream()
    there.state.hasSessions = true
    there.state.discover = status
    const server = inFrontOf(there)
    expect(await refusal(server, 'tools/call', { name: 'work', arguments: {} })).toMatchObject({ kind: 'unavailable' })
    there.state.discover = undefined
    expect(await call(server, 'ada')).toBe('stateless')
    aMinuteLater()
    there.state.discover = status
    expect(await call(server, 'ada')).toBe('stateless')
    expect(there.asked('initialize')).toEqual([])
  })
})

describe('the upstream session of a principal', () => {
  test('is created once for concurrent calls', async () => {
    const there = upstream()
    Object.assign(there.state, { isStateless: false, hasSessions: true })
    const server = inFrontOf(there)
    await Promise.all(['a', 'b', 'c'].map((put) => call(server, 'dave', { put })))
    expect((await call(server, 'dave')).split(' ').sort()).toEqual(['a', 'b', 'c', 'session'])
    expect(there.asked('initialize')).toHaveLength(1)
  })

  test('stays in use after the upstream refuses a request', async () => {
    const there = upstream()
    Object.assign(there.state, { isStateless: false, hasSessions: true })
    const server = inFrontOf(there)
    await call(server, 'hal', { put: 'kept' })
    const params = { name: 'work', arguments: { refuse: true } }
    await refusal(server, 'tools/call', params, { principal: named('hal') })
    expect(await call(server, 'hal')).toBe('session kept')
    expect(there.sessions.size).toBe(1)
  })
})

describe('an upstream with sessions is initialized once for a call', () => {
  const calls: [method: string, params: object][] = [
    ['tools/list', {}],
    ['tools/call', { name: 'work' }],
    ['prompts/list', {}],
    ['prompts/get', { name: 'p' }],
    ['resources/list', {}],
    ['resources/templates/list', {}],
    ['resources/read', { uri: 'note://x' }],
    ['completion/complete', { ref: { type: 'ref/prompt', name: 'p' }, argument: { name: 'a', value: '' } }],
    ['completion/complete', { ref: { type: 'ref/resource', uri: 'note://{x}' }, argument: { name: 'x', value: '' } }],
  ]
  const offers: object[] = [{}, { tools: {} }, { prompts: {} }, { resources: {} }, { resources: {}, completions: {} }]
  const all = offers.flatMap((capabilities) => calls.map((each) => [...each, capabilities] as const))

  test.each(all)('%s %j, if it offers %j', async (method, params, capabilities) => {
    const upstreams = [1, 2].map((number) =>
      scripted({
        'server/discover': ({ id }) => rpcError(id, -32601, 'Method not found'),
        initialize: ({ id }) => {
          const result = { protocolVersion: '2025-11-25', capabilities, serverInfo: { name: 'u', version: '1' } }
          const headers = { 'Mcp-Session-Id': crypto.randomUUID() }
          return Response.json({ jsonrpc: '2.0', id, result }, { headers })
        },
        'tools/list': { tools: [tool] },
        'tools/call': said('done'),
        'prompts/list': { prompts: [{ name: 'p' }] },
        'prompts/get': { messages: [] },
        'resources/list': { resources: [{ uri: 'note://x', name: `${number}` }] },
        'resources/templates/list': { resourceTemplates: [{ uriTemplate: 'note://{x}', name: 't' }] },
        'resources/read': { contents: [] },
        'completion/complete': { completion: { values: [] } },
      }),
    )
    for (const count of [1, 2]) {
      const server = newServer()
      for (const { fetch } of upstreams.slice(0, count)) server.use(nodeProxy('https://upstream.example/mcp', fetch))
      const before = upstreams.map(({ asked }) => asked('initialize').length)
      await play(server, method, { ...params }).catch(() => {})
      for (const [index, { asked }] of upstreams.slice(0, count).entries()) {
        expect(asked('initialize').length - (before[index] ?? 0)).toBeLessThanOrEqual(1)
      }
    }
  })
})
