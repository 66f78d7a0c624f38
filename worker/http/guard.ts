/** The checks of hosts and origins, and CORS, for Workers that serve more than MCP. */
import { checkOptions, type KindsOf } from '../declarations/check-options.ts'
import { isListOf, object } from '../declarations/option-kinds.ts'
import { checkPolicy, policyKinds } from './check-origins-and-hosts.ts'
import { Cors, type CorsOptions, corsKinds } from './cors.ts'
import { errorResponse } from './error-response.ts'
import { guardHost, guardOrigin, type Policy } from './origin-and-host.ts'

/** Configures `createGuard()`. `origins`, `hosts` and `cors` mean what they mean in `serve()`. */
export type GuardOptions = Partial<Policy> & {
  /** Adds to the CORS headers. Default: the headers of MCP only. */
  cors?: CorsOptions
  /** Methods that preflights allow, such as `['GET', 'PUT']`. Default: `GET`, `POST` and `DELETE`, the methods of MCP. */
  methods?: readonly string[]
}

/** Protects routes of a Worker as `serve()` protects its endpoint: see `createGuard()`. */
export interface Guard {
  /**
   * Returns a response with status 403 for a request of a web page that may not call, or under another host name; `undefined` for a request
   * to serve. A page cannot read the response.
   */
  reject(request: Request): Response | undefined
  /**
   * Answers a preflight with status 204, or as `reject` does. `undefined` for other requests, also for an `OPTIONS` without
   * `Access-Control-Request-Method`.
   */
  preflight(request: Request): Response | undefined
  /**
   * Returns a copy of a response, with headers that let the page that sent the request read it if `reject` does not reject the request.
   * `Access-Control-Allow-Origin` and `Access-Control-Allow-Credentials` of the response are left out.
   */
  withCors(response: Response, request: Request): Response
}

const kinds: KindsOf<GuardOptions> = {
  ...policyKinds,
  cors: object(corsKinds),
  methods: [
    (value) => isListOf(value, (method) => typeof method === 'string' && /^[A-Z]+$/.test(method)),
    "a list of methods, such as ['GET', 'PUT']",
  ],
}

/**
 * Creates the checks of `Host` and `Origin` that `serve()` does, and its CORS headers, for routes besides an endpoint, or in front of one.
 *
 * @throws Error for an invalid option. The message names the fix
 * @see https://fetch.spec.whatwg.org/#http-cors-protocol
 *
 * @example
 * const guard = createGuard({ ...policies.browser({ origins: ['https://app.example.com'] }), methods: ['GET'] })
 * export default {
 *   async fetch(request: Request) {
 *     const response = guard.reject(request) ?? guard.preflight(request)
 *     return response ?? guard.withCors(Response.json({ status: 'up' }), request)
 *   },
 * }
 */
export function createGuard(options: GuardOptions = {}): Guard {
  checkOptions('createGuard()', options, kinds)
  checkPolicy(options)
  const { origins = [], hosts = [], methods = ['GET', 'POST', 'DELETE'] } = options
  const cors = new Cors(options.cors)
  const errorFor = ({ url: text, headers }: Request) => {
    const url = new URL(text)
    return guardHost(url, { hosts }) ?? guardOrigin(headers.get('Origin'), url, { origins })
  }
  const reject = (request: Request) => {
    const error = errorFor(request)
    return error && cors.addHeaders(errorResponse(error), request, true)
  }
  return {
    reject,
    preflight(request) {
      if (request.method !== 'OPTIONS' || !request.headers.has('Access-Control-Request-Method')) return undefined
      return reject(request) ?? cors.addHeaders(cors.preflight(request, methods.join(', ')), request, false)
    },
    withCors(response, request) {
      // CORS does not apply to WebSockets, and a copy would lose the socket.
      if (response.webSocket) return response
      // The headers of responses of `fetch` are immutable.
      const copy = new Response(response.body, response)
      // Another policy sent them.
      for (const name of ['Origin', 'Credentials']) copy.headers.delete(`Access-Control-Allow-${name}`)
      return cors.addHeaders(copy, request, errorFor(request) !== undefined)
    },
  }
}
