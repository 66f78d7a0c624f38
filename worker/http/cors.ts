/**
 * Cross-Origin Resource Sharing: answers preflights, and adds headers to every response.
 *
 * @see https://fetch.spec.whatwg.org/#http-cors-protocol
 */
import type { KindsOf } from '../declarations/check-options.ts'
import { isListOf, size } from '../declarations/option-kinds.ts'
import * as bounds from '../protocol/bounds.ts'
import { isToken } from '../protocol/param-headers.ts'

/**
 * Adds headers to those of MCP in the CORS headers of an endpoint. Names that MCP has already may be repeated. `*` stands for all headers.
 *
 * @see https://fetch.spec.whatwg.org/#http-cors-protocol
 */
export type CorsOptions = {
  /** Names of request headers that pages may send, such as `cf-account-id`, besides those of MCP. Default: none. */
  headers?: readonly string[]
  /** Names of response headers that pages may read, besides those of MCP. Default: none. */
  exposeHeaders?: readonly string[]
  /** Seconds for which a browser may cache the answer to a preflight. Chromium caches for two hours at most. Default: 86,400, a day. */
  maxAgeSeconds?: number
}

// `*` is a token, and the name that stands for all headers.
const headerNames = (example: string) =>
  [(value: unknown) => isListOf(value, isToken), `a list of header names, such as ['${example}']`] as const

export const corsKinds: KindsOf<CorsOptions> = {
  headers: headerNames('cf-account-id'),
  exposeHeaders: headerNames('X-Request-Id'),
  maxAgeSeconds: size,
}

const allowedHeaders =
  'Accept, Authorization, Content-Type, DPoP, Last-Event-ID, MCP-Protocol-Version, Mcp-Method, Mcp-Name, Mcp-Session-Id, ' +
  'traceparent, tracestate, baggage'
// With `CF-Ray` the user of a page can report which request was refused.
const exposedHeaders = 'Mcp-Session-Id, WWW-Authenticate, DPoP-Nonce, Retry-After, Allow, CF-Ray'

/** The CORS headers of one endpoint. */
export class Cors {
  readonly #allowedHeaders: string
  readonly #exposedHeaders: string
  readonly #maxAge: string

  /** @param credentialHeaders names of request headers in which `auth` expects a credential */
  constructor(
    { headers = [], exposeHeaders = [], maxAgeSeconds = 86_400 }: CorsOptions = {},
    credentialHeaders: readonly string[] = [],
  ) {
    this.#allowedHeaders = [allowedHeaders, ...credentialHeaders, ...headers].join(', ')
    this.#exposedHeaders = [exposedHeaders, ...exposeHeaders].join(', ')
    this.#maxAge = String(maxAgeSeconds)
  }

  /** Answers a preflight: allows all headers that clients of any protocol version send, and the `Mcp-Param-` headers that it names. */
  preflight(request: Request, methods: string): Response {
    const names = request.headers.get('Access-Control-Request-Headers') ?? ''
    const requestedHeaders = names.length > bounds.headerCharacters ? [] : names.split(',')
    const mirrored = requestedHeaders
      .map((name) => name.trim())
      .filter((name) => /^mcp-param-/i.test(name) && name.length > 10 && isToken(name))
    return new Response(null, {
      status: 204,
      headers: {
        'Access-Control-Allow-Methods': methods,
        'Access-Control-Allow-Headers': [this.#allowedHeaders, ...mirrored].join(', '),
        'Access-Control-Max-Age': this.#maxAge,
      },
    })
  }

  /**
   * Lets the page that sent a request read the response, errors included.
   *
   * @param isForeign whether the host or the origin was rejected: the page may then not read the response
   */
  addHeaders(response: Response, request: Request, isForeign: boolean): Response {
    const origin = request.headers.get('Origin')
    // No cache stores the response to a POST, so it needs no `Vary`.
    if (origin === null && request.method === 'POST') return response
    const { headers } = response
    headers.append('Vary', 'Origin')
    if (origin === null || isForeign) return response
    headers.set('Access-Control-Allow-Origin', origin)
    // For the origin of a response that a handler passes on.
    headers.delete('Access-Control-Allow-Credentials')
    headers.set('Access-Control-Expose-Headers', this.#exposedHeaders)
    return response
  }
}
