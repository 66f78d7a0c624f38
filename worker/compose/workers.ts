import type { EdgeWorker } from '../serve.ts'

type Asks = (request: Request, env: unknown, ctx: ExecutionContext) => unknown

/** Anything with a `fetch`, such as a Hono app, or a function. `undefined`: it is somebody else's. */
export type Elsewhere = Asks | { fetch: Asks }

const metadata = '/.well-known/oauth-protected-resource'

/**
 * A Worker that leaves alone what is not its own: the answer to requests for its endpoints and for what its `auth` publishes;
 * `undefined` for all others. For itty-router, and for whatever looks at paths itself.
 *
 * @example
 * router.all('*', own(worker))
 */
export const own =
  (worker: EdgeWorker) =>
  async (request: Request, env: unknown, ctx: ExecutionContext): Promise<Response | undefined> => {
    const { pathname } = new URL(request.url)
    const isOwn = Object.values(worker.paths).includes(pathname) || pathname === metadata + worker.paths.mcp
    return isOwn || pathname === metadata ? worker.fetch(request, env, ctx) : undefined
  }

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
        const ask: Asks = typeof worker === 'function' ? worker : worker.fetch.bind(worker)
        const response = await ask(request as unknown as Request, env, ctx)
        if (response) return response as Response
      }
      return new Response('Not found\n', { status: 404 })
    },
  }
}
