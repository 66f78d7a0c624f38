/** The browser of this machine, for the tests that need one. Others go on without. */
import { existsSync } from 'node:fs'
import { type Browser, chromium } from 'playwright-core'

const executablePath = process.env.CHROMIUM ?? '/usr/bin/chromium'
export const found = existsSync(executablePath)

/** Is added to the names of suites that are skipped without it. Empty when there is a browser. */
export const missing = found
  ? ''
  : `, skipped: there is no browser at ${executablePath}. Install chromium, or set CHROMIUM to the path of yours`

/**
 * Pages of one site and one context share a process.
 *
 * @param args besides those without which it does not run as root
 */
export const launch = (args: readonly string[] = []): Promise<Browser> =>
  chromium.launch({ executablePath, args: ['--no-sandbox', '--process-per-site', ...args] })
