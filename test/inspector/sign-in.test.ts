/** The inspector of a server with `signIn()`: its user signs in, in the same tab. */
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { type StartedProvider, startProvider } from '../../worker/testing/node/provider.ts'
import { found, launch, missing } from '../support/chromium.ts'
import { inspectorSecrets } from '../support/inspector-key.ts'
import { startServer, type TestServer } from '../support/server.ts'

describe.skipIf(!found)(`the inspector in Chromium${missing}`, () => {
  let provider: StartedProvider
  let server: TestServer
  let browser: Browser
  beforeAll(async () => {
    vi.stubEnv('NODE_ENV', 'development')
    provider = await startProvider({ users: [{ id: 1815, login: 'ada', organizations: ['engines'] }] })
    // Another site than that of the server: it sends the browser back without the cookie of the inspector.
    const GITHUB = provider.url.replace('127.0.0.1', 'localhost')
    server = await startServer('test/sign-in/server', { CASE: 'single', GITHUB, ...inspectorSecrets })
    browser = await launch(['--host-resolver-rules=MAP localhost 127.0.0.1'])
  })
  afterAll(async () => {
    await browser?.close()
    await server?.[Symbol.asyncDispose]()
    await provider?.close()
  })

  async function opened(use: (page: Page) => Promise<void>): Promise<void> {
    const context = await browser.newContext()
    try {
      const page = await context.newPage()
      await page.goto(new URL(`/?inspector=${inspectorSecrets.EDGEMCP_INSPECTOR_KEY}`, server.url).href)
      await page.getByRole('button', { name: 'Sign in', exact: true }).click()
      await page.waitForURL('**/authorize?**')
      await use(page)
    } finally {
      await context.close()
    }
  }

  test('signs in, calls a tool as the user, and stays connected when the page is reloaded', async () => {
    await opened(async (page) => {
      expect(await page.innerText('h1')).toBe('Allow edgemcp inspector to use Notes for you?')
      await page.click('button.allow')
      await page.locator('button[name=login]').click()
      for (const step of ['sign in', 'reload']) {
        if (step === 'reload') await page.reload()
        await page.locator('[data-state="connected"]', { hasText: 'the principal of the token' }).waitFor()
        expect(new URL(page.url()).search).toBe('')
        // The page of a developer, who has the key.
        expect(await page.getAttribute('body', 'data-inside')).toBe('?inside')
      }
      await page.locator('.offers [data-id="whoami"]').click()
      await page.getByRole('button', { name: 'Call', exact: true }).click()
      await page.locator('.call', { hasText: 'github.1815' }).waitFor()
    })
  })

  test('shows why the user is not signed in', async () => {
    await opened(async (page) => {
      await page.click('button[value=deny]')
      await page.locator('.problem .bad').waitFor()
      expect(await page.innerText('.problem')).toContain('denied')
      expect(new URL(page.url()).search).toBe('')
    })
  })

  test('ignores a code that it did not ask for', async () => {
    const page = await browser.newPage()
    await page.goto(new URL('/?code=a&state=b', server.url).href)
    await page.getByRole('button', { name: 'Sign in', exact: true }).waitFor()
    await page.close()
  })
})
