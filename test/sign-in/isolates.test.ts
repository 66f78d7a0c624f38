/** Objects of sign-in in another isolate than that of the request, which has none of the endpoints: they know no provider by themselves. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { Browser } from '../../worker/testing/provider/browser.ts'
import { bearing, call } from '../auth/call.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { RawClient, type Registered, seen, type Tokens } from './client.ts'
import { GitHub } from './github.ts'

let server: TestServer
let gitHub: GitHub
let work: GitHub
let tenant: RawClient
beforeAll(async () => {
  ;[gitHub, work] = await Promise.all([GitHub.start(), GitHub.start()])
  server = await startServer('test/sign-in/isolates', { GITHUB: gitHub.url, WORK: work.url })
  const url = new URL(server.url)
  url.hostname = 'localhost'
  tenant = new RawClient(url)
})
beforeEach(() => {
  for (const provider of [gitHub, work]) {
    provider.answers.clear()
    provider.account = { id: Math.floor(Math.random() * 1e9), login: 'ada', name: 'Ada' }
    provider.expiresIn = undefined
    provider.refreshed.length = 0
  }
})
afterAll(async () => {
  await server?.[Symbol.asyncDispose]()
  for (const provider of [gitHub, work]) await provider?.[Symbol.asyncDispose]()
})

const refresh = (client: Registered, { refresh_token: token }: Tokens, headers: HeadersInit = {}) =>
  tenant.token(tenant.refreshForm(client, token), headers)
const upstream = ({ access_token: token }: Tokens, headers: Record<string, string> = {}) =>
  call(tenant.server, { ...bearing(token), ...headers }, 'starred')

test('a user who was removed loses access at the next refresh', async () => {
  const { client, tokens } = await tenant.signIn(new Browser())
  const refreshed = await refresh(client, tokens)
  expect(refreshed.status).toBe(200)
  gitHub.account.login = 'removed'
  const next = (await refreshed.json()) as Tokens
  expect(await seen(await refresh(client, next))).toBe('400 invalid_grant')
  expect(await tenant.call(next.access_token)).toMatch(/^401 /)
})

test('an outage of the provider ends nothing, and the provider refreshes its tokens afterwards', async () => {
  gitHub.expiresIn = 30
  const { client, tokens } = await tenant.signIn(new Browser())
  gitHub.answers.set('/login/oauth/access_token', () => new Response(null, { status: 503 }))
  const unavailable = await refresh(client, tokens)
  expect(unavailable.headers.get('Retry-After')).toBe('30')
  expect(await seen(unavailable)).toBe('503 temporarily_unavailable')
  gitHub.answers.clear()
  const { text } = await upstream(tokens)
  expect(gitHub.tokens.has(text)).toBe(true)
  expect(gitHub.refreshed.length).toBeGreaterThan(0)
  expect(await seen(await refresh(client, tokens))).toBe('200 granted')
})

type SignedIn = Awaited<ReturnType<RawClient['signIn']>>
test.each<{ what: string; path: string; ask(url: URL, signedIn: SignedIn): Promise<unknown> }>([
  {
    what: 'a client that asks for tokens',
    path: '/oauth/token',
    ask: async (url, { client, tokens }) =>
      seen(
        await fetch(url, {
          method: 'POST',
          body: new URLSearchParams(tenant.refreshForm(client, tokens.refresh_token)),
        }),
      ),
  },
  {
    what: 'a caller of a tool',
    path: '/mcp',
    ask: async (url, { tokens }) => (await call(url, bearing(tokens.access_token), 'starred')).text,
  },
])('tokens that the provider refreshes are stored, although $what has gone', async ({ path, ask }) => {
  gitHub.expiresIn = 30
  const signedIn = await tenant.signIn(new Browser())
  const asked = Promise.withResolvers<void>()
  const answer = Promise.withResolvers<void>()
  const gone = Promise.withResolvers<void>()
  gitHub.beforeRefresh = () => {
    asked.resolve()
    return answer.promise
  }
  gitHub.answers.set('/gone', async () => {
    await gone.promise
    return new Response()
  })
  const url = tenant.at(`/abandoned${path}?until=${gitHub.url}/gone`)
  const asking = ask(url, signedIn)
  await asked.promise
  gone.resolve()
  expect(await asking).toContain('given up')
  gitHub.beforeRefresh = undefined
  gitHub.expiresIn = 3600
  answer.resolve()
  expect(await seen(await refresh(signedIn.client, signedIn.tokens))).toBe('200 granted')
  expect(gitHub.refreshed).toHaveLength(1)
})

test.each<{ what: string; headers: Record<string, string> }>([
  { what: 'the endpoint has another client at the provider', headers: { 'X-Client': 'edge2' } },
  { what: 'the endpoint has another provider of the same name', headers: { 'X-Provider': 'WORK' } },
])('a user signs in again when $what, which gets no token of the earlier one', async ({ headers }) => {
  gitHub.expiresIn = 30
  const { client, tokens } = await tenant.signIn(new Browser())
  const before = [gitHub.requests.length, work.requests.length]
  const { text } = await upstream(tokens, headers)
  expect(text).toContain('has to connect GitHub first')
  expect(await seen(await refresh(client, tokens, headers))).toBe('400 invalid_grant')
  expect([gitHub.requests.length, work.requests.length]).toEqual(before)
})

describe('while a refresh runs at the provider of an earlier deployment', () => {
  const withWork = { 'X-Provider': 'WORK' }
  /** A browser that reaches the later deployment, which has another provider of the same name. */
  class LaterBrowser extends Browser {
    override visit(url: URL, body?: URLSearchParams, init: RequestInit = {}): Promise<Response> {
      return super.visit(url, body, {
        ...init,
        headers: { ...Object.fromEntries(new Headers(init.headers)), ...withWork },
      })
    }
  }

  /** Starts a refresh, whose provider waits for `answer`, and signs the user in with the other provider. */
  async function overtaken() {
    gitHub.expiresIn = 30
    const { tokens } = await tenant.signIn(new Browser())
    const arrived = Promise.withResolvers<void>()
    const answer = Promise.withResolvers<void>()
    gitHub.beforeRefresh = () => {
      arrived.resolve()
      return answer.promise
    }
    const early = upstream(tokens)
    await arrived.promise
    gitHub.beforeRefresh = undefined
    work.account = { ...gitHub.account }
    work.expiresIn = 30
    const later = await tenant.signIn(new LaterBrowser())
    return { early, later, answer: () => answer.resolve() }
  }

  test('its call gets no token of the later provider', async () => {
    const { early, answer } = await overtaken()
    answer()
    expect((await early).text).toContain('has to connect GitHub first')
  })

  test('a call of the later deployment does not wait for it', async () => {
    const { early, later, answer } = await overtaken()
    const { text } = await upstream(later.tokens, withWork)
    expect([work.tokens.has(text), work.refreshed.length]).toEqual([true, 1])
    answer()
    await early
    expect(work.tokens.has((await upstream(later.tokens, withWork)).text)).toBe(true)
  })
})
