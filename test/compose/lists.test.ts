/** What an upstream lists is data: invalid entries are left out, and everything else stays readable. */
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { describe, expect, test } from 'vitest'
import { SelectedTools } from '../../worker/declarations/tool-selection.ts'
import { newServer, play, refusal, result } from '../engine/stage.ts'
import { startServer } from '../support/server.ts'
import { nodeProxy } from './node-proxy.ts'
import { type Answers, described, rpcError, scripted } from './scripted.ts'
import { startStub } from './stub.ts'

type Json = Record<string, unknown>

const inputSchema = { type: 'object' }
const good = { name: 'good', inputSchema }

async function listedBy(list: string, answers: Answers, setting = {}) {
  const upstream = scripted(answers)
  const server = newServer().use(nodeProxy('https://upstream.example/mcp', upstream.fetch))
  const { outcome, reported } = await play(server, list, {}, setting)
  const problems = reported.map((problem) => (problem as Error).message)
  return { list: (outcome.type === 'result' ? outcome.result : {}) as Json, problems, upstream }
}

describe('an invalid entry is left out and reported', () => {
  test.each<[string, string, unknown, Json, string]>([
    ['tools/list', 'tools', 'x', good, 'an entry must be an object'],
    ...['a b', 'a/b', 'é', 'a'.repeat(129), '\u2028'].map((name): [string, string, unknown, Json, string] => [
      'tools/list',
      'tools',
      { name, inputSchema },
      good,
      `" must be 1 to 128 letters, digits, "_", "." or "-": rename the tool with "tools" of proxy()`,
    ]),
    [
      'tools/list',
      'tools',
      { description: 7 },
      good,
      '"name" of undefined must be 1 to 1024 characters without control characters',
    ],
    ['tools/list', 'tools', { name: 'a\n', inputSchema }, good, '"name" of "a\\n" must be'],
    ['tools/list', 'tools', { name: '', inputSchema }, good, '"name" of "" must be'],
    ['tools/list', 'tools', { name: 'a'.repeat(1025), inputSchema }, good, 'a" must be 1 to 1024 characters'],
    ['tools/list', 'tools', { name: 'a' }, good, '"inputSchema" of "a" must be a JSON Schema with the type "object"'],
    ['tools/list', 'tools', { name: 'a', inputSchema: 'no' }, good, '"inputSchema" of "a" must be'],
    ['tools/list', 'tools', { name: 'a', inputSchema: { type: 'string' } }, good, '"inputSchema" of "a" must be'],
    [
      'tools/list',
      'tools',
      { ...good, name: 'a', description: 7 },
      good,
      '"description" of "a" must be a string, not 7',
    ],
    ['tools/list', 'tools', { ...good, name: 'a', outputSchema: 7 }, good, '"outputSchema" of "a" must be an object'],
    ['tools/list', 'tools', { ...good, name: 'a', annotations: [] }, good, '"annotations" of "a" must be an object'],
    [
      'tools/list',
      'tools',
      { ...good, name: 'a', icons: [{}] },
      good,
      '"icons.src" of "a" must be a string, not undefined',
    ],
    ['prompts/list', 'prompts', { name: 7 }, { name: 'good' }, '"name" of 7 must be'],
    ['prompts/list', 'prompts', { name: 'a', arguments: [{}] }, { name: 'good' }, '"arguments.name" of "a" must be'],
    ['resources/list', 'resources', { uri: 'a:b' }, { uri: 'a:c', name: 'c' }, '"name" of "a:b" must be a string'],
    ['resources/list', 'resources', { uri: 7, name: 'b' }, { uri: 'a:c', name: 'c' }, '"uri" of "b" must be a URI'],
    ['resources/list', 'resources', { uri: 'b', name: 'b' }, { uri: 'a:c', name: 'c' }, '"uri" of "b" must be a URI'],
    [
      'resources/list',
      'resources',
      { uri: 'a:b', name: 'b', size: '7' },
      { uri: 'a:c', name: 'c' },
      '"size" of "b" must be',
    ],
    ...['x:{?(((a+)+)+)}', 7, `x:${'{a}'.repeat(40)}`].map((uriTemplate): [string, string, unknown, Json, string] => [
      'resources/templates/list',
      'resourceTemplates',
      { uriTemplate, name: 'b' },
      { uriTemplate: 'a:{b}', name: 'c' },
      '"uriTemplate" of "b" must be a URI template (RFC 6570)',
    ]),
  ])('of %s in "%s": %j', async (list, member, bad, other, problem) => {
    const { list: listed, problems } = await listedBy(list, { [list]: { [member]: [bad, other, bad] } })
    expect(listed[member]).toEqual([other])
    expect(problems).toEqual([
      expect.stringContaining(
        `The server at upstream.example has 2 invalid entries in ${list}, which proxy() leaves out: `,
      ),
    ])
    expect(problems[0]).toContain(problem)
  })

  test('of a tool whose name is too long with the prefix, unless another name is given', async () => {
    const name = 'a'.repeat(128)
    const upstream = scripted({ 'tools/list': { tools: [good, { ...good, name }, { ...good, name: 'a b' }] } })
    const selected = new SelectedTools('proxy()', { tools: { 'a b': { name: 'a_b' } } })
    const server = newServer().use(
      nodeProxy('https://upstream.example/mcp', upstream.fetch, { prefix: 'p_', selected }),
    )
    const { outcome, reported } = await play(server, 'tools/list', {})
    expect(outcome).toMatchObject({ result: { tools: [{ name: 'p_good' }, { name: 'p_a_b' }] } })
    expect(reported.map(String)).toEqual([expect.stringMatching(/1 invalid entries in tools\/list.*: the name "p_a+/)])
  })

  const nested: [string, string, Json, string][] = [
    ...[
      [{ annotations: { readOnlyHint: 'yes' } }, 'annotations.readOnlyHint'],
      [{ inputSchema: { type: 'object', required: 'a' } }, 'inputSchema.required'],
      [{ inputSchema: { type: 'object', properties: { a: null } } }, 'inputSchema.properties'],
      [{ outputSchema: { type: 'object', properties: [] } }, 'outputSchema.properties'],
      [{ icons: [{ src: 'https://a.example', sizes: '48x48' }] }, 'icons.sizes'],
      [{ icons: [{ src: 'https://a.example', theme: 'blue' }] }, 'icons.theme'],
    ].map(([more, place]): [string, string, Json, string] => [
      'tools/list',
      'tools',
      { ...good, name: 'a', ...(more as Json) },
      String(place),
    ]),
    ...[
      [{ annotations: { priority: 5 } }, 'annotations.priority'],
      [{ annotations: { audience: 'user' } }, 'annotations.audience'],
    ].map(([more, place]): [string, string, Json, string] => [
      'resources/list',
      'resources',
      { uri: 'a:b', name: 'b', ...(more as Json) },
      String(place),
    ]),
    ['prompts/list', 'prompts', { name: 'a', arguments: [{ name: 'b', required: 'no' }] }, 'arguments.required'],
  ]
  test.each(nested)('of %s in "%s", with a nested member of another type: %j', async (list, member, bad, place) => {
    const { list: listed, problems } = await listedBy(list, { [list]: { [member]: [bad] } })
    expect(listed[member]).toEqual([])
    expect(problems).toEqual([expect.stringContaining(`1 invalid entries in ${list}`)])
    expect(problems[0]).toContain(`"${place}" of "`)
  })

  test('nested members that are null are left out of their entry', async () => {
    const icons = [{ src: 'https://a.example/icon.png', mimeType: null, sizes: null, theme: null }]
    const schema = { type: 'object', $schema: null, properties: null, required: null }
    const tool = {
      ...good,
      inputSchema: { ...schema, additionalProperties: false, default: null },
      outputSchema: schema,
      annotations: { title: null, readOnlyHint: true, idempotentHint: null },
      icons,
    }
    const kept = [{ src: 'https://a.example/icon.png' }]
    const tools = await listedBy('tools/list', { 'tools/list': { tools: [tool] } })
    expect(tools.list.tools).toEqual([
      {
        ...good,
        inputSchema: { type: 'object', additionalProperties: false, default: null },
        outputSchema: { type: 'object' },
        annotations: { readOnlyHint: true },
        icons: kept,
      },
    ])
    const annotations = { audience: null, priority: null, lastModified: '2026-07-28' }
    const resource = { uri: 'a:b', name: 'b', icons, annotations }
    const resources = await listedBy('resources/list', { 'resources/list': { resources: [resource] } })
    expect(resources.list.resources).toEqual([{ uri: 'a:b', name: 'b', icons: kept, annotations: {} }])
    const prompt = { name: 'a', arguments: [{ name: 'b', title: null, description: null, required: null }] }
    const prompts = await listedBy('prompts/list', { 'prompts/list': { prompts: [prompt] } })
    expect(prompts.list.prompts).toEqual([{ name: 'a', arguments: [{ name: 'b' }] }])
    expect([...tools.problems, ...resources.problems, ...prompts.problems]).toEqual([])
  })

  test('a property of a schema that is true or false becomes an object with the same meaning', async () => {
    const properties = { any: true, none: false, text: { type: 'string' } }
    const tool = { ...good, inputSchema: { type: 'object', properties } }
    const { list } = await listedBy('tools/list', { 'tools/list': { tools: [tool] } })
    const read = { any: {}, none: { not: {} }, text: { type: 'string' } }
    expect(list.tools).toEqual([{ ...good, inputSchema: { type: 'object', properties: read } }])
  })

  test('optional members that are null are left out of their entry', async () => {
    const tool = { ...good, title: null, description: null, outputSchema: null, annotations: null, icons: null }
    expect((await listedBy('tools/list', { 'tools/list': { tools: [tool] } })).list.tools).toEqual([good])
  })
})

describe('a tool with an invalid x-mcp-header', () => {
  const mirroring = (name: string, header: unknown, more = {}) => ({
    name,
    inputSchema: { type: 'object', properties: { q: { type: 'string', 'x-mcp-header': header, ...more } } },
    annotations: { readOnlyHint: true },
  })
  const reason = 'must be a header name of letters, digits and dashes'

  test.each([
    ['a blank', mirroring('bad', 'bad name'), `x-mcp-header on q ${reason}`],
    ['a line break', mirroring('bad', 'X\nY'), `x-mcp-header on q ${reason}`],
    ['no characters', mirroring('bad', ''), `x-mcp-header on q ${reason}`],
    ['no text', mirroring('bad', 7), `x-mcp-header on q ${reason}`],
    ['the type number', mirroring('bad', 'Q', { type: 'number' }), 'needs the type string, integer or boolean'],
    [
      'too many arguments',
      {
        name: 'bad',
        inputSchema: {
          type: 'object',
          properties: Object.fromEntries(
            Array.from({ length: 101 }, (_, at) => [`a${at}`, { type: 'string', 'x-mcp-header': `A${at}` }]),
          ),
        },
      },
      'x-mcp-header has too many uses',
    ],
    [
      'a place in a list',
      { name: 'bad', inputSchema: { type: 'object', properties: { q: { items: { 'x-mcp-header': 'Q' } } } } },
      'must be on a property reached through "properties" only',
    ],
  ])('of %s is left out and reported, and its calls are refused', async (_, bad, problem) => {
    const upstream = scripted({
      'tools/list': { tools: [bad, mirroring('good', 'Query')] },
      'tools/call': { content: [] },
    })
    const breaker = { circuitBreaker: { failures: 2, pauseMs: 60_000 } }
    const server = newServer().use(
      nodeProxy('https://upstream.example/mcp', upstream.fetch, { prefix: 'up_' }, breaker),
    )
    const { outcome, reported } = await play(server, 'tools/list', {})
    expect(outcome).toMatchObject({ result: { tools: [{ name: 'up_good' }] } })
    expect(reported).toEqual([
      expect.objectContaining({
        message: expect.stringContaining(
          'The server at upstream.example has 1 invalid entries in tools/list, which proxy() leaves out: the inputSchema of "bad" is invalid: ',
        ),
      }),
    ])
    expect((reported[0] as Error).message).toContain(problem)
    for (let count = 0; count < 4; count += 1) {
      expect(await refusal(server, 'tools/call', { name: 'up_bad', arguments: { q: 'x' } })).toMatchObject({
        kind: 'invalid_params',
        message: 'Unknown tool: up_bad',
      })
    }
    await result(server, 'tools/call', { name: 'up_good', arguments: { q: 'x' } })
    expect(upstream.asked('tools/call').map(({ headers }) => headers.get('Mcp-Param-Query'))).toEqual(['x'])
  })

  test('is called again after the upstream has corrected it', async () => {
    let header = 'bad name'
    const upstream = scripted({
      'tools/list': () => ({ tools: [mirroring('a', header)] }),
      'tools/call': { content: [] },
    })
    const server = newServer().use(nodeProxy('https://upstream.example/mcp', upstream.fetch))
    await result(server, 'tools/list')
    expect(await refusal(server, 'tools/call', { name: 'a', arguments: { q: 'x' } })).toMatchObject({
      message: 'Unknown tool: a',
    })
    header = 'Query'
    await result(server, 'tools/list')
    await result(server, 'tools/call', { name: 'a', arguments: { q: 'x' } })
    expect(upstream.asked('tools/call').map(({ headers }) => headers.get('Mcp-Param-Query'))).toEqual(['x'])
  })

  test('is refused when the upstream rejects a call without the header, before its list was read', async () => {
    const upstream = scripted({
      'tools/list': { tools: [mirroring('a', 'bad name')] },
      'tools/call': ({ id }) => rpcError(id, -32020, 'Mcp-Param is missing', 400),
    })
    const server = newServer().use(nodeProxy('https://upstream.example/mcp', upstream.fetch))
    expect(await refusal(server, 'tools/call', { name: 'a', arguments: { q: 'x' } })).toMatchObject({
      kind: 'invalid_params',
      message: 'Unknown tool: a',
    })
    expect(upstream.asked('tools/call')).toHaveLength(1)
  })
})

test('an upstream that misses a header in the request of a list is asked once', async () => {
  const upstream = scripted({ 'tools/list': ({ id }) => rpcError(id, -32020, 'Mcp-Param is missing', 400) })
  const server = newServer().use(nodeProxy('https://upstream.example/mcp', upstream.fetch))
  await result(server, 'tools/list').catch(() => undefined)
  expect(upstream.asked('tools/list')).toHaveLength(1)
})

test('arguments that make too many headers are refused, and do not count for the circuit breaker', async () => {
  const properties = Object.fromEntries(['A', 'B'].map((name) => [name, { type: 'string', 'x-mcp-header': name }]))
  const upstream = scripted({
    'tools/list': { tools: [{ name: 'a', inputSchema: { type: 'object', properties } }] },
    'tools/call': { content: [] },
  })
  const breaker = { circuitBreaker: { failures: 2, pauseMs: 60_000 } }
  const server = newServer().use(nodeProxy('https://upstream.example/mcp', upstream.fetch, {}, breaker))
  await result(server, 'tools/list')
  const call = (size: number) =>
    result(server, 'tools/call', { name: 'a', arguments: { A: 'a'.repeat(size), B: 'ü'.repeat(size / 4) } })
  const text = 'The arguments that headers repeat make more than 65536 characters: send less'
  for (let count = 0; count < 4; count += 1) {
    expect(await call(40_000)).toEqual({ content: [{ type: 'text', text }], isError: true })
  }
  expect(upstream.asked('tools/call')).toEqual([])
  await call(20_000)
  expect(upstream.asked('tools/call')).toHaveLength(1)
})

describe('a list of more bytes than are read', () => {
  const wide = (count: number) => ({
    name: 'wide',
    inputSchema: { type: 'object', properties: Object.fromEntries([...Array(count).keys()].map((i) => [`p${i}`, {}])) },
  })
  const size = '2097152 bytes for one POST, more than proxy() reads: let it send less'

  test.each([
    [20_000, ['good', 'wide'], []],
    [
      40_000,
      ['good'],
      [
        'The server at upstream.example has 1 invalid entries in tools/list, which proxy() leaves out: "wide" must have at most 262144 characters as JSON',
      ],
    ],
    [300_000, [], [`The server at upstream.example answered tools/list with more than ${size}`]],
  ])('has %i properties in one tool', async (count, names, expected) => {
    const { list, problems } = await listedBy('tools/list', { 'tools/list': { tools: [good, wide(count)] } })
    expect((list.tools as Json[]).map(({ name }) => name)).toEqual(names)
    expect(problems).toEqual(expected)
  })

  test.each([
    ['prompts/list', 'prompts', 'name'],
    ['resources/list', 'resources', 'uri'],
    ['resources/templates/list', 'resourceTemplates', 'uriTemplate'],
  ])('of %s has a long description', async (list, member, id) => {
    const entry = { name: 'a', [id]: 'a:a' }
    const long = { name: 'b', [id]: 'a:b', description: 'é'.repeat(262_144) }
    const { list: listed, problems } = await listedBy(list, { [list]: { [member]: [long, entry] } })
    expect(listed[member]).toEqual([entry])
    expect(problems).toEqual([expect.stringContaining('must have at most 262144 characters as JSON')])
  })

  test('is over with the page that exceeds them', async () => {
    let count = 0
    const { list, problems, upstream } = await listedBy('tools/list', {
      'tools/list': () => ({
        tools: [{ ...good, name: `t${++count}`, description: 'x'.repeat(200_000) }],
        nextCursor: String(count),
      }),
    })
    expect(list.tools).toHaveLength(10)
    expect(upstream.asked('tools/list')).toHaveLength(11)
    expect(problems).toEqual([`The server at upstream.example answered tools/list with more than ${size}`])
  })
})

describe('pages', () => {
  const tool = (name: string) => ({ name, inputSchema })
  const namesOf = ({ list }: { list: Json }) => (list.tools as { name: string }[]).map(({ name }) => name)

  test.each([null, '', 7, {}])('the cursor %j is the end of the list', async (nextCursor) => {
    const listed = await listedBy('tools/list', { 'tools/list': { tools: [tool('useful')], nextCursor } })
    expect(namesOf(listed)).toEqual(['useful'])
    expect(listed.upstream.asked('tools/list')).toHaveLength(1)
  })

  test('a repeated cursor ends the list', async () => {
    const listed = await listedBy('tools/list', { 'tools/list': { tools: [tool('useful')], nextCursor: 'again' } })
    expect(namesOf(listed)).toEqual(['useful'])
    expect(listed.upstream.asked('tools/list')).toHaveLength(2)
  })

  test.each([
    ['pages', { tools: [tool('some')] }, 20],
    ['entries', { tools: Array.from({ length: 600 }, () => tool('some')) }, 17],
  ])('that are left out because a list has too many %s are reported once', async (_, page, asked) => {
    let count = 0
    const upstream = scripted({ 'tools/list': () => ({ ...page, ...(++count % 21 && { nextCursor: String(count) }) }) })
    const server = newServer().use(nodeProxy('https://upstream.example/mcp', upstream.fetch))
    const { reported } = await play(server, 'tools/list', {})
    expect(reported.map((problem) => (problem as Error).message)).toEqual([
      'The server at upstream.example has more than 20 pages or 10000 entries in tools/list: proxy() leaves the others out',
    ])
    expect(upstream.asked('tools/list')).toHaveLength(asked)
    count = 0
    expect((await play(server, 'tools/list', {})).reported).toEqual([])
  })

  test('a list of exactly 20 pages is complete', async () => {
    let count = 0
    const listed = await listedBy('tools/list', {
      'tools/list': () => ({ tools: [tool(`t${count}`)], ...(++count < 20 && { nextCursor: String(count) }) }),
    })
    expect(namesOf(listed)).toHaveLength(20)
    expect(listed.problems).toEqual([])
  })

  test('an error of a later page leaves out that page alone', async () => {
    const listed = await listedBy('tools/list', {
      'tools/list': ({ id, params }) =>
        params.cursor ? rpcError(id, -32603, 'No more') : { tools: [tool('first')], nextCursor: 'second' },
    })
    expect(namesOf(listed)).toEqual(['first'])
    expect(listed.problems).toEqual(['No more'])
  })

  test('a list of another type is an error that names the upstream', async () => {
    const listed = await listedBy('tools/list', { 'tools/list': { tools: 'x' } })
    expect(namesOf(listed)).toEqual([])
    expect(listed.problems).toEqual([
      'The server at upstream.example answered tools/list with an invalid result: the member "tools" must be a list',
    ])
  })
})

test('the official client reads a list to which an upstream adds invalid tools', async () => {
  const stub = await startStub()
  const wellFormed = stub.tools
  stub.tools = [{ description: 7 }, { name: `${'x'.repeat(300)} \n`, inputSchema: 'nothing' }, ...wellFormed]
  await using server = await startServer('test/compose/callers', { UPSTREAM: stub.url, OTHER: stub.url })
  const client = new Client({ name: 'test', version: '1' })
  try {
    await client.connect(new StreamableHTTPClientTransport(new URL('/mcp', server.url)))
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['secret_of', 'other'])
  } finally {
    await client.close()
    stub.close()
  }
})

const capabilities = { tools: {}, resources: null, prompts: null, completions: null, logging: null }
test.each<[string, Answers]>([
  ['without sessions', { 'server/discover': described(capabilities) }],
  [
    'with sessions',
    {
      'server/discover': ({ id }) => rpcError(id, -32601, 'Method not found'),
      initialize: { protocolVersion: '2025-11-25', capabilities, serverInfo: { name: 'u', version: '1' } },
    },
  ],
])('capabilities that are null are not declared: an upstream %s', async (_, answers) => {
  const upstream = scripted({ 'tools/call': { content: [] }, ...answers })
  const server = newServer().use(nodeProxy('https://upstream.example/mcp', upstream.fetch))
  await result(server, 'tools/call', { name: 'x' })
  for (const method of ['resources/list', 'resources/templates/list', 'prompts/list']) {
    expect(await refusal(server, method)).toMatchObject({ kind: 'method_not_found' })
    expect(upstream.asked(method)).toEqual([])
  }
  expect(upstream.asked('logging/setLevel')).toEqual([])
})
