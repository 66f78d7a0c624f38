/** Responses with their timings. */
import type { ServedWorker } from '../../served-worker.ts'
import { runWaiting } from './at-first-request.ts'
import { begin, end, type Hop, hopsOf, runWith } from './hops.ts'
import { isInside } from './internals.ts'
import { watchBindings } from './missing-bindings.ts'
import { serverTiming } from './server-timing.ts'

/**
 * Returns a Worker whose responses have the header `Server-Timing`, which browsers show.
 *
 * @see https://www.w3.org/TR/server-timing/
 */
export const timed = (worker: ServedWorker): ServedWorker => ({
  ...worker,
  async fetch(request, env, context) {
    runWaiting()
    watchBindings(env)
    const url = new URL(request.url)
    if (isInside(url)) return worker.fetch(request, env, context)
    const hop = begin('request', `${request.method} ${url.pathname}`)
    try {
      const response = await runWith(hop, () => worker.fetch(request, env, context))
      end(hop, false)
      return withTimings(response, hop)
    } catch (problem) {
      end(hop, true)
      throw problem
    }
  },
})

function withTimings(response: Response, request: Hop): Response {
  const header = serverTiming(request.number, hopsOf(request.number))
  try {
    response.headers.append('Server-Timing', header)
    return response
  } catch {
    // That of an answer which came from elsewhere cannot be changed.
    const copy = new Response(response.body, response)
    copy.headers.append('Server-Timing', header)
    return copy
  }
}
