import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createServer } from '../../worker/declarations/server.ts'
import { extension } from '../../worker/engine/extension.ts'
import { app } from '../../worker/plugins/apps/index.ts'
import { bearer, findUnscoped } from '../../worker/plugins/auth/index.ts'
import { skills } from '../../worker/plugins/skills/index.ts'
import { connect, everyRevision } from '../../worker/testing/index.ts'
import { play } from '../engine/stage.ts'
import { startServer, type TestServer } from '../support/server.ts'

let server: TestServer

beforeAll(async () => {
  server = await startServer('test/auth/scoped')
})
afterAll(() => server[Symbol.asyncDispose]())

const namesIn = (listed: unknown) => (listed as { name: string }[]).map(({ name }) => name)

describe.each(everyRevision)('a client of %s', (revision) => {
  const as = (token?: string) => connect(server.url, { revision, ...(token && { token }) })
  const textOf = async (called: Promise<{ content: unknown[] }>) => ((await called).content[0] as { text: string }).text

  test('lists entries that its principal may use or can request scopes for', async () => {
    await using ada = await as('ada~read')
    expect(namesIn((await ada.request('tools/list')).tools)).not.toContain('secret')
    expect(namesIn((await ada.request('tools/list')).tools)).toEqual([
      'make_cart',
      'fill_cart',
      'prefer',
      'read',
      'write',
      'open',
      'touch',
    ])
    expect(namesIn((await ada.request('prompts/list')).prompts)).toEqual([])
    expect(namesIn((await ada.request('resources/list')).resources)).toEqual(['paper://1', 'note://1'])
    await using bob = await as('bob')
    expect(namesIn((await bob.request('tools/list')).tools)).not.toContain('read')
    expect(namesIn((await bob.request('resources/list')).resources)).toEqual(['paper://1'])
    expect((await bob.request('resources/templates/list')).resourceTemplates).toEqual([])
  })

  test('reads how each tool may be called', async () => {
    await using ada = await as('ada~read')
    const { tools } = await ada.request('tools/list')
    const schemesOf = (name: string) => {
      const tool = (tools as Record<string, unknown>[]).find((one) => one.name === name)
      return [tool?.securitySchemes, (tool?._meta as Record<string, unknown> | undefined)?.securitySchemes]
    }
    const isMirrored = revision > '2025-03-26'
    for (const [name, schemes] of [
      ['open', [{ type: 'noauth' }, { type: 'oauth2', scopes: [] }]],
      ['read', [{ type: 'oauth2', scopes: ['read'] }]],
      ['write', [{ type: 'oauth2', scopes: ['read', 'write'] }]],
    ] as const) {
      expect(schemesOf(name)).toEqual([schemes, isMirrored ? schemes : undefined])
    }
  })

  test('calls a tool with an implied scope', async () => {
    await using root = await as('root~all')
    expect(await textOf(root.callTool('write'))).toBe('written')
    expect(namesIn((await root.request('prompts/list')).prompts)).toEqual(['secret'])
  })

  test('without a token calls tools without scopes only', async () => {
    await using nobody = await as()
    expect(await textOf(nobody.callTool('open'))).toBe('open')
    await expect(nobody.callTool('read')).rejects.toMatchObject({ status: 401 })
  })

  test('gets an error that names the scopes of a state', async () => {
    await using ada = await as('ada~carts')
    const cart = await textOf(ada.callTool('make_cart'))
    expect(await textOf(ada.callTool('fill_cart', { cart }))).toBe('filled')
    const refused = await ada.callTool('prefer')
    expect(refused).toMatchObject({ isError: true, content: [{ text: 'The state "prefs" requires the scopes prefs' }] })
    // The same person, with a token that allows less.
    await using later = await as('ada')
    expect(await later.callTool('fill_cart', { cart })).toMatchObject({
      isError: true,
      content: [{ text: 'The state "carts" requires the scopes carts' }],
    })
  })

  test('is notified of resources that it may read', async () => {
    await using ada = await as('ada~read')
    await ada.subscribe({ resourceSubscriptions: ['note://1'] })
    await ada.callTool('touch')
    expect((await ada.next('notifications/resources/updated')).params).toMatchObject({ uri: 'note://1' })
    await using bob = await as('bob')
    if (revision === '2026-07-28') {
      await bob.subscribe({ resourceSubscriptions: ['note://1', 'note://{id}', 'paper://1'] })
      const { params } = await bob.next('notifications/subscriptions/acknowledged')
      expect(params).toMatchObject({ notifications: { resourceSubscriptions: ['paper://1'] } })
    } else {
      for (const uri of ['note://1', 'note://{id}']) {
        await expect(bob.request('resources/subscribe', { uri })).rejects.toMatchObject({ status: 403 })
      }
      await bob.subscribe({ resourceSubscriptions: ['paper://1'] })
    }
    await ada.callTool('touch')
    expect((await bob.next('notifications/resources/updated')).params).toMatchObject({ uri: 'paper://1' })
  })
})

test('the challenge for a batch names the scopes of all its messages, and those of the token', async () => {
  const call = (id: number, name: string) => ({ jsonrpc: '2.0', id, method: 'tools/call', params: { name } })
  const messages = [
    call(1, 'write'),
    call(2, 'open'),
    { jsonrpc: '2.0', id: 3, method: 'prompts/get', params: { name: 'secret' } },
  ]
  await using client = await connect(server.url, { revision: '2025-03-26', token: 'ada~carts~unheard~offline_access' })
  const response = await fetch(server.url, {
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream',
      Authorization: 'Bearer ada~carts~unheard~offline_access',
      'Mcp-Session-Id': client.session as string,
    },
    body: JSON.stringify(messages),
  })
  expect(response.status).toBe(403)
  expect(response.headers.get('WWW-Authenticate')).toContain('scope="carts unheard read write"')
  expect(response.headers.get('WWW-Authenticate')).toContain('error="insufficient_scope"')
})

describe('a server with requireScopesEverywhere', () => {
  const declared = (scopes?: readonly string[]) => {
    const server = createServer({ name: 'strict', version: '1' })
    const guarded = { description: 'd', scopes }
    server.tool('add', guarded, () => 'done')
    server.prompt('ask', guarded, () => 'done')
    server.resource('note://1', guarded, () => 'done')
    server.resource('note://{id}', guarded, () => 'done')
    return server
  }
  const attach = (server: ReturnType<typeof declared>) =>
    bearer({ issuer: 'https://auth.example', requireScopesEverywhere: true }).validate?.(server)

  test('refuses to start when entries have no scopes', () => {
    const all = 'the tool "add", the resource "note://1", the resource "note://{id}", the prompt "ask"'
    expect(findUnscoped(declared()).join(', ')).toBe(all)
    expect(() => attach(declared())).toThrow(
      `These entries have no scopes: ${all}. Give each its scopes, or scopes: [] for every caller that auth accepts`,
    )
  })

  test('starts when every entry has scopes', () => {
    expect(findUnscoped(declared([]))).toEqual([])
    attach(declared(['read']))
  })
})

test.each([[['two words']], [['quote"']], [['']], ['text'], [[7]]])(
  'scopes that are not a list of OAuth scopes are refused: %j',
  (scopes) => {
    const server = createServer({ name: 'wrong', version: '1' })
    expect(() => server.tool('add', { description: 'd', scopes: scopes as string[] }, () => 'done')).toThrow(
      `"scopes" of tool "add" must be a list such as ['notes:read'], not ${JSON.stringify(scopes)}`,
    )
  },
)

describe('methods of extensions', () => {
  const methods = { 'weather/now': () => ({ celsius: 12 }) }
  const serverWith = (options: { scopes?: readonly string[] }) =>
    createServer({ name: 'weather', version: '1.0.0' }).use(extension('com.example/weather', { methods, ...options }))
  const principal = { issuer: 'https://auth.example', subject: 'ada', scopes: ['weather'], claims: {} }

  test('require the scopes of their extension', async () => {
    const server = serverWith({ scopes: ['weather'] })
    expect((await play(server, 'weather/now', {}, { principal })).outcome).toMatchObject({ type: 'result' })
    const without = play(server, 'weather/now', {}, { principal: { ...principal, scopes: [] } })
    await expect(without).rejects.toMatchObject({ kind: 'insufficient_scope', data: { scopes: ['weather'] } })
    await expect(play(server, 'weather/now', {})).rejects.toMatchObject({ kind: 'insufficient_scope' })
  })

  test('and the entries of skills and apps have the scopes of their options', () => {
    const skill = { folder: 'git', frontmatter: { name: 'git', description: 'Git' }, files: [] }
    const file = { path: 'SKILL.md', digest: `sha256:${'0'.repeat(64)}`, size: 0, text: '' }
    const list = [{ ...skill, files: [file] }]
    const server = createServer({ name: 'open', version: '1.0.0' }).use(skills(list))
    server.use(app('ui://chart', { description: 'Chart', html: '' }))
    const found = ['skills/list', 'skills/get', 'resources/directory/read'].map((name) => `the method "${name}"`)
    expect(findUnscoped(server)).toEqual(['the resource "skill://git/SKILL.md"', 'the resource "ui://chart"', ...found])
    const guarded = createServer({ name: 'guarded', version: '1.0.0' }).use(skills(list, { scopes: ['skills'] }))
    guarded.use(app('ui://chart', { description: 'Chart', html: '', scopes: [] }))
    expect(findUnscoped(guarded)).toEqual([])
  })

  test('without scopes are listed by findUnscoped()', () => {
    expect(findUnscoped(serverWith({}))).toEqual(['the method "weather/now"'])
    expect(findUnscoped(serverWith({ scopes: [] }))).toEqual([])
  })
})
