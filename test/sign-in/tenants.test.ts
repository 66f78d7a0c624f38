/** A provider states one organization for each sign-in: its tokens are those of that organization. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Browser } from '../../worker/testing/provider/browser.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { RawClient, type Tokens } from './client.ts'
import { GitHub } from './github.ts'

let provider: GitHub
let server: TestServer
let raw: RawClient
beforeAll(async () => {
  provider = await GitHub.start()
  server = await startServer('test/sign-in/organizations', { GITHUB: provider.url })
  raw = new RawClient(server.url)
})
afterAll(async () => {
  await server?.[Symbol.asyncDispose]()
  await provider?.[Symbol.asyncDispose]()
})

let users = 0
/** Returns a function that changes the organization of a new user at the provider. */
function newUser(): (organization?: string) => void {
  const id = ++users
  return (organization) => {
    provider.account = {
      id,
      login: 'ada',
      name: 'Ada',
      claims: organization === undefined ? {} : { org_id: organization },
    }
  }
}

/** Signs the user in to an app of its own. */
async function signInToApp() {
  const client = await raw.registered()
  const asked = raw.ask(client)
  const browser = new Browser()
  const params = await browser.authorize(asked.url, { decision: 'oidc' })
  const response = await raw.token(raw.codeForm(asked, params.get('code') ?? ''))
  const tokens = (await response.json()) as Tokens & { expires_in: number }
  const call = async (tool: string) => (await raw.call(tokens.access_token, tool)).slice('200 '.length)
  return {
    browser,
    expiresIn: tokens.expires_in,
    tenant: () => call('tenant'),
    groups: async () => JSON.parse(await call('groups')),
    /** The organization of the token that `ctx.upstream()` returns. */
    async upstream() {
      const answer = await call('token')
      const owner = provider.tokens.get(answer)
      return owner ? (owner.claims?.org_id ?? 'none') : answer
    },
    async refresh() {
      const refreshed = await raw.token(raw.refreshForm(client, tokens.refresh_token))
      if (refreshed.status === 200) Object.assign(tokens, await refreshed.json())
      return refreshed
    },
  }
}

test.each([undefined, 3600])(
  'a sign-in for another organization keeps the tokens of the first, with tokens for %s s',
  async (expiresIn) => {
    provider.expiresIn = expiresIn
    const change = newUser()
    change('acme')
    const acme = await signInToApp()
    change('globex')
    const globex = await signInToApp()
    expect([await acme.tenant(), await globex.tenant()]).toEqual(['acme', 'globex'])
    expect([await acme.upstream(), await globex.upstream()]).toEqual(['acme', 'globex'])
    for (const app of [acme, globex]) expect((await app.refresh()).status).toBe(200)
    expect([await acme.upstream(), await globex.upstream()]).toEqual(['acme', 'globex'])
  },
)

test('the page that connects the provider refuses another organization, and ends no access', async () => {
  provider.expiresIn = 3600
  const change = newUser()
  change('acme')
  const acme = await signInToApp()
  change('globex')
  const link = new URL('/oauth/link/oidc?tenant=acme', server.url)
  expect(await acme.browser.connect(link)).toContain('for another organization than in your app')
  expect((await acme.refresh()).status).toBe(200)
  expect(await acme.upstream()).toBe('acme')
  change('acme')
  expect(await acme.browser.connect(link)).toContain('is connected')
  expect(await acme.upstream()).toBe('acme')
})

test('the page that connects the provider refuses an organization for an app that acts for none', async () => {
  provider.expiresIn = 3600
  const change = newUser()
  change()
  const app = await signInToApp()
  expect(await app.tenant()).toBe('none')
  change('globex')
  const link = new URL('/oauth/link/oidc', server.url)
  expect(await app.browser.connect(link)).toContain('for another organization than in your app')
  expect(await app.upstream()).toBe('none')
  expect((await app.refresh()).status).toBe(200)
  change()
  expect(await app.browser.connect(link)).toContain('is connected')
})

test.each([undefined, 3600])(
  'the last sign-in says who the user is, also where tokens with more scopes were connected before: %s s',
  async (expiresIn) => {
    provider.expiresIn = undefined
    // Tokens without a refresh token, which may end.
    provider.answers.set('/token', async (_, answer) =>
      Response.json({ ...((await (await answer()).json()) as object), expires_in: expiresIn }),
    )
    newUser()()
    provider.account.groups = ['admins']
    const one = await signInToApp()
    expect(await one.browser.connect(new URL('/oauth/link/oidc?scope=calendar', server.url))).toContain('is connected')
    provider.account.groups = ['readers']
    const two = await signInToApp()
    for (const app of [one, two]) {
      expect((await app.refresh()).status).toBe(200)
      expect(await app.groups()).toEqual(['readers'])
    }
    provider.answers.clear()
  },
)

test('an access token is valid for no longer than its grant', async () => {
  newUser()()
  expect((await signInToApp()).expiresIn).toBe(1800)
})
