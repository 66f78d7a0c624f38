/** Serves `server/` until it is killed: `node serve.ts <port> <folder of its data> [folder of another server]`. Its code stays as it was at the start. */
import { join } from 'node:path'
import { startWorker } from './start-worker.ts'

const [port, data, folder = join(import.meta.dirname, 'server')] = process.argv.slice(2)
await startWorker(folder, Number(port), data, 'warn')
console.log('ready')
