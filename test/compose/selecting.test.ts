/** The options `tools`, `include` and `exclude` of proxy(). */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { SelectedTools, type ToolSelection } from '../../worker/declarations/tool-selection.ts'
import { mount } from '../../worker/plugins/compose/mount.ts'
import { connect } from '../../worker/testing/index.ts'
import { newServer, play, refusal, result, textOf } from '../engine/stage.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { nodeProxy } from './node-proxy.ts'
import { scripted } from './scripted.ts'
import { type Stub, sendJson, startStub, textResult } from './stub.ts'

type Json = Record<string, unknown>
const schema = { type: 'object' }
const tool = (name: string, more: Json = {}) => ({ name, description: 'd', inputSchema: schema, ...more })

let stub: Stub
let server: TestServer
beforeAll(async () => {
  stub = await startStub()
  stub.tools = [
    tool('search', { outputSchema: schema, annotations: { openWorldHint: true } }),
    ...['remove', 'limited', 'hidden', 'concealed', 'admin_reset', 'plain'].map((name) => tool(name)),
  ]
  server = await startServer('test/compose/selecting', { UPSTREAM: stub.url })
})
afterAll(async () => {
  await server?.[Symbol.asyncDispose]()
  stub?.close()
})
beforeEach(() => {
  stub.requests.length = 0
  stub.call = ({ id, method, params }, response) =>
    method === undefined
      ? response.writeHead(202).end()
      : sendJson(response, { jsonrpc: '2.0', id, result: textResult(`called ${params.name}`) })
})
afterEach(() => {
  stub.requests.length = 0
})

describe.each(['2026-07-28', '2025-11-25'])('a client of %s', (revision) => {
  const at = (token: string) => connect(server.url, { revision, token })
  const names = async (token: string) => {
    await using client = await at(token)
    const { tools } = (await client.request('tools/list')) as { tools: Json[] }
    return tools.map(({ name }) => name)
  }

  test('sees the selected tools, under their names, as far as it may use them', async () => {
    expect(await names('ada+read+write')).toEqual(['up_find', 'up_remove', 'up_limited', 'up_hidden', 'up_plain'])
    expect(await names('bob+read')).toEqual(['up_find', 'up_limited', 'up_plain'])
  })

  test('sees the changed members of a tool', async () => {
    await using client = await at('ada+read')
    const { tools } = (await client.request('tools/list')) as { tools: Json[] }
    expect(tools.find(({ name }) => name === 'up_find')).toMatchObject({
      ...(revision > '2025-06' && { title: 'Find' }),
      description: 'Finds what you need',
      inputSchema: schema,
      annotations: { readOnlyHint: true, openWorldHint: true },
    })
    expect(tools.find(({ name }) => name === 'up_find')).not.toHaveProperty('outputSchema')
  })

  test('calls a renamed tool by its new name only', async () => {
    await using client = await at('ada+read')
    expect(textOf(await client.callTool('up_find'))).toBe('called search')
    await expect(client.callTool('up_search')).rejects.toThrow('Unknown tool: up_search')
  })

  test.each(['up_admin_reset', 'up_hidden', 'up_concealed'])('cannot call %s, which it does not see', async (name) => {
    await using client = await at('bob+read+write')
    await expect(client.callTool(name)).rejects.toThrow(`Unknown tool: ${name}`)
    expect(stub.requests.filter(({ method }) => method === 'tools/call')).toEqual([])
  })

  test('needs the scopes of the tool instead of those of the proxy', async () => {
    await using reader = await at('ada+read')
    await expect(reader.callTool('up_remove')).rejects.toMatchObject({ status: 403 })
    await using writer = await at('ada+write')
    expect(textOf(await writer.callTool('up_remove'))).toBe('called remove')
    await expect(writer.callTool('up_plain')).rejects.toMatchObject({ status: 403 })
  })

  test('is limited by the rateLimit of a tool', async () => {
    await using client = await at(`limited-${revision}+read`)
    await client.callTool('up_limited')
    await client.callTool('up_limited')
    await expect(client.callTool('up_limited')).rejects.toThrow(
      /Too many calls of up_limited|Too many calls of limited/,
    )
    expect(textOf(await client.callTool('up_plain'))).toBe('called plain')
  })
})

test('a name that the upstream does not list is reported once', async () => {
  const upstream = scripted({ 'tools/list': { tools: [tool('search')] } })
  const selected = new SelectedTools('proxy()', { tools: { serach: {} }, include: ['*'], exclude: ['admin_*'] })
  const gateway = newServer().use(nodeProxy('https://u.example/mcp', upstream.fetch, { selected }))
  const first = await play(gateway, 'tools/list', {})
  expect(first.reported.map(String)).toEqual([
    'Error: the proxy of "https://u.example/mcp": "tools" names "serach", "exclude" names "admin_*", which the upstream does not list for this caller',
  ])
  expect((await play(gateway, 'tools/list', {})).reported).toEqual([])
})

test('include selects tools, by names and patterns', async () => {
  const tools = ['get_a', 'get_b', 'put_a', 'x'].map((name) => tool(name))
  const upstream = scripted({ 'tools/list': { tools }, 'tools/call': textResult('done') })
  const selected = new SelectedTools('proxy()', { include: ['get_*', 'x'], exclude: ['get_b'] })
  const gateway = newServer().use(nodeProxy('https://u.example/mcp', upstream.fetch, { selected, prefix: 'p_' }))
  const listed = (await result(gateway, 'tools/list')).tools as Json[]
  expect(listed.map(({ name }) => name)).toEqual(['p_get_a', 'p_x'])
  expect(await refusal(gateway, 'tools/call', { name: 'p_put_a' })).toMatchObject({ message: 'Unknown tool: p_put_a' })
  expect(upstream.asked('tools/call')).toEqual([])
})

test.each([
  ['a*a', 'a', false],
  ['a*a', 'aa', true],
  ['a*b*c', 'abc', true],
  ['a*b*c', 'a1b2c', true],
  ['a*b*c', 'acb', false],
  ['a*b*b', 'ab', false],
  ['*a*', 'bab', true],
  ['*a*b*', 'ba', false],
  ['a**b', 'ab', true],
  ['a.c', 'abc', false],
  ['*', '', true],
  ['a*', 'a\nb', true],
  ['a', 'ab', false],
])('the pattern %j fits the name %j: %s', (pattern, name, fits) => {
  expect(new SelectedTools('proxy()', { include: [pattern] }).has(name)).toBe(fits)
})

test('patterns with several wildcards take little time', () => {
  const selected = new SelectedTools('proxy()', { exclude: ['*_*_*_admin'] })
  expect(selected.has('_'.repeat(3_000))).toBe(true)
}, 5_000)

test.each<[what: string, tools: ReturnType<typeof tool>[], options: ToolSelection, listed: string[]]>([
  [
    'one',
    [tool('search', { annotations: { readOnlyHint: true } }), tool('delete_all')],
    { tools: { delete_all: { name: 'search' } } },
    ['delete_all'],
  ],
  [
    'one in either order',
    [tool('delete_all'), tool('search')],
    { tools: { delete_all: { name: 'search' } } },
    ['delete_all'],
  ],
  ['two that swap', [tool('a'), tool('b')], { tools: { a: { name: 'b' }, b: { name: 'a' } } }, ['a', 'b']],
  ['an excluded one', [tool('a'), tool('b')], { tools: { a: { name: 'b' } }, exclude: ['a'] }, ['b']],
])(
  'each listed tool is the one that is called, with names of other tools for %s',
  async (_, tools, options, listed) => {
    const upstream = scripted({
      'tools/list': { tools: tools.map((each) => ({ ...each, description: `is ${each.name}` })) },
      'tools/call': ({ params }) => textResult(`is ${params.name}`),
    })
    const selected = new SelectedTools('proxy()', options)
    const gateway = newServer().use(nodeProxy('https://u.example/mcp', upstream.fetch, { selected, prefix: 'p_' }))
    const { tools: here } = (await result(gateway, 'tools/list')) as { tools: Json[] }
    expect(here.map(({ description }) => description)).toEqual(listed.map((name) => `is ${name}`))
    for (const { name, description } of here) {
      expect(textOf(await result(gateway, 'tools/call', { name }))).toBe(description)
    }
  },
)

test.each([
  ['u', 'x y ', {}, 'The prefix "x y u" of the proxy of "https://u.example/mcp" must be at most 127 letters'],
  ['u', 'p'.repeat(127), {}, /^The prefix "p{127}u" of the proxy of /],
  ['u', 'p'.repeat(120), { a: { name: 'search_all' } }, /^The tool name "p{120}usearch_all" must be 1 to 128 letters/],
])('a proxy with the prefix %s is not mounted with the prefix %s and the tools %j', (prefix, outer, tools, message) => {
  const selected = new SelectedTools('proxy()', { tools })
  const inner = newServer().use(nodeProxy('https://u.example/mcp', undefined, { selected, prefix }))
  expect(() => newServer().use(mount(inner, { prefix: outer }))).toThrow(message)
})

test('a tool whose name another one has is reported once', async () => {
  const upstream = scripted({ 'tools/list': { tools: [tool('search'), tool('find')] } })
  const selected = new SelectedTools('proxy()', { tools: { find: { name: 'search' } } })
  const gateway = newServer().use(nodeProxy('https://u.example/mcp', upstream.fetch, { selected }))
  const { reported } = await play(gateway, 'tools/list', {})
  expect(reported.map(String)).toEqual([
    'Error: the proxy of "https://u.example/mcp" leaves out "search" of the upstream: "tools" gives its name to another tool',
  ])
  expect((await play(gateway, 'tools/list', {})).reported).toEqual([])
})

test.each([
  [{ tools: { a: { scope: [] } } }, 'proxy() for the tool "a" does not take "scope" (did you mean "scopes"?)'],
  [{ tools: { a: { name: 'b' }, b: {} } }, 'proxy() gives the name "b" to two tools, "a" and "b"'],
  [
    { tools: { a: { outputSchema: true } } },
    '"outputSchema" of proxy() for the tool "a" must be a JSON Schema, or false',
  ],
])('%j is refused', (options, message) => {
  expect(() => new SelectedTools('proxy()', options as object)).toThrow(message)
})
