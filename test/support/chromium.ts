/** The browser of this machine, for tests that need one. Without it, these tests are skipped. */
import { existsSync } from 'node:fs'
import type { Browser } from 'playwright-core'

const executablePath = process.env.CHROMIUM ?? '/usr/bin/chromium'
export const found = existsSync(executablePath)

/** Suffix for the names of suites that are skipped without a browser. Empty when there is one. */
export const missing = found
  ? ''
  : `, skipped: there is no browser at ${executablePath}. Install chromium, or set CHROMIUM to the path of yours`

/**
 * Pages of one site and one context share a process.
 *
 * @param args arguments in addition to those that Chromium needs to run as root
 */
export async function launch(args: readonly string[] = []): Promise<Browser> {
  // It is large, and most runs of vitest open no browser.
  const { chromium } = await import('playwright-core')
  return await chromium.launch({ executablePath, args: ['--no-sandbox', '--process-per-site', ...args] })
}
