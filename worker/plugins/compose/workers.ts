import { authorizationServer, protectedResource } from '../../protocol/well-known.ts'
import type { ServedWorker } from '../../served-worker.ts'

/** Answers a request; `undefined`: the request is for another handler. */
export type FetchHandler = (request: Request, env: unknown, ctx: ExecutionContext) => unknown

/** Anything with a `fetch`, such as a Hono app, or a function. */
export type WorkerOrHandler = FetchHandler | { fetch: FetchHandler }

/** The handler of a Worker that gets every request. */
export const handlerOf = (worker: WorkerOrHandler): FetchHandler =>
  typeof worker === 'function' ? worker : worker.fetch.bind(worker)

type Served = Pick<ServedWorker, 'fetch' | 'paths' | 'routes'>

/**
 * Handles the requests for a server's own paths: its endpoints, what its `auth` publishes, and the paths of its plugins except `/`. Returns `undefined`
 * for all others. For itty-router, and for handlers of your own; `combine()` does this itself.
 *
 * @example
 * router.all('*', routeHandler(worker))
 */
export const routeHandler = (worker: Served) => {
  const endpoints = Object.values(worker.paths)
  const own = new Set([...endpoints, ...worker.routes.filter((path) => path !== '/')])
  return async (request: Request, env: unknown, ctx: ExecutionContext): Promise<Response | undefined> => {
    const { pathname } = new URL(request.url)
    if (own.has(pathname)) return worker.fetch(request, env, ctx)
    const isPublic = pathname === authorizationServer || ['', ...endpoints].includes(resourceIn(pathname))
    const response = isPublic ? await worker.fetch(request, env, ctx) : undefined
    // A server without auth answers with 404, or with 403 to a foreign origin or host. Another server may have the metadata.
    return response && notPublished.has(response.status) ? undefined : response
  }
}

/** Statuses of a server that does not publish metadata under a path. */
const notPublished = new Set([403, 404])

/** The path of the resource that a metadata path describes. */
const resourceIn = (path: string) => (path.startsWith(protectedResource) ? path.slice(protectedResource.length) : path)

/**
 * Combines Workers to one. The first that has an answer answers: one that `serve()` returned for its own paths, as `routeHandler()` says, any other
 * unless it returns `undefined`. `/` goes to the first server with a page there when no other Worker answers it. A request that none answers gets 404.
 *
 * @example
 * export default combine(notes, weather, app)
 */
export function combine(...workers: readonly (WorkerOrHandler | Served)[]): Required<Pick<ExportedHandler, 'fetch'>> {
  const served = workers.filter((worker) => 'paths' in worker)
  const handlers = workers.map((worker) => ('paths' in worker ? routeHandler(worker) : handlerOf(worker)))
  const atRoot = served.find(({ routes }) => routes.includes('/'))
  return {
    async fetch(incoming, env, ctx) {
      // The handlers know the standard type; that of the platform has more.
      const request = incoming as unknown as Request
      for (const handle of handlers) {
        const response = await handle(request, env, ctx)
        if (response) return response as Response // as the request
      }
      if (atRoot && new URL(request.url).pathname === '/') return atRoot.fetch(request, env, ctx)
      return new Response('Not found\n', { status: 404 })
    },
  }
}
