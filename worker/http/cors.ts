/**
 * Cross-Origin Resource Sharing: answers preflights, and adds headers to every response.
 *
 * @see https://fetch.spec.whatwg.org/#http-cors-protocol
 */
import { bounds } from '../protocol/bounds.ts'

const allowedHeaders =
  'Accept, Authorization, Content-Type, Last-Event-ID, MCP-Protocol-Version, Mcp-Method, Mcp-Name, Mcp-Session-Id, ' +
  'traceparent, tracestate, baggage'
// With `CF-Ray` the user of a page can report which request was refused.
const exposedHeaders = 'Mcp-Session-Id, WWW-Authenticate, Retry-After, Allow, CF-Ray'

/** Answers a preflight: allows all headers that clients of any protocol version send, and the `Mcp-Param-` headers that it names. */
export function preflight(request: Request, methods: string): Response {
  const names = request.headers.get('Access-Control-Request-Headers') ?? ''
  const requestedHeaders = names.length > bounds.headerCharacters ? [] : names.split(',')
  const mirrored = requestedHeaders
    .map((name) => name.trim())
    .filter((name) => /^mcp-param-[\w!#$%&'*+.^`|~-]+$/i.test(name))
  return new Response(null, {
    status: 204,
    headers: {
      'Access-Control-Allow-Methods': methods,
      'Access-Control-Allow-Headers': [allowedHeaders, ...mirrored].join(', '),
      'Access-Control-Max-Age': '86400',
    },
  })
}

/**
 * Lets the page that sent a request read the response, errors included.
 *
 * @param isForeign whether the host or the origin was rejected: the page may then not read the response
 */
export function withCors(response: Response, request: Request, isForeign: boolean): Response {
  const origin = request.headers.get('Origin')
  // No cache stores the response to a POST, so it needs no `Vary`.
  if (origin === null && request.method === 'POST') return response
  const { headers } = response
  headers.append('Vary', 'Origin')
  if (origin === null || isForeign) return response
  headers.set('Access-Control-Allow-Origin', origin)
  headers.set('Access-Control-Expose-Headers', exposedHeaders)
  return response
}
