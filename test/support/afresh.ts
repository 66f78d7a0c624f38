/**
 * Test files share a process, so that wrangler is loaded once. Runs before each of them, and puts back what another one
 * may have changed: the environment, global variables, mocks, clocks. A file of which every test is skipped runs no
 * `afterAll`, so both ends are needed.
 */
import { afterAll, vi } from 'vitest'
import './patient.ts'

type Pristine = {
  readonly env: NodeJS.ProcessEnv
  readonly fetch: typeof globalThis.fetch
  readonly directory: string
}

// Modules of a process are evaluated once, setup files once for each test file: what the process began with is kept here.
const shared = globalThis as typeof globalThis & { pristine?: Pristine }
shared.pristine ??= { env: { ...process.env }, fetch: globalThis.fetch, directory: process.cwd() }
const { env, fetch, directory } = shared.pristine

function restore(): void {
  vi.useRealTimers()
  vi.unstubAllGlobals()
  vi.unstubAllEnvs()
  vi.restoreAllMocks()
  globalThis.fetch = fetch
  for (const name of Object.keys(process.env)) if (!(name in env)) delete process.env[name]
  Object.assign(process.env, env)
  process.chdir(directory)
  process.exitCode = undefined
}

restore()
// Registered before the file's own hooks, and so the last to run.
afterAll(restore)
