import { checkValue } from '../../declarations/check-options.ts'
import { object } from '../../declarations/option-kinds.ts'
import { type FetchHandler, handlerOf, type WorkerOrHandler } from './workers.ts'

/**
 * Creates a handler that routes requests to Workers by their host, and returns `undefined` for other hosts. Pass it to `combine()`.
 *
 * @param workers by host, such as `notes.example.com`. With a port, such as `localhost:8787`, only this port matches
 * @throws Error for an invalid host. The message names the fix
 *
 * @example
 * export default combine(routeByHost({ 'notes.example.com': notes, 'weather.example.com': weather }), app)
 */
export function routeByHost(workers: Readonly<Record<string, WorkerOrHandler>>): FetchHandler {
  checkValue('routeByHost()', 'workers', workers, object({}, 'an object of Workers by host'))
  const workersByHost = new Map(
    Object.entries(workers).map(([host, worker]) => [readHost(host), handlerOf('routeByHost()', host, worker)]),
  )
  return (request, env, ctx) => {
    const { host, hostname } = new URL(request.url)
    return (workersByHost.get(host) ?? workersByHost.get(hostname))?.(request, env, ctx)
  }
}

function readHost(text: string): string {
  const host = text.toLowerCase()
  // Another scheme than http has another port of its own, which a URL leaves out.
  if (URL.parse(`edgemcp://${host}`)?.host === host && /^[^*]+$/.test(host)) return host
  throw new Error(`routeByHost: invalid host "${text}": write it without scheme and path, as in "notes.example.com"`)
}
