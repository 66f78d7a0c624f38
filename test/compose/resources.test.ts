/** Resources of an upstream: which spelling of their URIs decides, and who else may keep what was read. */
import { describe, expect, test } from 'vitest'
import { canonicalTemplate, canonicalUri } from '../../worker/protocol/uri.ts'
import { newServer, play, refusal, result } from '../engine/stage.ts'
import { nodeProxy } from './node-proxy.ts'
import { scripted } from './scripted.ts'

test.each([
  ['note://%70ayroll', 'note://payroll'],
  ['NOTE://payroll', 'note://payroll'],
  ['https://Ada@EXAMPLE.com/A%2fb', 'https://Ada@example.com/A%2Fb'],
  ['note://Payroll/ä', 'note://Payroll/%C3%A4'],
  ['note://\ud800', 'note://%EF%BF%BD'],
])('the canonical spelling of %s is %s', (uri, canonical) => {
  expect(canonicalUri(uri)).toBe(canonical)
  expect(canonicalUri(canonical)).toBe(canonical)
})

test('the canonical form of a template keeps its variables', () => {
  expect(canonicalTemplate('NOTE://%70/{+Path}/é{?q}')).toBe('note://p/{+Path}/%C3%A9{?q}')
})

const bob = { issuer: 'https://names.example', subject: 'bob', scopes: [], claims: {} }
const boss = { ...bob, subject: 'boss', scopes: ['hr'] }
const secret = /^(?:note:\/\/payroll$|doc:\/\/private)/
const scopes = ({ name }: { name: string }) => (secret.test(name) ? ['hr'] : [])

function guarded(uris: string[] = [], count = 1) {
  const upstream = scripted({
    'resources/list': { resources: uris.map((uri) => ({ uri, name: uri })) },
    'resources/templates/list': { resourceTemplates: [{ uriTemplate: 'doc://%70rivate{name}', name: 'doc' }] },
    'resources/read': ({ params }) => ({ contents: [{ uri: params.uri, text: 'SALARIES' }] }),
    'completion/complete': { completion: { values: [] } },
  })
  const server = newServer()
  for (let n = 0; n < count; n += 1) server.use(nodeProxy('https://upstream.example/mcp', upstream.fetch, { scopes }))
  return { server, upstream }
}

describe.each([1, 2])('with %i upstreams', (count) => {
  test.each(['note://payroll', 'note://%70ayroll', 'NOTE://payroll', 'doc://private1', 'doc://%70rivate1'])(
    'a read requires the scopes of the canonical URI: %s',
    async (uri) => {
      const { server, upstream } = guarded([], count)
      expect(await refusal(server, 'resources/read', { uri }, { principal: bob })).toMatchObject({
        kind: 'insufficient_scope',
      })
      expect(upstream.asked('resources/read')).toEqual([])
      await result(server, 'resources/read', { uri }, { principal: boss })
      expect(upstream.asked('resources/read')[0]?.params.uri).toBe(canonicalUri(uri))
    },
  )

  test.each(['doc://%70rivate{name}', 'doc://private{name}', 'DOC://private1'])(
    'a completion requires the scopes of the canonical URI: %s',
    async (uri) => {
      const { server, upstream } = guarded([], count)
      const params = { ref: { type: 'ref/resource', uri }, argument: { name: 'name', value: '' } }
      expect(await refusal(server, 'completion/complete', params, { principal: bob })).toMatchObject({
        kind: 'insufficient_scope',
      })
      await result(server, 'completion/complete', params, { principal: boss })
      expect(upstream.asked('completion/complete')[0]?.params.ref).toMatchObject({ uri: canonicalTemplate(uri) })
    },
  )
})

test('a list has no entry whose canonical spelling takes more scopes than the caller has', async () => {
  const { server } = guarded(['note://%70ayroll', 'note://open'])
  const { resources } = await result(server, 'resources/list', {}, { principal: bob })
  expect(resources).toMatchObject([{ uri: 'note://open' }])
  const { resourceTemplates } = await result(server, 'resources/templates/list', {}, { principal: bob })
  expect(resourceTemplates).toEqual([])
})

test('an upstream gets the spelling of a URI that it lists', async () => {
  const { server, upstream } = guarded(['note://my ä'])
  await result(server, 'resources/read', { uri: 'note://my ä' })
  expect(upstream.asked('resources/read')[0]?.params.uri).toBe('note://my ä')
})

describe('the cache hints of a resource', () => {
  const read = async (caching: object, options: object) => {
    const upstream = scripted({ 'resources/read': { contents: [], ...caching } })
    const server = newServer().use(nodeProxy('https://upstream.example/mcp', upstream.fetch, options))
    const { ttlMs, cacheScope } = await result(server, 'resources/read', { uri: 'note://1' }, { principal: boss })
    return { ttlMs, cacheScope }
  }
  const open = { ttlMs: 1000, cacheScope: 'public' }

  test('are passed on when the resource is public upstream and in the proxy', async () => {
    expect(await read(open, {})).toEqual(open)
  })

  test.each([
    ['scopes', { scopes: ['hr'] }],
    ['scopes by a function', { scopes: () => ['hr'] }],
    ['headers', { headers: () => ({ Authorization: 'Bearer boss' }) }],
  ])('are private when the proxy has %s', async (_, options) => {
    expect(await read(open, options)).toEqual({ ttlMs: 1000, cacheScope: 'private' })
  })

  test.each(['1000', -1, 0.5, null, Number.MAX_VALUE])('have the ttlMs 0 instead of %j', async (ttlMs) => {
    expect(await read({ ttlMs, cacheScope: 'public' }, {})).toEqual({ ttlMs: 0, cacheScope: 'public' })
  })

  test('have the cacheScope private instead of an unknown one', async () => {
    expect(await read({ ttlMs: 1000, cacheScope: 'shared' }, {})).toEqual({ ttlMs: 1000, cacheScope: 'private' })
  })
})

describe('URI templates of an upstream', () => {
  const template = (uriTemplate: string) => ({ uriTemplate, name: 'some' })
  const reading = (text: string, uriTemplates: readonly string[]) =>
    scripted({
      'resources/list': { resources: [] },
      'resources/templates/list': { resourceTemplates: uriTemplates.map(template) },
      'resources/read': ({ params }) => ({ contents: [{ uri: params.uri, text }] }),
    })
  const both = (first: ReturnType<typeof scripted>, second: ReturnType<typeof scripted>) => {
    const server = newServer()
    server.use(nodeProxy('https://first.example/mcp', first.fetch))
    server.use(nodeProxy('https://second.example/mcp', second.fetch))
    return server
  }
  const names = Array.from({ length: 31 }, (_, n) => `v${n}`)

  test.each([
    ['end in another text', (n: number) => `a:${names.map((name) => `{;${name}*}`).join('')}!${n}`, 0],
    ['have no texts', (n: number) => `a:${names.map((name) => `{;${name}${n}*}`).join('')}`, 1],
  ])(
    'that %s cost little time, however many they are',
    async (_, templateOf, problems) => {
      const many = reading(
        'first',
        Array.from({ length: 1000 }, (_, n) => templateOf(n)),
      )
      const server = both(many, reading('second', ['a:{+x}']))
      const { outcome, reported } = await play(server, 'resources/read', { uri: `a:${';v1=x'.repeat(1600)}` })
      expect(outcome).toMatchObject({ result: { contents: [{ text: 'second' }] } })
      const similar = 'the proxy of "https://first.example/mcp" has too many similar URI templates'
      expect(reported.map(String)).toEqual(Array(problems).fill(expect.stringContaining(similar)))
    },
    20_000,
  )

  test.each(['NOTE://{id}/x', 'note://%70{id}{/more*}', 'note://{a}{?q}', 'note://p{a}{b}'])(
    'are compared with the canonical URI: %s',
    async (uriTemplate) => {
      const uri = uriTemplate
        .replace('%70', 'p')
        .replace('NOTE', 'note')
        .replaceAll(/\{.*?\}/g, '')
      const first = reading('first', ['note://other/{id}'])
      const second = reading('second', [uriTemplate])
      expect(await result(both(first, second), 'resources/read', { uri })).toMatchObject({
        contents: [{ text: 'second' }],
      })
      expect(first.asked('resources/read')).toEqual([])
    },
  )

  test('have at most 32 variables, repeated ones included', async () => {
    const repeated = (count: number) => `a:{${Array(count).fill('x').join()}}`
    const server = newServer()
    server.use(nodeProxy('https://upstream.example/mcp', reading('', [repeated(32), repeated(33)]).fetch))
    const { outcome, reported } = await play(server, 'resources/templates/list', {})
    expect(outcome).toMatchObject({ result: { resourceTemplates: [{ uriTemplate: repeated(32) }] } })
    expect(reported.map(String)).toEqual([expect.stringContaining('1 invalid entries')])
  })
})
