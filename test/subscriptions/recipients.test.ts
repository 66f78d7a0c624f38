/** Notifications for a tenant, a user, a user of one client, and a session, over every transport. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ChangeNotifier } from '../../worker/declarations/server.ts'
import type { Params } from '../../worker/protocol/types.ts'
import { connect, type TestClient } from '../../worker/testing/index.ts'
import { startServer, type TestServer } from '../support/server.ts'

let server: TestServer
beforeAll(async () => {
  server = await startServer('test/subscriptions/server')
})
afterAll(() => server[Symbol.asyncDispose]())

/** @returns the error; empty if there is none */
async function notify(method: keyof ChangeNotifier, ...args: unknown[]): Promise<string> {
  const body = JSON.stringify({ method, args })
  return (await fetch(new URL('/notify', server.url), { method: 'POST', body })).text()
}

type User = { issuer: string; subject: string; tenant?: string; client?: string }

const [one, two] = ['https://one.example', 'https://two.example']
const users = {
  ada: { issuer: one, tenant: 'acme', subject: 'ada', client: 'desktop' },
  'ada, with another client': { issuer: one, tenant: 'acme', subject: 'ada', client: 'phone' },
  'bob, of the same tenant': { issuer: one, tenant: 'acme', subject: 'bob', client: 'desktop' },
  'ada of another tenant': { issuer: one, tenant: 'globex', subject: 'ada', client: 'desktop' },
  'ada without a tenant': { issuer: one, subject: 'ada', client: 'desktop' },
  'ada of another issuer': { issuer: two, tenant: 'acme', subject: 'ada', client: 'desktop' },
} satisfies Record<string, User>
type Name = keyof typeof users
const names = Object.keys(users) as Name[]

const transports = {
  'subscriptions/listen': { revision: '2026-07-28' },
  'a session': { revision: '2025-11-25' },
  'HTTP+SSE': { revision: '2024-11-05', sse: true },
} as const

type Subscriber = { readonly name: Name; readonly client: TestClient }
type Subscribers = { readonly all: readonly Subscriber[]; readonly fence: string } & AsyncDisposable

/** Connects all users, subscribed to all lists and to a resource. */
async function subscribers(transport: keyof typeof transports): Promise<Subscribers> {
  const fence = `note://${crypto.randomUUID()}`
  const all = await Promise.all(
    names.map(async (name) => {
      const client = await connect(server.url, { ...transports[transport], token: btoa(JSON.stringify(users[name])) })
      await client.subscribe({
        toolsListChanged: true,
        promptsListChanged: true,
        resourcesListChanged: true,
        resourceSubscriptions: ['note://1', fence],
      })
      return { name, client }
    }),
  )
  const close = async () => void (await Promise.all(all.map(({ client }) => client.close())))
  return { all, fence, [Symbol.asyncDispose]: close }
}

/**
 * Returns who has received what so far: everyone receives one more notification, twice. The second one waits, as repetitions do, so it is
 * delivered after all others that wait.
 */
async function received({ all, fence }: Subscribers): Promise<Partial<Record<Name, string[]>>> {
  for (const _ of ['first', 'second']) await notify('resourceUpdated', fence)
  const entries = await Promise.all(
    all.map(async ({ name, client }) => {
      const seen: string[] = []
      for (let fences = 0; fences < 2; ) {
        const { params } = await client.next('notifications/resources/updated')
        if (params?.uri === fence) fences += 1
      }
      for (const { method, params } of client.notifications) {
        if (method === 'notifications/message') seen.push(`log ${params?.data}`)
        const [, list] = /^notifications\/(\w+)\/list_changed$/.exec(method) ?? []
        if (list) seen.push(list)
        if (params?.uri !== undefined && params.uri !== fence) seen.push(String(params.uri))
      }
      return [name, seen] as const
    }),
  )
  return Object.fromEntries(entries.filter(([, seen]) => seen.length > 0))
}

const userOf = ({ issuer, subject, tenant }: User) => ({ issuer, subject, tenant })

describe.each(Object.keys(transports) as (keyof typeof transports)[])('over %s', (transport) => {
  test('a change for a tenant reaches the principals of this tenant of this issuer', async () => {
    await using all = await subscribers(transport)
    expect(await notify('toolsChanged', { issuer: one, tenant: 'acme' })).toBe('')
    const seen = ['tools']
    expect(await received(all)).toEqual({
      ada: seen,
      'ada, with another client': seen,
      'bob, of the same tenant': seen,
    })
  })

  test('a change for a user reaches all clients of this user, and no other user', async () => {
    await using all = await subscribers(transport)
    expect(await notify('toolsChanged', { user: userOf(users.ada) })).toBe('')
    expect(await notify('resourceUpdated', 'note://1', { user: users.ada })).toBe('')
    expect(await notify('resourceUpdated', 'note://2', { user: users.ada })).toBe('')
    const seen = ['tools', 'note://1']
    expect(await received(all)).toEqual({ ada: seen, 'ada, with another client': seen })
  })

  test('a change for a user without a tenant does not reach the user in a tenant', async () => {
    await using all = await subscribers(transport)
    expect(await notify('resourcesChanged', { user: { issuer: one, subject: 'ada' } })).toBe('')
    expect(await received(all)).toEqual({ 'ada without a tenant': ['resources'] })
  })

  test('a change for a principal without a tenant reaches its user only', async () => {
    await using all = await subscribers(transport)
    const principal = { ...users['ada without a tenant'], scopes: [], claims: {} }
    expect(await notify('resourcesChanged', principal)).toBe('')
    expect(await received(all)).toEqual({ 'ada without a tenant': ['resources'] })
  })

  test('a change for a user of one client reaches only this client', async () => {
    await using all = await subscribers(transport)
    expect(await notify('toolsChanged', { user: userOf(users.ada), client: 'phone' })).toBe('')
    expect(await notify('resourceUpdated', 'note://1', { user: users.ada, client: 'phone' })).toBe('')
    expect(await notify('toolsChanged', { user: users.ada, client: 'pho' })).toBe('')
    expect(await received(all)).toEqual({
      'ada, with another client': ['tools', 'note://1'],
    })
  })
})

describe.each(['a session', 'HTTP+SSE'] as const)('over %s', (transport) => {
  const sessionOf = async ({ client }: Subscriber) => {
    const { content } = await client.callTool('session_id')
    return (content[0] as { text: string }).text
  }
  const named = ({ all }: Subscribers, name: Name) => all.find((each) => each.name === name) as Subscriber

  test('a change for a session reaches this session only, if it subscribed to the resource', async () => {
    await using all = await subscribers(transport)
    const session = await sessionOf(named(all, 'ada'))
    expect(await notify('toolsChanged', { session })).toBe('')
    expect(await notify('resourceUpdated', 'note://2', { session })).toBe('')
    expect(await notify('resourceUpdated', 'note://1', { session })).toBe('')
    expect(await received(all)).toEqual({ ada: ['tools', 'note://1'] })
  })

  test('a log message outside of a call reaches the sessions of a user, or one session', async () => {
    await using all = await subscribers(transport)
    const session = await sessionOf(named(all, 'ada of another issuer'))
    for (const data of ['first', 'second']) expect(await notify('log', 'warning', data, { user: users.ada })).toBe('')
    expect(await notify('log', 'info', 'third', { session })).toBe('')
    expect(await received(all)).toEqual({
      ada: ['log first', 'log second'],
      'ada, with another client': ['log first', 'log second'],
      'ada of another issuer': ['log third'],
    })
  })

  test('a log message below the level of the session is not sent', async () => {
    await using all = await subscribers(transport)
    const [ada, phone] = [named(all, 'ada'), named(all, 'ada, with another client')]
    await ada.client.request('logging/setLevel', { level: 'error' })
    await phone.client.request('logging/setLevel', { level: 'debug' })
    const levels = ['debug', 'info', 'warning', 'error'] as const
    for (const level of levels) await notify('log', level, level, { user: users.ada }, 'jobs')
    for (const level of levels) await notify('log', level, level, { session: await sessionOf(ada) }, 'jobs')
    expect(await received(all)).toEqual({
      ada: ['log error', 'log error'],
      'ada, with another client': levels.map((level) => `log ${level}`),
    })
    expect(ada.client.notifications.find(({ method }) => method === 'notifications/message')?.params).toEqual({
      level: 'error',
      logger: 'jobs',
      data: 'error',
    })
  })
})

test('a log message is not sent on a stream of subscriptions/listen', async () => {
  await using all = await subscribers('subscriptions/listen')
  expect(await notify('log', 'emergency', 'fire', { user: users.ada })).toBe('')
  expect(await received(all)).toEqual({})
})

test('a session without a principal is reached by its id', async () => {
  await using client = await connect(server.url, { revision: '2025-11-25' })
  await client.subscribe({})
  await notify('toolsChanged', { session: client.session })
  await client.next('notifications/tools/list_changed')
})

describe('the completion of a URL elicitation', () => {
  const complete = 'notifications/elicitation/complete'
  const page = (asked: Params[]) => ({
    capabilities: { elicitation: { url: {} } },
    answers: {
      elicit: (params: Params) => {
        asked.push(params)
        return { action: 'accept' as const }
      },
    },
  })

  test('is reported by the handler, and later from outside of the call, with the id of the handler', async () => {
    const asked: Params[] = []
    await using client = await connect(server.url, { revision: '2025-11-25', ...page(asked) })
    await using other = await connect(server.url, { revision: '2025-11-25' })
    await Promise.all([client.subscribe({}), other.subscribe({})])
    const { content } = await client.callTool('connect')
    const { elicitationId, url } = asked[0] as { elicitationId: string; url: string }
    expect(content).toEqual([{ type: 'text', text: `accept ${elicitationId}` }])
    expect(await client.next(complete)).toMatchObject({ params: { elicitationId } })
    // What the page knows.
    const { searchParams } = new URL(url)
    const session = searchParams.get('session')
    expect(await notify('elicitationComplete', searchParams.get('id'), { session })).toBe('')
    expect(await client.next(complete)).toMatchObject({ params: { elicitationId } })
    await notify('promptsChanged')
    await other.next('notifications/prompts/list_changed')
    expect(other.notifications.map(({ method }) => method)).not.toContain(complete)
  })

  test('has the id of the handler in the error -32042', async () => {
    await using client = await connect(server.url, { revision: '2025-11-25', ...page([]) })
    await expect(client.callTool('sign_in')).rejects.toMatchObject({
      code: -32042,
      data: { elicitations: [{ mode: 'url', elicitationId: 'own-id', url: 'https://example.com/' }] },
    })
  })

  test('does not exist in 2026-07-28, whose input requests have no id', async () => {
    const asked: Params[] = []
    await using client = await connect(server.url, { revision: '2026-07-28', ...page(asked) })
    const { content } = await client.callTool('connect')
    expect(content).toMatchObject([{ text: expect.stringMatching(/^accept connect-/) }])
    expect(Object.keys(asked[0] ?? {})).toEqual(['mode', 'message', 'url'])
  })

  test.each([
    [
      '',
      { session: 'a'.repeat(16) },
      '"elicitationId" of server.notify.elicitationComplete() must be a non-empty string',
    ],
    ['a', {}, 'server.notify.elicitationComplete() needs the session that received the elicitation: pass { session:'],
    ['a', { user: users.ada }, 'needs the session that received the elicitation'],
  ])('%j to %j is refused', async (id, recipients, problem) => {
    expect(await notify('elicitationComplete', id, recipients)).toContain(problem)
  })
})

test('a change for a session that has ended is dropped', async () => {
  const client = await connect(server.url, { revision: '2025-11-25' })
  await client.subscribe({})
  await client.close()
  expect(await notify('toolsChanged', { session: client.session })).toBe('')
})

test.each([
  [
    { user: { subject: 'ada' } },
    '"user.issuer" of the recipients of server.notify must be a non-empty string, not undefined',
  ],
  [
    { user: 'ada' },
    '"user" of the recipients of server.notify must be a user such as { issuer, subject, tenant }, or ctx.principal, not "ada"',
  ],
  [
    { user: { issuer: one, subject: 'ada' }, tenant: 'acme' },
    'the recipients of server.notify does not take "tenant": it takes user and client',
  ],
  [
    { session: 'a' },
    '"session" of the recipients of server.notify must be a session id, such as ctx.session.id, not "a"',
  ],
  [
    { issuer: one, subject: 'ada' },
    'the recipients of server.notify does not take "subject": it takes issuer, tenant, user, client and session',
  ],
  [
    { issuer: one, tenant: 'acme', client: 'phone' },
    '"client" of the recipients of server.notify needs a user: pass { user: ctx.principal, client: ctx.principal.client }',
  ],
  [
    { tenant: 'acme' },
    'A change for the tenant "acme" needs the issuer of the tenant: pass { issuer, tenant }, or ctx.principal',
  ],
  [{ issuer: one, tenant: 5 }, '"tenant" of the recipients of server.notify must be a non-empty string, not 5'],
  [{ issuer: one, tenant: '' }, '"tenant" of the recipients of server.notify must be a non-empty string, not ""'],
  [{ issuer: one, tenant: null }, '"tenant" of the recipients of server.notify must be a non-empty string, not null'],
  [
    { issuer: one },
    'The recipients of server.notify have an issuer without a tenant: pass { issuer, tenant } or { user }, or no recipients for everyone',
  ],
  [
    { unusual: 'nobody' },
    'The recipients of server.notify have an issuer and a tenant that are undefined: pass {} or no recipients for everyone',
  ],
  [{ issuer: 5 }, '"issuer" of the recipients of server.notify must be a non-empty string, not 5'],
  [
    { issuer: one, scopes: [], tennant: 'acme' },
    '"subject" of the recipients of server.notify must be a non-empty string, not undefined',
  ],
  ...['map', 'date', 'promise'].map((kind): [object, string] => [
    { unusual: kind },
    `"recipients" of server.notify must be { issuer, tenant }, { user: ctx.principal }, { session: ctx.session.id } or ctx.principal, not ${{ map: 'a Map', promise: 'a promise' }[kind] ?? 'an object'}`,
  ]),
  [
    'acme',
    '"recipients" of server.notify must be { issuer, tenant }, { user: ctx.principal }, { session: ctx.session.id } or ctx.principal, not "acme"',
  ],
  [
    null,
    '"recipients" of server.notify must be { issuer, tenant }, { user: ctx.principal }, { session: ctx.session.id } or ctx.principal, not null',
  ],
])('recipients %j are refused, and reach no one', async (recipients, problem) => {
  await using client = await connect(server.url, { revision: '2025-11-25' })
  await client.subscribe({})
  expect(await notify('toolsChanged', recipients)).toBe(problem)
  await notify('promptsChanged')
  await client.next('notifications/prompts/list_changed')
  expect(client.notifications.map(({ method }) => method)).toEqual(['notifications/prompts/list_changed'])
})

test.each([5, null, '', 'nonsense', '//note/1'])('a change of the resource %j is refused', async (uri) => {
  expect(await notify('resourceUpdated', uri)).toBe(
    `"uri" of server.notify.resourceUpdated() must be a URI with a scheme, such as note://1, not ${JSON.stringify(uri)}`,
  )
})

test.each([
  ['loud', 'x', { session: `a.${'a'.repeat(20)}` }, '"level" of server.notify.log() must be one of debug, info'],
  ['info', 'x', { issuer: one, tenant: 'acme' }, 'server.notify.log() sends to a user or a session'],
  ['info', 'x', {}, 'server.notify.log() sends to a user or a session'],
])('a log message %j %j to %j is refused', async (level, data, recipients, problem) => {
  expect(await notify('log', level, data, recipients)).toContain(problem)
})

describe('server.subscribers', () => {
  const count = async (...args: unknown[]) => {
    const response = await fetch(new URL('/subscribers', server.url), { method: 'POST', body: JSON.stringify(args) })
    return response.status === 200 ? response.json() : response.text()
  }
  const exactly = (sessions: number, streams: number) => ({ sessions, streams, isComplete: true })

  test('counts the sessions and streams of a resource: all, those of a tenant and those of a user', async () => {
    const uri = `note://${crypto.randomUUID()}`
    expect(await count(uri)).toEqual(exactly(0, 0))
    const connections = (['subscriptions/listen', 'a session', 'HTTP+SSE'] as const).flatMap((transport) =>
      names.map(async (name) => {
        const token = btoa(JSON.stringify(users[name]))
        const client = await connect(server.url, { ...transports[transport], token })
        return { client, subscription: await client.subscribe({ resourceSubscriptions: [uri] }) }
      }),
    )
    const subscribed = await Promise.all(connections)
    expect(await count(uri)).toEqual(exactly(2 * names.length, names.length))
    expect(await count(uri, { issuer: one, tenant: 'acme' })).toEqual(exactly(6, 3))
    expect(await count(uri, { user: users.ada })).toEqual(exactly(4, 2))
    expect(await count(uri, { user: users.ada, client: 'phone' })).toEqual(exactly(2, 1))
    expect(await count(uri, { user: { issuer: two, subject: 'ada' } })).toEqual(exactly(0, 0))
    await Promise.all(subscribed.map(({ client }) => client.close()))
    await expect.poll(() => count(uri), { timeout: 60_000 }).toEqual(exactly(0, 0))
  })

  test('includes the subscribers of the template', async () => {
    await using client = await connect(server.url, { revision: '2026-07-28' })
    const before = (await count('note://template')) as { streams: number }
    await client.subscribe({ resourceSubscriptions: ['note://{id}'] })
    expect(await count('note://template')).toMatchObject({ streams: before.streams + 1 })
  })

  test.each([5, null, '', 'nonsense'])('refuses the URI %j', async (uri) => {
    expect(await count(uri)).toBe(
      `"uri" of server.subscribers() must be a URI with a scheme, such as note://1, not ${JSON.stringify(uri)}`,
    )
  })

  test('refuses a URI that no resource has, and accepts that of a template', async () => {
    expect(await count('notes://1')).toBe(
      'server.subscribers(): no resource or template of this server has the URI "notes://1"',
    )
    expect(await count('note://{id}')).toMatchObject({ isComplete: true })
  })

  test('refuses a session', async () => {
    expect(await count('note://1', { session: 'a'.repeat(16) })).toBe(
      'server.subscribers() counts those of everyone, a tenant or a user: pass no session',
    )
  })
})
