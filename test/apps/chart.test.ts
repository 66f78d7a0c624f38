import type { Browser, FrameLocator } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { salesIn } from '../../examples/chart/sales.ts'
import { connect } from '../../worker/testing/index.ts'
import { found, launch, missing } from '../support/chromium.ts'
import { sample } from '../support/full.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { type OpenHost, openHost } from './host/open-host.ts'
import { type HostServer, serveHost } from './host/serve-host.ts'

let server: TestServer
beforeAll(async () => {
  server = await startServer('examples/chart')
})
afterAll(() => server[Symbol.asyncDispose]())

const newer = ['2026-07-28', '2025-11-25', '2025-06-18']
/** Of these no tool has `_meta`. */
const older = ['2025-03-26', '2024-11-05']

describe('a server with a chart', () => {
  test.each([...newer, ...older])('returns the numbers as text to the model of a %s client', async (revision) => {
    await using client = await connect(server.url, { revision })
    const [block] = (await client.callTool('sales', { year: 2021 })).content as { text: string }[]
    expect(block?.text).toMatch(/^Pieces sold in 2021: January \d+, February \d+, .* December \d+\.$/)
  })

  test.each(newer)('marks for a %s client the tool that only the chart may call', async (revision) => {
    await using client = await connect(server.url, { revision })
    const { tools } = (await client.request('tools/list')) as { tools: { name: string; _meta: unknown }[] }
    const [resourceUri, flat] = ['ui://chart', { 'ui/resourceUri': 'ui://chart' }]
    expect(Object.fromEntries(tools.map(({ name, _meta }) => [name, _meta]))).toEqual({
      sales: { ui: { resourceUri }, ...flat },
      turn_to_year: { ui: { resourceUri, visibility: ['app'] }, ...flat },
    })
  })
})

describe.skipIf(!found)(`a chart in Chromium${missing}`, () => {
  let host: HostServer
  let browser: Browser

  beforeAll(async () => {
    host = await serveHost(server.url)
    browser = await launch()
  })
  afterAll(async () => {
    await browser?.close()
    await host?.[Symbol.asyncDispose]()
  })

  const open = (options?: Parameters<typeof openHost>[2]) => openHost(browser, host, options)
  const call = ({ page }: OpenHost, year: number) => page.evaluate((year) => window.host.call('sales', { year }), year)
  /** But for sizes, which come whenever the browser has time for them. */
  const said = async ({ page }: OpenHost) => {
    const lines = await page.evaluate(() => window.host.said)
    return lines.filter((line) => line !== '< ui/notifications/size-changed')
  }
  const status = ({ view }: OpenHost) => view.getByRole('status')

  test.each(sample(['2026-07-28', '2025-11-25'], 2))('is drawn by a host whose client uses %s', async (revision) => {
    await using opened = await open({ mode: revision === '2026-07-28' ? { pin: revision } : 'legacy' })
    const { page, problems, requests } = opened
    expect(await page.evaluate(() => window.host.modelTools)).toEqual(['sales'])
    expect((await call(opened, 2024)).structuredContent).toEqual(salesIn(2024))
    await expectDrawn(opened.view, 2024)
    expect(await said(opened)).toEqual([
      '< ui/notifications/sandbox-proxy-ready',
      '> ui/notifications/sandbox-resource-ready',
      '< ui/initialize',
      '> answer',
      '< ui/notifications/initialized',
      '> ui/notifications/tool-input',
      '> ui/notifications/tool-result',
    ])
    const pages = [`127.0.0.1:${host.port}/`, `127.0.0.1:${host.port}/host.js`, `localhost:${host.port}/sandbox`]
    expect(requests.filter((request) => !request.endsWith('/mcp'))).toEqual(pages.map((page) => `GET http://${page}`))
    expect(problems).toEqual([])
  })

  test('switches the year at the press of a key, and notifies the model', async () => {
    await using opened = await open()
    const { page, view, problems } = opened
    await call(opened, 2024)
    const before = await said(opened)
    const next = view.getByRole('button', { name: '2025 →' })
    await next.press('Enter')
    await expectDrawn(view, 2025)
    await expect
      .poll(async () => (await said(opened)).slice(before.length))
      .toEqual(['< tools/call', '> answer', '< ui/update-model-context', '> answer'])
    const text = expect.stringContaining('Pieces sold in 2025: January')
    expect(await page.evaluate(() => window.host.told)).toEqual([{ content: [{ type: 'text', text }] }])
    expect(problems).toEqual([])
  })

  test('keeps the focus on the disabled button of the last year, and its key press calls no tool', async () => {
    await using opened = await open()
    const { page, view } = opened
    await call(opened, 2024)
    await view.getByRole('button', { name: '2025 →' }).press('Enter')
    const last = view.getByRole('button', { name: '2026 →', disabled: true })
    await last.waitFor()
    expect(await last.evaluate((button) => button === document.activeElement)).toBe(true)
    const before = await said(opened)
    await last.press('Enter')
    // Whatever it had asked would have come before this answer.
    await page.evaluate(() => window.host.bridge.request({ method: 'ping' }))
    expect((await said(opened)).slice(before.length).filter((line) => line.startsWith('< tools'))).toEqual([])
  })

  test('uses the dark color scheme and the colors of its host', async () => {
    await using opened = await open({ theme: 'light' })
    const { page, view } = opened
    await call(opened, 2024)
    const bar = view.locator('rect').first()
    const colors = async () => [await color(view, 'body', 'background-color'), await color(view, 'rect', 'fill')]
    await bar.waitFor()
    expect(await colors()).toEqual(['rgb(255, 255, 255)', 'rgb(11, 107, 74)'])

    await page.evaluate(() => window.host.bridge.setHostContext({ theme: 'dark' }))
    await expect.poll(colors).toEqual(['rgb(15, 17, 20)', 'rgb(99, 210, 164)'])

    const variables = { '--color-background-primary': 'light-dark(white, navy)' }
    await page.evaluate((variables) => {
      // The type wants every variable there is, the specification any.
      window.host.bridge.setHostContext({ theme: 'dark', styles: { variables: variables as never } })
    }, variables)
    await expect.poll(colors).toEqual(['rgb(0, 0, 128)', 'rgb(99, 210, 164)'])
  })

  test.each(sample([320, 390, 1280], 3))(
    'fits a width of %i pixels, and reports its height to the host',
    async (width) => {
      await using opened = await open({ width })
      const { page, view } = opened
      await call(opened, 2024)
      await expectDrawn(view, 2024)
      const room = () =>
        view.locator(':root').evaluate(({ scrollWidth, scrollHeight, offsetHeight }: HTMLElement) => ({
          across: scrollWidth - innerWidth,
          down: scrollHeight - innerHeight,
          unused: innerHeight - offsetHeight,
        }))
      await opened.shown()
      expect(await room()).toEqual({ across: 0, down: 0, unused: 0 })
      expect(await overlaps(view)).toEqual([])

      const height = () => page.locator('iframe').evaluate(({ offsetHeight }: HTMLElement) => offsetHeight)
      const closed = await height()
      await view.getByText('The same as a table').click()
      await expect.poll(height).toBeGreaterThan(closed + 200)
      await expect.poll(room).toEqual({ across: 0, down: 0, unused: 0 })
      expect(await view.getByRole('row').allTextContents()).toEqual([
        'MonthPieces',
        ...salesIn(2024).months.map(({ month, sold }) => `${month}${sold}`),
      ])
    },
  )

  test("can neither load from other origins nor read its host's page or storage", async () => {
    await using opened = await open()
    const { view, problems } = opened
    await call(opened, 2024)
    await expectDrawn(view, 2024)
    expect(problems).toEqual([])
    const tried = await view.locator('body').evaluate(async () => {
      const image = new Image()
      const refused = new Promise((resolve) => image.addEventListener('error', () => resolve('refused')))
      image.src = 'https://example.com/image.png'
      const attempt = (act: () => unknown) =>
        Promise.resolve()
          .then(act)
          .then(String, () => 'refused')
      return [
        await refused,
        await attempt(() => fetch('https://example.com/')),
        await attempt(() => parent.document),
        await attempt(() => localStorage),
      ]
    })
    expect(tried).toEqual(['refused', 'refused', 'refused', 'refused'])
    const refusal = (by: string) =>
      expect.stringMatching(`^Connecting to .* Content Security Policy directive: "${by}"`)
    // The policy of its host, and its own.
    await expect.poll(() => problems).toContainEqual(refusal(`connect-src 'none'`))
    await expect.poll(() => problems).toContainEqual(refusal(`default-src 'none'`))
  })

  test('has no buttons when the host does not proxy tool calls', async () => {
    await using opened = await open({ proxies: false })
    await call(opened, 2024)
    await expectDrawn(opened.view, 2024)
    expect(await opened.view.getByRole('button').count()).toBe(0)
  })

  test('shows the reason when a call is cancelled or fails', async () => {
    await using opened = await open()
    const { page, view } = opened
    await page.evaluate(() => window.host.open('sales', { year: 2023 }))
    await view.getByRole('heading', { name: 'Sales in 2023' }).waitFor()
    expect(await status(opened).textContent()).toBe('Waiting for the numbers.')

    await page.evaluate(() => window.host.bridge.sendToolCancelled({ reason: 'Enough' }))
    await expect.poll(() => status(opened).textContent()).toBe('This was cancelled before there were numbers.')

    const failure = { isError: true, content: [{ type: 'text' as const, text: 'The books are closed.' }] }
    await page.evaluate((failure) => window.host.bridge.sendToolResult(failure), failure)
    await expect.poll(() => status(opened).textContent()).toBe('The books are closed.')

    await page.evaluate((result) => window.host.bridge.sendToolResult(result), {
      content: [],
      structuredContent: salesIn(2023),
    })
    await expectDrawn(view, 2023)
    await page.route('**/mcp', (route) => route.abort())
    await view.getByRole('button', { name: '← 2022' }).click()
    await expect.poll(() => status(opened).textContent()).toContain('2022 could not be had: ')
    await page.unroute('**/mcp')
    await view.getByRole('button', { name: '← 2022' }).click()
    await expectDrawn(view, 2022)
  })

  test('accepts teardown by its host, and refuses unknown requests', async () => {
    await using opened = await open()
    const { page, view } = opened
    await call(opened, 2024)
    await expectDrawn(view, 2024)
    const unknown = page.evaluate(() =>
      window.host.bridge.request({ method: 'tools/list' }).catch((problem) => problem.code),
    )
    expect(await unknown).toBe(-32601)
    expect(await page.evaluate(() => window.host.bridge.teardownResource({}))).toEqual({})

    const height = await page.locator('iframe').evaluate(({ offsetHeight }: HTMLElement) => offsetHeight)
    await view.getByText('The same as a table').click()
    // A frame is painted after what it watches was told of sizes.
    await view.locator('body').evaluate(() => new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(r))))
    await page.evaluate(() => window.host.bridge.request({ method: 'ping' }))
    expect(await page.locator('iframe').evaluate(({ offsetHeight }: HTMLElement) => offsetHeight)).toBe(height)
  })

  /** Twelve bars, each as high as its month, under its number and above its name. */
  async function expectDrawn(view: FrameLocator, year: number): Promise<void> {
    const { months } = salesIn(year)
    await view.getByRole('img', { name: `Bar chart of the sales in ${year}` }).waitFor()
    expect(await view.getByRole('heading').textContent()).toBe(`Sales in ${year}`)
    expect(await view.locator('text.month').allTextContents()).toEqual(months.map(({ month }) => month.slice(0, 3)))
    expect(await view.locator('text:not(.month)').allTextContents()).toEqual(months.map(({ sold }) => String(sold)))

    const bars = await view
      .locator('rect')
      .evaluateAll((bars) => bars.map((bar) => bar.getBoundingClientRect().toJSON()))
    const most = Math.max(...months.map(({ sold }) => sold))
    const highest = Math.max(...bars.map(({ height }) => height))
    expect(highest).toBeGreaterThan(150)
    expect(bars).toHaveLength(months.length)
    for (const [index, { sold }] of months.entries()) {
      expect(bars[index].height / highest).toBeCloseTo(sold / most, 3)
      expect(bars[index].bottom).toBeCloseTo(bars[0].bottom, 1)
    }
  }

  /** Texts of the chart that reach into each other. */
  function overlaps(view: FrameLocator): Promise<string[]> {
    return view.locator('text').evaluateAll((texts) => {
      const boxes = texts.map((text) => ({ text: text.textContent, box: text.getBoundingClientRect() }))
      return boxes.flatMap(({ text, box }, index) =>
        boxes
          .slice(index + 1)
          .filter(({ box: { left, right, top, bottom } }) => {
            return left < box.right && right > box.left && top < box.bottom && bottom > box.top
          })
          .map((other) => `${text} and ${other.text}`),
      )
    })
  }

  const color = (view: FrameLocator, selector: string, property: string) =>
    view
      .locator(selector)
      .first()
      .evaluate((element, name) => getComputedStyle(element).getPropertyValue(name), property)
})
