/** Objects of sign-in in another isolate than that of the request, which may run another deployment. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { Browser } from '../../worker/testing/provider/browser.ts'
import { bearing, call } from '../auth/call.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { RawClient, type Registered, seen, type Tokens } from './client.ts'
import { GitHub } from './github.ts'
import { objectAt } from './tokens.ts'

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

/** A browser that reaches a later deployment. */
class LaterBrowser extends Browser {
  readonly #headers: Record<string, string>

  constructor(headers: Record<string, string>) {
    super()
    this.#headers = headers
  }

  override visit(url: URL, body?: URLSearchParams, init: RequestInit = {}): Promise<Response> {
    return super.visit(url, body, {
      ...init,
      headers: { ...Object.fromEntries(new Headers(init.headers)), ...this.#headers },
    })
  }
}

test('a refresh goes on when its caller is lost, and a call that is repeated waits for it', async () => {
  gitHub.expiresIn = 30
  const { tokens } = await tenant.signIn(new Browser())
  const asked = Promise.withResolvers<void>()
  const answer = Promise.withResolvers<void>()
  gitHub.beforeRefresh = () => {
    asked.resolve()
    return answer.promise
  }
  const lost = upstream(tokens)
  await asked.promise
  gitHub.beforeRefresh = undefined
  gitHub.expiresIn = 3600
  const name = objectAt(tenant.server, `upstream:${tokens.refresh_token.split(':')[0]}`)
  await fetch(tenant.at(`/?lose=${encodeURIComponent(name)}`))
  expect((await lost).text).not.toMatch(/^gho_/)
  const repeated = upstream(tokens)
  answer.resolve()
  expect(gitHub.tokens.has((await repeated).text)).toBe(true)
  expect(gitHub.refreshed).toHaveLength(1)
})

describe('in the isolate of the endpoint', () => {
  let alone: TestServer
  let client: RawClient
  beforeAll(async () => {
    alone = await startServer('test/sign-in/isolates', { GITHUB: gitHub.url, ALONE: 'yes' })
    client = new RawClient(alone.url)
  })
  afterAll(() => alone?.[Symbol.asyncDispose]())

  type SignedIn = Awaited<ReturnType<RawClient['signIn']>>
  test.each<{ what: string; path: string; ask(url: URL, signedIn: SignedIn): Promise<unknown> }>([
    {
      what: 'a client that asks for tokens',
      path: '/oauth/token',
      ask: async (url, { client: { id }, tokens }) => {
        const body = new URLSearchParams(client.refreshForm({ id, secret: undefined }, tokens.refresh_token))
        return seen(await fetch(url, { method: 'POST', body }))
      },
    },
    {
      what: 'a caller of a tool',
      path: '/mcp',
      ask: async (url, { tokens }) => (await call(url, bearing(tokens.access_token), 'starred')).text,
    },
  ])('tokens that the provider refreshes are stored, although $what has gone', async ({ path, ask }) => {
    gitHub.expiresIn = 30
    const signedIn = await client.signIn(new Browser())
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
    const asking = ask(client.at(`/abandoned${path}?until=${gitHub.url}/gone`), signedIn)
    await asked.promise
    gone.resolve()
    expect(await asking).toContain('given up')
    gitHub.beforeRefresh = undefined
    gitHub.expiresIn = 3600
    answer.resolve()
    const form = client.refreshForm(signedIn.client, signedIn.tokens.refresh_token)
    expect(await seen(await client.token(form))).toBe('200 granted')
    expect(gitHub.refreshed).toHaveLength(1)
  })
})

describe.each<{ what: string; headers: Record<string, string>; changed: Record<string, string> }>([
  { what: 'another client at the provider', headers: { 'X-Client': 'edge2' }, changed: { CLIENT: 'edge2' } },
  { what: 'another provider of the same name', headers: { 'X-Provider': 'WORK' }, changed: { PROVIDER: 'WORK' } },
])('a deployment with $what', ({ headers, changed }) => {
  const requests = () => [gitHub.requests.length, work.requests.length]

  test('gets and ends nothing of objects that run the earlier one', async () => {
    gitHub.expiresIn = 30
    const { client, tokens } = await tenant.signIn(new Browser())
    const before = requests()
    expect((await upstream(tokens, headers)).text).toBe('GitHub does not answer: try again later')
    expect(await seen(await refresh(client, tokens, headers))).toBe('503 temporarily_unavailable')
    expect(requests()).toEqual(before)
    expect(gitHub.tokens.has((await upstream(tokens)).text)).toBe(true)
    expect(await seen(await refresh(client, tokens))).toBe('200 granted')
  })

  test('asks users to sign in again once their objects run it, too, and sends it no token of the earlier one', async () => {
    gitHub.expiresIn = 30
    const { client, tokens } = await tenant.signIn(new Browser())
    await server.reload(changed)
    const before = requests()
    expect((await upstream(tokens)).text).toContain('has to connect GitHub first')
    expect(await seen(await refresh(client, tokens))).toBe('400 invalid_grant')
    expect(requests()).toEqual(before)
    await server.reload()
  })
})

test('a later deployment signs users in while their objects run the earlier one, and they stay signed in', async () => {
  work.account = { ...gitHub.account }
  const headers = { 'X-Provider': 'WORK' }
  const { client, tokens } = await tenant.signIn(new LaterBrowser(headers))
  expect(await seen(await refresh(client, tokens, headers))).toBe('503 temporarily_unavailable')
  await server.reload({ PROVIDER: 'WORK' })
  expect(await seen(await refresh(client, tokens))).toBe('200 granted')
  expect(work.tokens.has((await upstream(tokens)).text)).toBe(true)
  await server.reload()
})

describe('while a refresh runs at the provider of an earlier deployment', () => {
  const withWork = { 'X-Provider': 'WORK' }

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
    const later = await tenant.signIn(new LaterBrowser(withWork))
    return { early, later, answer: () => answer.resolve() }
  }

  test('its call gets no token of the later provider', async () => {
    const { early, answer } = await overtaken()
    answer()
    expect((await early).text).toContain('has to connect GitHub first')
  })

  test('a call of the later deployment does not wait for it', async () => {
    const { early, later, answer } = await overtaken()
    expect((await upstream(later.tokens, withWork)).text).toBe('GitHub does not answer: try again later')
    answer()
    await early
    await server.reload({ PROVIDER: 'WORK' })
    expect(work.tokens.has((await upstream(later.tokens)).text)).toBe(true)
    await server.reload()
  })
})
