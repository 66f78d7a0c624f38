/**
 * Test files share a process, so that wrangler is loaded once. This setup file runs before each of them, and restores what another file
 * may have changed: the environment, global variables, mocks, clocks. A file of which every test is skipped runs no
 * `afterAll`, so the state is restored before and after each file.
 */
import { afterAll, vi } from 'vitest'
import './patient.ts'

// Workerd closes a connection that has been idle for five seconds, and `fetch` one second earlier. A busy process is later than that, and
// would send a request on a closed connection.
const dispatcher = Symbol.for('undici.globalDispatcher.1')
const agent: unknown = Reflect.get(globalThis, dispatcher)
if (agent instanceof Object && !('isBrief' in agent)) {
  const brief: object = Reflect.construct(agent.constructor as never, [{ keepAliveTimeout: 1000 }])
  Reflect.set(globalThis, dispatcher, Object.assign(brief, { isBrief: true }))
}

type Pristine = {
  readonly env: NodeJS.ProcessEnv
  readonly fetch: typeof globalThis.fetch
  readonly directory: string
}

// Modules are evaluated once for each process, setup files once for each test file: the initial state of the process is stored here.
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
// Registered before the hooks of the file, so it runs last.
afterAll(restore)
