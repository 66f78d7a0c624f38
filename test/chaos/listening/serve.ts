/**
 * Serves the Worker beside it until it is killed: `node serve.ts <port> <folder of its data> <another port>`. On the other
 * port `POST /<class>/<name>` puts an object out of memory, its sockets stay; 409: something keeps it there.
 */
import { createServer } from 'node:http'
import { startWorker } from '../start-worker.ts'

const [port, data, control] = process.argv.slice(2)
const worker = await startWorker(import.meta.dirname, Number(port), data, 'none')
const runtime = worker.raw.runtimes[0]?.mf
const evicting = createServer(async ({ url = '' }, response) => {
  const [, kind = '', name = ''] = decodeURIComponent(url).split('/')
  try {
    await runtime?.unsafeEvictDurableObject('listening', kind, { name, webSockets: 'hibernate' })
    response.writeHead(204).end()
  } catch (problem) {
    response.writeHead(409).end(String(problem))
  }
})
evicting.listen(Number(control), '127.0.0.1', () => console.log('ready'))
