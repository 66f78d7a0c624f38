/** Credentials of callers at an upstream with sessions: each session acts for the credentials with which it began. */

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { HeadersContext } from '../../worker/declarations/upstream-options.ts'
import { connect } from '../../worker/testing/index.ts'
import { newServer, refusal, result } from '../engine/stage.ts'
import { logText, startServer, type TestServer } from '../support/server.ts'
import { nodeProxy } from './node-proxy.ts'
import { rpcError, scripted } from './scripted.ts'
import { answerAsAsked, type Stub, sendJson, startStub } from './stub.ts'

let stub: Stub
let server: TestServer
beforeAll(async () => {
  stub = await startStub()
  server = await startServer('test/compose/keyed', { UPSTREAM: stub.url })
})
afterAll(async () => {
  await server?.[Symbol.asyncDispose]()
  stub.close()
})
beforeEach(() => {
  stub.requests.length = 0
})
afterEach(() => {
  stub.call = answerAsAsked
})

const at = (path: string, token: string) =>
  connect(new URL(path, server.url), { revision: '2026-07-28', sse: false, token })
const call = async (path: string, token: string) => {
  await using client = await at(path, token)
  return client.callTool('secret_of', { who: token })
}
const changeKey = async (of: string, is: string) => {
  const response = await fetch(new URL(`/key?of=${of}&is=${is}`, server.url), { method: 'POST' })
  expect(response.status).toBe(200)
}
const sent = (name: string) => stub.requests.filter(({ http, method }) => (method ?? http) === name)
const keysOf = (name: string) => sent(name).map(({ headers }) => headers['x-key'])

describe('a key that changes', () => {
  test('starts a session with the new key, and ends the old session with the old key', async () => {
    await changeKey('ada', 'first')
    await call('/mcp', 'ada')
    await call('/mcp', 'ada')
    await changeKey('ada', 'second')
    await call('/mcp', 'ada')
    await call('/mcp', 'ada')
    expect(keysOf('initialize')).toEqual(['first', 'second'])
    expect(keysOf('tools/call')).toEqual(['first', 'first', 'second', 'second'])
    const [first, again, second, last] = sent('tools/call').map(({ session }) => session)
    expect([again, last]).toEqual([first, second])
    expect(second).not.toBe(first)
    await expect.poll(() => sent('DELETE').map(({ session }) => session)).toEqual([first])
    expect(keysOf('DELETE')).toEqual(['first'])
  })

  test('does not interrupt a call that runs in the old session', async () => {
    await changeKey('bob', 'first')
    const arrived = Promise.withResolvers<() => void>()
    stub.call = (request, response) => arrived.resolve(() => answerAsAsked(request, response))
    const running = call('/mcp', 'bob')
    const finish = await arrived.promise
    stub.call = answerAsAsked
    await changeKey('bob', 'second')
    await call('/mcp', 'bob')
    expect(sent('DELETE')).toEqual([])
    finish()
    expect(await running).toMatchObject({ content: [{ text: 'the secret of bob' }] })
    await expect.poll(() => keysOf('DELETE')).toEqual(['first'])
  })

  test('does not end the sessions of other callers', async () => {
    for (const name of ['cid', 'dan']) {
      await changeKey(name, 'same')
      await call('/mcp', name)
    }
    await changeKey('cid', 'other')
    for (const name of ['cid', 'dan']) await call('/mcp', name)
    const [cid, dan, cidLater, danLater] = sent('tools/call').map(({ session }) => session)
    expect(cidLater).not.toBe(cid)
    expect(dan).not.toBe(cid)
    expect(danLater).toBe(dan)
  })
})

describe('headers that throw an error', () => {
  const logged = () => logText(server)

  test('remove the upstream from lists, and the error is logged', async () => {
    await using client = await at('/failing/mcp', 'ada')
    const { tools } = (await client.request('tools/list')) as { tools: { name: string }[] }
    expect(tools.map(({ name }) => name)).toEqual(['own', 'good_secret_of', 'good_other'])
    await expect.poll(logged).toContain(`"headers" of the proxy of "${stub.url}" failed: no key is configured`)
  })

  test("make calls of the upstream's tools an internal error, and no other calls", async () => {
    await using client = await at('/failing/mcp', 'ada')
    await expect(client.callTool('broken_secret_of', { who: 'ada' })).rejects.toMatchObject({
      code: -32603,
      message: 'Internal error',
    })
    expect(await client.callTool('own')).toMatchObject({ content: [{ text: 'Hello!' }] })
    expect(await client.callTool('good_secret_of', { who: 'ada' })).toMatchObject({
      content: [{ text: 'the secret of ada' }],
    })
  })

  test('leave reads of its resources to other upstreams', async () => {
    await using client = await at('/failing/mcp', 'ada')
    expect(await client.request('resources/read', { uri: 'about:stub' })).toMatchObject({
      contents: [{ text: 'About' }],
    })
  })
})

describe('headers that cannot be sent', () => {
  test('are an internal error of their caller, and no other caller loses the upstream', async () => {
    await changeKey('mallory', encodeURIComponent('a\nb'))
    await changeKey('alice', 'good')
    for (let count = 0; count < 11; count += 1) {
      await expect(call('/mcp', 'mallory')).rejects.toMatchObject({ code: -32603, message: 'Internal error' })
    }
    expect(stub.requests).toEqual([])
    expect(await call('/mcp', 'alice')).toMatchObject({ content: [{ text: 'the secret of alice' }] })
  })
})

describe('headers in memory', () => {
  const upstreamWithSessions = () => {
    let count = 0
    return scripted({
      'server/discover': ({ id }) => rpcError(id, -32601, 'Method not found'),
      initialize: ({ id }) => {
        count += 1
        const result = { protocolVersion: '2025-11-25', capabilities: { tools: {} } }
        return Response.json({ jsonrpc: '2.0', id, result }, { headers: { 'Mcp-Session-Id': `s${count}` } })
      },
      'tools/call': { content: [] },
    })
  }
  const gatewayTo = (upstream: ReturnType<typeof scripted>, headers: (subject: string | undefined) => unknown) =>
    newServer().use(
      nodeProxy('https://weather.example/mcp', upstream.fetch, {
        sharedSessions: true,
        headers: ({ principal }) => headers(principal?.subject) as Record<string, string>,
      }),
    )
  const as = (subject: string) => ({ principal: { issuer: 'https://names.example', subject, scopes: [], claims: {} } })

  test('as Headers are those of the caller, who shares no session with others', async () => {
    const upstream = upstreamWithSessions()
    const gateway = gatewayTo(upstream, (subject) => new Headers({ 'X-Key': `${subject}` }))
    for (const subject of ['ada', 'bob', 'ada']) await result(gateway, 'tools/call', { name: 'x' }, as(subject))
    const sent = upstream
      .asked('tools/call')
      .map(({ headers }) => [headers.get('X-Key'), headers.get('Mcp-Session-Id')])
    expect(sent).toEqual([
      ['ada', 's1'],
      ['bob', 's2'],
      ['ada', 's1'],
    ])
  })

  test('are equal in any order and case, and those without a value are not sent', async () => {
    const upstream = upstreamWithSessions()
    const written = [
      { 'X-A': '1', 'X-B': '2' },
      { 'x-b': '2', 'x-a': '1', 'X-C': undefined, 'X-D': null },
    ]
    const gateway = gatewayTo(upstream, () => written.shift())
    for (const subject of ['ada', 'bob']) await result(gateway, 'tools/call', { name: 'x' }, as(subject))
    expect(upstream.asked('initialize')).toHaveLength(1)
    const { headers } = upstream.asked('tools/call')[1] ?? {}
    expect(['X-A', 'X-B', 'X-C', 'X-D'].map((name) => headers?.get(name))).toEqual(['1', '2', null, null])
  })

  test.each([
    ['a Map', new Map([['X-Key', 'a']]), 'it returned an object of the class Map: return an object with the headers'],
    ['a list', [['X-Key', 'a']], 'it returned an object of the class Array: return an object with the headers'],
    ['nothing', undefined, 'it returned undefined: return an object with the headers'],
    ['a number', { 'X-Key': 5 }, 'it returned a number as "X-Key": return a string'],
  ])('are refused if they are %s', async (_, headers, problem) => {
    const upstream = scripted({})
    await expect(
      result(
        gatewayTo(upstream, () => headers),
        'tools/call',
        { name: 'x' },
      ),
    ).rejects.toThrow(problem)
    expect(upstream.requests).toEqual([])
  })
})

describe('headers that are looked up asynchronously', () => {
  test('belong to the caller, and a change of them starts a session', async () => {
    await changeKey('eve', 'first')
    await changeKey('fay', 'other')
    for (const name of ['eve', 'fay']) await call('/stored/mcp', name)
    await changeKey('eve', 'second')
    await call('/stored/mcp', 'eve')
    expect(keysOf('initialize')).toEqual(['first', 'other', 'second'])
    expect(keysOf('tools/call')).toEqual(['first', 'other', 'second'])
  })

  test('can refuse a caller: lists omit the upstream, and calls fail with the error', async () => {
    await using client = await at('/stored/mcp', 'gil')
    expect(await client.request('tools/list')).toMatchObject({ tools: [{ name: 'own' }] })
    await expect(client.callTool('secret_of')).rejects.toMatchObject({
      status: 403,
      message: 'You have no key for this server: add one in your settings',
    })
    expect(stub.requests).toEqual([])
  })

  test('count as failed when they take too long', async () => {
    await using client = await at('/stored/mcp', 'slow')
    const { tools } = (await client.request('tools/list')) as { tools: { name: string }[] }
    expect(tools.map(({ name }) => name)).toEqual(['own'])
    await expect(client.callTool('secret_of')).rejects.toMatchObject({ code: -32603, message: 'Internal error' })
  }, 30_000)

  test('are looked up once for all requests of a call', async () => {
    const upstream = scripted({
      'tools/list': ({ params }) => ({
        tools: [{ name: `page_${params.cursor ?? 0}`, inputSchema: { type: 'object' } }],
        ...(params.cursor === undefined && { nextCursor: '1' }),
      }),
      'tools/call': { content: [] },
    })
    let lookups = 0
    const headers = async () => {
      lookups += 1
      return { 'X-Key': `${lookups}` }
    }
    const gateway = newServer().use(nodeProxy('https://weather.example/mcp', upstream.fetch, { headers }))
    await result(gateway, 'tools/list')
    await result(gateway, 'tools/call', { name: 'page_0' })
    expect(lookups).toBe(2)
    expect(upstream.asked('tools/list').map(({ headers }) => headers.get('X-Key'))).toEqual(['1', '1'])
    expect(upstream.asked('tools/call').map(({ headers }) => headers.get('X-Key'))).toEqual(['2'])
  })
})

describe('what the list for one key says of a tool', () => {
  const principal = (subject: string) => ({ issuer: 'https://names.example', subject, scopes: [], claims: {} })
  const keyedBySubject = { headers: ({ principal }: HeadersContext) => ({ 'X-Key': principal?.subject ?? 'none' }) }

  test('does not decide how calls with another key are sent', async () => {
    const listedFor = (key: string | null) => ({
      name: 'run',
      inputSchema: {
        type: 'object',
        properties: { query: { type: 'string', ...(key === 'ada' && { 'x-mcp-header': 'Query' }) } },
      },
      annotations: key === 'ada' ? { readOnlyHint: true } : { destructiveHint: true },
    })
    const upstream = scripted({
      'tools/list': ({ headers }) => ({ tools: [listedFor(headers.get('X-Key'))] }),
      'tools/call': () => new Response(null, { status: 503, headers: { 'Retry-After': '0' } }),
    })
    const gateway = newServer().use(
      nodeProxy('https://runs.example/mcp', upstream.fetch, keyedBySubject, { retries: 2 }),
    )
    const callAs = async (subject: string) => {
      const before = upstream.asked('tools/call').length
      const params = { name: 'run', arguments: { query: 'secret' } }
      await refusal(gateway, 'tools/call', params, { principal: principal(subject) })
      return upstream
        .asked('tools/call')
        .slice(before)
        .map(({ headers }) => headers.get('Mcp-Param-Query'))
    }
    for (const subject of ['bob', 'ada']) await result(gateway, 'tools/list', {}, { principal: principal(subject) })
    expect(await callAs('bob')).toEqual([null])
    expect(await callAs('cid')).toEqual([null])
    expect(await callAs('ada')).toEqual(['secret', 'secret', 'secret'])
    await result(gateway, 'tools/list', {}, { principal: principal('bob') })
    expect(await callAs('ada')).toEqual(['secret', 'secret', 'secret'])
  })

  test('does not change the structured content for another key', async () => {
    const { tools } = stub
    stub.call = ({ id }, response) =>
      sendJson(response, { jsonrpc: '2.0', id, result: { content: [], structuredContent: { a: 1 } } })
    await using ada = await connect(server.url, { revision: '2025-11-25', token: 'schema-ada' })
    await using bob = await connect(server.url, { revision: '2025-11-25', token: 'schema-bob' })
    const inputSchema = { type: 'object' }
    const schemas = { 'schema-ada': { type: ['object', 'null'] }, 'schema-bob': { type: 'object' } }
    try {
      for (const [key, outputSchema] of Object.entries(schemas)) {
        await changeKey(key, key)
        stub.tools = [{ name: 'secret_of', inputSchema, outputSchema }]
        await (key === 'schema-ada' ? ada : bob).request('tools/list')
      }
      for (const _ of ['first', 'again']) {
        expect(await ada.callTool('secret_of')).toMatchObject({ structuredContent: { result: { a: 1 } } })
        expect(await bob.callTool('secret_of')).toMatchObject({ structuredContent: { a: 1 } })
      }
    } finally {
      stub.tools = tools
    }
  })
})

test('the id of a session of an upstream has at most as many characters as one of this server', async () => {
  const started = (length: number) =>
    scripted({
      'server/discover': ({ id }) => rpcError(id, -32601, 'Method not found'),
      initialize: ({ id }) =>
        Response.json(
          { jsonrpc: '2.0', id, result: { protocolVersion: '2025-11-25', capabilities: { tools: {} } } },
          { headers: { 'Mcp-Session-Id': 's'.repeat(length) } },
        ),
      'tools/call': { content: [] },
    })
  const call = { name: 'x', arguments: {} }
  const to = ({ fetch }: ReturnType<typeof scripted>) => newServer().use(nodeProxy('https://u.example/mcp', fetch))
  expect(await result(to(started(8192)), 'tools/call', call)).toEqual({ content: [] })
  const long = started(8193)
  expect(await refusal(to(long), 'tools/call', call)).toMatchObject({
    kind: 'unavailable',
    message: expect.stringContaining(
      'u.example answered initialize with an invalid result: the id of the session must',
    ),
  })
  expect(long.asked('tools/call')).toEqual([])
})
