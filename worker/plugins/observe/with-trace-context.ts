import { isObject } from '../../protocol/jsonrpc.ts'
import type { Params } from '../../protocol/types.ts'
import type { ServedWorker } from '../../served-worker.ts'

const standard = ['traceparent', 'tracestate', 'baggage']
/** Bytes of a body that is read for it. */
const maxEntries = 1_000_000

/**
 * A Worker that takes the trace of a request from its headers where its messages say nothing of one, for clients and gateways that know
 * traces of HTTP only. Others cost nothing.
 *
 * @example
 * export default withTraceContext(worker)
 *
 * @see https://www.w3.org/TR/trace-context/
 */
export const withTraceContext = (worker: ServedWorker): ServedWorker => ({
  paths: worker.paths,
  routes: worker.routes,
  server: worker.server,
  fetch: async (request, env, ctx) => worker.fetch(await withTrace(request), env, ctx),
})

async function withTrace(request: Request): Promise<Request> {
  const { headers, method } = request
  const isSmall = Number(headers.get('Content-Length') ?? Number.POSITIVE_INFINITY) <= maxEntries
  if (method !== 'POST' || !headers.has('traceparent') || !isSmall) return request
  const trace = Object.fromEntries(standard.flatMap((name) => (headers.has(name) ? [[name, headers.get(name)]] : [])))
  const text = await request.text()
  const changed = new Headers(headers)
  changed.delete('Content-Length')
  return new Request(request, { headers: changed, body: added(text, trace) })
}

/** The messages of a body with this trace; the same text for what is no message, which is refused elsewhere. */
function added(text: string, trace: Params): string {
  try {
    const body: unknown = JSON.parse(text)
    return JSON.stringify(Array.isArray(body) ? body.map((each) => addedTo(each, trace)) : addedTo(body, trace))
  } catch {
    return text
  }
}

function addedTo(message: unknown, trace: Params): unknown {
  if (!isObject(message) || typeof message.method !== 'string') return message
  const { params = {} } = message
  if (!isObject(params)) return message
  const _meta = isObject(params._meta) ? params._meta : {}
  if (_meta.traceparent !== undefined) return message
  return { ...message, params: { ...params, _meta: { ...trace, ..._meta } } }
}
