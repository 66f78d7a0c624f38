import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { connect, everyRevision, type Target, type TestClient } from '../../worker/testing/index.ts'
import { sample } from '../support/full.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { TaskClient } from '../tasks/client.ts'

type Json = Record<string, unknown>
type Told = { events: Json[]; points: Json[]; spans: (Json & { attributes: Json })[] }

let server: TestServer
beforeAll(async () => {
  server = await startServer('test/observe/server')
})
afterAll(() => server[Symbol.asyncDispose]())

const told = async () => (await (await fetch(new URL('/told', server.url))).json()) as Told
/** Everything that is told, once so much of it is there. */
async function toldOf(count: number, atLeast = { spans: count }): Promise<Told> {
  const all: Told = { events: [], points: [], spans: [] }
  await vi.waitFor(async () => {
    const { events, points, spans } = await told()
    all.events.push(...events)
    all.points.push(...points)
    all.spans.push(...spans)
    expect(all.points.length).toBe(count)
    expect(all.spans.length).toBeGreaterThanOrEqual(atLeast.spans)
  })
  return all
}
/** What is told of its discovery has been told. */
async function connected(target: Target, revision: string): Promise<TestClient> {
  const client = await connect(target, { revision, token: 'ada', answers })
  await toldOf(revision === '2026-07-28' ? 1 : 0)
  return client
}
const answers = { elicit: () => ({ action: 'accept', content: { name: 'Ada' } }) }

describe.each(sample(everyRevision, 2))('a call of a client of %s', (revision) => {
  let client: TestClient
  beforeAll(async () => {
    client = await connected(server.url, revision)
  })
  afterAll(() => client.close())

  test('is observed with its principal and outcome, without secrets', async () => {
    const args = { user: 'ada', password: 'swordfish', keys: [{ id: 1, key: 'hunter2' }] }
    await client.callTool('log_in', args)
    const { events, points, spans } = await toldOf(1)
    expect(events).toEqual([
      {
        at: expect.stringMatching(/^20\d\d-/),
        milliseconds: expect.any(Number),
        method: 'tools/call',
        name: 'log_in',
        arguments: { user: 'ada', password: '[…]', keys: [{ id: 1, key: '[…]' }] },
        outcome: { type: 'answered' },
        revision,
        ...(client.session && { session: expect.stringMatching(/^[\w-]{16}$/) }),
        principal: { issuer: 'https://names.example', subject: 'ada', tenant: 'acme' },
        client: expect.objectContaining({ name: expect.any(String) }),
      },
    ])
    expect(points).toEqual([
      {
        indexes: ['tools/call'],
        blobs: expect.arrayContaining(['tools/call', 'log_in', 'answered', revision, 'ada', 'acme']),
        doubles: [expect.any(Number), 0],
      },
    ])
    // What the handler starts is within.
    expect(spans.map(({ name }) => name)).toEqual(['look up', 'tools/call log_in'])
    expect(spans[0]?.parent).toBe(spans[1]?.id)
    expect(spans[1]).toMatchObject({
      kind: 1,
      attributes: {
        'mcp.method.name': 'tools/call',
        'mcp.protocol.version': revision,
        'gen_ai.operation.name': 'execute_tool',
        'gen_ai.tool.name': 'log_in',
      },
    })
    const logs = () => server.harness.getLogs().map(({ message }) => message)
    const isLogged = (line: string) => line.startsWith('{"mcp":{') && line.includes('"name":"log_in"')
    await expect.poll(() => logs().some(isLogged)).toBe(true)
    expect(logs().join()).not.toMatch(/swordfish|hunter2/)
    if (client.session) expect(logs().join()).not.toContain(client.session)
  })

  test.each<[string, object, object]>([
    ['fails', { type: 'tool_error', message: 'It broke' }, { 'error.type': 'tool_error' }],
    ['refuses', { type: 'error', kind: 'invalid_params', code: -32602, message: 'Not so' }, { 'error.type': '-32602' }],
    ['slow', { type: 'error', kind: 'call_interrupted', code: -32603 }, { 'rpc.response.status_code': '-32603' }],
  ])('with the tool "%s" is observed with its error', async (tool, came, attributes) => {
    await client.callTool(tool).catch(() => {})
    const { events, spans } = await toldOf(1)
    expect(events).toMatchObject([{ name: tool, outcome: came }])
    expect(spans).toMatchObject([{ attributes, status: { code: 2 } }])
  })

  test('has the exceptions of handlers with their stacks in its span', async () => {
    await client.callTool('fails')
    await client.callTool('refuses').catch(() => {})
    await client.request('resources/read', { uri: 'broken://it' }).catch(() => {})
    const { spans } = await toldOf(3)
    const exception = (type: string, message: string) => ({
      'exception.type': type,
      'exception.message': message,
      'exception.stacktrace': expect.stringContaining('    at '),
    })
    expect(spans).toMatchObject([
      { name: 'tools/call fails', exceptions: [exception('Error', 'It broke')] },
      { name: 'tools/call refuses', exceptions: [] },
      { name: 'resources/read', exceptions: [exception('RangeError', 'Out of range')] },
    ])
  })

  test('with input requests is observed in each round', async () => {
    const asks = !['2025-03-26', '2024-11-05'].includes(revision)
    await client.callTool('asks')
    const { events } = await toldOf(asks ? 2 : 1)
    const rounds = [{ type: 'input_required', keys: ['name'] }, { type: 'answered' }]
    expect(events.map(({ outcome }) => outcome)).toEqual(
      asks ? rounds : [{ type: 'tool_error', message: expect.any(String) }],
    )
  })

  test('of a list, a resource and a prompt is observed with its target', async () => {
    await client.request('tools/list')
    await client.request('resources/read', { uri: 'note://1' })
    await client.request('prompts/get', { name: 'plan' })
    const { events, spans } = await toldOf(3)
    expect(events.map(({ method, name, uri }) => [method, name ?? uri])).toEqual([
      ['tools/list', undefined],
      ['resources/read', 'note://1'],
      ['prompts/get', 'plan'],
    ])
    expect(spans.map(({ name }) => name)).toEqual(['tools/list', 'resources/read', 'prompts/get plan'])
    expect(spans[1]?.attributes).toMatchObject({ 'mcp.resource.uri': 'note://1' })
  })

  const [traceId, spanId] = ['0af7651916cd43dd8448eb211c80319c', 'b7ad6b7169203331']
  const traceparent = `00-${traceId}-${spanId}-01`

  test('belongs to the trace in _meta', async () => {
    await client.request('tools/list', { _meta: { traceparent, tracestate: 'a=b' } })
    await client.request('tools/list', { _meta: { traceparent: `00-${'0'.repeat(32)}-${spanId}-01` } })
    await client.request('tools/list', { _meta: { traceparent: 5 } })
    const { events, spans } = await toldOf(3)
    expect(events.map(({ trace }) => trace)).toEqual([
      { traceId, spanId, sampled: true, state: 'a=b' },
      undefined,
      undefined,
    ])
    expect(spans[0]).toMatchObject({ trace: traceId, parent: spanId })
    expect(spans[1]?.trace).not.toBe(traceId)
  })

  test('belongs to the trace in its headers, unless _meta has one', async () => {
    const target = async ({ url, method, headers, body, signal }: Request) => {
      const { pathname, search } = new URL(url)
      const text = body && (await new Response(body).text())
      const traced = [...headers, ['traceparent', traceparent]] as [string, string][]
      return fetch(new URL(pathname + search, server.url), { method, headers: traced, body: text, signal })
    }
    await using other = await connected(target, revision)
    await other.request('tools/list')
    const own = traceparent.replace(spanId, 'aaaaaaaaaaaaaaaa')
    await other.request('tools/list', { _meta: { traceparent: own } })
    const { events } = await toldOf(2)
    expect(events).toMatchObject([{ trace: { traceId, spanId } }, { trace: { traceId, spanId: 'aaaaaaaaaaaaaaaa' } }])
  })
})

test('runs of a task are observed, and can take longer than calls', async () => {
  const client = new TaskClient(server.url)
  const taskId = await client.begin('works', {}, { user: 'ada' })
  const sent = { user: 'ada' }
  const { events } = await toldOf(2)
  expect(events.map(({ name, outcome, isTask }) => [name, outcome, isTask])).toEqual(
    expect.arrayContaining([
      ['works', { type: 'answered' }, undefined],
      ['works', { type: 'input_required', keys: ['name'] }, true],
    ]),
  )
  const inputResponses = { name: { action: 'accept', content: { name: 'Ada' } } }
  await client.result('tasks/update', { taskId, inputResponses }, sent)
  const after = await toldOf(2)
  expect(after.events).toContainEqual(
    expect.objectContaining({ name: 'works', outcome: { type: 'answered' }, isTask: true }),
  )
  expect(after.events).toContainEqual(expect.objectContaining({ method: 'tasks/update' }))
})

test('a task run that suspends is a span with edgemcp.task.asleep, and contains the spans of its handler', async () => {
  const client = new TaskClient(server.url)
  await client.begin('rests', {}, { user: 'ada' })
  const { events, spans } = await toldOf(1, { spans: 3 })
  expect(events.map(({ name, isTask }) => [name, isTask])).toEqual([['rests', undefined]])
  const [prepared, ...others] = spans.filter(({ attributes }) => attributes['mcp.method.name'] === undefined)
  expect(others).toEqual([])
  expect(prepared?.name).toBe('prepare')
  const run = spans.find(({ id }) => id === prepared?.parent)
  expect(run).toMatchObject({
    name: 'tools/call rests',
    attributes: { 'edgemcp.task.asleep': true },
    status: { code: 0 },
  })
  const begun = spans.find((span) => span !== prepared && span !== run)
  expect(begun?.name).toBe('tools/call rests')
  expect(begun?.attributes).not.toHaveProperty('edgemcp.task.asleep')
})

test('arguments that are not in the schema are redacted', async () => {
  await using client = await connected(server.url, '2026-07-28')
  await client.callTool('loose', { known: 'x'.repeat(300), unknown: 'secret' })
  await client.callTool('nothing', { text: 'secret' }).catch(() => {})
  const { events } = await toldOf(2)
  expect(events[0]?.arguments).toEqual({ known: `${'x'.repeat(199)}…`, unknown: '[…]' })
  expect(events[1]?.arguments).toBe('[…]')
})

describe('a message that is not a call is observed', () => {
  const others = async () => (await (await fetch(new URL('/others', server.url))).json()) as Json[]
  /** The next so many, of which none may be missing and none too many. */
  async function othersOf(count: number): Promise<Json[]> {
    const all: Json[] = []
    await vi.waitFor(async () => {
      all.push(...(await others()))
      expect(all).toHaveLength(count)
    })
    return all
  }
  const received = (status: number) => ({ type: 'received', status })
  const briefly = (events: Json[]) => events.map(({ method, outcome }) => ({ method, outcome }))

  beforeEach(others)

  test.each(everyRevision.slice(1, 4))('in a session of %s, with its responses to input requests', async (revision) => {
    await using client = await connect(server.url, { revision, token: 'ada', answers })
    const [began, initialized] = await othersOf(2)
    expect(began).toEqual({
      at: expect.stringMatching(/^20\d\d-/),
      method: 'initialize',
      outcome: received(200),
      revision,
      principal: { issuer: 'https://names.example', subject: 'ada', tenant: 'acme' },
    })
    expect(initialized).toMatchObject({
      method: 'notifications/initialized',
      outcome: received(202),
      session: expect.stringMatching(/^[\w-]{16}$/),
    })
    await client.request('ping')
    await client.request('logging/setLevel', { level: 'error' })
    expect(briefly(await othersOf(2))).toEqual([
      { method: 'ping', outcome: received(200) },
      { method: 'logging/setLevel', outcome: received(200) },
    ])
    if (revision === '2025-03-26') return
    await client.callTool('asks')
    expect(briefly(await othersOf(1))).toEqual([{ method: 'response', outcome: received(202) }])
  })

  test('over HTTP+SSE', async () => {
    await using client = await connect(server.url, { revision: '2024-11-05', sse: true, token: 'ada', answers })
    await client.request('ping')
    const [began, , pinged] = await othersOf(3)
    expect([began?.session, pinged?.session]).toEqual([expect.any(String), began?.session])
    expect(pinged).toMatchObject({ method: 'ping', outcome: received(202) })
  })

  test('of an unknown method', async () => {
    await using client = await connect(server.url, { revision: '2026-07-28', token: 'ada' })
    await client.request('nobody/knows').catch(() => {})
    const [unknown] = await othersOf(1)
    const came = { type: 'error', kind: 'method_not_found', code: -32601, message: 'Method not found: nobody/knows' }
    expect(unknown).toMatchObject({ method: 'nobody/knows', revision: '2026-07-28', outcome: came })
    await using inSession = await connect(server.url, { revision: '2025-11-25', token: 'ada' })
    await othersOf(2)
    await inSession.request(`no\n${'x'.repeat(240)}`).catch(() => {})
    const [long] = await othersOf(1)
    // A line stays a line, and a short one.
    expect(String(long?.method)).toMatch(/^no\ufffdx+…$/)
    expect(String(long?.method).length).toBe(200)
    await inSession.request(`no\n${'x'.repeat(1000)}`).catch(() => {})
    const [refused] = await othersOf(1)
    expect(refused?.method).toBe(long?.method)
    expect(refused?.outcome).toMatchObject({ type: 'error', kind: 'invalid_request', code: -32600 })
  })

  test('a call is reported as a call, not as a message, except when its session is unknown', async () => {
    await using client = await connect(server.url, { revision: '2025-11-25', token: 'ada' })
    await othersOf(2)
    await client.callTool('log_in', { user: 'ada', password: 'swordfish' })
    expect(await others()).toEqual([])
    const headers = {
      'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream',
      'Mcp-Session-Id': 'there-is-no-such-session',
      'MCP-Protocol-Version': '2025-11-25',
    }
    const params = { name: 'log_in', arguments: { user: 'ada', password: 'swordfish' } }
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })
    expect((await fetch(server.url, { method: 'POST', headers, body })).status).toBe(404)
    const [refused] = await othersOf(1)
    expect(refused).toMatchObject({ method: 'tools/call', name: 'log_in', outcome: { type: 'error' } })
    expect(JSON.stringify(refused)).not.toContain('swordfish')
    expect(JSON.stringify(refused)).not.toContain('there-is-no')
  })
})

describe('audit() and observe() of one server', () => {
  const takenFrom = async (path: string) => (await (await fetch(new URL(path, server.url))).json()) as Json[]
  const headers = {
    'Content-Type': 'application/json',
    Accept: 'application/json, text/event-stream',
    'Mcp-Session-Id': 'there-is-no-such-session',
    'MCP-Protocol-Version': '2025-11-25',
  }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'log_in' } })

  test.each<[string, object]>([
    ['report the same refused request', {}],
    ['report it even if an earlier hook throws', { 'X-Break-Hook': '1' }],
  ])('%s', async (_, more) => {
    await Promise.all(['/others', '/audited'].map(takenFrom))
    const response = await fetch(server.url, { method: 'POST', headers: { ...headers, ...more }, body })
    expect(response.status).toBe(404)
    const [observed, audited]: Json[][] = [[], []]
    await vi.waitFor(async () => {
      observed?.push(...(await takenFrom('/others')))
      audited?.push(...(await takenFrom('/audited')))
      expect([observed?.length, audited?.length]).toEqual([1, 1])
    })
    const refusal = { kind: 'session_not_found', message: 'Session not found: send initialize again' }
    expect(observed).toMatchObject([{ method: 'tools/call', name: 'log_in', outcome: { type: 'error', ...refusal } }])
    expect(audited).toMatchObject([
      { outcome: 'refused', status: 404, reason: refusal, targets: [{ method: 'tools/call', name: 'log_in' }] },
    ])
  })
})

describe('in development,', () => {
  let deployed: TestServer
  beforeAll(async () => {
    vi.stubEnv('NODE_ENV', 'development')
    deployed = server
    server = await startServer('test/observe/server')
    vi.unstubAllEnvs()
  })
  afterAll(async () => {
    await server[Symbol.asyncDispose]()
    server = deployed
  })

  test('a call is observed, and its span contains those of its handler', async () => {
    await using client = await connected(server.url, '2026-07-28')
    await client.callTool('log_in', { user: 'ada', password: 'swordfish' })
    const { events, spans } = await toldOf(1)
    expect(events).toMatchObject([{ name: 'log_in', outcome: { type: 'answered' } }])
    expect(spans.map(({ name }) => name)).toEqual(['look up', 'tools/call log_in'])
    expect(spans[0]?.parent).toBe(spans[1]?.id)
  })
})
