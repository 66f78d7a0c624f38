import { describe, expect, test } from 'vitest'
import type { Caller } from '../../worker/declarations/caller.ts'
import { canSubscribe, changeTopics } from '../../worker/engine/topics.ts'
import { type Change, type TopicRecipients, tenantKey } from '../../worker/protocol/changes.ts'
import type { Principal } from '../../worker/protocol/principal.ts'
import { callerFor, newServer, play, refusal, result } from './stage.ts'

const description = 'd'

describe('reading a resource', () => {
  const server = newServer()
  server.resource('a:fixed', { description, mimeType: 'a/b' }, (_, ctx) => ctx.uri)
  server.resource('a:{x}', { description }, ({ x }) => `template ${x}`)
  server.resource('a:{x}/{y}', { description }, ({ x, y }) => `${x} and ${y}`)
  server.resource('none:{x}', { description }, () => undefined)
  server.resource('file:///{+path}', { description }, ({ path }) => path)
  const read = async (uri: string) => (await result(server, 'resources/read', { uri })).contents

  test('prefers a fixed resource to templates, and templates in order of declaration', async () => {
    expect(await read('a:fixed')).toEqual([{ uri: 'a:fixed', mimeType: 'a/b', text: 'a:fixed' }])
    expect(await read('a:1')).toEqual([{ uri: 'a:1', text: 'template 1' }])
    expect(await read('a:1/2')).toEqual([{ uri: 'a:1/2', text: '1 and 2' }])
  })

  test('returns the requested URI', async () => {
    expect(await read('a:a%20b')).toEqual([{ uri: 'a:a%20b', text: 'template a b' }])
  })

  test('gives its handler a complete context', async () => {
    const server = newServer()
    server.resource('a:{x}', { description }, ({ x }, ctx) => {
      ctx.log('info', x)
      return `${ctx.uri} ${ctx.supports('roots')} ${ctx.signal.aborted}`
    })
    const { outcome, said } = await play(server, 'resources/read', { uri: 'a:1' })
    expect(outcome).toMatchObject({ result: { contents: [{ text: 'a:1 true false' }] } })
    expect(said).toHaveLength(1)
  })

  test.each([['b:1'], ['a:1/2/3'], ['none:1']])(
    'fails with "Resource not found" for an unknown URI: %s',
    async (uri) => {
      expect(await refusal(server, 'resources/read', { uri })).toMatchObject({
        kind: 'resource_not_found',
        message: `Resource not found: ${uri}`,
        data: { uri },
      })
    },
  )

  test.each<[unknown]>([[undefined], [5], [''], ['fixed'], ['/a/b'], ['1a:b'], ['//host/x']])(
    'of %j is refused',
    async (uri) => {
      expect((await refusal(server, 'resources/read', { uri })).kind).toBe('invalid_params')
    },
  )

  test.each([
    'file:///../etc/passwd',
    'file:///a/../b',
    'file:///a/..',
    'file:///..',
    'file:///%2e%2e/x',
    'file:///%2E./x',
    'file:///a/%2e%2E',
    'file:///a%2f..%2fb',
    'file:///a%5c..%5cb',
    'file:///a\\..\\b',
    'file:..',
    'file:../x',
    'file:///a/..?q',
    'file:///a/..#f',
    'file:///%2e%2e%2f%2e%2e%2fetc/passwd',
  ])('refuses a URI that leaves its folder: %s', async (uri) => {
    expect(await refusal(server, 'resources/read', { uri })).toMatchObject({
      kind: 'invalid_params',
      message: 'params.uri must not contain ".." segments',
    })
  })

  test.each(['file:///a..b', 'file:///...', 'file:///a/..b/c', 'file:///a/b..', 'file:///.hidden'])(
    'accepts a URI with dots in a name: %s',
    async (uri) => {
      expect(await read(uri)).toMatchObject([{ uri }])
    },
  )

  test('passes on what its handler throws', async () => {
    const server = newServer()
    server.resource('a:b', { description }, () => {
      throw new Error('no disk')
    })
    await expect(play(server, 'resources/read', { uri: 'a:b' })).rejects.toThrow('no disk')
  })
})

describe('access to a resource', () => {
  const ada: Principal = { issuer: 'i', subject: 'ada', scopes: [], claims: {} }
  const server = newServer()
  server.resource('a:open', { description }, () => '')
  server.resource('a:hers', { description, visibleTo: ({ principal }) => principal === ada }, () => '')
  server.resource('note://{id}', { description }, () => '')
  const isHers = ({ principal }: Caller, { owner }: { owner: string }) => owner === principal?.subject
  server.resource('private://{owner}', { description, authorize: isHers }, ({ owner }) => owner)
  server.resource('odd://{id}', { description, authorize: () => 1 as unknown as boolean }, () => '')
  server.resource('club://{id}', { description, visibleTo: ({ principal }) => principal === ada }, () => '')

  test.each<[string, Principal | undefined, boolean]>([
    ['a:open', undefined, true],
    ['a:hers', undefined, false],
    ['a:hers', ada, true],
    ['note://1', undefined, true],
    ['note://1/2', ada, false],
    ['other:1', ada, false],
    ['private://ada', ada, true],
    ['private://ada', undefined, false],
    ['private://bob', ada, false],
    ['odd://1', ada, false],
    // Templates as a whole.
    ['note://{id}', undefined, true],
    ['club://{id}', undefined, false],
    ['club://{id}', ada, true],
    ['private://{owner}', ada, false],
  ])('is required to subscribe to %s', async (uri, principal, hears) => {
    expect(await canSubscribe(server.declarations, callerFor(principal), uri)).toBe(hears)
  })

  test('is required to read it, and shared caches do not store it', async () => {
    const read = (uri: string, principal?: Principal) =>
      result(server, 'resources/read', { uri }, principal ? { principal } : {})
    expect(await read('private://ada', ada)).toMatchObject({ contents: [{ text: 'ada' }], cacheScope: 'private' })
    await expect(read('private://bob', ada)).rejects.toMatchObject({ kind: 'resource_not_found' })
    await expect(read('private://ada')).rejects.toMatchObject({ kind: 'resource_not_found' })
  })
})

test('a change has the topics of its URI and of the templates that match it', () => {
  const server = newServer()
  server.resource('note://{id}', { description }, () => '')
  server.resource('other://{id}', { description }, () => '')
  server.resource('note://{id}/{part}', { description }, () => '')
  server.resource('other://fixed', { description }, () => '')
  const about = (change: Change, scope?: TopicRecipients) => changeTopics(server.declarations, change, scope)
  expect(about({ resource: 'note://1' })).toEqual(['resource:note://1', 'resource:note://{id}'])
  const scope = { issuer: 'https://one.example', tenant: 'acme' }
  expect(about({ resource: 'third://1' }, scope)).toEqual([`tenant:${tenantKey(scope)} resource:third://1`])
  expect(about({ list: 'tools' })).toEqual(['tools'])
  // What serves it counts, and nothing that would fit it too.
  server.resource('note://{+all}', { description }, () => '')
  expect(about({ resource: 'note://1' })).toEqual(['resource:note://1', 'resource:note://{id}'])
  expect(about({ resource: 'other://fixed' })).toEqual(['resource:other://fixed'])
})
