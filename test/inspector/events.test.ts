/** Events in the inspector: subscriptions of its page, and what the server delivers to it. */
import type { Browser, Locator } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { everyRevision } from '../../worker/testing/index.ts'
import { found, launch, missing } from '../support/chromium.ts'
import { sample } from '../support/full.ts'
import { inspectorSecrets } from '../support/inspector-key.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { type OpenInspector, openInspector } from './open-inspector.ts'

const patience = { timeout: 30_000 }

describe.skipIf(!found)(`events in the inspector in Chromium${missing}`, () => {
  let server: TestServer
  let browser: Browser
  let opened: OpenInspector
  /** What a test may find in the console. */
  let expected: RegExp | undefined
  beforeAll(async () => {
    vi.stubEnv('NODE_ENV', 'development')
    server = await startServer('test/inspector/server', inspectorSecrets)
    browser = await launch()
  })
  afterAll(async () => {
    await browser?.close()
    await server?.harness.close()
  })
  afterEach(async () => {
    const problems = opened?.problems
    await opened?.[Symbol.asyncDispose]()
    const unexpected = problems?.filter((problem) => !expected?.test(problem))
    expected = undefined
    expect(unexpected).toEqual([])
  })

  const panel = (): Locator => opened.page.getByRole('region', { name: 'Events', exact: true })
  const list = (at: number): Locator => panel().locator('.entries').nth(at)
  const lists = () => ({ subscriptions: list(0), received: list(1), attempts: list(2), deadLetters: list(3) })
  const says = (part: Locator, text: string | RegExp) => expect.poll(() => part.innerText(), patience).toMatch(text)
  const buttonOf = (part: Locator, name: string | RegExp) => part.getByRole('button', { name })

  /** Each test has a user of its own, and all of them the subscriptions of the server. */
  async function subscribed(user: string, revision = everyRevision[0] ?? ''): Promise<OpenInspector> {
    opened = await openInspector(browser, server.url)
    const { page, choose, connect } = opened
    await connect(revision, user)
    await choose('tea.brewed')
    await page.getByLabel('kind').fill('green')
    await page.getByRole('button', { name: 'Subscribe', exact: true }).click()
    await says(lists().subscriptions, /tea\.brewed active, refresh before .*\{"kind":"green"\}/s)
    return opened
  }

  async function unsubscribe(): Promise<void> {
    await buttonOf(panel(), /^Unsubscribe tea\.brewed/).click()
    await says(lists().subscriptions, /^(?!.*"kind")/s)
  }

  test.each(sample(everyRevision, 3))('delivers to the page, as a client of %s', async (revision) => {
    const { call } = await subscribed(`${revision} ada`, revision)
    const { received, attempts } = lists()
    await says(received, /verification .*, answered with 200, signature valid/)
    await call('publish')
    await says(received, /tea\.brewed .*, answered with 204, signature valid/)
    await received.locator('summary').first().click()
    await says(received, /"cups": ?2|cups: 2/)
    await says(attempts, /tea\.brewed .*, delivered, \d+ ms/)
    await fetch(new URL('/?inside=receiver', server.url), { method: 'POST', body: '{"name":"tea.forged"}' })
    await says(received, /^tea\.forged .*, answered with 204, signature does not match/)
    await unsubscribe()
  })

  test('sends a dead letter again, also after a reload of the page, which keeps its subscription and its secret', async () => {
    const { page, call } = await subscribed('grace')
    const { deadLetters, received, subscriptions } = lists()
    await page.getByLabel('Answer', { exact: true }).selectOption('410')
    await call('publish')
    await says(deadLetters, /^gone/)
    await says(received, /tea\.brewed .*, answered with 410, signature valid/)
    await page.reload()
    await page.waitForSelector('[data-state="connected"]')
    await says(subscriptions, /tea\.brewed active.*"kind":"green"/s)
    expect(await page.getByLabel('Answer', { exact: true }).inputValue()).toBe('410')
    await page.getByLabel('Answer', { exact: true }).selectOption('204')
    await buttonOf(deadLetters, /^Send evt_/).focus()
    await page.keyboard.press('Enter')
    await says(deadLetters, /^$/)
    await says(received, /^tea\.brewed .*, answered with 204, signature valid/)
    // The focus is never lost with what had it.
    await expect.poll(() => page.evaluate(() => document.activeElement?.textContent)).toBe('Events')
    await unsubscribe()
  })

  test('ends and refreshes a subscription only as the user that it is of', async () => {
    const { connect } = await subscribed('linus')
    const { subscriptions } = lists()
    await connect(everyRevision[0] ?? '', 'mallory')
    await says(subscriptions, /tea\.brewed active.*"kind":"green".*of another user/s)
    expect(await buttonOf(subscriptions, /^(?:Refresh|Unsubscribe)/).count()).toBe(0)
    await connect(everyRevision[0] ?? '', 'linus')
    await says(subscriptions, /^(?!.*of another user)/s)
    await unsubscribe()
  })

  test.each([
    ['whose name is no text', '{"name":{"toString":1}}', /^no event .*, signature does not match/],
    ['that nests too deeply for a tree', `${'['.repeat(50_000)}${']'.repeat(50_000)}`, /^no event .*\[\[\[/s],
  ])('shows a webhook %s, and those after it', async (_, body, shown) => {
    opened = await openInspector(browser, server.url)
    const { received } = lists()
    const send = (text: string) => fetch(new URL('/?inside=receiver', server.url), { method: 'POST', body: text })
    await send(body)
    await says(received, shown)
    await send('{"name":"tea.after"}')
    await says(received, /^tea\.after /)
    expect(await panel().getByRole('alert').innerText()).toBe('')
  })

  test('continues after a reload of the server', async () => {
    const { call, page } = await subscribed('edsger')
    const followed = page.waitForResponse((response) => response.url().endsWith('?inside=reload'))
    // The browser tells of the connections that the reload breaks.
    expected = /ERR_(?:CONNECTION|EMPTY|INCOMPLETE|ABORTED)|Failed to load/
    await server.reload()
    await followed
    await page.waitForSelector('[data-state="connected"]')
    await call('publish')
    await says(lists().received, /^tea\.brewed .*, answered with 204, signature valid/)
    await unsubscribe()
  })

  test('shows the answer that a reload of the server selects again, also if the select has the focus', async () => {
    opened = await openInspector(browser, server.url)
    const { page } = opened
    const answer = page.getByLabel('Answer', { exact: true })
    await answer.focus()
    const selected = page.waitForResponse((response) => response.url().endsWith('?inside=events&answer=410'))
    await answer.selectOption('410')
    await selected
    expected = /ERR_(?:CONNECTION|EMPTY|INCOMPLETE|ABORTED)|Failed to load/
    await server.reload()
    await expect.poll(() => answer.inputValue(), patience).toBe('204')
    expect(await answer.evaluate((select) => select === document.activeElement)).toBe(true)
  })

  test('refreshes the subscription before it ends', async () => {
    const { page } = await subscribed('barbara')
    const calls = page.locator('.call', { hasText: /Subscribe to tea\.brewed.*done/s })
    expect(await calls.count()).toBe(1)
    await page.clock.install()
    await page.clock.fastForward('54:00')
    await page.clock.fastForward('02:00')
    await expect.poll(() => calls.count(), patience).toBe(2)
  })

  test('polls from where the last poll ended, also anonymously', async () => {
    opened = await openInspector(browser, server.url)
    const { page, choose, call, result } = opened
    await choose('tea.brewed')
    await page.getByText('Only an authenticated caller subscribes').waitFor()
    expect(await page.getByRole('button', { name: 'Subscribe', exact: true }).count()).toBe(0)
    await page.getByLabel('kind').fill('green')
    const poll = () => page.getByRole('button', { name: 'Poll', exact: true }).click()
    await poll()
    await says(result, /tea\.brewed.*events: \[\]/s)
    await call('publish')
    await choose('tea.brewed')
    await poll()
    await says(result, /tea\.brewed.*events: \[\{"eventId"/s)
    await poll()
    await says(result, /tea\.brewed.*events: \[\]/s)
  })

  test('a deployed inspector polls, and says why it does not subscribe', async () => {
    vi.stubEnv('NODE_ENV', 'production')
    await using deployed = await startServer('test/inspector/deployed')
    const url = new URL(`http://open.localhost:${deployed.url.port}`)
    opened = await openInspector(browser, url)
    const { page, choose, result } = opened
    await choose('started')
    await page.getByText('To subscribe, use the inspector in development').waitFor()
    expect(await page.getByRole('button', { name: 'Subscribe', exact: true }).count()).toBe(0)
    await page.getByRole('button', { name: 'Poll', exact: true }).click()
    await says(result, /started.*events: \[\]/s)
    expect(await panel().count()).toBe(0)
    vi.stubEnv('NODE_ENV', 'development')
  })
})
