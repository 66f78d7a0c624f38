/** Starts a project in this process without wrangler, for `npm test`: wrangler starts two runtimes, and bundles again. */
import { join } from 'node:path'
import type { WorkerdStructuredLog } from 'miniflare'
import { unstable_readConfig as readConfig } from 'wrangler'
import { remoteBindings } from '../../cli/doctor/config.ts'
import { tested } from '../../cli/doctor/rules/platform.ts'
import {
  description,
  failureOf,
  pagesOf,
  type Ran,
  type UrlsOf,
  type Vars,
  type Wrangler,
} from '../../cli/doctor/wrangler.ts'
import { startWorker } from '../support/server.ts'

/** @returns `undefined` for a project that does not build or respond, whose problem wrangler reports */
export async function quickRun(
  folder: string,
  file: string,
  vars: Vars,
  wrangler: Wrangler,
  urlsOf: UrlsOf = () => [],
): Promise<Ran | undefined> {
  if (remoteBindings(wrangler.readConfig(file)).length > 0) return undefined
  const logs: WorkerdStructuredLog[] = []
  try {
    const config = readConfig({ config: join(folder, file) }, { hideWarnings: true })
    // Wrangler runs a Worker without a date with that of today, and reports one that it does not know.
    const { compatibility_date: date = tested } = config
    if (date > tested) return undefined
    const dated = { ...config, compatibility_date: date }
    await using server = await startWorker(dated, { ...vars, EDGEMCP_DESCRIBE: 'yes' }, 'development', undefined, logs)
    const log = () => server.harness.getLogs().map(({ message }) => message)
    for (let tries = 0; tries < 40 && !isDescribed(log()); tries += 1) {
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
    const lines = log()
    if ((await failureOf(server.harness)) !== undefined) return undefined
    return { isUp: true, log: lines, pages: await pagesOf(server.harness, urlsOf(lines)) }
  } catch (problem) {
    const { code, message } = problem as Error & { code?: string }
    // Wrangler tells what a Worker without a default export lacks, and what does not build.
    if (code !== 'ERR_RUNTIME_FAILURE' || message.includes('from an undefined')) return undefined
    return { isUp: false, log: [...logs.map((log) => log.message), message] }
  }
}

const isDescribed = (lines: readonly string[]): boolean => lines.some((line) => line.startsWith(description))
