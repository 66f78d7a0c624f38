import { authorizationServer, protectedResource } from '../../protocol/well-known.ts'
import type { ServedWorker } from '../../served-worker.ts'

export type Asks = (request: Request, env: unknown, ctx: ExecutionContext) => unknown

/** Anything with a `fetch`, such as a Hono app, or a function. `undefined`: it is somebody else's. */
export type Elsewhere = Asks | { fetch: Asks }

/** How it is asked, whatever it is. */
export const askWorker = (worker: Elsewhere): Asks =>
  typeof worker === 'function' ? worker : worker.fetch.bind(worker)

/**
 * A Worker that leaves alone what is not its own: the answer to requests for its endpoints and for what its `auth` publishes;
 * `undefined` for all others. For itty-router, and for whatever looks at paths itself.
 *
 * @example
 * router.all('*', own(worker))
 */
export const own =
  (worker: ServedWorker) =>
  async (request: Request, env: unknown, ctx: ExecutionContext): Promise<Response | undefined> => {
    const { pathname } = new URL(request.url)
    const endpoints = Object.values(worker.paths)
    if (endpoints.includes(pathname)) return worker.fetch(request, env, ctx)
    const isPublic = pathname === authorizationServer || ['', ...endpoints].includes(resourceIn(pathname))
    const response = isPublic ? await worker.fetch(request, env, ctx) : undefined
    // It has no auth: another may have some.
    return response?.status === 404 ? undefined : response
  }

/** What a description is of, by where that is. */
const resourceIn = (path: string) => (path.startsWith(protectedResource) ? path.slice(protectedResource.length) : path)

/**
 * One Worker of several: each request is answered by the first that has an answer.
 *
 * @example
 * export default first(own(notes), own(weather), app)
 */
export function first(...workers: readonly Elsewhere[]): Required<Pick<ExportedHandler, 'fetch'>> {
  return {
    async fetch(request, env, ctx) {
      for (const worker of workers) {
        const response = await askWorker(worker)(request as unknown as Request, env, ctx)
        if (response) return response as Response
      }
      return new Response('Not found\n', { status: 404 })
    },
  }
}
