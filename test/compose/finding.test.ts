/** Which requests it takes to find the upstream of an entry, where several upstreams may have it. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { HeadersContext } from '../../worker/declarations/upstream-options.ts'
import type { Principal } from '../../worker/protocol/principal.ts'
import { newServer, play, result, type Setting, textOf } from '../engine/stage.ts'
import { nodeProxy } from './node-proxy.ts'
import { type Answers, described, rpcError, type ScriptedRequest, scripted } from './scripted.ts'
import { textResult } from './stub.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'] }))
afterEach(() => void vi.useRealTimers())
const wait = (ms: number) => vi.setSystemTime(Date.now() + ms)

const named = (subject: string): Principal => ({ issuer: 'https://names.example', subject, scopes: [], claims: {} })
const as = (subject: string) => ({ principal: named(subject) })
const schema = { type: 'object' }
const toolsOf = (...names: string[]) => ({ tools: names.map((name) => ({ name, inputSchema: schema })) })

/** An upstream that names itself in what it answers. */
const upstream = (own: string, answers: Answers = {}) =>
  scripted({
    'tools/list': toolsOf(own),
    'tools/call': textResult(own),
    'prompts/list': { prompts: [{ name: own }] },
    'prompts/get': { messages: [], description: own },
    'resources/list': { resources: [{ uri: `${own}://x`, name: own }] },
    'resources/templates/list': { resourceTemplates: [{ uriTemplate: `${own}://by/{name}`, name: own }] },
    'resources/read': { contents: [{ uri: 'a:b', text: own }] },
    'completion/complete': { completion: { values: [own] } },
    ...answers,
  })

type Upstream = ReturnType<typeof scripted>
type Options = NonNullable<Parameters<typeof nodeProxy>[2]>

function gatewayTo(upstreams: readonly Upstream[], options: Options = {}) {
  const server = newServer()
  for (const [index, { fetch }] of upstreams.entries()) {
    server.use(nodeProxy(`https://u${index}.example/mcp`, fetch, options))
  }
  const counted = () => upstreams.map(({ requests }) => requests.splice(0).map(({ method }) => method))
  const call = async (name: string, setting?: Setting) =>
    textOf(await result(server, 'tools/call', { name, arguments: {} }, setting))
  return { server, counted, call }
}

const lists = ['resources/list', 'resources/templates/list']
const prompt = (name: string) => ({ ref: { type: 'ref/prompt', name }, argument: { name: 'a', value: '' } })
const template = (uri: string) => ({ ref: { type: 'ref/resource', uri }, argument: { name: 'name', value: '' } })

test('a resource is that of the upstream that lists it, also if an earlier one has a template that matches it', async () => {
  const all = { resourceTemplates: [{ uriTemplate: '{+uri}', name: 'all' }] }
  const { server } = gatewayTo([upstream('first', { 'resources/templates/list': all }), upstream('second')])
  const textAt = async (uri: string) => (await result(server, 'resources/read', { uri })).contents
  expect(await textAt('second://x')).toMatchObject([{ text: 'second' }])
  expect(await textAt('first://x')).toMatchObject([{ text: 'first' }])
  expect(await textAt('second://by/ada')).toMatchObject([{ text: 'first' }])
})

describe('the second call reads no list', () => {
  test.each<[method: string, params: object, before: string[], first: string[]]>([
    ['tools/call', { name: 'second', arguments: {} }, ['tools/list'], ['tools/list']],
    ['prompts/get', { name: 'second' }, ['prompts/list'], ['prompts/list']],
    ['resources/read', { uri: 'second://x' }, ['resources/list'], ['resources/list']],
    ['resources/read', { uri: 'second://by/ada' }, lists, lists],
    ['resources/read', { uri: 'SECOND://x' }, ['resources/list'], ['resources/list']],
    ['completion/complete', prompt('second'), ['prompts/list'], ['prompts/list']],
    ['completion/complete', template('second://by/{name}'), lists, lists],
  ])('%s %j', async (method, params, before, first) => {
    const { server, counted } = gatewayTo([upstream('first'), upstream('second')])
    const ask = () => result(server, method, { ...params }, as('ada'))
    expect(JSON.stringify(await ask())).toContain('second')
    expect(counted()).toEqual([
      ['server/discover', ...first],
      ['server/discover', ...before, method],
    ])
    expect(JSON.stringify(await ask())).toContain('second')
    expect(counted()).toEqual([[], [method]])
  })

  test('where the client has listed', async () => {
    const { server, counted, call } = gatewayTo([upstream('first'), upstream('second')])
    await result(server, 'tools/list', {}, as('ada'))
    counted()
    expect(await call('second', as('ada'))).toBe('second')
    expect(counted()).toEqual([[], ['tools/call']])
  })

  test('to upstreams with sessions', async () => {
    const session: Answers = {
      'server/discover': ({ id }) => rpcError(id, -32601, 'Method not found'),
      initialize: {
        protocolVersion: '2025-11-25',
        capabilities: { tools: {} },
        serverInfo: { name: 'u', version: '1' },
      },
    }
    const { counted, call } = gatewayTo([upstream('first', session), upstream('second', session)])
    expect(await call('second', as('ada'))).toBe('second')
    counted()
    expect(await call('second', as('ada'))).toBe('second')
    expect(counted()).toEqual([[], ['tools/call']])
  })
})

describe('a list that an earlier call has read', () => {
  test('is read again for clients, after its age, and by each call if the age is 0', async () => {
    const { server, counted, call } = gatewayTo([upstream('first'), upstream('second')])
    for (let count = 0; count < 2; count += 1) {
      await result(server, 'tools/list')
      expect(counted().map((methods) => methods.at(-1))).toEqual(['tools/list', 'tools/list'])
    }
    wait(29_999)
    await call('second')
    expect(counted()).toEqual([[], ['tools/call']])
    wait(2)
    await call('second')
    expect(counted()).toEqual([['tools/list'], ['tools/list', 'tools/call']])

    const fresh = gatewayTo([upstream('first'), upstream('second')], { listMaxAgeMs: 0 })
    await fresh.call('second')
    fresh.counted()
    wait(1)
    await fresh.call('second')
    expect(fresh.counted()).toEqual([['tools/list'], ['tools/list', 'tools/call']])
  })

  test('is read again once for a name that it lacks', async () => {
    const names = ['second']
    const second = upstream('second', { 'tools/list': () => toolsOf(...names) })
    const { server, counted, call } = gatewayTo([upstream('first'), second])
    await call('second')
    wait(1)
    names.push('new')
    counted()
    expect(await call('new')).toBe('second')
    expect(counted()).toEqual([['tools/list'], ['tools/list', 'tools/call']])
    wait(1)
    await play(server, 'tools/call', { name: 'unknown' }).catch(() => {})
    expect(counted()).toEqual([['tools/list'], ['tools/list']])
  })

  test('is not read twice by a call for a name that no upstream has', async () => {
    for (const listMaxAgeMs of [0, 30_000]) {
      const { server, counted } = gatewayTo([upstream('first'), upstream('second')], { listMaxAgeMs })
      await play(server, 'tools/call', { name: 'unknown' }).catch(() => {})
      expect(counted()).toEqual(Array(2).fill(['server/discover', 'tools/list']))
    }
  })

  test('is forgotten when its upstream sends list_changed', async () => {
    let name = 'shared'
    const changes = (body: unknown) =>
      new Response(
        [{ jsonrpc: '2.0', method: 'notifications/tools/list_changed' }, body]
          .map((message) => `data: ${JSON.stringify(message)}\n\n`)
          .join(''),
        { headers: { 'Content-Type': 'text/event-stream' } },
      )
    const first = upstream('first', {
      'tools/list': () => toolsOf('change', name),
      'tools/call': ({ id, params }) => {
        if (params.name !== 'change') return textResult('first')
        name = 'other'
        return changes({ jsonrpc: '2.0', id, result: textResult('first') })
      },
    })
    const { call } = gatewayTo([first, upstream('second', { 'tools/list': toolsOf('shared') })])
    expect(await call('shared')).toBe('first')
    await call('change')
    expect(await call('shared')).toBe('second')
  })

  test('is not used while it is longer than what is stored', async () => {
    const names = Array.from({ length: 1000 }, (_, index) => `${index}`.padEnd(128, 'x'))
    const { counted, call } = gatewayTo([upstream('first', { 'tools/list': toolsOf(...names) }), upstream('second')])
    await call('second')
    counted()
    await call('second')
    expect(counted()).toEqual([['tools/list'], ['tools/call']])
  })
})

test('a list that is longer than what is stored is read once by each call', async () => {
  const uris = Array.from({ length: 1000 }, (_, index) => `first://${index}`.padEnd(128, 'x'))
  const resources = { resources: uris.map((uri) => ({ uri, name: uri })) }
  const { server, counted } = gatewayTo([upstream('first', { 'resources/list': resources }), upstream('second')])
  for (const uri of [uris[0], uris[0]?.toUpperCase(), 'first://unknown']) {
    counted()
    await play(server, 'resources/read', { uri })
    expect(counted()[0]?.filter((method) => method === 'resources/list')).toEqual(['resources/list'])
    wait(1)
  }
})

describe('a list of one caller finds no upstream for another one', () => {
  const differing = (has: (request: ScriptedRequest) => boolean) =>
    upstream('first', { 'tools/list': (request) => toolsOf(...(has(request) ? ['shared'] : [])) })
  const second = () => upstream('second', { 'tools/list': toolsOf('shared') })
  const hasSubject = ({ headers }: ScriptedRequest) => headers.get('X-Name') === 'ada'
  const headers = ({ principal, requestContext }: HeadersContext) => ({
    'X-Name': principal?.subject ?? `${Object.values(requestContext)[0]}`,
  })

  test.each<[what: string, Setting, Setting, has: (request: ScriptedRequest) => boolean, Options]>([
    ['with other headers', as('ada'), as('bob'), hasSubject, { headers }],
    [
      'with another request context',
      { requestContext: { name: 'ada' } },
      { requestContext: { name: 'bob' } },
      hasSubject,
      { headers },
    ],
    [
      'with other capabilities',
      { capabilities: { elicitation: {} } },
      { capabilities: {} },
      ({ params }) => JSON.stringify(params).includes('elicitation'),
      {},
    ],
  ])('%s', async (_, one, other, has, options) => {
    const { call } = gatewayTo([differing(has), second()], options)
    for (let count = 0; count < 2; count += 1) {
      expect(await call('shared', one)).toBe('first')
      expect(await call('shared', other)).toBe('second')
    }
  })

  test('whose session of the upstream has another list', async () => {
    let count = 0
    const first = upstream('first', {
      'server/discover': ({ id }) => rpcError(id, -32601, 'Method not found'),
      initialize: ({ id }) => {
        count += 1
        const result = { protocolVersion: '2025-11-25', capabilities: { tools: {} } }
        return Response.json({ jsonrpc: '2.0', id, result }, { headers: { 'Mcp-Session-Id': `s${count}` } })
      },
      'tools/list': ({ headers: sent }) => toolsOf(...(sent.get('Mcp-Session-Id') === 's1' ? ['shared'] : [])),
    })
    const { call } = gatewayTo([first, second()])
    for (let count = 0; count < 2; count += 1) {
      expect(await call('shared', as('ada'))).toBe('first')
      expect(await call('shared', as('bob'))).toBe('second')
    }
  })

  test('whose credential offers no tools', async () => {
    const first = upstream('first', {
      'server/discover': (request) => described(hasSubject(request) ? { tools: {} } : {}),
      'tools/list': toolsOf('shared'),
    })
    const { call } = gatewayTo([first, second()], { headers })
    for (let count = 0; count < 2; count += 1) {
      expect(await call('shared', as('ada'))).toBe('first')
      expect(await call('shared', as('bob'))).toBe('second')
    }
  })
})
