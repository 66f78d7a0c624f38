/** Whoever has no mouse, a small screen, a screen reader or tired eyes. */
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { found, launch, missing } from '../support/chromium.ts'
import { sample } from '../support/full.ts'
import { inspectorSecrets } from '../support/inspector-key.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { type OpenInspector, openInspector } from './open-inspector.ts'

describe.skipIf(!found)(`the inspector in Chromium${missing}`, () => {
  let server: TestServer
  let browser: Browser

  beforeAll(async () => {
    vi.stubEnv('NODE_ENV', 'development')
    server = await startServer('test/inspector/server', inspectorSecrets)
    browser = await launch()
  })
  afterAll(async () => {
    await browser?.close()
    await server?.harness.close()
  })

  /** With everything on the page that there can be at once. */
  async function busy(options: Parameters<typeof openInspector>[2]): Promise<OpenInspector> {
    const opened = await openInspector(browser, server.url, options)
    const { page, call, choose, question } = opened
    await fetch(new URL('/?inside=receiver', server.url), { method: 'POST', body: '{"name":"tea.brewed"}' })
    await call('markup')
    await page.locator('.entries summary').first().waitFor()
    await call('steps')
    await opened.result.locator('progress').waitFor()
    await call('brew')
    await page.locator('.task').waitFor()
    await call('ask_model')
    await call('visit')
    await question.waitFor()
    await choose('shape')
    await page.getByRole('button', { name: 'Add to tags' }).click()
    await page.getByLabel('Which either').selectOption('mail')
    await page.locator('.frames summary').nth(1).click()
    await page.locator('.frames summary', { hasText: 'HTTP:' }).first().click()
    await page.locator('.hops').waitFor()
    await page.getByText('Durable Objects', { exact: true }).click()
    await page.locator('.object').first().waitFor()
    for (const folded of await page.locator('.object > summary').all()) await folded.click()
    await page.locator('.contents table').first().waitFor()
    return opened
  }

  test('can be used by keyboard, from the list of tools to the answer of an input request', async () => {
    await using opened = await openInspector(browser, server.url)
    const { page, problems } = opened
    const focused = () => page.evaluate(() => document.activeElement?.textContent || document.activeElement?.tagName)
    async function tabTo(name: string): Promise<void> {
      for (let step = 0; step < 60; step++) {
        if ((await focused()) === name) return
        await page.keyboard.press('Tab')
      }
      throw new Error(`No way to "${name}": it ended at "${await focused()}"`)
    }
    await tabTo('ask')
    await page.keyboard.press('Enter')
    // Where the work is, is where the focus goes.
    expect(await focused()).toBe('ask')
    await tabTo('Call')
    await page.keyboard.press('Enter')
    await page.locator('.question :focus').waitFor()
    await page.keyboard.type('Ada')
    await page.keyboard.press('Enter')
    await page.getByText('Really?').waitFor()
    await page.locator('.question :focus').waitFor()
    await page.keyboard.press('Space')
    await page.keyboard.press('Enter')
    await expect.poll(() => opened.result.innerText()).toContain('Ada undefined true')
    // The focus is never lost with what had it.
    await expect.poll(focused).toBe('Call')
    await tabTo('Copy')
    expect(problems).toEqual([])
  })

  test.each(sample(['light', 'dark'] as const, 2))('has sufficient contrast: %s', async (colorScheme) => {
    await using opened = await busy({ colorScheme })
    expect(await opened.page.evaluate(faint)).toEqual([])
  })

  test('has labeled controls, unique ids and one of each landmark', async () => {
    await using opened = await busy({})
    expect(await nameless(opened.page)).toEqual([])
    const ids = await opened.page.evaluate(() => [...document.querySelectorAll('[id]')].map(({ id }) => id))
    expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([])
    const lost = await opened.page.evaluate(() =>
      [...document.querySelectorAll('[aria-describedby],[aria-labelledby],label[for]')].flatMap((element) =>
        ['aria-describedby', 'aria-labelledby', 'for'].flatMap((name) => {
          const id = element.getAttribute(name)
          return id && !document.getElementById(id) ? [`${name}=${id}`] : []
        }),
      ),
    )
    expect(lost).toEqual([])
    for (const landmark of ['banner', 'main', 'navigation', 'complementary'] as const) {
      expect(await opened.page.getByRole(landmark).count()).toBe(1)
    }
  })

  test.each(sample([320, 390, 768, 1280], 4))('fits a screen that is %s wide', async (width) => {
    await using opened = await busy({ viewport: { width, height: 800 } })
    const wide = await opened.page.evaluate(() => {
      const all = [...document.querySelectorAll('body *')]
      const isScrolled = (element: Element) => element.closest('.frames,.happenings,.scrolls,.offers > div') !== null
      return all
        .filter((element) => element.getBoundingClientRect().right > innerWidth + 0.5 && !isScrolled(element))
        .map((element) => `${element.tagName}.${element.className} ${element.textContent?.slice(0, 40)}`)
    })
    expect(wide).toEqual([])
    expect(await opened.page.evaluate(() => document.documentElement.scrollWidth)).toBe(width)
  })
})

/** Controls that a screen reader has no name for. */
async function nameless(page: Page): Promise<unknown[]> {
  const session = await page.context().newCDPSession(page)
  const { nodes } = await session.send('Accessibility.getFullAXTree')
  const controls = [
    'button',
    'textbox',
    'searchbox',
    'combobox',
    'checkbox',
    'link',
    'progressbar',
    'img',
    'DisclosureTriangle',
  ]
  const shown = nodes.filter(({ ignored, role }) => !ignored && controls.includes(role?.value))
  expect(shown.length).toBeGreaterThan(30)
  return shown.filter(({ name }) => !name?.value).map(({ role, backendDOMNodeId }) => [role?.value, backendDOMNodeId])
}

/** Texts with less contrast than 4.5, and edges of controls with less than 3. Runs in the page. */
function faint(): string[] {
  const channels = (color: string) => (color.match(/[\d.]+/g) ?? []).map(Number)
  const light = (color: string) => {
    const [r = 0, g = 0, b = 0] = channels(color).map((value) => {
      const part = value / 255
      return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
    })
    return 0.2126 * r + 0.7152 * g + 0.0722 * b
  }
  const contrast = (one: string, other: string) => {
    const [bright = 0, dark = 0] = [light(one), light(other)].sort((a, b) => b - a)
    return (bright + 0.05) / (dark + 0.05)
  }
  const ground = (element: Element | null): string => {
    if (!element) return 'rgb(255, 255, 255)'
    const { backgroundColor } = getComputedStyle(element)
    return channels(backgroundColor)[3] === 0 ? ground(element.parentElement) : backgroundColor
  }
  const found: string[] = []
  for (const element of document.querySelectorAll('body *')) {
    if (!element.checkVisibility() || element.matches(':disabled,script,style,option')) continue
    const { color, borderTopColor } = getComputedStyle(element)
    const hasText = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent?.trim())
    const name = `${element.tagName}.${element.className} ${element.textContent?.slice(0, 20)}`
    if (hasText && contrast(color, ground(element)) < 4.5) found.push(`text ${name}`)
    if (!element.matches('input:not([type="checkbox"]),select,textarea')) continue
    if (contrast(borderTopColor, ground(element.parentElement)) < 3) found.push(`edge ${name}`)
    const hint = getComputedStyle(element, '::placeholder').color
    if (contrast(hint, ground(element)) < 4.5) found.push(`placeholder ${name}`)
  }
  return found
}
