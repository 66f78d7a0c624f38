/** `examples/oauth-provider`, called by a page of another origin. */
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { RunningServer } from '../../worker/testing/node/index.ts'
import { found, launch, missing } from '../support/chromium.ts'
import { Network } from './browser/network.ts'
import { type PageServer, servePage } from './browser/serve-page.ts'
import { startProvider } from './provider/start.ts'

describe.skipIf(!found)(`a page in Chromium${missing}`, () => {
  let pages: PageServer
  let server: RunningServer
  let browser: Browser

  beforeAll(async () => {
    pages = await servePage()
    // The provider sends users back to https or to this machine only.
    server = await startProvider({ APP: `http://127.0.0.1:${pages.port}`, SENTRY_DSN: '' })
    browser = await launch([])
  })
  afterAll(async () => {
    await browser?.close()
    await server?.[Symbol.asyncDispose]()
    await pages?.[Symbol.asyncDispose]()
  })

  test.each([
    { mode: { pin: '2026-07-28' }, connects: ['POST /mcp server/discover 200'] },
    { mode: 'legacy', connects: ['POST /mcp initialize 200', 'POST /mcp notifications/initialized 202'] },
  ])('signs in, and works in the account of its header cf-account-id ($mode)', async ({ mode, connects }) => {
    const read = { name: 'whoami', arguments: {} }
    pages.settings = { server: server.url.href, mode, headers: { 'cf-account-id': 'analytical' }, read }
    const { origin } = server.url
    const context = await browser.newContext()
    try {
      const page = await context.newPage()
      const network = await Network.of(page)
      await page.goto(`http://127.0.0.1:${pages.port}/`)
      await page.waitForSelector('body[data-ready]')
      await page.click('#read')

      await page.waitForURL(`${origin}/authorize**`)
      expect(await page.innerText('body')).toContain('Allow A page to use your projects?')
      await expect.poll(() => network.preflights(origin)).toContain('/mcp 204')
      network.forget()
      await page.click('[value=approve]')
      await page.waitForURL(`http://127.0.0.1:${pages.port}/**`)

      const shown = await (await page.waitForSelector('output:not(:empty)')).textContent()
      expect(shown).toBe('whoami list_projects delete_project: ada in the account analytical')
      await expect
        .poll(() => network.requests(origin))
        .toEqual([
          'POST /oauth/token authorization_code 200',
          ...connects,
          'POST /mcp tools/list 200',
          'POST /mcp tools/call 200',
        ])
    } finally {
      await context.close()
    }
  })
})
