/** `grants()` and `signOut()` of `signIn()`: an operator lists and ends the access of a user. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Browser, formOf } from '../../worker/testing/provider/browser.ts'
import { Stage } from './attacks/stage.ts'
import { seen } from './client.ts'

let stage: Stage
beforeAll(async () => {
  stage = await Stage.start({ CASE: 'uncached' })
})
afterAll(() => stage?.[Symbol.asyncDispose]())

async function operate(action: 'grants' | 'signOut' | 'advance', user: unknown, of = stage): Promise<unknown> {
  const response = await fetch(of.at(`/operator?do=${action}`), { method: 'POST', body: JSON.stringify(user) })
  return response.json()
}

const ada = () => ({ issuer: stage.server.origin, subject: 'github.1815' })

test('lists the access of a user, and ends all of it', async () => {
  const browser = new Browser()
  const [first, second] = [await stage.signIn(browser), await stage.signIn(browser)]
  stage.gitHub.account = { id: 1906, login: 'grace', name: 'Grace' }
  const grace = await stage.signIn(new Browser())
  const principal = JSON.parse((await stage.call(first.tokens.access_token)).slice('200 '.length))
  const listed = (await operate('grants', principal)) as { clientId: string }[]
  expect(listed.sort((one, other) => one.clientId.localeCompare(other.clientId))).toEqual(
    [first.client.id, second.client.id]
      .sort((one, other) => one.localeCompare(other))
      .map((clientId) => ({
        id: expect.any(String),
        clientId,
        scopes: ['notes:read', 'notes:write'],
        createdAt: expect.any(Number),
        expiresAt: expect.any(Number),
      })),
  )
  expect(await operate('signOut', principal)).toBe(2)
  for (const { client, tokens } of [first, second]) {
    expect(await stage.call(tokens.access_token)).toContain('401')
    expect(await seen(await stage.token(stage.refreshForm(client, tokens.refresh_token)))).toBe('400 invalid_grant')
  }
  expect(await operate('grants', ada())).toEqual([])
  expect(await operate('signOut', ada())).toBe(0)
  expect(await stage.call(grace.tokens.access_token)).toContain('"subject":"github.1906"')
  // The browser remembers the approval of the app, and its user is asked nevertheless.
  stage.gitHub.account = { id: 1815, login: 'ada', name: 'Ada Lovelace' }
  const pages = browser.pages.length
  await stage.code(stage.ask(first.client), browser)
  expect(browser.pages.length).toBeGreaterThan(pages)
})

test.each([
  [
    'github.1815',
    'The issuer of a user must be the origin of the Worker, such as "https://mcp.example.com", not undefined: pass ctx.principal, { issuer, subject }, or the subject alone if signIn() has the option origin',
  ],
  [
    { issuer: 'https://mcp.example.com/', subject: 'github.1815' },
    'The issuer of a user must be the origin of the Worker, such as "https://mcp.example.com", not "https://mcp.example.com/": pass ctx.principal, { issuer, subject }, or the subject alone if signIn() has the option origin',
  ],
  [
    { issuer: 'https://mcp.example.com', subject: 'auth0.auth0|123' },
    'The subject "auth0.auth0|123" names no user: pass ctx.principal, or its subject',
  ],
  [{}, 'The subject undefined names no user: pass ctx.principal, or its subject'],
  [
    { issuer: 'https://mcp.example.com', subject: 'a:b' },
    'The subject "a:b" names no user: pass ctx.principal, or its subject',
  ],
])('refuses %j', async (user, message) => {
  expect(await operate('signOut', user)).toEqual({ message })
})

test.each(['banned', 'unlucky'])(
  'allow may end all access of the user whose refresh it decides about: %s',
  async (login) => {
    await using banning = await Stage.start({ CASE: 'banning' })
    const account = { id: 1815, login: 'ada', name: banning.server.origin }
    banning.gitHub.account = account
    const { client, tokens } = await banning.signIn(new Browser())
    expect(await banning.call(tokens.access_token)).toContain('200')
    banning.gitHub.account = Object.assign(account, { login })
    const refresh = banning.refreshForm(client, tokens.refresh_token)
    expect(await seen(await banning.token(refresh))).toBe('400 invalid_grant')
    expect(await banning.call(tokens.access_token)).toContain('401')
    const user = { issuer: banning.server.origin, subject: 'github.1815' }
    expect(await operate('grants', user, banning)).toEqual([])
    expect(await seen(await banning.token(refresh))).toBe('400 invalid_grant')
  },
)

test('an approval that a browser remembers from before the end of access does not count after a new one', async () => {
  stage.gitHub.account = { id: 1842, login: 'ada', name: 'Ada' }
  const [one, two] = [new Browser(), new Browser()]
  const { client } = await stage.signIn(one)
  await stage.code(stage.ask(client), two)
  const user = { issuer: stage.server.origin, subject: 'github.1842' }
  expect(await operate('signOut', user)).toBe(1)
  await stage.code(stage.ask(client), one)
  for (const [browser, isAsked] of [
    [one, false],
    [two, true],
  ] as const) {
    const pages = browser.pages.length
    await stage.code(stage.ask(client), browser)
    expect(browser.pages.length > pages).toBe(isAsked)
  }
})

test.each([
  ['uncached', undefined],
  ['asking', undefined],
  ['engines', 'looms'],
] as const)('an approval from before the end of access creates no grant after it: %s, %s', async (name, tenant) => {
  await using own = await Stage.start({ CASE: name })
  own.gitHub.account = { id: 1815, login: 'ada', name: 'Ada', organizations: ['engines', 'looms'] }
  const browser = new Browser()
  const asked = own.ask(await own.registered())
  const params = await browser.authorize(asked.url, { decision: 'github', tenant })
  await own.token(own.codeForm(asked, params.get('code') ?? ''))
  // Another tab of the browser waits at the provider, or on the page that asks for the tenant.
  const { url } = await own.callback({ client_id: asked.client.id, prompt: 'consent' }, browser)
  const page = tenant && (await (await browser.visit(url)).text())
  const user = { issuer: own.server.origin, subject: 'github.1815' }
  expect(await operate('signOut', user, own)).toBe(1)
  const ended = page ? await own.decide(browser, formOf(page, { tenant })) : await browser.visit(url)
  expect(await seen(ended)).toMatch(/^302 http:.*\/authorize client_id .* prompt /)
  expect(await operate('grants', user, own)).toEqual([])
  // A new approval counts.
  const again = await browser.authorize(new URL(ended.headers.get('Location') ?? ''), { decision: 'github', tenant })
  expect(again.get('code')).not.toBeNull()
  expect(await operate('grants', user, own)).toHaveLength(1)
})

describe('an app that is new gets no access', () => {
  /** Opens the page that asks for the tenant. */
  async function opened() {
    const stage = await Stage.start({ CASE: 'engines' })
    stage.gitHub.account = { id: 1815, login: 'ada', name: 'Ada', organizations: ['engines', 'looms'] }
    const { asked, browser, url } = await stage.callback()
    const page = await (await browser.visit(url)).text()
    const user = { issuer: stage.server.origin, subject: 'github.1815' }
    return { stage, asked, user, choose: () => stage.decide(browser, formOf(page, { tenant: 'engines' })) }
  }

  test('by a choice of the tenant from before the end of access', async () => {
    const { stage, user, choose } = await opened()
    await using _ = stage
    expect(await operate('signOut', user, stage)).toBe(0)
    expect(await seen(await choose())).toMatch(/^302 http:.*\/authorize client_id .* prompt /)
    expect(await operate('grants', user, stage)).toEqual([])
  })

  test('by a choice of the tenant two minutes after the provider was asked', async () => {
    const { stage, user, choose } = await opened()
    await using _ = stage
    await operate('advance', 121_000, stage)
    expect(await seen(await choose())).toMatch(/^302 http:.*\/authorize client_id .* prompt /)
    expect(await operate('grants', user, stage)).toEqual([])
  })

  test('by a sign-in that runs tenant() during signOut()', async () => {
    await using looking = await Stage.start({ CASE: 'looking' })
    looking.gitHub.account = { id: 5, login: 'ada', name: 'Ada', claims: { org_id: 'acme' } }
    const asks = looking.gitHub.hold('/tenant')
    const browser = new Browser()
    const asked = looking.ask(await looking.registered())
    const signedIn = browser.authorize(asked.url, { decision: 'oidc' })
    await asks.arrived
    const user = { issuer: looking.server.origin, subject: 'oidc.5' }
    expect(await operate('signOut', user, looking)).toBe(0)
    asks.release()
    expect(Object.fromEntries(await signedIn)).toMatchObject({ error: 'access_denied' })
    expect(await operate('grants', user, looking)).toEqual([])
  })

  test('by a sign-in that waits at the provider', async () => {
    stage.gitHub.account = { id: 1851, login: 'ada', name: 'Ada' }
    const { asked, browser, url } = await stage.callback()
    const user = { issuer: stage.server.origin, subject: 'github.1851' }
    await operate('signOut', user)
    expect(await seen(await browser.visit(url))).toMatch(/^302 http:.*\/authorize client_id .* prompt /)
    expect(await operate('grants', user)).toEqual([])
    // A new approval counts.
    const again = await browser.authorize(new URL(asked.url), { decision: 'github' })
    expect(again.get('code')).not.toBeNull()
  })

  test('by an approval that the browser remembers, also if it has none', async () => {
    stage.gitHub.account = { id: 1852, login: 'ada', name: 'Ada' }
    const browser = new Browser()
    const { client, tokens } = await stage.signIn(browser)
    await stage.token({ token: tokens.refresh_token, client_id: client.id })
    await operate('signOut', { issuer: stage.server.origin, subject: 'github.1852' })
    await operate('advance', 60 * 60_000)
    const pages = browser.pages.length
    await stage.code(stage.ask(client), browser)
    expect(browser.pages.length).toBeGreaterThan(pages)
  })
})

describe('after the end of access, a page of this server from before', () => {
  const eve = { id: 666, login: 'eve', name: 'Eve' }

  test('shows and ends no access of its user', async () => {
    await using own = await Stage.start({ CASE: 'uncached' })
    own.gitHub.account = { id: 1815, login: 'ada', name: 'Ada' }
    await own.signIn(new Browser())
    const browser = new Browser()
    await browser.open(own.at('/oauth/account'))
    expect(await browser.open(own.at('/oauth/account'))).toContain('End access')
    await operate('signOut', { issuer: own.server.origin, subject: 'github.1815' }, own)
    const { tokens } = await own.signIn(new Browser())
    const [, grant = ''] = tokens.refresh_token.split(':')
    own.gitHub.account = eve
    expect(await browser.open(own.at('/oauth/account'))).not.toContain('End access')
    await browser.visit(own.at('/oauth/account'), new URLSearchParams({ grant }))
    expect(await own.call(tokens.access_token)).toContain('200')
  })

  test('connects no provider', async () => {
    await using own = await Stage.start({ CASE: 'connecting' })
    own.gitHub.account = { id: 1815, login: 'ada', name: 'Ada' }
    own.work.account = eve
    await own.signIn(new Browser())
    const browser = new Browser()
    const pressed = await browser.press(own.at('/oauth/link/work?with=github'))
    const toGitHub = new URL(pressed.headers.get('Location') ?? '')
    const toWork = await next(browser, await next(browser, toGitHub))
    await operate('signOut', { issuer: own.server.origin, subject: 'github.1815' }, own)
    const { tokens } = await own.signIn(new Browser())
    const finished = await browser.visit(await next(browser, toWork))
    expect([finished.status, await finished.text()]).toEqual([403, expect.stringContaining('Nothing was connected')])
    expect(await own.call(tokens.access_token, 'other')).toContain('The user has to connect')
  })
})

/** Opens a URL, and returns the one to which it leads. */
const next = async (browser: Browser, url: URL) => new URL((await browser.visit(url)).headers.get('Location') ?? '')
