/**
 * Runs the long checks of test/chaos in sequence: `npm run chaos` all of them, `npm run chaos -- kill` one.
 * `--seed <number>` selects other times and other orders. Prints one line for each check; exits with 1 when one fails.
 */
import { parseArgs } from 'node:util'
import { deploy } from '../test/chaos/deploy.ts'
import { kill } from '../test/chaos/kill.ts'
import { leaks } from '../test/chaos/leaks.ts'
import { signIn } from '../test/chaos/sign-in.ts'
import { slowReader } from '../test/chaos/slow-reader.ts'
import { tasks } from '../test/chaos/tasks.ts'
import { updates } from '../test/chaos/updates.ts'

/** A check throws an error when it finds a defect. Otherwise it returns what it did, with figures. */
type Check = (options: { seed?: number }) => Promise<string>

// Wrangler reads these when a server starts. In tests, vitest.config.ts sets them.
Object.assign(process.env, {
  CLOUDFLARE_CF_FETCH_ENABLED: 'false',
  WRANGLER_SEND_METRICS: 'false',
  WRANGLER_LOG: 'none',
})

const checks: Record<string, Check> = {
  kill,
  deploy,
  leaks,
  'sign-in': signIn,
  'slow-reader': slowReader,
  tasks,
  updates,
}

const { values, positionals } = parseArgs({ allowPositionals: true, options: { seed: { type: 'string' } } })
const names = positionals.length > 0 ? positionals : Object.keys(checks)
for (const name of names) {
  const check = checks[name]
  try {
    if (!check) throw new Error(`There is no such check: choose from ${Object.keys(checks).join(', ')}`)
    console.log(`${name}: ${await check(values.seed === undefined ? {} : { seed: Number(values.seed) })}`)
  } catch (problem) {
    console.error(`${name} failed:`, problem)
    process.exitCode = 1
  }
}
