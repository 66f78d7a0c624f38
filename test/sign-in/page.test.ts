/** A client in a page of another origin: its user signs in with a provider of a third one, in a window. */
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Network } from '../auth/browser/network.ts'
import { type PageServer, servePage } from '../auth/browser/serve-page.ts'
import { found, launch, missing } from '../support/chromium.ts'
import { sample } from '../support/full.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { RawClient } from './client.ts'
import { GitHub } from './github.ts'
import { OpenId } from './openid.ts'

const patience = { timeout: 30_000 }

/** A server whose users sign in with a provider that asks them who they are. */
type Setting = { readonly server: TestServer; readonly stop: () => Promise<unknown> }

const withGitHub = async (PAGE: string): Promise<Setting> => {
  const gitHub = await GitHub.start()
  gitHub.signedIn = undefined
  const server = await startServer('test/sign-in/server', { CASE: 'single', GITHUB: gitHub.url, PAGE })
  return { server, stop: () => gitHub[Symbol.asyncDispose]() }
}

const withOpenId = async (PAGE: string): Promise<Setting> => {
  const openId = await OpenId.start()
  openId.asks = true
  const server = await startServer('test/sign-in/server', { CASE: 'openid', OPENID: openId.issuer, PAGE })
  await openId.serve(new URL('/oauth/callback/oidc', server.url).href)
  return { server, stop: () => openId[Symbol.asyncDispose]() }
}

const visits = [
  {
    provider: 'an OpenID provider',
    start: withOpenId,
    mode: { pin: '2026-07-28' },
    connects: ['POST /mcp server/discover 200'],
    subject: 'oidc.auth0~7C1815',
  },
  {
    provider: 'GitHub',
    start: withGitHub,
    mode: 'legacy',
    connects: ['POST /mcp initialize 200', 'POST /mcp notifications/initialized 202'],
    subject: /^github\.\d+$/,
  },
]

describe.skipIf(!found)(`a page in Chromium${missing}`, () => {
  let pages: PageServer
  let browser: Browser
  let home: string
  beforeAll(async () => {
    pages = await servePage(`${import.meta.dirname}/page`)
    // Another site than that of the server, so no cookie of the server is sent with its requests.
    home = `http://localhost:${pages.port}`
    browser = await launch(['--host-resolver-rules=MAP localhost 127.0.0.1'])
  })
  afterAll(async () => {
    await browser?.close()
    await pages?.[Symbol.asyncDispose]()
  })

  // In `npm test` one of them.
  describe.each(sample(visits, 2))('whose user signs in with $provider', ({ start, mode, connects, subject }) => {
    let setting: Setting
    let origin: string
    beforeAll(async () => {
      setting = await start(home)
      origin = setting.server.url.origin
    })
    afterAll(async () => {
      await setting?.server[Symbol.asyncDispose]()
      await setting?.stop()
    })

    const first = connects[0]?.replace(' 200', '')
    const shown = async (page: Page) => (await page.waitForSelector('output:not(:empty)')).textContent()

    /** Answers the consent page and the provider in the window that a click opens. Returns what the consent page says. */
    async function consent(page: Page, click: string, refused: readonly string[] = []): Promise<string> {
      const [popup] = await Promise.all([page.waitForEvent('popup'), page.click(click)])
      const closed = popup.waitForEvent('close')
      await popup.waitForURL(`${origin}/authorize**`)
      const text = await popup.innerText('body')
      for (const scope of refused) await popup.uncheck(`[value="${scope}"]`)
      await popup.click('button.allow')
      await signInAtProvider(popup, closed)
      await closed
      return text
    }

    const expire = (page: Page) =>
      page.evaluate(() => {
        const tokens = JSON.parse(sessionStorage.getItem('tokens') ?? '')
        sessionStorage.setItem('tokens', JSON.stringify({ ...tokens, access_token: 'expired' }))
      })

    /** A provider may know the user from before. */
    async function signInAtProvider(page: Page, done: Promise<unknown>): Promise<void> {
      const form = page.locator('form:has-text("Sign in") button, form button[name=login]')
      const isAsked = await Promise.race([done.then(() => false), form.waitFor().then(() => true)]).catch(() => false)
      if (isAsked) await form.click()
    }

    test('connects, signs in, gets more scopes, refreshes, and is signed out on the page of the account', async () => {
      pages.settings = { server: setting.server.url.href, mode }
      const context = await browser.newContext()
      try {
        const page = await context.newPage()
        const network = await Network.of(page)
        await page.goto(`${home}/`)
        await page.waitForSelector('body[data-ready]')

        const asked = await consent(page, '#read', ['notes:write'])
        expect(asked).toContain('Allow A page to use Notes for you?')
        expect(asked).toContain('localhost, a program on this computer')
        expect(JSON.parse((await shown(page)) ?? '')).toMatchObject({
          subject: expect.stringMatching(subject),
          scopes: ['notes:read'],
        })
        expect(network.requests(origin)).toEqual([
          `${first} 401`,
          'GET /.well-known/oauth-protected-resource/mcp 200',
          'GET /.well-known/oauth-authorization-server 200',
          'POST /oauth/register 201',
          'POST /oauth/token authorization_code 200',
          ...connects,
          'POST /mcp tools/call 200',
        ])
        await expect
          .poll(() => network.preflights(origin), patience)
          .toEqual([
            '/.well-known/oauth-authorization-server 204',
            '/.well-known/oauth-protected-resource/mcp 204',
            '/mcp 204',
            '/oauth/register 204',
          ])

        network.forget()
        expect(await consent(page, '#write')).toContain('notes:write')
        expect(await shown(page)).toBe('written')
        expect(network.requests(origin)).toEqual([
          ...connects,
          'POST /mcp tools/call 403',
          'POST /oauth/token authorization_code 200',
          ...connects,
          'POST /mcp tools/call 200',
        ])

        network.forget()
        await expire(page)
        await page.click('#write')
        expect(await shown(page)).toBe('written')
        expect(network.requests(origin)).toEqual([
          `${first} 401`,
          'POST /oauth/token refresh_token 200',
          ...connects,
          'POST /mcp tools/call 200',
        ])

        const account = await context.newPage()
        await account.goto(`${origin}/oauth/account`)
        const listed = account.locator('fieldset:has-text("A page")').waitFor()
        await signInAtProvider(account, listed)
        await listed
        expect(await account.innerText('fieldset')).toContain('notes:write')
        await account.click('fieldset:has-text("A page") button')
        await expect.poll(() => account.innerText('body'), patience).toContain('No app has access.')

        network.forget()
        // The server caches tokens for a minute.
        await expire(page)
        await consent(page, '#read')
        expect(await shown(page)).toContain('"subject"')
        expect(network.requests(origin).slice(0, 2)).toEqual([`${first} 401`, 'POST /oauth/token refresh_token 400'])

        network.forget()
        await page.click('#revoke')
        expect(await shown(page)).toBe('revoked 200')
        expect(network.requests(origin)).toContain('POST /oauth/token 200')
      } finally {
        await context.close()
      }
    })

    test.each(['button.allow', '[value=deny]'])('opens an app by its scheme, after a click on %s', async (button) => {
      const uri = 'cursor://anysphere.cursor-mcp/oauth/callback'
      const client = new RawClient(setting.server.url)
      const asked = client.ask(await client.registered({ redirect_uris: [uri] }), { redirect_uri: uri })
      const page = await browser.newPage()
      try {
        await page.goto(asked.url.href)
        expect(await page.innerText('body')).toContain(`Access is sent to ${uri}, a program on this computer`)
        const opened = page.waitForRequest((request) => request.url().startsWith(uri))
        await page.click(button)
        await signInAtProvider(page, opened)
        expect((await opened).url()).toMatch(button === 'button.allow' ? /[?&]code=/ : /[?&]error=access_denied/)
      } finally {
        await page.close()
      }
    })

    test('can read the challenge of a refused request, and errors of the token endpoint', async () => {
      const page = await browser.newPage()
      try {
        await page.goto(`${home}/`)
        const read = await page.evaluate(async (server) => {
          const refused = await fetch(server, { method: 'POST', headers: { 'Content-Type': 'application/json' } })
          const endpoint = new URL('/oauth/token', server)
          const body = new URLSearchParams({
            grant_type: 'refresh_token',
            client_id: 'unknown',
            refresh_token: 'a:b:c',
          })
          const unknown = await fetch(endpoint, { method: 'POST', body })
          const large = await fetch(endpoint, { method: 'POST', body: new URLSearchParams({ a: 'a'.repeat(70_000) }) })
          return [refused.headers.get('WWW-Authenticate'), (await unknown.json()).error, large.status]
        }, setting.server.url.href)
        expect(read).toEqual([
          expect.stringContaining(`resource_metadata="${origin}/.well-known/oauth-protected-resource/mcp"`),
          'invalid_client',
          413,
        ])
      } finally {
        await page.close()
      }
    })
  })
})
