/** A host in a browser, and everything that went wrong there or was asked of the network. */
import type { Browser, FrameLocator, Page } from 'playwright-core'
import type { Settings } from './host.ts'
import type { HostServer } from './serve-host.ts'

export type OpenHost = {
  readonly page: Page
  /** Inside the frame inside the sandbox's frame. */
  readonly view: FrameLocator
  /** What the console had to warn of: refusals by a policy are among it. */
  readonly problems: readonly string[]
  /** `POST http://127.0.0.1:1234/mcp`, without queries. */
  readonly requests: readonly string[]
  /** Resolves when the view has something to show, and the height that it takes. */
  shown(): Promise<void>
} & AsyncDisposable

type Options = Partial<Settings> & {
  width?: number
  /** Pixels of the screen for one of the page. */
  scale?: number
}

export async function openHost(browser: Browser, { port }: HostServer, options: Options = {}): Promise<OpenHost> {
  const { mode = { pin: '2026-07-28' }, theme = 'light', proxies = true, width = 800, scale = 1 } = options
  const context = await browser.newContext({ viewport: { width, height: 600 }, deviceScaleFactor: scale })
  const page = await context.newPage()
  const problems: string[] = []
  const requests: string[] = []
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) problems.push(message.text())
  })
  page.on('pageerror', (problem) => problems.push(String(problem)))
  page.on('request', (request) => requests.push(`${request.method()} ${request.url().split('?')[0]}`))

  const settings = JSON.stringify({ mode, theme, proxies } satisfies Settings)
  await page.goto(`http://127.0.0.1:${port}/?settings=${encodeURIComponent(settings)}`)
  await page.waitForSelector('body[data-ready]')
  return {
    page,
    view: page.frameLocator('iframe').frameLocator('iframe'),
    problems,
    requests,
    async shown() {
      const view = await page.locator('iframe').contentFrame().locator('iframe').elementHandle()
      const frame = await view?.contentFrame()
      await frame?.waitForSelector('main')
      await frame?.waitForFunction(() => document.documentElement.offsetHeight === innerHeight)
    },
    [Symbol.asyncDispose]: () => context.close(),
  }
}
