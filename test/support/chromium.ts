/** The browser of this machine, for the tests that need one. Others go on without. */
import { existsSync } from 'node:fs'
import { type Browser, chromium } from 'playwright-core'

const executablePath = process.env.CHROMIUM ?? '/usr/bin/chromium'
export const found = existsSync(executablePath)

/** What is added to the name of what is skipped without it. */
export const missing = found
  ? ''
  : `, skipped: there is no ${executablePath}; install chromium, or say in CHROMIUM where it is`

/** @param args besides those without which it does not run as root */
export const launch = (args: readonly string[] = []): Promise<Browser> =>
  chromium.launch({ executablePath, args: ['--no-sandbox', ...args] })
