import { checkValue, isObject, type Kind } from '../../declarations/check-options.ts'
import { server } from '../../declarations/option-kinds.ts'
import { matchPath } from '../../protocol/match-path.ts'
import { authorizationServer, protectedResource } from '../../protocol/well-known.ts'
import type { ServedWorker } from '../../served-worker.ts'

/** Answers a request; `undefined` passes the request to the next handler. */
export type FetchHandler = (request: Request, env: unknown, ctx: ExecutionContext) => unknown

/** Accepts an object with `fetch`, such as a Worker or a Hono app, or a function. */
export type WorkerOrHandler = FetchHandler | { fetch: FetchHandler }

type Served = Pick<ServedWorker, 'fetch' | 'paths' | 'routes' | 'isOfTenant'>

const isServed = (value: unknown): value is Served =>
  isObject(value) && typeof value.fetch === 'function' && isObject(value.paths) && Array.isArray(value.routes)

const served: Kind = [isServed, 'a Worker that serve() returns']
const handler: Kind = [
  (value) => typeof value === 'function' || (isObject(value) && typeof value.fetch === 'function'),
  'a Worker such as serve(server) returns, an object with fetch, or a function',
]

/** @throws Error that names the argument, and says what to pass for a server */
function checkWorker(owner: string, key: string, worker: unknown, kind: Kind): void {
  if (server[0](worker)) throw new Error(`"${key}" of ${owner} is a server, not a Worker: pass serve(server)`)
  checkValue(owner, key, worker, kind)
}

/** @throws Error for a value that `serve()` did not return */
export const checkServed = (owner: string, worker: unknown): void => checkWorker(owner, 'worker', worker, served)

/**
 * Returns the handler of a Worker that receives every request.
 *
 * @param owner the function that received the Worker as its argument `key`
 * @throws Error for a value without a handler
 */
export function handlerOf(owner: string, key: string, worker: WorkerOrHandler): FetchHandler {
  checkWorker(owner, key, worker, handler)
  return typeof worker === 'function' ? worker : worker.fetch.bind(worker)
}

/**
 * Creates a handler for the paths of a server: its endpoints, the metadata and pages of its `auth`, and the paths of its plugins except `/`. Returns
 * `undefined` for other paths. For itty-router and your own handlers; `combine()` uses it itself.
 *
 * @throws Error for a value that `serve()` did not return
 *
 * @example
 * router.all('*', routeHandler(worker))
 */
export const routeHandler = (
  worker: Served,
): ((request: Request, env: unknown, ctx: ExecutionContext) => Promise<Response | undefined>) => {
  checkServed('routeHandler()', worker)
  const endpoints = Object.values(worker.paths)
  const own = [...endpoints, ...worker.routes.filter((path) => path !== '/')]
  return async (request, env, ctx) => {
    if (worker.isOfTenant) return (await worker.isOfTenant(request)) ? worker.fetch(request, env, ctx) : undefined
    const { pathname } = new URL(request.url)
    if (matchPath(pathname, own) !== undefined) return worker.fetch(request, env, ctx)
    const isPublic = pathname === authorizationServer || isMetadata(pathname, endpoints)
    const response = isPublic ? await worker.fetch(request, env, ctx) : undefined
    // A server without auth answers with 404, or with 403 to a foreign origin or host. Another server may have the metadata.
    return response && notPublished.has(response.status) ? undefined : response
  }
}

/** Statuses of a server that does not publish metadata under a path. */
const notPublished = new Set([403, 404])

/** Whether a path is that of the metadata of an endpoint, or of the origin. */
const isMetadata = (path: string, endpoints: readonly string[]): boolean =>
  path.startsWith(protectedResource) &&
  matchPath(path.slice(protectedResource.length), ['', ...endpoints]) !== undefined

/**
 * Combines Workers into one. The first Worker with an answer answers: a Worker of `serve()` for its own paths, any other handler unless it
 * returns `undefined`. `/` goes to the first server with a page, if no other handler answers it. Without an answer, the response is 404.
 *
 * @throws Error for two servers at one path, and for a value without a handler
 *
 * @example
 * export default combine(notes, weather, app)
 */
export function combine(...workers: readonly (WorkerOrHandler | Served)[]): Required<Pick<ExportedHandler, 'fetch'>> {
  // Tenants have addresses of their own.
  const single = workers.filter(isServed).filter(({ isOfTenant }) => !isOfTenant)
  refuseSharedPath(single.map(({ paths }) => paths.mcp))
  const handlers = workers.map((worker, index) =>
    isServed(worker) ? routeHandler(worker) : handlerOf('combine()', `workers[${index}]`, worker),
  )
  const atRoot = workers.filter(isServed).find(({ routes }) => routes.includes('/'))
  return {
    async fetch(incoming, env, ctx) {
      // The handlers know the standard type; that of the platform has more.
      const request = incoming as unknown as Request
      for (const handle of handlers) {
        const response = await handle(request, env, ctx)
        if (response) return response as Response // as the request
      }
      if (atRoot && matchPath(new URL(request.url).pathname, ['/'])) return atRoot.fetch(request, env, ctx)
      return new Response('Not found\n', { status: 404 })
    },
  }
}

/** Endpoints of one folder share the paths of HTTP+SSE, which the first one has. @throws Error for two endpoints at one path */
function refuseSharedPath(paths: readonly string[]): void {
  const shared = paths.find((path, index) => paths.indexOf(path) !== index)
  if (shared === undefined) return
  throw new Error(
    `Two servers of combine() have the path "${shared}", so the second one never gets a request: give one of them another path`,
  )
}
