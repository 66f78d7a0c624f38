/**
 * Takes screenshots for the documentation: the chart of examples/chart in a host, docs/images/chart-*.png, and the inspector with
 * examples/report, docs/images/inspector-*.png and inside-*.png. Needs Chromium.
 */
import { join } from 'node:path'
import { openHost } from '../test/apps/host/open-host.ts'
import { serveHost } from '../test/apps/host/serve-host.ts'
import { openInspector } from '../test/inspector/open-inspector.ts'
import { launch } from '../test/support/chromium.ts'
import { inspectorSecrets } from '../test/support/inspector-key.ts'
import { startServer } from '../test/support/server.ts'

process.env.CLOUDFLARE_CF_FETCH_ENABLED ??= 'false'
process.env.WRANGLER_SEND_METRICS ??= 'false'
process.env.NODE_ENV = 'development'

const images = join(import.meta.dirname, '../docs/images')

await using server = await startServer('examples/chart', inspectorSecrets)
await using host = await serveHost(server.url)
const browser = await launch()
for (const theme of ['light', 'dark'] as const) {
  for (const width of [390, 1280]) {
    await using opened = await openHost(browser, host, { theme, width, scale: 2 })
    await opened.page.evaluate(() => window.host.call('sales', { year: 2024 }))
    await opened.shown()
    await opened.page.locator('body').screenshot({ path: join(images, `chart-${width}-${theme}.png`) })
  }
}

await using report = await startServer('examples/report', inspectorSecrets)
for (const colorScheme of ['light', 'dark'] as const) {
  for (const width of [390, 1280]) {
    await using opened = await openInspector(browser, report.url, {
      colorScheme,
      deviceScaleFactor: 2,
      viewport: { width, height: width > 1000 ? 860 : 844 },
    })
    const { page, call } = opened
    await page.getByLabel('topic').fill('tea')
    await call('write_report')
    await page.locator('.question').waitFor({ timeout: 15_000 })
    // Scrolls to the part that a user would read.
    if (width < 1000) await page.locator('.question').evaluate((question) => question.scrollIntoView())
    else await page.locator('.frames > li', { hasText: 'tasks/get' }).last().locator('summary').first().click()
    if (width > 1000) await page.evaluate(() => scrollTo(0, 0))
    await page.screenshot({ path: join(images, `inspector-${width}-${colorScheme}.png`) })

    // One color scheme for each width is enough.
    if (width > 1000 !== (colorScheme === 'light')) continue
    if (width < 1000) await page.locator('.top > summary').click()
    await opened.connect('2025-11-25')
    await page.getByLabel('topic').fill('tea')
    await call('write_report')
    await page.locator('.question').waitFor({ timeout: 15_000 })
    const section = page.locator('.behind')
    await section.locator('summary').first().click()
    await section.locator('.object > summary', { hasText: 'McpSession' }).first().click()
    await section.locator('table').first().waitFor()
    await section.screenshot({ path: join(images, `inside-${width}-${colorScheme}.png`) })
  }
}
await browser.close()
