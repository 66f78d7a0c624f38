/** Routes the requests of a Worker: to the endpoint, HTTP+SSE, the metadata and pages of `auth`, and the routes of plugins. */

import { IttyRouter } from 'itty-router/IttyRouter'
import { get, post, remove } from './http/endpoint.ts'
import { errorResponse, notAllowed } from './http/error-response.ts'
import type { Host } from './http/host.ts'
import { guardHost, guardOrigin } from './http/origin-and-host.ts'
import type { Transports } from './http/transport.ts'
import type { Route } from './plugin.ts'
import { asMcpError, errorTable, McpError } from './protocol/errors.ts'
import { memoizeLast } from './protocol/memoize-last.ts'
import type { AuditHook, IncomingRequest } from './request-hooks.ts'

/** Answers a request. */
type Answer = (request: Request, incoming: IncomingRequest) => Promise<Response>

/** @param methods the methods of its path */
export type Handler = (
  request: Request,
  host: Host,
  incoming: IncomingRequest,
  methods: string,
) => Response | Promise<Response>

/**
 * @param transports what serves sessions and streams of change notifications, if the endpoint has it
 * @param routes of plugins
 * @param hooks of plugins, called with each response, except for those of `auth`, whose metadata every page may read
 * @param answerOther answers requests of other paths. Default: with status 404
 */
export function router(
  host: Host,
  transports: Transports,
  routes: readonly Route[],
  hooks: readonly AuditHook[],
  answerOther: Handler = notFound,
): Answer {
  const { auth, cors, limit, policy } = host
  // Routes to functions that answer, so that the route of one request can be remembered for the next one.
  const router = IttyRouter()
  const urlOf = memoizeLast((text) => new URL(text))

  /** @param isOpen whether it answers pages of every origin, and sets the CORS headers itself */
  const guarded =
    (handler: Handler, methods: string, isOpen?: boolean): Answer =>
    async (request, incoming) => {
      const url = urlOf(request.url)
      const error = guardHost(url, policy) ?? (!isOpen && guardOrigin(request.headers.get('Origin'), url, policy))
      let response: Response
      try {
        if (error) throw error
        response = await handler(request, host, incoming, methods)
      } catch (thrown) {
        response = rejectionResponse(thrown, incoming, host)
      }
      for (const [name, value] of Object.entries(incoming.responseHeaders ?? {})) response.headers.set(name, value)
      runHooks(hooks, incoming, response, host)
      return isOpen ? response : cors.addHeaders(limit?.track?.(incoming, response) ?? response, request, !!error)
    }
  /** What `auth` answers precedes everything but the endpoint. */
  const unlessAuth =
    (answer: Answer): Answer =>
    async (request, incoming) => {
      const isAllowed = !guardHost(urlOf(request.url), policy)
      return (isAllowed && (await auth?.handleRequest?.(request, host))) || answer(request, incoming)
    }
  const route = (path: string, handlers: Readonly<Record<string, Handler>>, wrap = (answer: Answer) => answer) => {
    const methods = Object.keys(handlers).join(', ')
    const answerOf = (handler: Handler) => {
      const answer = wrap(guarded(handler, methods, handlers.OPTIONS !== OPTIONS))
      return () => answer
    }
    for (const [method, handler] of Object.entries(handlers)) router[method]?.(path, answerOf(handler))
    router.all(path, answerOf(methodNotAllowed))
  }

  route(host.paths.mcp, {
    GET: (request, _, incoming) => get(request, host, incoming, transports),
    POST: (request, _, incoming) => post(request, host, incoming, transports),
    DELETE: (request, _, incoming) => remove(request, host, incoming, transports),
    OPTIONS,
  })
  for (const { path, method, handle } of transports.transport?.routes(host.paths) ?? []) {
    route(path, { [method]: handle, OPTIONS })
  }
  for (const { path, methods, handle } of routes) {
    const handler: Handler = (request) => answerRoute(path, () => handle(request, host))
    const handlers = Object.fromEntries(methods.map((method) => [method, handler]))
    handlers.OPTIONS ??= OPTIONS
    route(path, handlers, unlessAuth)
  }
  const other = unlessAuth(guarded(answerOther, ''))
  router.all('*', () => other)
  const answerOf = memoizeLast((target): Promise<Answer> => {
    const [method = '', url = ''] = target.split(' ')
    return router.fetch({ method, url })
  })
  return async (request, incoming) => (await answerOf(`${request.method} ${request.url}`))(request, incoming)
}

const OPTIONS: Handler = (request, { cors }, _incoming, methods) => cors.preflight(request, methods)

const methodNotAllowed: Handler = (_request, _host, _incoming, methods) => notAllowed(methods)

export const notFound: Handler = (_request, { paths }) =>
  new Response(`Not found. The MCP endpoint is ${paths.mcp}\n`, { status: 404 })

function rejectionResponse(thrown: unknown, incoming: IncomingRequest, { report }: Host): Response {
  incoming.rejection = asMcpError(thrown, report)
  const response = errorResponse(incoming.rejection)
  // An internal error has the status 200 in the answer to a JSON-RPC request. This response answers none.
  return thrown instanceof McpError || incoming.rejection.kind !== 'internal_error'
    ? response
    : new Response(response.body, { status: 500, headers: response.headers })
}

/** Answers with an HTTP error if a route throws, whatever the status of its error is in JSON-RPC. */
async function answerRoute(path: string, handle: () => unknown): Promise<Response> {
  try {
    const response = await handle()
    // The headers of responses of `fetch` and `Response.redirect` are immutable, and CORS adds some.
    if (response instanceof Response) return new Response(response.body, response)
  } catch (thrown) {
    if (!(thrown instanceof McpError) || errorTable[thrown.kind].status >= 400) throw thrown
    throw new Error(thrown.message, { cause: thrown })
  }
  throw new Error(`The route "${path}" of a plugin returned no Response: return one`)
}

function runHooks(hooks: readonly AuditHook[], incoming: IncomingRequest, response: Response, host: Host): void {
  for (const hook of hooks) {
    try {
      const returned: unknown = hook(incoming, response, host)
      if (returned instanceof Promise) host.waitUntil(returned.catch(host.report))
    } catch (problem) {
      host.report(problem)
    }
  }
}
