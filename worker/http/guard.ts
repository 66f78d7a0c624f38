/**
 * Who may talk to this server from where: Host and Origin, the answer to preflights, and CORS on every response.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/transports#security-warning
 * @see https://fetch.spec.whatwg.org/#http-cors-protocol
 */
import { bounds } from '../protocol/bounds.ts'
import { McpError } from '../protocol/errors.ts'
import { isLoopback } from '../protocol/loopback.ts'

export type Policy = {
  /** Origins of web pages that may call this server besides its own, such as `https://app.example.com`; `*` is all. */
  origins: readonly string[]
  /** Host names, without port, that may be used for this server besides loopback; empty: every https host. */
  hosts: readonly string[]
}

/** What is wrong with where a request goes to; `undefined` when nothing is. */
export function guardHost(url: URL, { hosts }: Policy): McpError | undefined {
  if (isLoopback(url.hostname) || isKnownHost(url, hosts)) return undefined
  return new McpError('forbidden', `The host ${url.hostname} is not served here: add it to the option hosts`)
}

/** What is wrong with where a request comes from; `undefined` when nothing is. */
export function guardOrigin(origin: string | null, url: URL, { origins }: Policy): McpError | undefined {
  if (origin === null || origins.includes('*') || origins.includes(origin)) return undefined
  const from = URL.parse(origin)
  if (from?.origin === url.origin) return undefined
  // A page on this machine may call a server on this machine, whatever the ports.
  if (from && isLoopback(from.hostname) && isLoopback(url.hostname)) return undefined
  return new McpError('forbidden', 'This origin may not call this server: add it to the option origins')
}

// Over plain http anybody can point a name at this machine (DNS rebinding), so a name must be known.
const isKnownHost = (url: URL, hosts: readonly string[]) =>
  hosts.length > 0 ? hosts.includes(url.hostname) : url.protocol === 'https:'

const allowedHeaders =
  'Accept, Authorization, Content-Type, Last-Event-ID, MCP-Protocol-Version, Mcp-Method, Mcp-Name, Mcp-Session-Id, ' +
  'traceparent, tracestate, baggage'
// The last one is how a person who was refused can say which request it was.
const exposedHeaders = 'Mcp-Session-Id, WWW-Authenticate, Retry-After, Allow, CF-Ray'

/** Answers a preflight: everything a client of any revision sends, and the mirrored parameters it names. */
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

/** Lets the page that asked read the response, errors included. A page that may not call does not get to see what is here. */
export function withCors(response: Response, request: Request, isForeign: boolean): Response {
  const origin = request.headers.get('Origin')
  // What is posted is in no cache.
  if (origin === null && request.method === 'POST') return response
  const { headers } = response
  headers.append('Vary', 'Origin')
  if (origin === null || isForeign) return response
  headers.set('Access-Control-Allow-Origin', origin)
  headers.set('Access-Control-Expose-Headers', exposedHeaders)
  return response
}
