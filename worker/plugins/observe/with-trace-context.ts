import { isObject } from '../../protocol/jsonrpc.ts'
import type { Params } from '../../protocol/types.ts'
import type { ServedWorker } from '../../served-worker.ts'

const standard = ['traceparent', 'tracestate', 'baggage']
/** Bytes of a body that is parsed to add the trace. */
const maxEntries = 1_000_000

/**
 * Wraps a Worker so that calls belong to the trace of the HTTP headers (`traceparent`) if their messages state none. For clients and
 * gateways that trace HTTP requests. Requests without these headers pass unchanged.
 *
 * @see https://www.w3.org/TR/trace-context/
 *
 * @example
 * export default withTraceContext(worker)
 */
export const withTraceContext = (worker: ServedWorker): ServedWorker => ({
  paths: worker.paths,
  routes: worker.routes,
  server: worker.server,
  ...(worker.isOfTenant && { isOfTenant: worker.isOfTenant }),
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

/** Adds a trace to the messages of a body. A body that is not JSON is returned unchanged, and rejected later. */
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
