/** Starts a project in this process without wrangler, for `npm test`: wrangler starts two runtimes, and bundles again. */
import { join } from 'node:path'
import { unstable_readConfig as readConfig } from 'wrangler'
import { remoteBindings } from '../../cli/doctor/config.ts'
import { description, type Ran, type Wrangler } from '../../cli/doctor/wrangler.ts'
import { startWorker } from '../support/server.ts'

/** @returns `undefined` for a project that does not start or respond, whose problem wrangler reports */
export async function quickRun(folder: string, file: string, wrangler: Wrangler): Promise<Ran | undefined> {
  if (remoteBindings(wrangler.readConfig(file)).length > 0) return undefined
  try {
    const config = readConfig({ config: join(folder, file) }, { hideWarnings: true })
    await using server = await startWorker(config, { EDGEMCP_DESCRIBE: 'yes' }, 'development')
    const log = () => server.harness.getLogs().map(({ message }) => message)
    for (let tries = 0; tries < 40 && !isDescribed(log()); tries += 1) {
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
    const lines = log()
    const { body } = await server.harness.fetch('http://localhost/mcp', { method: 'OPTIONS' })
    await body?.cancel()
    return { isUp: true, lacksFetchHandler: false, log: lines }
  } catch {
    return undefined
  }
}

const isDescribed = (lines: readonly string[]): boolean => lines.some((line) => line.startsWith(description))
