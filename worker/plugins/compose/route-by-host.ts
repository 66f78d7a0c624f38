import { type Asks, askWorker, type Elsewhere } from './workers.ts'

/**
 * Several Workers in one, each for a name of its own; `undefined` for all other names. For `first`.
 *
 * @param workers by host, such as `notes.example.com`; with a port, such as `localhost:8787`, for this port only
 * @throws Error for what is no host
 *
 * @example
 * export default first(routeByHost({ 'notes.example.com': notes, 'weather.example.com': weather }), app)
 */
export function routeByHost(workers: Readonly<Record<string, Elsewhere>>): Asks {
  const byHost = new Map(Object.entries(workers).map(([host, worker]) => [readHost(host), askWorker(worker)]))
  return (request, env, ctx) => {
    const { host, hostname } = new URL(request.url)
    return (byHost.get(host) ?? byHost.get(hostname))?.(request, env, ctx)
  }
}

function readHost(text: string): string {
  const host = text.toLowerCase()
  // Another scheme than http has another port of its own, which a URL leaves out.
  if (URL.parse(`edgemcp://${host}`)?.host === host && /^[^*]+$/.test(host)) return host
  throw new Error(`routeByHost: "${text}" is no host: write it without a scheme and a path, as in "notes.example.com"`)
}
