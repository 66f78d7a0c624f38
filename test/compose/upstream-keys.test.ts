/** Credentials of callers at an upstream with sessions: each session acts for the credentials with which it began. */

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { connect } from '../../worker/testing/index.ts'
import { newServer, result } from '../engine/stage.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { nodeProxy } from './node-proxy.ts'
import { scripted } from './scripted.ts'
import { answerAsAsked, type Stub, startStub } from './stub.ts'

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
  const logged = () =>
    server.harness
      .getLogs()
      .map(({ message }) => message)
      .join('\n')

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
