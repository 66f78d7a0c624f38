/**
 * Runs a server on this machine: `npm start` the one of the root wrangler.toml, `npm run example <name>` one of
 * examples/. Prints one line when it answers; reloads when a file changes; keeps its data in .edgemcp/.
 */
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'

process.env.CLOUDFLARE_CF_FETCH_ENABLED ??= 'false'
process.env.WRANGLER_SEND_METRICS ??= 'false'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { port: { type: 'string', default: '8787' } },
})
const root = resolve(import.meta.dirname, '..')
const [name = '.'] = positionals
const folder = name === '.' ? root : join(root, 'examples', name)
const config = join(folder, 'wrangler.toml')
const port = Number(values.port)
if (!existsSync(config)) fail(`There is no example "${name}".`)
if (!Number.isInteger(port) || port < 0 || port > 65_535) fail(`--port ${values.port} is not a port.`)

const { unstable_startWorker: startWorker } = await import('wrangler')
const worker = await startWorker({
  config,
  dev: {
    server: { hostname: '127.0.0.1', port },
    inspector: false,
    persist: join(root, '.edgemcp', name === '.' ? 'root' : name),
    logLevel: 'warn',
    watch: true,
  },
})
await worker.ready
const url = new URL('/mcp', await worker.url)
console.log(`ready on ${url}`)

let stopping = false
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, async () => {
    if (stopping) process.exit(1)
    stopping = true
    await worker.dispose()
    process.exit(0)
  })
}

function fail(message: string): never {
  console.error(message)
  process.exit(1)
}
