/** The documentation site: built, served as `wrangler deploy` would serve it, and examined in a browser. */
import { execFile } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createTestHarness } from 'wrangler'
import { found, launch, missing } from '../support/chromium.ts'

const run = promisify(execFile)
const root = resolve(import.meta.dirname, '../..')
const site = join(root, 'site')
const axe = readFileSync(join(root, 'node_modules/axe-core/axe.min.js'), 'utf8')

const harness = createTestHarness({ workers: [{ configPath: join(site, 'wrangler.toml') }] })
let url: URL
/** Addresses of all pages, such as `/guides/tools`. */
let paths: string[]
/** The HTML of each page, by its address. */
let pages: Map<string, string>

beforeAll(async () => {
  await run('npm', ['run', 'docs:build'], { cwd: root, env: { ...process.env, NODE_ENV: undefined } })
  const files = globSync('**/*.html', { cwd: join(site, 'dist') }).filter((file) => file !== '404.html')
  const pathOf = (file: string) => `/${file.replace(/(index)?\.html$/, '')}`
  pages = new Map(files.map((file) => [pathOf(file), readFileSync(join(site, 'dist', file), 'utf8')]))
  paths = [...pages.keys()].sort()
  url = (await harness.listen()).url
}, 600_000)
afterAll(() => harness.close())

const idsIn = (html: string) => new Set(Array.from(html.matchAll(/ id="([^"]+)"/g), ([, id]) => id))

test('serves every page at its URL, and a page for unknown URLs', async () => {
  expect(paths).toContain('/guides/tools')
  for (const path of paths) {
    const response = await fetch(new URL(path, url))
    expect([path, response.status, response.redirected]).toEqual([path, 200, false])
  }
  expect((await fetch(new URL('/no/such/page', url))).status).toBe(404)
})

test('every link leads to an existing page and heading', () => {
  const broken: string[] = []
  for (const [path, html] of pages) {
    for (const [, href = ''] of html.matchAll(/<a [^>]*?href="([^"]+)"/g)) {
      const target = new URL(href.replaceAll('&amp;', '&'), `http://site${path}`)
      if (target.host !== 'site' || /\.(txt|md|xml)$/.test(target.pathname)) continue
      const there = pages.get(target.pathname)
      if (there === undefined) broken.push(`${path} links to ${href}: no such page`)
      else if (target.hash && !idsIn(there).has(decodeURIComponent(target.hash.slice(1)))) {
        broken.push(`${path} links to ${href}: no such heading`)
      }
    }
  }
  expect(broken).toEqual([])
})

test('describes each page to search engines, and lists it for them', async () => {
  const descriptionOf = (html: string) => /<meta name="description" content="([^"]+)"/.exec(html)?.[1]
  const described = Array.from(pages, ([path, html]) => ({ path, description: descriptionOf(html) ?? '' }))
  expect(described.filter(({ description }) => description.length < 20)).toEqual([])
  const map = await (await fetch(new URL('/sitemap.xml', url))).text()
  expect(paths.filter((path) => !map.includes(`<loc>https://edgemcp.dev${path}</loc>`))).toEqual([])
})

test('has llms.txt with every page, and llms-full.txt with the text of every page', async () => {
  const list = await (await fetch(new URL('/llms.txt', url))).text()
  for (const path of paths.filter((path) => path !== '/')) expect(list).toContain(path.replace(/\/$/, '/index'))
  for (const [, address = ''] of list.matchAll(/\]\((https:\/\/edgemcp\.dev\/[^)#]+\.md)/g)) {
    const response = await fetch(new URL(new URL(address).pathname, url))
    expect([address, response.status]).toEqual([address, 200])
    expect(await response.text()).not.toMatch(/\]\((?![a-z]+:|#)/)
  }
  expect((await (await fetch(new URL('/llms-full.txt', url))).text()).length).toBeGreaterThan(100_000)
})

describe.skipIf(!found)(`in Chromium${missing}`, () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await launch()
  })
  afterAll(() => browser?.close())

  test('every page is accessible and fits a screen of 390 and of 1280 pixels with its code, in light and dark colors', async () => {
    const problems: string[] = []
    const left = [...paths]
    const visit = async () => {
      const page = await browser.newPage()
      page.on('pageerror', (error) => problems.push(`${page.url()}: ${error.message}`))
      for (let path = left.shift(); path !== undefined; path = left.shift()) {
        problems.push(...(await problemsAt(page, path)))
      }
    }
    // A page waits for the network, and then for the browser.
    await Promise.all([visit(), visit()])
    expect(problems).toEqual([])
  }, 1_800_000)
})

/** Opens the page of an address. Returns what is wrong with it. */
async function problemsAt(page: Page, path: string): Promise<string[]> {
  const problems: string[] = []
  await page.emulateMedia({ colorScheme: 'dark' })
  await page.goto(new URL(path, url).href, { waitUntil: 'networkidle' })
  await page.evaluate(axe)
  // A page that is loaded in dark colors follows the system to light ones.
  for (const colorScheme of ['dark', 'light'] as const) {
    await page.emulateMedia({ colorScheme })
    await page.locator(colorScheme === 'dark' ? 'html.dark' : 'html:not(.dark)').waitFor({ state: 'attached' })
    for (const width of [390, 1280]) {
      await page.setViewportSize({ width, height: 900 })
      // Only colors depend on the scheme, so each width has all rules in one of them.
      const isExamined = (colorScheme === 'light') === (width === 1280)
      const found = await problemsOf(page, isExamined)
      problems.push(...found.map((problem) => `${path} at ${width} pixels in ${colorScheme} colors ${problem}`))
    }
  }
  return problems
}

/** Returns what is wrong with a page that has loaded axe. @param isExamined whether to check more than its width */
async function problemsOf(page: Page, isExamined: boolean): Promise<string[]> {
  const { violations, overflow, cut } = await page.evaluate(async (isExamined) => {
    const { axe } = globalThis as unknown as { axe: typeof import('axe-core') }
    // Those that a new width has started: colors are those of the end.
    for (const animation of document.getAnimations()) if (animation instanceof CSSTransition) animation.finish()
    // No rule that is on reads the style sheets that axe loads first.
    const options = { preload: false, resultTypes: ['violations' as const] }
    const violations = isExamined ? (await axe.run(document, options)).violations : []
    const overflow = document.documentElement.scrollWidth - document.documentElement.clientWidth
    // The transcript has the lines that the terminal printed.
    const isWide = innerWidth > 1000 && location.pathname !== '/start/transcript'
    const cut = isWide ? [...document.querySelectorAll('pre')].filter((pre) => pre.scrollWidth > pre.clientWidth) : []
    return {
      cut: cut.map(({ innerText }) => `has code that needs a scroll bar: ${innerText.slice(0, 80)}`),
      violations: violations.map(
        ({ id, nodes }) => `has ${id}: ${nodes.slice(0, 3).map(({ html }) => html.slice(0, 120))}`,
      ),
      overflow,
    }
  }, isExamined)
  return [...violations, ...cut, ...(overflow > 0 ? [`is ${overflow} pixels too wide`] : [])]
}
