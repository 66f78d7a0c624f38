/** Refreshes ask again who the user is, and what the user may do. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { Browser } from '../../worker/testing/provider/browser.ts'
import { Stage } from './attacks/stage.ts'
import type { Registered, Tokens } from './client.ts'

let engines: Stage
let single: Stage
beforeAll(async () => {
  ;[engines, single] = await Promise.all([Stage.start({ CASE: 'engines' }), Stage.start({ CASE: 'single' })])
})
afterAll(async () => {
  await engines?.[Symbol.asyncDispose]()
  await single?.[Symbol.asyncDispose]()
})

const ada = { id: 1815, login: 'ada', name: 'Ada Lovelace', organizations: ['Engines'] }
beforeEach(() => {
  for (const { gitHub } of [engines, single]) {
    gitHub.answers.clear()
    gitHub.account = { ...ada }
    gitHub.expiresIn = undefined
  }
})

/** Refreshes. Returns the status, and the tokens or the error. */
async function refresh(stage: Stage, client: Registered, { refresh_token }: Tokens) {
  const response = await stage.token(stage.refreshForm(client, refresh_token))
  return { status: response.status, ...((await response.json()) as Tokens & { error?: string }) }
}

test('a user who has left the organization loses access, also when it comes back', async () => {
  const { client, tokens } = await engines.signIn(new Browser())
  const refreshed = await refresh(engines, client, tokens)
  expect(refreshed.status).toBe(200)
  engines.gitHub.account.organizations = []
  expect(await refresh(engines, client, refreshed)).toMatchObject({ status: 400, error: 'invalid_grant' })
  engines.gitHub.account.organizations = ['Engines']
  expect(await refresh(engines, client, refreshed)).toMatchObject({ status: 400, error: 'invalid_grant' })
  expect(await engines.call(refreshed.access_token)).toContain('401')
})

test('grantScopes decides again, with what the provider says now', async () => {
  const { client, tokens } = await single.signIn(new Browser())
  expect(tokens.scope).toBe('notes:read notes:write')
  single.gitHub.account.login = 'guest'
  const narrowed = await refresh(single, client, tokens)
  expect(narrowed).toMatchObject({ status: 200, scope: 'notes:read' })
  expect(await single.call(narrowed.access_token, 'write')).toContain('403')
})

test('a function that fails decides nothing, and ends nothing', async () => {
  const { client, tokens } = await single.signIn(new Browser())
  single.gitHub.account.login = 'broken'
  expect(await refresh(single, client, tokens)).toMatchObject({ status: 503, error: 'temporarily_unavailable' })
  single.gitHub.account.login = 'ada'
  expect(await refresh(single, client, tokens)).toMatchObject({ status: 200 })
})

test('a user whose tokens the provider refuses loses access, and an outage of the provider ends nothing', async () => {
  const { client, tokens } = await single.signIn(new Browser())
  single.gitHub.answers.set('/api/v3/user', () => new Response(null, { status: 503 }))
  expect(await refresh(single, client, tokens)).toMatchObject({ status: 503, error: 'temporarily_unavailable' })
  single.gitHub.answers.clear()
  const later = await refresh(single, client, tokens)
  expect(later.status).toBe(200)
  single.gitHub.tokens.clear()
  expect(await refresh(single, client, later)).toMatchObject({ status: 400, error: 'invalid_grant' })
})

describe.each([
  { what: 'the refresh token', expiresIn: 30 },
  { what: 'an access token without a refresh token', expiresIn: undefined },
])('a user whose provider refuses $what', ({ expiresIn }) => {
  const refused = { status: 400, error: 'invalid_grant' }
  beforeEach(() => {
    single.gitHub.account = { ...ada, id: Math.floor(Math.random() * 1e9) }
    single.gitHub.expiresIn = expiresIn
  })

  const refuse = () => {
    single.gitHub.tokens.clear()
    single.gitHub.refreshTokens.clear()
  }

  test('loses access in all apps, and has it again after a sign-in', async () => {
    const [one, two] = [await single.signIn(new Browser()), await single.signIn(new Browser())]
    refuse()
    for (const { client, tokens } of [one, two, two])
      expect(await refresh(single, client, tokens)).toMatchObject(refused)
    const again = await single.signIn(new Browser())
    expect(await refresh(single, again.client, again.tokens)).toMatchObject({ status: 200 })
  })

  test('loses access when a handler noticed it first', async () => {
    const { client, tokens } = await single.signIn(new Browser())
    refuse()
    expect(await single.call(tokens.access_token, 'renew')).toContain('has to connect GitHub')
    expect(await refresh(single, client, tokens)).toMatchObject(refused)
  })
})

test.each([{ expiresIn: undefined }, { expiresIn: 3600 }, { expiresIn: 30 }])(
  'a user who signed in again keeps the access when the provider refuses tokens that were connected before: they expire in $expiresIn',
  async ({ expiresIn }) => {
    const { gitHub } = single
    gitHub.account = { ...ada, id: Math.floor(Math.random() * 1e9) }
    gitHub.expiresIn = expiresIn
    const browser = new Browser()
    const one = await single.signIn(browser)
    await browser.connect(single.at('/oauth/link/github?scope=gist+repo'))
    const connected = [...gitHub.tokens.keys(), ...gitHub.refreshTokens.keys()]
    const two = await single.signIn(browser)
    for (const token of connected) for (const kind of [gitHub.tokens, gitHub.refreshTokens]) kind.delete(token)
    gitHub.expiresIn = 3600
    for (const { client, tokens } of [one, two]) {
      expect(await refresh(single, client, tokens)).toMatchObject({ status: 200 })
    }
    expect(gitHub.tokens.has((await single.call(two.tokens.access_token, 'starred')).slice(4))).toBe(true)
    expect(await single.call(two.tokens.access_token, 'push')).toContain('/oauth/link/github?scope=gist+repo')
  },
)

test('a refresh token that a call has replaced meanwhile is not sent again', async () => {
  const { gitHub } = single
  gitHub.account = { ...ada, id: Math.floor(Math.random() * 1e9) }
  gitHub.expiresIn = 3600
  const { client, tokens } = await single.signIn(new Browser())
  const refreshed = gitHub.refreshed.length
  const asked = Promise.withResolvers<void>()
  const answer = Promise.withResolvers<Response>()
  gitHub.answers.set('/api/v3/user', () => {
    gitHub.answers.clear()
    asked.resolve()
    return answer.promise
  })
  const refreshing = refresh(single, client, tokens)
  await asked.promise
  expect(await single.call(tokens.access_token, 'renew')).toContain('200 gho_')
  answer.resolve(new Response(null, { status: 401 }))
  expect(await refreshing).toMatchObject({ status: 200 })
  expect(gitHub.refreshed.length - refreshed).toBe(1)
})

describe('a GitHub that answers the request for email addresses', () => {
  test.each<[string, ResponseInit]>([
    ['with status 503', { status: 503 }],
    ['with status 429', { status: 429 }],
    ['that the rate limit is exceeded', { status: 403, headers: { 'X-RateLimit-Remaining': '0' } }],
    ['that a secondary rate limit is exceeded', { status: 403, headers: { 'Retry-After': '60' } }],
  ])('%s ends nothing', async (_, init) => {
    const { client, tokens } = await single.signIn(new Browser())
    single.gitHub.answers.set('/api/v3/user/emails', () => new Response(null, init))
    expect(await refresh(single, client, tokens)).toMatchObject({ status: 503, error: 'temporarily_unavailable' })
    single.gitHub.answers.clear()
    expect(await refresh(single, client, tokens)).toMatchObject({ status: 200 })
  })

  test.each([403, 404])('with status %i names a user without one', async (status) => {
    single.gitHub.answers.set('/api/v3/user/emails', () => new Response(null, { status }))
    const { client, tokens } = await single.signIn(new Browser())
    expect(await refresh(single, client, tokens)).toMatchObject({ status: 200 })
  })
})
