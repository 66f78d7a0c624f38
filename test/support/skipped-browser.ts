/** Prints at the end of a run that tests in a browser were skipped, the reason, and how to run them. */
import type { Reporter } from 'vitest/node'
import { missing } from './chromium.ts'

export default class SkippedBrowser implements Reporter {
  onTestRunEnd: Reporter['onTestRunEnd'] = (modules) => {
    if (!missing) return
    const skipped = modules.filter((module) => [...module.children.suites()].some(({ name }) => name.endsWith(missing)))
    if (skipped.length > 0) console.log(`\n Browser tests of ${skipped.length} files were${missing.replace(/^,/, '')}`)
  }
}
