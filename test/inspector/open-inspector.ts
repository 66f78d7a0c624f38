/** The inspector in a browser, and everything that went wrong there. */

import type { Browser, BrowserContext, BrowserContextOptions, Locator, Page } from 'playwright-core'
import { inspectorSecrets } from '../support/inspector-key.ts'

export type OpenInspector = {
  readonly page: Page
  /** What the console had to warn of: refusals by a policy are among it. */
  readonly problems: readonly string[]
  /** Connects as a client of another revision, and as whom. */
  connect(revision: string, token?: string): Promise<void>
  /** Chooses from the list of what is offered. */
  choose(name: string): Promise<void>
  /** Chooses a tool without input and calls it. @returns what became of it */
  call(name: string): Promise<Locator>
  /** The newest call. */
  readonly result: Locator
  /** The question that is open. */
  readonly question: Locator
} & AsyncDisposable

export async function openInspector(
  browser: Browser,
  url: URL,
  options?: BrowserContextOptions,
): Promise<OpenInspector> {
  const { page, close } = await openPage(browser, url, options)
  const problems: string[] = []
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) problems.push(message.text())
  })
  page.on('pageerror', (problem) => problems.push(String(problem)))
  page.on('dialog', (dialog) => {
    problems.push(dialog.message())
    void dialog.dismiss()
  })
  await page.goto(new URL(`/?inspector=${inspectorSecrets.EDGEMCP_INSPECTOR_KEY}`, url).href)
  const connected = () => page.waitForSelector('[data-state="connected"]')
  await connected()
  const result = page.locator('.call').first()
  const choose = (name: string) => page.locator(`.offers [data-id="${name}"]`).click()
  return {
    page,
    problems,
    result,
    question: page.locator('.question').first(),
    choose,
    async connect(revision, token) {
      await page.getByLabel('Bearer token').fill(token ?? '')
      const select = page.getByLabel('Protocol version')
      // To choose another is to connect.
      if ((await select.inputValue()) !== revision) await select.selectOption(revision)
      else await page.getByRole('button', { name: 'Connect', exact: true }).click()
      const state = page.locator(`[data-state="connected"][data-revision="${revision}"]`)
      await state
        .filter({ hasText: `Connected as ${token ? 'the principal of the token' : 'an anonymous caller'}` })
        .waitFor()
    },
    async call(name) {
      await choose(name)
      const before = await page.locator('.call').count()
      await page.getByRole('button', { name: 'Call', exact: true }).click()
      await page.locator('.call').nth(before).waitFor()
      return result
    },
    [Symbol.asyncDispose]: close,
  }
}

type OpenPage = { readonly page: Page; close(): Promise<void> }
type SharedContext = { readonly context: BrowserContext; readonly keeper: Page }

/** By browser and origin. */
const sharedContexts = new WeakMap<Browser, Map<string, Promise<SharedContext>>>()

/** Opens a page of its own, in the context that pages of this origin share, or in a new one when it has options. */
async function openPage(browser: Browser, { origin }: URL, options?: BrowserContextOptions): Promise<OpenPage> {
  if (options) {
    const context = await newContext(browser, options)
    return { page: await context.newPage(), close: () => context.close() }
  }
  const contexts = sharedContexts.get(browser) ?? new Map<string, Promise<SharedContext>>()
  sharedContexts.set(browser, contexts)
  const shared = contexts.get(origin) ?? createSharedContext(browser, origin)
  contexts.set(origin, shared)
  const { context, keeper } = await shared
  const page = await context.newPage()
  return {
    page,
    async close() {
      await page.close()
      await context.clearCookies()
      await keeper.evaluate(() => localStorage.clear())
    },
  }
}

/** To start a renderer process takes longer than most tests. The keeper page, which tests do not see, keeps it running. */
async function createSharedContext(browser: Browser, origin: string): Promise<SharedContext> {
  const context = await newContext(browser)
  const keeper = await context.newPage()
  await keeper.goto(new URL('/keeper', origin).href)
  return { context, keeper }
}

async function newContext(browser: Browser, options?: BrowserContextOptions): Promise<BrowserContext> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options })
  context.setDefaultTimeout(30_000)
  return context
}
