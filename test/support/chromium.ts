/** The browser of this machine, for the tests that need one. Others go on without. */
import { existsSync } from 'node:fs'

export const executablePath = process.env.CHROMIUM ?? '/usr/bin/chromium'
export const found = existsSync(executablePath)

/** What is added to the name of what is skipped without it. */
export const missing = found
  ? ''
  : `, skipped: there is no ${executablePath}; install chromium, or say in CHROMIUM where it is`
