/** Draws the chart of examples/chart as pictures for the documentation: docs/images/chart-*.png. Needs Chromium. */
import { join } from 'node:path'
import { chromium } from 'playwright-core'
import { openHost } from '../test/apps/host/open-host.ts'
import { serveHost } from '../test/apps/host/serve-host.ts'
import { executablePath } from '../test/support/chromium.ts'
import { startServer } from '../test/support/server.ts'

process.env.CLOUDFLARE_CF_FETCH_ENABLED ??= 'false'
process.env.WRANGLER_SEND_METRICS ??= 'false'

const images = join(import.meta.dirname, '../docs/images')

await using server = await startServer('examples/chart')
await using host = await serveHost(server.url)
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] })
for (const theme of ['light', 'dark'] as const) {
  for (const width of [390, 1280]) {
    await using opened = await openHost(browser, host, { theme, width, scale: 2 })
    await opened.page.evaluate(() => window.host.call('sales', { year: 2024 }))
    await opened.shown()
    await opened.page.locator('body').screenshot({ path: join(images, `chart-${width}-${theme}.png`) })
  }
}
await browser.close()
