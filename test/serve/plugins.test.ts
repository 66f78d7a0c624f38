import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { connect } from '../../worker/testing/index.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { TaskClient } from '../tasks/client.ts'

let server: TestServer
beforeAll(async () => {
  server = await startServer('test/serve/plugins')
})
afterAll(() => server[Symbol.asyncDispose]())

const ask = (path: string, init?: RequestInit) => fetch(new URL(path, server.url), init)

describe.each(['2026-07-28', '2025-11-25', '2024-11-05'])('for clients of %s', (revision) => {
  const client = () => connect(server.url, { revision })

  test('a plugin overrides a method of the protocol', async () => {
    await using tester = await client()
    const { tools } = await tester.request('tools/list')
    expect((tools as { description: string }[]).map(({ description }) => description)).toEqual([
      'Wrapped: Repeats words',
      'Wrapped: Says hi',
    ])
  })

  test('a plugin adds a method', async () => {
    await using tester = await client()
    expect(await tester.request('plugins/read', { name: 'a' })).toMatchObject({ read: 'a' })
  })

  test('interceptors of plugins run outside those of the server, the first plugin outermost', async () => {
    await using tester = await client()
    const { content } = await tester.callTool('hi')
    expect(content).toMatchObject([{ text: 'hi, server, second, first' }])
  })

  test('two plugins override one method', async () => {
    await using tester = await client()
    expect(await tester.request('tools/call', { name: 'hi' })).toMatchObject({ _meta: { marked: true } })
  })

  test('the plugins of an endpoint apply in its sessions', async () => {
    await using tester = await connect(new URL('/guarded/mcp', server.url), { revision })
    await expect(tester.callTool('hi')).rejects.toThrow('The guard says no')
  })
})

describe('a route of a plugin', () => {
  test('serves its HTTP methods only', async () => {
    const response = await ask('/up')
    expect([response.status, await response.text()]).toEqual([200, 'up'])
    expect((await ask('/up', { method: 'POST' })).status).toBe(405)
  })

  test.each([
    ['/throws', 500],
    ['/internal', 500],
    ['/forbidden', 403],
    ['/redirects', 302],
    ['/nothing', 500],
  ])('that fails returns an error status: %s', async (path, status) => {
    expect((await ask(path, { redirect: 'manual' })).status).toBe(status)
  })

  test('is refused for other origins', async () => {
    expect((await ask('/up', { headers: { Origin: 'https://elsewhere.example' } })).status).toBe(403)
  })
})

test('a plugin uses its own Durable Object class', async () => {
  const counts = async () => ((await (await ask('/counts')).json()) as { hi?: number }).hi ?? 0
  const before = await counts()
  await using tester = await connect(server.url, { revision: '2026-07-28' })
  await tester.callTool('hi')
  expect(await counts()).toBe(before + 1)
})

test('an interceptor changes the params of a task once', async () => {
  const client = new TaskClient(server.url)
  const { result } = await client.until(await client.begin('work', { words: 'hi' }), 'completed')
  expect(result).toMatchObject({ content: [{ text: 'hi!, server, second, first' }] })
})

test('the plugins of an endpoint do not apply at another endpoint of the same server', async () => {
  await using tester = await connect(new URL('/plain/mcp', server.url), { revision: '2026-07-28' })
  const { tools } = await tester.request('tools/list')
  expect((tools as { description: string }[]).map(({ description }) => description)).toEqual([
    'Repeats words',
    'Says hi',
  ])
  await expect(tester.request('plugins/read', { name: 'a' })).rejects.toMatchObject({ code: -32601 })
})

test('an invalid plugin is an error at startup', async () => {
  expect(await (await ask('/problems')).json()).toEqual([
    'There are no tools',
    'validate of the plugin "late" returned a promise: make it synchronous',
    'the plugin "slip" does not take "intercepter" (did you mean "interceptor"?): it takes name, validate, extensions, methods, capabilities, templates, interceptor, context, onResponse, routes, provide, objects, onInitialize, onSubscribe, onUnsubscribe and onSessionEnd',
    '"path" of a route of the plugin "path" must be a path such as "/mcp", as URLs have it, without patterns, not "metrics"',
    'Two routes of plugins, or a route and the endpoint, have the path "/mcp": remove one, or give one route several methods',
  ])
})
