/** Serves `server/` until it is killed: `node serve.ts <port> <folder of its data>`. Its code stays as it was at the start. */
import { join } from 'node:path'

process.env.CLOUDFLARE_CF_FETCH_ENABLED ??= 'false'
process.env.WRANGLER_SEND_METRICS ??= 'false'

const [port, data] = process.argv.slice(2)
const { unstable_startWorker: startWorker } = await import('wrangler')
const worker = await startWorker({
  config: join(import.meta.dirname, 'server/wrangler.toml'),
  dev: {
    server: { hostname: '127.0.0.1', port: Number(port) },
    inspector: false,
    persist: data,
    logLevel: 'warn',
    watch: false,
  },
})
await worker.ready
console.log('ready')
