/** What is stored, counted or cached for a caller, and which other callers share it. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Stub, sendJson, startStub, textResult } from '../compose/stub.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { statelessHeaders } from '../support/stateless.ts'

let server: TestServer
let upstream: Stub
beforeAll(async () => {
  upstream = await startStub()
  // Names the session in which it was called.
  upstream.call = ({ id, session }, response) =>
    sendJson(response, { jsonrpc: '2.0', id, result: textResult(`${session}`) })
  server = await startServer('test/auth/owners', { UPSTREAM: upstream.url })
})
afterAll(async () => {
  await server?.[Symbol.asyncDispose]()
  upstream?.close()
})

/** Claims of a token, and the endpoint that it is sent to. */
type Person = { endpoint: string; iss: string; sub: string; client_id?: string; org?: string; key?: string }

function send({ endpoint, key, ...claims }: Person, method: string, params: object, name?: string): Promise<Response> {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
  }
  return fetch(new URL(`/${endpoint}/mcp`, server.url), {
    method: 'POST',
    headers: { ...statelessHeaders(method, name), Authorization: `Bearer ${key ?? btoa(JSON.stringify(claims))}` },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } }),
  })
}

async function call(person: Person, name: string, args: object = {}): Promise<{ status: number; content: Content[] }> {
  const response = await send(person, 'tools/call', { name, arguments: args }, name)
  const { result } = (await response.json()) as { result?: { content: Content[] } }
  return { status: response.status, content: result?.content ?? [] }
}
type Content = { type: string; text?: string; uri?: string }
const textOf = async (...called: Parameters<typeof call>) => (await call(...called)).content[0]?.text

const stateOf = (of: string) => async (one: Person, other: Person) => {
  await call(one, 'state', { of, text: 'written' })
  return (await textOf(other, 'state', { of })) === 'written'
}

/** Each returns whether the second caller shares with the first one. */
const shared = {
  'state of a user': stateOf('user'),
  'state of a tenant': stateOf('tenant'),
  'state of all endpoints': stateOf('everywhere'),
  async 'a quota'(one: Person, other: Person) {
    expect(await call(one, 'limited')).toMatchObject({ status: 200 })
    return (await call(other, 'limited')).status === 429
  },
  async 'the number of streams'(one: Person, other: Person) {
    const filter = { notifications: { toolsListChanged: true } }
    const first = await send(one, 'subscriptions/listen', filter)
    expect(first.status).toBe(200)
    const second = await send(other, 'subscriptions/listen', filter)
    await Promise.all([first.body?.cancel(), second.body?.cancel()])
    return second.status === 429
  },
  async 'stored results'(one: Person, other: Person) {
    const { content } = await call(one, 'large')
    const uri = content.find(({ type }) => type === 'resource_link')?.uri
    expect(uri).toMatch(/^result:/)
    const response = await send(other, 'resources/read', { uri }, uri)
    return 'result' in ((await response.json()) as object)
  },
  async 'a session of an upstream'(one: Person, other: Person) {
    const arg = { who: '' }
    const first = await textOf(one, 'up_secret_of', arg)
    expect(upstream.sessions).toContain(first)
    return first === (await textOf(other, 'up_secret_of', arg))
  },
}
type Shared = keyof typeof shared
const all = Object.keys(shared) as Shared[]
const allBut = (...left: Shared[]) => all.filter((what) => !left.includes(what))

/** A caller of one test. */
const someone = (): Person => ({
  endpoint: 'one',
  iss: 'https://a.example',
  sub: crypto.randomUUID(),
  org: crypto.randomUUID(),
  client_id: 'phone',
})

const others: readonly (readonly [who: string, other: (person: Person) => Person, shares: readonly Shared[]])[] = [
  ['the same caller', (person) => person, all],
  [
    'another client of the user',
    (person) => ({ ...person, client_id: 'laptop' }),
    allBut('stored results', 'a session of an upstream'),
  ],
  ['another user of the tenant', (person) => ({ ...person, sub: crypto.randomUUID() }), ['state of a tenant']],
  ['the user in another tenant', (person) => ({ ...person, org: 'globex' }), []],
  ['the user without a tenant', ({ org, ...person }) => person, []],
  ['a user of the same name at another issuer', (person) => ({ ...person, iss: 'https://b.example' }), []],
  ['the user at another endpoint', (person) => ({ ...person, endpoint: 'two' }), ['state of all endpoints']],
]

describe.each(all)('%s', (what) => {
  const sharing = others.filter(([, , shares]) => shares.includes(what))
  test.each(sharing)('is shared with %s', async (_, otherThan) => {
    const person = someone()
    expect(await shared[what](person, otherThan(person))).toBe(true)
  })

  test.each(others.filter((other) => !sharing.includes(other)))('is not shared with %s', async (_, otherThan) => {
    const person = someone()
    expect(await shared[what](person, otherThan(person))).toBe(false)
  })
})

test('a quota per client counts each client of a user', async () => {
  const person = { ...someone(), endpoint: 'clients' }
  expect(await shared['a quota'](person, { ...person, client_id: 'laptop' })).toBe(false)
  expect(await shared['a quota']({ ...person, client_id: 'tablet' }, { ...person, client_id: 'tablet' })).toBe(true)
})

describe('owners of API keys of the same name at two endpoints', () => {
  const keyOf = async (endpoint: string, sub: string): Promise<Person> => {
    const created = await fetch(new URL(`/create-key?endpoint=${endpoint}&subject=${sub}`, server.url))
    return { endpoint, iss: '', sub, ...((await created.json()) as { key: string }) }
  }

  test.each(allBut('state of a tenant'))('do not share %s', async (what) => {
    const sub = crypto.randomUUID()
    const acme = await keyOf('acme', sub)
    expect(await shared[what](acme, await keyOf('globex', sub))).toBe(false)
  })
})
