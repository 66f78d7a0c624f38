/**
 * Runs a server on this machine: `npm start` that of the root wrangler.toml, `npm run example <name>` one of
 * examples/. Prints one line when it is ready, and one for the authorization server of an example; reloads when a file changes; stores
 * its data in .edgemcp/, or in the folder of `--data`.
 */
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { createServer } from 'node:net'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'

process.env.CLOUDFLARE_CF_FETCH_ENABLED ??= 'false'
process.env.WRANGLER_SEND_METRICS ??= 'false'

/** The authorization server of an example on this machine: `start` of its `auth-server/start.ts`. */
type AuthServer = {
  /** One line for the terminal. */
  readonly announcement: string
  /** Variables of the Worker, which override those of its wrangler.toml. */
  readonly variables: Readonly<Record<string, string>>
  /** Called when the Worker is ready. @param mcp URL of its endpoint */
  onReady?(mcp: URL): Promise<void>
  stop(): Promise<void>
}

const { name, port, data } = readArguments()
const root = resolve(import.meta.dirname, '..')
const folder = name === '.' ? root : join(root, 'examples', name)
const config = join(folder, 'wrangler.toml')
if (!existsSync(config)) fail(`There is no example "${name}": choose a folder of examples/.`)
if (!Number.isInteger(port) || port < 0 || port > 65_535) fail('--port must be a number from 0 to 65535.')
if (!(await isFree(port))) fail(`Port ${port} is in use: choose another with --port.`)

const authServer = await startAuthServer(join(folder, 'auth-server', 'start.ts'))
/** The key that the inspector needs for test users and Durable Objects. */
const inspectorKey = process.env.EDGEMCP_INSPECTOR_KEY || randomBytes(16).toString('base64url')
const { unstable_startWorker: startWorker } = await import('wrangler')
const worker = await startWorker({
  config,
  bindings: Object.fromEntries(
    Object.entries({ ...authServer?.variables, EDGEMCP_INSPECTOR_KEY: inspectorKey }).map(([name, value]) => [
      name,
      { type: 'plain_text', value },
    ]),
  ),
  dev: {
    server: { hostname: '127.0.0.1', port },
    inspector: false,
    persist: resolve(data ?? join(root, '.edgemcp', name === '.' ? 'root' : name)),
    logLevel: 'warn',
    watch: true,
  },
})
await worker.ready
console.log(`ready on ${new URL('/mcp', await worker.url)}`)
console.log(`inspector on ${new URL(`/?inspector=${inspectorKey}`, await worker.url)}`)
if (authServer) console.log(authServer.announcement)
await authServer?.onReady?.(new URL('/mcp', await worker.url))

let stopping = false
async function stop(): Promise<void> {
  // A terminal sends the signal to the whole process group, so it may arrive twice.
  if (stopping) return
  stopping = true
  await Promise.all([worker.dispose(), authServer?.stop()])
  process.exit(0)
}
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  // The listeners of the runtime would end this process before the servers are stopped.
  process.removeAllListeners(signal)
  process.on(signal, stop)
}

function readArguments(): { name: string; port: number; data: string | undefined } {
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: { port: { type: 'string', default: '8787' }, data: { type: 'string' } },
    })
    const [name = '.'] = positionals
    return { name, port: Number(values.port), data: values.data }
  } catch (problem) {
    return fail((problem as Error).message)
  }
}

async function startAuthServer(path: string): Promise<AuthServer | undefined> {
  if (!existsSync(path)) return undefined
  const { start } = (await import(path)) as { start(port: number): Promise<AuthServer> }
  return start(port).catch((problem: Error) => fail(problem.message))
}

/** Checks that a port is free. Otherwise another server would respond in place of this one. */
function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer()
    probe.once('error', () => resolve(false))
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)))
  })
}

function fail(message: string): never {
  console.error(message)
  process.exit(1)
}
