/**
 * A caller that gives up. A disconnect on the wire reaches a Worker sooner or later; this one reaches it when a test wants.
 *
 * @param worker who is called, and left alone
 * @param until a page: once it has answered, the caller is gone
 */
export async function abandon(
  worker: { fetch(request: Request, init: { signal: AbortSignal }): Promise<Response> },
  request: Request,
  until: string,
): Promise<Response> {
  const stop = new AbortController()
  const asked = worker.fetch(request, { signal: stop.signal })
  await fetch(until)
  stop.abort()
  return asked.catch(() => new Response('given up'))
}
