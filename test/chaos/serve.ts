/** Serves `server/` until it is killed: `node serve.ts <port> <folder of its data>`. Its code stays as it was at the start. */
import { join } from 'node:path'
import { startWorker } from './start-worker.ts'

const [port, data] = process.argv.slice(2)
await startWorker(join(import.meta.dirname, 'server'), Number(port), data, 'warn')
console.log('ready')
