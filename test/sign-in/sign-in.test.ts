/** `signIn()`: published clients whose users sign in with an identity provider. */
import { extractWWWAuthenticateParams } from '@modelcontextprotocol/client'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { Browser } from '../../worker/testing/provider/browser.ts'
import { Journal } from '../auth/flow/journal.ts'
import { askAgain, type Published, published } from '../auth/flow/programs.ts'
import { Wallet } from '../auth/flow/wallet.ts'
import { Stage } from './attacks/stage.ts'
import { seen, type Tokens } from './client.ts'

const ada = { id: 1815, login: 'ada', name: 'Ada Lovelace' }

let choice: Stage
let single: Stage
beforeAll(async () => {
  ;[choice, single] = await Promise.all([Stage.start(), Stage.start({ CASE: 'single' })])
})
afterEach(() => {
  for (const { gitHub, work } of [choice, single]) {
    Object.assign(gitHub, { account: ada, declines: false })
    work.account = { id: 7, login: 'grace', name: 'Grace Hopper' }
  }
})
afterAll(async () => {
  await choice?.[Symbol.asyncDispose]()
  await single?.[Symbol.asyncDispose]()
})

/** A published client whose user has signed in. */
async function signedIn({ start }: Published, browser = new Browser(), decision = 'github', scopes?: string[]) {
  const wallet = new Wallet()
  const journal = new Journal()
  const program = start(choice.server, wallet, journal)
  await expect(program.connect()).rejects.toThrow('Unauthorized')
  await program.finish(await browser.authorize(wallet.sentTo as URL, { decision, ...(scopes && { scopes }) }))
  await program.connect()
  return { program, wallet, journal, browser }
}

describe.each(published)('$name', (client) => {
  test('signs in with GitHub after a 401, calls a tool as its user, and refreshes an expired token', async () => {
    const { program, wallet, journal, browser } = await signedIn(client)
    const { origin } = choice.server
    expect(browser.pages[0]).toContain('Allow, and sign in with GitHub')
    expect(JSON.parse(await program.call('whoami'))).toMatchObject({
      issuer: origin,
      subject: 'github.1815',
      claims: {
        preferred_username: 'ada',
        name: 'Ada Lovelace',
        email: 'ada@example.com',
        email_verified: true,
        provider: 'github',
      },
    })
    expect(journal.take(origin).lines).toEqual(
      expect.arrayContaining(['POST /oauth/register 201', 'POST /oauth/token authorization_code 200']),
    )
    const refreshToken = wallet.held?.refresh_token
    wallet.held = { ...wallet.held, access_token: 'expired', token_type: 'bearer' }
    expect(JSON.parse(await program.call('whoami')).subject).toBe('github.1815')
    expect(journal.take(origin).lines).toContain('POST /oauth/token refresh_token 200')
    expect(wallet.held?.refresh_token).not.toBe(refreshToken)
    await program.close()
  })

  test('gets more scopes when a tool needs them, and the user allows it', async () => {
    const { program, wallet, journal, browser } = await signedIn(client, new Browser(), 'github', ['notes:read'])
    expect(wallet.held?.scope).toBe('notes:read')
    journal.take(choice.server.origin)
    const refused = program.call('write')
    if (client.stepsUp === 'by itself') await expect(refused).rejects.toThrow('Unauthorized')
    else {
      await expect(refused).rejects.toMatchObject({ code: 403 })
      const { entries } = journal.take(choice.server.origin)
      const challenge = entries.find(({ status }) => status === 403)?.challenge as string
      const headers = { 'WWW-Authenticate': challenge }
      const { scope } = extractWWWAuthenticateParams(new Response(null, { headers }))
      wallet.invalidateCredentials('tokens')
      expect(await askAgain(choice.server, wallet, scope as string, journal)).toBe('REDIRECT')
    }
    const params = await browser.authorize(wallet.sentTo as URL, { decision: 'github' })
    await program.finish(params)
    expect(await program.call('write')).toBe('written')
    expect(await program.call('whoami')).toContain('"subject":"github.1815"')
    await program.close()
  })

  test('hears that its user denied access on the consent page', async () => {
    const wallet = new Wallet()
    const program = client.start(choice.server, wallet, new Journal())
    await expect(program.connect()).rejects.toThrow('Unauthorized')
    const params = await new Browser().authorize(wallet.sentTo as URL, { decision: 'deny' })
    expect(Object.fromEntries(params)).toMatchObject({ error: 'access_denied', iss: choice.server.origin })
    await expect(program.connect()).rejects.toThrow('Unauthorized')
  })
})

/** What a client receives for its user: the principal, or the error. */
async function principal(stage: Stage, browser: Browser, decision: string, scopes?: string[]) {
  const asked = stage.ask(await stage.registered())
  const params = await browser.authorize(asked.url, { decision, ...(scopes && { scopes }) })
  const code = params.get('code')
  if (code === null) return { error: params.get('error'), text: params.get('error_description') }
  const tokens = (await (await stage.token(stage.codeForm(asked, code))).json()) as { access_token: string }
  return JSON.parse((await stage.call(tokens.access_token)).slice(4))
}

describe('a user', () => {
  test('chooses between providers, and is another user with each', async () => {
    expect(await principal(choice, new Browser(), 'github')).toMatchObject({ subject: 'github.1815' })
    expect(await principal(choice, new Browser(), 'work')).toMatchObject({
      subject: 'work.7',
      claims: { provider: 'work' },
    })
  })

  test('who denies access at the provider is sent back to the client', async () => {
    choice.gitHub.declines = true
    expect(await principal(choice, new Browser(), 'github')).toEqual({
      error: 'access_denied',
      text: 'You did not allow GitHub to sign you in.',
    })
  })

  test('whom `allow` refuses reads its reason', async () => {
    choice.gitHub.account = { id: 2, login: 'mallory', name: null }
    expect(await principal(choice, new Browser(), 'github')).toEqual({
      error: 'access_denied',
      text: 'Mallory may not sign in.',
    })
    for (const login of ['trudy', 'nobody']) {
      choice.gitHub.account = { id: 3, login, name: null }
      expect(await principal(choice, new Browser(), 'github')).toEqual({
        error: 'access_denied',
        text: 'You do not have access to this server.',
      })
    }
  })

  test('gets the scopes that `grantScopes` leaves of those that were approved', async () => {
    single.gitHub.account = { id: 4, login: 'guest', name: null }
    expect(await principal(single, new Browser(), 'github')).toMatchObject({ scopes: ['notes:read'] })
  })

  test('gives a client the scopes that are ticked', async () => {
    expect(await principal(choice, new Browser(), 'github', ['notes:read'])).toMatchObject({ scopes: ['notes:read'] })
  })

  test('is offered all scopes when the client names none', async () => {
    const { page } = await choice.consent({ scope: undefined })
    expect([...page.matchAll(/name="scope" value="([^"]+)"/g)].map(([, scope]) => scope)).toEqual([
      'notes:read',
      'notes:write',
    ])
  })

  test('reads the descriptions of scopes', async () => {
    const { page } = await choice.consent({ scope: 'notes:read notes:write' })
    const labels = [...page.matchAll(/<label>.*?> (.*?)<\/label>/g)].map(([, label]) => label)
    expect(labels).toEqual(['<code>notes:read</code>', 'Change &#38; delete your notes <code>notes:write</code>'])
  })

  test.each(['offline_access', ''])('is offered all scopes when the client asks for "%s"', async (scope) => {
    expect((await choice.consent({ scope })).page).toContain('value="notes:write"')
  })

  test('and another user in another browser are two users', async () => {
    const browsers = [new Browser(), new Browser()] as const
    const asked = await Promise.all(browsers.map(async () => choice.ask(await choice.registered())))
    const codes: string[] = []
    for (const [index, account] of [ada, { id: 5, login: 'bob', name: 'Bob' }].entries()) {
      choice.gitHub.account = account
      codes.push(await choice.code(asked[index] as (typeof asked)[0], browsers[index]))
    }
    const subjects = await Promise.all(
      codes.map(async (code, index) => {
        const response = await choice.token(choice.codeForm(asked[index] as (typeof asked)[0], code))
        const { access_token } = (await response.json()) as { access_token: string }
        return JSON.parse((await choice.call(access_token)).slice(4)).subject
      }),
    )
    expect(subjects).toEqual(['github.1815', 'github.5'])
  })

  test('may sign in to two clients in two tabs of one browser at the same time', async () => {
    const browser = new Browser()
    const first = await choice.consent({}, browser)
    const second = await choice.consent({}, browser)
    for (const { form, asked } of [second, first]) {
      const toProvider = (await choice.decide(browser, form)).headers.get('Location') as string
      const back = (await browser.visit(new URL(toProvider))).headers.get('Location') as string
      const location = (await browser.visit(new URL(back))).headers.get('Location') as string
      const code = new URL(location).searchParams.get('code') as string
      expect((await choice.token(choice.codeForm(asked, code))).status).toBe(200)
    }
  })
})

test.each([
  ['consent pages', 'consent', () => choice],
  ['visits to a provider', 'upstream', () => single],
])('a browser holds the cookies of the last 20 %s, and the last one works', async (_, kind, stage) => {
  const browser = new Browser()
  const client = await stage().registered()
  // The second server remembers it.
  await stage().code(stage().ask(client), browser)
  for (let count = 0; count < 25; count++) await browser.visit(stage().ask(client).url)
  const cookies = () => [...browser.cookiesOf(stage().server.origin).keys()]
  expect(cookies().filter((name) => name.includes(kind))).toHaveLength(20)
  expect(await stage().code(stage().ask(client), browser)).toBeTruthy()
})

describe('a consent', () => {
  /** The number of pages that the browser shows. */
  async function pagesFor(browser: Browser, url: URL): Promise<number> {
    browser.pages.length = 0
    await browser.authorize(url, { decision: 'github' })
    return browser.pages.length
  }

  test('is remembered in the browser, with one provider', async () => {
    const browser = new Browser()
    const client = await single.registered()
    expect(await pagesFor(browser, single.ask(client).url)).toBe(1)
    expect(await pagesFor(browser, single.ask(client).url)).toBe(0)
    expect(await pagesFor(browser, single.ask(client, { scope: 'notes:read' }).url)).toBe(0)
    expect(await pagesFor(new Browser(), single.ask(client).url)).toBe(1)
    expect(await pagesFor(browser, single.ask(await single.registered()).url)).toBe(1)
    const { url } = single.ask(client, { redirect_uri: 'http://127.0.0.1:10/callback' })
    expect(await pagesFor(browser, url)).toBe(1)
  })

  test('that is remembered ends no access, because the client has proven nothing yet', async () => {
    const browser = new Browser()
    const client = await single.registered()
    const asked = single.ask(client)
    const code = await single.code(asked, browser)
    const tokens: Tokens = await (await single.token(single.codeForm(asked, code))).json()
    expect(await pagesFor(browser, single.ask(client).url)).toBe(0)
    expect(await single.call(tokens.access_token)).toMatch(/^200/)
    expect((await single.token(single.refreshForm(client, tokens.refresh_token))).status).toBe(200)
  })

  test('of one user of a browser is none of another', async () => {
    const browser = new Browser()
    const client = await single.registered()
    for (const [account, pages] of [
      [ada, [1, 0]],
      [{ id: 5, login: 'bob', name: 'Bob' }, [1, 0]],
      [ada, [0]],
    ] as const) {
      single.gitHub.account = account
      for (const shown of pages)
        expect([account.login, await pagesFor(browser, single.ask(client).url)]).toEqual([account.login, shown])
    }
  })

  test('is asked for again when the client sends prompt=consent', async () => {
    const browser = new Browser()
    const client = await single.registered()
    await pagesFor(browser, single.ask(client).url)
    expect(await pagesFor(browser, single.ask(client, { prompt: 'consent' }).url)).toBe(1)
  })

  test('lets errors of requests lead to the client, which is else a link on a page that names its host', async () => {
    const redirect_uri = 'https://phish.example/login'
    const client = await single.registered({ redirect_uris: [redirect_uri] })
    const wrong = { redirect_uri, response_type: 'token', state: '"><script>' }
    const error = 'https://phish.example/login error=unsupported_response_type error_description iss state'
    const browser = new Browser()
    const visited = async (changes: Record<string, string | undefined>) =>
      seen(await browser.visit(single.ask(client, changes).url))
    const page = await (await browser.visit(single.ask(client, wrong).url)).text()
    expect(page).toContain('<strong>phish.example</strong>')
    expect(page).not.toContain('<script>')
    expect(await visited(wrong)).toBe(`400 page to ${error}`)
    expect(await visited({ ...wrong, response_type: 'code', scope: 'admin' })).toContain('400 page to')
    await pagesFor(browser, single.ask(client, { redirect_uri }).url)
    expect(await visited(wrong)).toBe(`302 ${error}`)
    // Other redirect URIs of the client, and other clients, were not approved.
    const other = await single.registered({ redirect_uris: [redirect_uri] })
    expect(await seen(await browser.visit(single.ask(other, wrong).url))).toBe(`400 page to ${error}`)
  })

  test('is not asked for without PKCE, also for a client with a secret', async () => {
    const client = await single.registered({ token_endpoint_auth_method: 'client_secret_basic' })
    const { url } = single.ask(client, { code_challenge: undefined, code_challenge_method: undefined })
    expect(await seen(await fetch(url, { redirect: 'manual' }))).toBe(
      '400 page to http://127.0.0.1/callback error=invalid_request error_description iss state',
    )
  })

  test('for fewer scopes is not one for more', async () => {
    const browser = new Browser()
    const client = await single.registered()
    await browser.authorize(single.ask(client).url, { decision: 'github', scopes: ['notes:read'] })
    expect(await pagesFor(browser, single.ask(client).url)).toBe(1)
    expect(await pagesFor(browser, single.ask(client).url)).toBe(0)
  })

  test('is asked for each time with several providers', async () => {
    const browser = new Browser()
    const client = await choice.registered()
    expect(await pagesFor(browser, choice.ask(client).url)).toBe(1)
    expect(await pagesFor(browser, choice.ask(client).url)).toBe(1)
  })

  test('whose cookie was changed is asked for again', async () => {
    const browser = new Browser()
    const client = await single.registered()
    await pagesFor(browser, single.ask(client).url)
    const cookies = browser.cookiesOf(single.server.origin)
    for (const [name, value] of cookies) if (name.endsWith('approvals')) cookies.set(name, `${value.slice(0, -2)}AA`)
    expect(await pagesFor(browser, single.ask(client).url)).toBe(1)
  })

  test('that denied access is not remembered', async () => {
    const browser = new Browser()
    const client = await single.registered()
    await browser.authorize(single.ask(client).url, { decision: 'deny' })
    expect(await pagesFor(browser, single.ask(client).url)).toBe(1)
  })
})
