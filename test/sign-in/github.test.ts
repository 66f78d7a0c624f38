/** `github()` with a GitHub that answers well, and badly. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { github } from '../../worker/plugins/sign-in/providers/github.ts'
import { Browser, formOf } from '../../worker/testing/provider/browser.ts'
import { logText } from '../support/server.ts'
import { Stage } from './attacks/stage.ts'
import { seen, type Tokens } from './client.ts'

const ada = { id: 1815, login: 'ada', name: 'Ada Lovelace', organizations: ['Engines'] }

let stage: Stage
beforeAll(async () => {
  stage = await Stage.start({ CASE: 'engines' })
})
afterEach(() => {
  stage.gitHub.answers.clear()
  stage.gitHub.account = ada
  stage.gitHub.declines = false
})
afterAll(() => stage?.[Symbol.asyncDispose]())

/** What the client receives: the principal, or the error. */
async function signIn(tenant?: string, browser = new Browser()) {
  const asked = stage.ask(await stage.registered())
  const params = await browser.authorize(asked.url, { decision: 'github', ...(tenant !== undefined && { tenant }) })
  const code = params.get('code')
  if (code === null) return { error: params.get('error'), text: params.get('error_description') }
  const response = await stage.token(stage.codeForm(asked, code))
  const { access_token } = (await response.json()) as { access_token: string }
  return JSON.parse((await stage.call(access_token)).slice(4))
}

const failed = { error: 'server_error', text: 'Signing in with GitHub failed' }

describe('a user', () => {
  test('of one of the organizations gets them as groups, whatever their case', async () => {
    expect(await signIn()).toMatchObject({ subject: 'github.1815', claims: { groups: ['engines'] } })
  })

  test('of more than 100 organizations gets one that comes late', async () => {
    stage.gitHub.account = {
      ...ada,
      organizations: [...Array.from({ length: 120 }, (_, at) => `other-${at}`), 'Engines'],
    }
    expect(await signIn()).toMatchObject({ claims: { groups: ['engines'] } })
  })

  test.each([{ organizations: [] }, { organizations: ['Other'] }, { organizations: ['engines2', 'xengines'] }])(
    'of the organizations $organizations has no access',
    async ({ organizations }) => {
      stage.gitHub.account = { ...ada, organizations }
      expect(await signIn()).toEqual({
        error: 'access_denied',
        text: 'You are not a member of engines or looms or guests on GitHub.',
      })
    },
  )

  test('without a name has the login as name', async () => {
    stage.gitHub.account = { ...ada, name: null }
    expect(await signIn()).toMatchObject({ claims: { name: 'ada' } })
  })

  test('whose email addresses may not be read signs in without one', async () => {
    stage.gitHub.answers.set('/api/v3/user/emails', () => Response.json({ message: 'Not Found' }, { status: 404 }))
    const { claims } = await signIn()
    expect(claims.preferred_username).toBe('ada')
    expect(claims).not.toHaveProperty('email')
  })

  test('without a primary email address signs in without one', async () => {
    const others = [{ email: 'a@example.com', primary: false, verified: true }]
    stage.gitHub.answers.set('/api/v3/user/emails', () => Response.json(others))
    expect((await signIn()).claims).not.toHaveProperty('email')
  })

  test('with an unverified email address is known to have one', async () => {
    const own = [{ email: 'a@example.com', primary: true, verified: false }]
    stage.gitHub.answers.set('/api/v3/user/emails', () => Response.json(own))
    expect((await signIn()).claims).toMatchObject({ email: 'a@example.com', email_verified: false })
  })

  test('who declines at GitHub is sent back with that reason', async () => {
    stage.gitHub.declines = true
    expect(await signIn()).toEqual({ error: 'access_denied', text: 'You did not allow GitHub to sign you in.' })
  })

  test('who has another login now is the same user', async () => {
    const { subject } = await signIn()
    stage.gitHub.account = { ...ada, login: 'countess' }
    expect((await signIn()).subject).toBe(subject)
  })
})

describe('tenants that `tenant` of signIn() returns', () => {
  const ofBoth = { ...ada, organizations: ['Engines', 'looms', 'Other'] }

  test('a user of one acts for it, without a question', async () => {
    const browser = new Browser()
    expect(await signIn(undefined, browser)).toMatchObject({ tenant: 'engines', claims: { tenant: 'engines' } })
    expect(browser.pages).toHaveLength(1)
  })

  test.each([
    ['engines', ['notes:read', 'notes:write']],
    ['looms', ['notes:read']],
  ])('a user of two chooses %s on a page, and grantScopes decides for it', async (tenant, scopes) => {
    stage.gitHub.account = ofBoth
    const browser = new Browser()
    const asked = stage.ask(await stage.registered())
    const params = await browser.authorize(asked.url, { decision: 'github', tenant })
    expect(browser.pages[1]).toContain('For which organization may <strong>A client</strong> act?')
    const response = await stage.token(stage.codeForm(asked, params.get('code') ?? ''))
    const { access_token, refresh_token } = (await response.json()) as Tokens
    const principal = { subject: 'github.1815', tenant, scopes }
    expect(JSON.parse((await stage.call(access_token)).slice(4))).toMatchObject(principal)
    const refreshed = await stage.token(stage.refreshForm(asked.client, refresh_token))
    const { access_token: next } = (await refreshed.json()) as Tokens
    expect(JSON.parse((await stage.call(next)).slice(4))).toMatchObject(principal)
  })

  test('a user of none is refused before a token is issued', async () => {
    stage.gitHub.account = { ...ada, organizations: ['guests'] }
    expect(await signIn()).toEqual({
      error: 'access_denied',
      text: 'Your account belongs to no organization that has access to this server.',
    })
  })

  /** Opens the page that asks for the organization. */
  async function choosing(browser = new Browser()) {
    stage.gitHub.account = ofBoth
    const { url, asked } = await stage.callback({}, browser)
    const response = await browser.visit(url)
    expect(response.headers.get('Content-Security-Policy')).toContain("frame-ancestors 'none'")
    const form = (tenant: string) => formOf(page, { decision: '', tenant })
    const page = await response.text()
    return { asked, browser, form }
  }

  test.each(['acme', 'guests', ''])('the choice %j, which the page did not offer, is refused', async (tenant) => {
    const { browser, form } = await choosing()
    const { searchParams } = new URL((await stage.decide(browser, form(tenant))).headers.get('Location') as string)
    expect([searchParams.get('error'), searchParams.get('error_description')]).toEqual([
      'access_denied',
      `Your account does not belong to the organization ${tenant}.`,
    ])
  })

  test('a choice is made once, in the browser of the user', async () => {
    const { browser, form } = await choosing()
    const other = await stage.decide(new Browser(), form('engines'))
    expect(await seen(other)).toMatch(/^400 page/)
    expect(await seen(await stage.decide(browser, form('engines')))).toMatch(/^302 .* code /)
    expect(await seen(await stage.decide(browser, form('looms')))).toMatch(/^400 page/)
  })

  test('the form of the consent page chooses no organization', async () => {
    const { browser, form } = await stage.consent()
    const forged = new URLSearchParams({ handle: form.get('handle') ?? '', tenant: 'engines' })
    expect(await seen(await stage.decide(browser, forged))).toBe('400 page: The form is of another page.')
  })

  test('a user who denies on the page is sent back with that reason', async () => {
    const { browser, form } = await choosing()
    const denied = new URLSearchParams({ handle: form('').get('handle') ?? '', decision: 'deny' })
    expect(await seen(await stage.decide(browser, denied))).toMatch(/error=access_denied/)
  })
})

describe('the token endpoint', () => {
  const path = '/login/oauth/access_token'
  test.each([
    { what: 'says that the code is bad, with status 200', status: 200, body: { error: 'bad_verification_code' } },
    {
      what: 'says that the secret is wrong, with status 200',
      status: 200,
      body: { error: 'incorrect_client_credentials' },
    },
    { what: 'answers without a token', status: 200, body: {} },
    { what: 'answers with an empty token', status: 200, body: { access_token: '', token_type: 'bearer' } },
    { what: 'fails', status: 500, body: {} },
  ])('$what: the client learns that it failed', async ({ status, body }) => {
    stage.gitHub.answers.set(path, () => Response.json(body, { status }))
    expect(await signIn()).toEqual(failed)
  })
})

describe('the API', () => {
  test.each([
    { what: 'answers with an object without a user', body: {} },
    { what: 'answers with null', body: null },
    { what: 'answers with a list', body: [] },
    { what: 'answers with a user whose id is null', body: { ...ada, id: null } },
    { what: 'answers with a user whose id is a text', body: { ...ada, id: '1815' } },
    { what: 'answers with a user whose id is 0', body: { ...ada, id: 0 } },
  ])('$what: nobody is signed in', async ({ body }) => {
    stage.gitHub.answers.set('/api/v3/user', () => Response.json(body))
    expect(await signIn()).toEqual(failed)
  })

  test.each([401, 403, 404, 429, 500, 503])(
    'answers with status %i: the client learns that it failed',
    async (status) => {
      stage.gitHub.answers.set('/api/v3/user', () => Response.json(ada, { status }))
      expect(await signIn()).toEqual(failed)
    },
  )

  test.each([{}, { message: 'x' }, null])('answers %j for the organizations: nobody is signed in', async (body) => {
    stage.gitHub.answers.set('/api/v3/user/orgs', () => Response.json(body))
    expect(await signIn()).toEqual(failed)
  })
})

test('the log says what was wrong with a token response, without its tokens', async () => {
  const secret = 'gho_8dd1b1f0c4b24f0e'
  const body = { access_token: secret, refresh_token: secret, token_type: 5 }
  stage.harness.clearLogs()
  stage.gitHub.answers.set('/login/oauth/access_token', () => Response.json(body))
  expect(await signIn()).toEqual(failed)
  const log = () => logText(stage)
  await expect.poll(log).toContain('GitHub sent an invalid answer')
  expect(log()).not.toContain(secret)
})

test.each([
  [{}, 'https://api.github.com/user'],
  [{ url: 'https://github.com' }, 'https://api.github.com/user'],
  [{ url: 'https://github.example.com' }, 'https://github.example.com/api/v3/user'],
  [{ url: 'https://github.example.com', apiUrl: 'https://api.example.com' }, 'https://api.example.com/user'],
])('with %j, the API is asked at %s', async (urls, expected) => {
  const requested: string[] = []
  const fetch = async (url: string) => {
    requested.push(url)
    return Response.json({ id: 1815, login: 'ada', name: null })
  }
  const provider = github({ clientId: 'a', clientSecret: 'b', fetch, ...urls })
  await provider.user?.({ accessToken: 't', scopes: [] }).catch(() => undefined)
  expect(requested[0]).toBe(expected)
})
