/** Each function for an OpenID provider, with its addresses, claims and peculiarities. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { Browser, formOf } from '../../../worker/testing/provider/browser.ts'
import { startServer, type TestServer } from '../../support/server.ts'
import { RawClient, type Tokens } from '../client.ts'
import { type Description, type Json, StandIn } from './stand-in.ts'

type Row = {
  readonly name: string
  readonly description: Description
  /** Parameters of the authorization request. */
  readonly params: Json
  readonly principal: Json
  /** Whether the user info endpoint is asked. */
  readonly asksForMore: boolean
  /** Whether it issues a refresh token. */
  readonly refreshes: boolean
}

const ada = { name: 'Ada Lovelace', email: 'ada@example.com' }

const googleAt = {
  issuer: 'https://accounts.google.com',
  endpoints: {
    authorization: 'https://accounts.google.com/o/oauth2/v2/auth',
    token: 'https://oauth2.googleapis.com/token',
    userInfo: 'https://openidconnect.googleapis.com/v1/userinfo',
    revocation: 'https://oauth2.googleapis.com/revoke',
  },
  userInfo: {},
  grantedScope:
    'openid https://www.googleapis.com/auth/userinfo.email https://www.googleapis.com/auth/userinfo.profile',
}

const tid = '11111111-2222-3333-4444-aaaaaaaaaaaa'
const microsoft = `https://login.microsoftonline.com/${tid}`
const oktaAt = (base: string) => ({
  authorization: `${base}/v1/authorize`,
  token: `${base}/v1/token`,
  userInfo: `${base}/v1/userinfo`,
  revocation: `${base}/v1/revoke`,
})
/** When an access token is issued too, the ID token of Okta has a few claims only. */
const okta = {
  idToken: { sub: '00uid4BxXw6I6TV4m0g3', ver: 1, preferred_username: 'ada@example.com', idp: '00o', ...ada },
  userInfo: { ...ada, preferred_username: 'ada@example.com', email_verified: true, groups: ['Everyone', 'authors'] },
}
const access = 'https://example.cloudflareaccess.com/cdn-cgi/access/sso/oidc/edge'

const usual = { scope: 'openid profile email' }
const offline = { scope: 'openid profile email offline_access' }

const rows: readonly Row[] = [
  {
    name: 'google',
    description: {
      ...googleAt,
      idToken: {
        sub: '110169484474386276334',
        azp: 'edge',
        hd: 'example.com',
        at_hash: 'x',
        email_verified: true,
        ...ada,
      },
    },
    params: { ...usual, access_type: 'offline', prompt: 'consent' },
    principal: {
      subject: 'google.110169484474386276334',
      tenant: 'example.com',
      claims: { ...ada, email_verified: true },
    },
    asksForMore: false,
    refreshes: true,
  },
  {
    name: 'workspace',
    description: { ...googleAt, idToken: { sub: '2', hd: 'example.com', email_verified: true, ...ada } },
    params: { ...usual, access_type: 'offline', prompt: 'consent', hd: 'example.com' },
    principal: { subject: 'workspace.2', tenant: 'example.com' },
    asksForMore: false,
    refreshes: true,
  },
  {
    name: 'entra',
    description: {
      issuer: `${microsoft}/v2.0`,
      endpoints: {
        authorization: `${microsoft}/oauth2/v2.0/authorize`,
        token: `${microsoft}/oauth2/v2.0/token`,
        userInfo: 'https://graph.microsoft.com/oidc/userinfo',
      },
      idToken: {
        sub: 'AAAAAAAAAAAAAAAAAAAAAIkzqFVrSaSaFHy782bbtaQ',
        oid: '00000000-0000-0000-66f3-3332eca7ea81',
        tid,
        ver: '2.0',
        preferred_username: 'ada@example.com',
        groups: ['b2f1c0de-0000-4000-8000-000000000001'],
        ...ada,
      },
      userInfo: {},
      // Entra does not name offline_access.
      grantedScope: 'openid profile email',
    },
    params: offline,
    principal: {
      subject: 'entra.AAAAAAAAAAAAAAAAAAAAAIkzqFVrSaSaFHy782bbtaQ',
      tenant: tid,
      claims: { ...ada, preferred_username: 'ada@example.com', groups: ['b2f1c0de-0000-4000-8000-000000000001'] },
    },
    asksForMore: false,
    refreshes: true,
  },
  {
    name: 'okta',
    description: { issuer: 'https://example.okta.com', endpoints: oktaAt('https://example.okta.com/oauth2'), ...okta },
    params: offline,
    principal: {
      subject: 'okta.00uid4BxXw6I6TV4m0g3',
      claims: { ...ada, email_verified: true, groups: ['Everyone', 'authors'] },
    },
    asksForMore: true,
    refreshes: true,
  },
  {
    name: 'okta-custom',
    description: {
      issuer: 'https://example.okta.com/oauth2/default',
      endpoints: oktaAt('https://example.okta.com/oauth2/default'),
      ...okta,
    },
    params: offline,
    principal: { subject: 'okta-custom.00uid4BxXw6I6TV4m0g3', claims: { email_verified: true } },
    asksForMore: true,
    refreshes: true,
  },
  {
    name: 'auth0',
    description: {
      issuer: 'https://example.eu.auth0.com/',
      endpoints: {
        authorization: 'https://example.eu.auth0.com/authorize',
        token: 'https://example.eu.auth0.com/oauth/token',
        userInfo: 'https://example.eu.auth0.com/userinfo',
        revocation: 'https://example.eu.auth0.com/oauth/revoke',
      },
      idToken: {
        sub: 'google-oauth2|103547991597142817347',
        org_id: 'org_9ybsU1dN2dKfDkBi',
        nickname: 'ada',
        email_verified: true,
        'https://example.com/roles': ['authors'],
        ...ada,
      },
      userInfo: {},
    },
    params: offline,
    principal: {
      subject: 'auth0.google-oauth2~7C103547991597142817347',
      tenant: 'org_9ybsU1dN2dKfDkBi',
      claims: { ...ada, email_verified: true, groups: ['authors'] },
    },
    asksForMore: false,
    refreshes: true,
  },
  {
    name: 'workos',
    description: {
      issuer: 'https://example.authkit.app',
      endpoints: {
        authorization: 'https://example.authkit.app/oauth2/authorize',
        token: 'https://example.authkit.app/oauth2/token',
        userInfo: 'https://example.authkit.app/oauth2/userinfo',
      },
      idToken: { sub: 'user_01JQ0E27VT3MH79RY0FVA4QBP9', given_name: 'Ada', email_verified: true, ...ada },
      // The organization is in the access token only.
      accessToken: { sub: 'user_01JQ0E27VT3MH79RY0FVA4QBP9', aud: 'edge', org_id: 'org_01HRDMC6CM357W30QMHMQ96Q0S' },
      userInfo: {},
    },
    params: offline,
    principal: {
      subject: 'workos.user_01JQ0E27VT3MH79RY0FVA4QBP9',
      tenant: 'org_01HRDMC6CM357W30QMHMQ96Q0S',
      claims: { ...ada, email_verified: true },
    },
    asksForMore: false,
    refreshes: true,
  },
  {
    name: 'clerk',
    description: {
      issuer: 'https://clerk.example.com',
      endpoints: {
        authorization: 'https://clerk.example.com/oauth/authorize',
        token: 'https://clerk.example.com/oauth/token',
        userInfo: 'https://clerk.example.com/oauth/userinfo',
        revocation: 'https://clerk.example.com/oauth/token/revoke',
      },
      idToken: { sub: 'user_2O4BCh3zUONvWlZHtBXv6s6tm7u', org_id: 'org_1', email_verified: true, ...ada },
      userInfo: {},
    },
    params: usual,
    principal: { subject: 'clerk.user_2O4BCh3zUONvWlZHtBXv6s6tm7u', tenant: 'org_1', claims: ada },
    asksForMore: false,
    refreshes: false,
  },
  {
    name: 'cloudflare-access',
    description: {
      // Of each application.
      issuer: access,
      endpoints: {
        authorization: `${access}/authorization`,
        token: `${access}/token`,
        userInfo: `${access}/userinfo`,
      },
      idToken: { sub: '7335d417-61da-459d-899c-0a01c76a2f94', email: 'ada@example.com', groups: ['authors'] },
      userInfo: {},
    },
    params: usual,
    principal: {
      subject: 'cloudflare-access.7335d417-61da-459d-899c-0a01c76a2f94',
      claims: { email: 'ada@example.com', groups: ['authors'] },
    },
    asksForMore: false,
    refreshes: false,
  },
]

const standIns = new Map(rows.map(({ name, description }) => [name, new StandIn(description)]))
/** Several names may be of one provider: that of the test answers. */
let current: StandIn

let server: TestServer
let client: RawClient
beforeAll(async () => {
  server = await startServer('test/sign-in/openid-providers', {}, (request) => current.answer(request))
  client = new RawClient(server.url)
})
afterEach(() => {
  Object.assign(current, { claims: {}, expiresIn: 3600 })
  current.asked.length = 0
})
afterAll(() => server?.[Symbol.asyncDispose]())

/** Signs the user in with a provider: where it sent the browser, and what the client received. */
async function signIn(name: string) {
  current = standIns.get(name) as StandIn
  const browser = new Browser()
  const asked = client.ask(await client.registered(), { scope: undefined })
  const page = await (await browser.visit(asked.url)).text()
  const decided = await browser.visit(client.at('/authorize'), formOf(page, { decision: name }))
  const visited = new URL(decided.headers.get('Location') as string)
  const returned = await browser.visit(current.authorize(visited))
  const { searchParams } = new URL(returned.headers.get('Location') as string)
  return { asked, visited, searchParams }
}

async function tokensOf(name: string) {
  const { asked, visited, searchParams } = await signIn(name)
  expect(searchParams.get('error_description')).toBeNull()
  const response = await client.token(client.codeForm(asked, searchParams.get('code') ?? ''))
  const tokens = (await response.json()) as Tokens
  return { asked, visited, tokens }
}

const refused = async (name: string) => {
  const { searchParams } = await signIn(name)
  return `${searchParams.get('error')}: ${searchParams.get('error_description')}`
}

describe.each(rows)('$name', ({ name, description, params, principal, asksForMore, refreshes }) => {
  test('signs its user in, at its addresses and with its claims', async () => {
    const { visited, tokens } = await tokensOf(name)
    expect(`${visited.origin}${visited.pathname}`).toBe(description.endpoints.authorization)
    expect(Object.fromEntries(visited.searchParams)).toMatchObject({
      ...params,
      redirect_uri: `${server.url.origin}/oauth/callback/${name}`,
      nonce: expect.stringMatching(/.{20,}/),
    })
    const { claims = {}, ...members } = principal as { claims?: Json }
    const found = JSON.parse((await client.call(tokens.access_token)).slice(4))
    expect(found).toMatchObject(members)
    expect(found.claims).toMatchObject({ provider: name, ...claims })
    expect(current.asked.some((line) => line.includes(new URL(description.endpoints.userInfo).pathname))).toBe(
      asksForMore,
    )
  })

  test('refuses an ID token for another client, and one of another issuer', async () => {
    await signIn(name)
    for (const claims of [{ aud: 'other' }, { iss: 'https://evil.example' }, { iss: otherSlash(description.issuer) }]) {
      current.claims = claims
      expect(await refused(name)).toMatch(/^server_error: Signing in with .* failed$/)
    }
  })

  test.skipIf(!refreshes)('refreshes an expired token for its API', async () => {
    current = standIns.get(name) as StandIn
    current.expiresIn = 0
    const { tokens } = await tokensOf(name)
    current.expiresIn = 3600
    current.asked.length = 0
    expect(await client.call(tokens.access_token, 'token')).toMatch(/^200 (?:at-|ey)/)
    const { hostname, pathname } = new URL(description.endpoints.token)
    expect(current.asked).toEqual([`POST ${hostname}${pathname}`])
  })

  test.skipIf(!description.endpoints.revocation)(
    'is told when the last app of the user has no access any more',
    async () => {
      current = standIns.get(name) as StandIn
      // A user who has signed in to no other app.
      current.claims = { sub: 'grace' }
      const { asked, tokens } = await tokensOf(name)
      current.asked.length = 0
      const { hostname, pathname } = new URL(description.endpoints.revocation as string)
      const form = { token: tokens.refresh_token, client_id: asked.client.id }
      expect((await client.token(form)).status).toBe(200)
      await expect.poll(() => current.asked).toContain(`POST ${hostname}${pathname}`)
    },
  )
})

const otherSlash = (issuer: string) => (issuer.endsWith('/') ? issuer.slice(0, -1) : `${issuer}/`)

describe('google with domains', () => {
  test.each([{ hd: undefined }, { hd: 'evil.example' }, { hd: 'example.com.evil.example' }, { hd: ['example.com'] }])(
    'refuses an account whose domain is $hd, whatever its email address is',
    async (claims) => {
      await signIn('workspace')
      current.claims = claims
      expect(await refused('workspace')).toBe('access_denied: Sign in with an account of example.com.')
    },
  )
})

describe('entra', () => {
  test('refuses an account of another directory', async () => {
    await signIn('entra')
    const other = '99999999-2222-3333-4444-aaaaaaaaaaaa'
    current.claims = { tid: other, iss: `https://login.microsoftonline.com/${other}/v2.0` }
    expect(await refused('entra')).toBe('server_error: Signing in with Microsoft failed')
  })

  test('has no groups when there are too many for a token', async () => {
    await signIn('entra')
    current.claims = {
      groups: undefined,
      _claim_names: { groups: 'src1' },
      _claim_sources: { src1: { endpoint: 'x' } },
    }
    const { tokens } = await tokensOf('entra')
    expect(JSON.parse((await client.call(tokens.access_token)).slice(4)).claims).not.toHaveProperty('groups')
  })
})

test('cloudflareAccess refuses a token of another application', async () => {
  await signIn('cloudflare-access')
  current.claims = { iss: access.replace(/edge$/, 'other') }
  expect(await refused('cloudflare-access')).toBe('server_error: Signing in with Cloudflare Access failed')
})
