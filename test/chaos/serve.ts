/**
 * Serves `server/` until it is killed: `node serve.ts <port> <folder of its data> [folder of another server]`. Its code stays
 * as it was at the start, until a line of its input names the folder of what is to be deployed.
 */
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { startWorker } from './start-worker.ts'

const [port, data, folder = join(import.meta.dirname, 'server')] = process.argv.slice(2)
const worker = await startWorker(folder, Number(port), data, 'warn')
console.log('ready')
for await (const next of createInterface({ input: process.stdin })) {
  const deployed = once(worker.raw, 'reloadComplete')
  await worker.patchConfig({ config: join(next, 'wrangler.toml') })
  await deployed
  console.log('ready')
}
