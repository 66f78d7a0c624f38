import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  type AuthorizationServer,
  newKey,
  startAuthorizationServer,
} from '../../examples/protected/auth-server/authorization-server.ts'
import { found, launch, missing } from '../support/chromium.ts'
import { sample } from '../support/full.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { Network } from './browser/network.ts'
import { type PageServer, servePage } from './browser/serve-page.ts'
import { expiringAt } from './flow/signing.ts'

/** The browser shows what it did a moment later than it did it. */
const patience = { timeout: 30_000 }

describe.skipIf(!found)(`a page in Chromium${missing}`, () => {
  let pages: PageServer
  let issuer: AuthorizationServer
  let server: TestServer
  let browser: Browser
  const key = newKey()

  beforeAll(async () => {
    pages = await servePage()
    const app = `http://app.example.com:${pages.port}`
    issuer = await startAuthorizationServer({ key: await key })
    server = await startServer('examples/protected', { ISSUER: issuer.issuer, APP: app })
    browser = await launch([
      '--host-resolver-rules=MAP *.example.com 127.0.0.1',
      // As if it were served over https, which it would be.
      `--unsafely-treat-insecure-origin-as-secure=${app}`,
    ])
  })
  afterAll(async () => {
    await browser?.close()
    await server?.[Symbol.asyncDispose]()
    await issuer?.[Symbol.asyncDispose]()
    await pages?.[Symbol.asyncDispose]()
  })

  async function open(host: string, mode: unknown = { pin: '2026-07-28' }): Promise<Opened> {
    pages.settings = { server: server.url.href, mode }
    const context = await browser.newContext()
    const page = await context.newPage()
    const network = await Network.of(page)
    await page.goto(`http://${host}:${pages.port}/`)
    await page.waitForSelector('body[data-ready]')
    const home = `http://${host}:${pages.port}/`
    const both = [server.url.origin, issuer.issuer]
    return {
      page,
      network,
      home,
      preflights: () => network.preflights(...both),
      requests: () => network.requests(...both),
      [Symbol.asyncDispose]: () => context.close(),
    }
  }

  const shown = async (page: Page) => (await page.waitForSelector('output:not(:empty)')).textContent()

  /** On the page that the authorization server shows. */
  async function answer({ page, home }: Opened, person: string | undefined, answer: 'yes' | 'no'): Promise<string> {
    await page.waitForURL(`${issuer.issuer}/**`)
    const asked = await page.innerText('body')
    if (person !== undefined) await page.fill('[name=person]', person)
    await page.click(`[value=${answer}]`)
    await page.waitForURL(`${home}**`)
    return asked
  }

  const clients = [
    { mode: { pin: '2026-07-28' }, connects: ['POST /mcp server/discover 200'] },
    { mode: 'legacy', connects: ['POST /mcp initialize 200', 'POST /mcp notifications/initialized 202'] },
  ] as const
  const hosts = ['127.0.0.1', 'app.example.com']

  // In `npm test` each host once and each client once.
  const visits = hosts.flatMap((host) => clients.map((client) => ({ host, ...client })))
  describe.each(sample(visits, 3))('of $host, whose client is $mode', ({ host, mode, connects }) => {
    const first = connects[0].replace(' 200', '')

    test('connects, reads, requests another scope, writes, and continues after its token expires', async () => {
      await using opened = await open(host, mode)
      const { page, network, preflights, requests } = opened

      await page.click('#read')
      await page.waitForURL(`${issuer.issuer}/**`)
      await expect
        .poll(requests)
        .toEqual([
          `${first} 401`,
          'GET /.well-known/oauth-protected-resource/mcp 200',
          'GET /.well-known/oauth-authorization-server 200',
          'POST /reg 201',
        ])
      await expect
        .poll(preflights)
        .toEqual([
          '/.well-known/oauth-authorization-server 204',
          '/.well-known/oauth-protected-resource/mcp 204',
          '/mcp 204',
          '/reg 204',
        ])

      network.forget()
      const asked = await answer(opened, 'grace', 'yes')
      expect(asked).toContain('notes:read')
      expect(asked).not.toContain('notes:write')
      expect(await shown(page)).toMatch(/^whoami read_note write_note: Reading requires the scope notes:read/)
      await expect
        .poll(requests)
        .toEqual([
          'POST /token authorization_code 200',
          ...connects,
          'POST /mcp tools/list 200',
          'POST /mcp tools/call 200',
        ])

      network.forget()
      await page.click('#write')
      await page.waitForURL(`${issuer.issuer}/**`)
      await expect
        .poll(requests, patience)
        .toEqual([...connects, 'POST /mcp tools/list 200', 'POST /mcp tools/call 403'])
      network.forget()
      expect(await answer(opened, undefined, 'yes')).toMatch(/notes:read\s+notes:write/)
      expect(await shown(page)).toBe('whoami read_note write_note: Wrote page.')
      await expect
        .poll(requests)
        .toEqual([
          'POST /token authorization_code 200',
          ...connects,
          'POST /mcp tools/list 200',
          'POST /mcp tools/call 200',
        ])

      network.forget()
      await expire(page)
      await page.click('#read')
      expect(await shown(page)).toMatch(/^whoami read_note write_note: Reading requires the scope notes:read/)
      await expect
        .poll(requests)
        .toEqual([
          `${first} 401`,
          'POST /token refresh_token 200',
          ...connects,
          'POST /mcp tools/list 200',
          'POST /mcp tools/call 200',
        ])
    })
  })

  test('can read the status and the challenge of a refused request', async () => {
    await using opened = await open('app.example.com')
    const challenge = await opened.page.evaluate(async (url) => {
      const response = await fetch(url, { method: 'POST', headers: { 'MCP-Protocol-Version': '2026-07-28' } })
      return [response.status, response.headers.get('WWW-Authenticate')]
    }, server.url.href)
    expect(challenge).toEqual([
      401,
      `Bearer resource_metadata="${server.url.origin}/.well-known/oauth-protected-resource/mcp", scope="notes:read"`,
    ])
  })

  test('gets an error when its user denies access', async () => {
    await using opened = await open('app.example.com')
    await opened.page.click('#read')
    await answer(opened, 'grace', 'no')
    expect(await shown(opened.page)).toContain('The answer was no')
    expect(opened.requests()).not.toContainEqual(expect.stringContaining('/token'))
  })

  test('of an origin that is not in origins fails the preflight', async () => {
    await using opened = await open('elsewhere.example.com', 'legacy')
    await opened.page.click('#read')
    expect(await shown(opened.page)).toContain('Failed to fetch')
    await expect.poll(opened.preflights, patience).toEqual(['/mcp 403'])
    expect(opened.requests()).toEqual([expect.stringMatching('^POST /mcp initialize')])
  })

  async function expire(page: Page): Promise<void> {
    const kept = await page.evaluate(() => sessionStorage.getItem('tokens'))
    const tokens = JSON.parse(kept as string)
    const past = Math.floor(Date.now() / 1000) - 31
    const expired = { ...tokens, access_token: await expiringAt(past, tokens.access_token, await key) }
    await page.evaluate((text) => sessionStorage.setItem('tokens', text), JSON.stringify(expired))
  }
})

type Opened = {
  readonly page: Page
  readonly network: Network
  readonly home: string
  /** To both servers. */
  preflights(): string[]
  requests(): string[]
} & AsyncDisposable
