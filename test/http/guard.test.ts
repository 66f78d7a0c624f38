import { describe, expect, test } from 'vitest'
import { Cors } from '../../worker/http/cors.ts'
import { guardHost, guardOrigin, type Policy } from '../../worker/http/origin-and-host.ts'

const open: Policy = { origins: [], hosts: [] }
const cors = new Cors()
const verdict = (url: string, origin: string | undefined, policy: Partial<Policy> = {}) => {
  const request = new Request(url, { headers: origin === undefined ? {} : { Origin: origin } })
  const all = { ...open, ...policy }
  return guardHost(new URL(request.url), all) ?? guardOrigin(request.headers.get('Origin'), new URL(request.url), all)
}

describe('a host', () => {
  test.each<[string, readonly string[]]>([
    ['https://mcp.example.com/mcp', []],
    ['https://MCP.example.com/mcp', []],
    ['https://mcp.example.com:8443/mcp', []],
    ['http://localhost/mcp', []],
    ['http://localhost:8787/mcp', []],
    ['http://127.0.0.1:8787/mcp', []],
    ['http://127.8.9.10/mcp', []],
    ['http://[::1]:8787/mcp', []],
    ['http://mcp.localhost:8787/mcp', []],
    ['http://LOCALHOST/mcp', []],
    ['https://mcp.example.com/mcp', ['mcp.example.com']],
    ['http://mcp.example.com:8080/mcp', ['mcp.example.com']],
    ['http://localhost/mcp', ['mcp.example.com']],
  ])('is served: %s with hosts %j', (url, hosts) => {
    expect(verdict(url, undefined, { hosts })).toBeUndefined()
  })

  test.each<[string, string, readonly string[]]>([
    ['http://mcp.example.com/mcp', 'mcp.example.com', []],
    ['http://evil.example.com:8787/mcp', 'evil.example.com', []],
    ['http://192.168.1.5:8787/mcp', '192.168.1.5', []],
    ['http://0.0.0.0:8787/mcp', '0.0.0.0', []],
    ['http://127.0.0.1.evil.example.com/mcp', '127.0.0.1.evil.example.com', []],
    ['http://localhost.evil.example.com/mcp', 'localhost.evil.example.com', []],
    ['http://evillocalhost/mcp', 'evillocalhost', []],
    ['https://other.example.com/mcp', 'other.example.com', ['mcp.example.com']],
    ['https://x.mcp.example.com/mcp', 'x.mcp.example.com', ['mcp.example.com']],
  ])('is not served: %s', (url, name, hosts) => {
    expect(verdict(url, undefined, { hosts })).toMatchObject({
      kind: 'forbidden',
      message: `The host ${name} is not allowed: add it to the option hosts`,
    })
  })
})

describe('a page of an origin', () => {
  const server = 'https://mcp.example.com/mcp'
  test.each<[string, string, string | undefined, readonly string[]]>([
    ['that is absent', server, undefined, []],
    ['of the same origin', server, 'https://mcp.example.com', []],
    ['of the same origin with a port', 'https://mcp.example.com:8443/mcp', 'https://mcp.example.com:8443', []],
    ['that is allowed', server, 'https://app.example.com', ['https://app.example.com']],
    ['that is one of several', server, 'https://b.example.com', ['https://a.example.com', 'https://b.example.com']],
    ['of anywhere, when all are allowed', server, 'https://anywhere.example', ['*']],
    ['without an origin, when all are allowed', server, 'null', ['*']],
    ['on this machine, to this machine', 'http://localhost:8787/mcp', 'http://localhost:3000', []],
    ['on this machine under another name', 'http://127.0.0.1:8787/mcp', 'https://app.localhost', []],
    ['on this machine by its sixth address', 'http://localhost:8787/mcp', 'http://[::1]:3000', []],
  ])('may call: %s', (_, url, origin, origins) => {
    expect(verdict(url, origin, { origins })).toBeUndefined()
  })

  test.each<[string, string, string, readonly string[]]>([
    ['of another origin', server, 'https://evil.example.com', []],
    ['of another scheme', server, 'http://mcp.example.com', []],
    ['of another port', server, 'https://mcp.example.com:8443', []],
    ['of a subdomain', server, 'https://x.mcp.example.com', []],
    ['of a name that starts the same', server, 'https://mcp.example.com.evil.example', []],
    ['without an origin', server, 'null', []],
    ['with an empty origin', server, '', []],
    ['with an invalid origin', server, 'evil', []],
    ['that looks like an allowed one', server, 'https://app.example.com.evil.example', ['https://app.example.com']],
    ['on this machine, to another', server, 'http://localhost:3000', []],
    ['elsewhere, to this machine', 'http://localhost:8787/mcp', 'https://evil.example.com', []],
    ["elsewhere under a name like this machine's", 'http://localhost:8787/mcp', 'http://localhost.evil.example', []],
    ['in a file, to this machine', 'http://localhost:8787/mcp', 'file://', []],
  ])('may not call: %s', (_, url, origin, origins) => {
    expect(verdict(url, origin, { origins })).toMatchObject({
      kind: 'forbidden',
      message: 'This origin is not allowed: add it to the option origins',
    })
  })
})

describe('a preflight', () => {
  const ask = (headers: Record<string, string>) =>
    cors.preflight(new Request('https://mcp.example.com/mcp', { method: 'OPTIONS', headers }), 'GET, POST')
  const allowed = (headers: Record<string, string>) =>
    ask(headers).headers.get('Access-Control-Allow-Headers')?.split(', ')

  test('has status 204 without a body, and is cached for a day', () => {
    const { status, body, headers } = ask({})
    expect([status, body]).toEqual([204, null])
    expect(headers.get('Access-Control-Allow-Methods')).toBe('GET, POST')
    expect(headers.get('Access-Control-Max-Age')).toBe('86400')
  })

  test('allows the headers of clients of every protocol version', () => {
    expect(allowed({})).toEqual([
      'Accept',
      'Authorization',
      'Content-Type',
      'DPoP',
      'Last-Event-ID',
      'MCP-Protocol-Version',
      'Mcp-Method',
      'Mcp-Name',
      'Mcp-Session-Id',
      'traceparent',
      'tracestate',
      'baggage',
    ])
  })

  test('allows requested headers of mirrored parameters, and no others', () => {
    const asked =
      'content-type, mcp-param-region ,Mcp-Param-X_Y.z, mcp-param-, mcp-param-a b, x-other, mcp-param-a\u007f'
    const more = allowed({ 'Access-Control-Request-Headers': asked.replace('\u007f', '=') })?.slice(12)
    expect(more).toEqual(['mcp-param-region', 'Mcp-Param-X_Y.z'])
  })
})

describe('every response', () => {
  const request = (origin?: string) =>
    new Request('https://mcp.example.com/mcp', { headers: origin ? { Origin: origin } : {} })

  test('allows the requesting page to read it', () => {
    const { headers } = cors.addHeaders(new Response('x', { status: 403 }), request('https://app.example.com'), false)
    expect(headers.get('Access-Control-Allow-Origin')).toBe('https://app.example.com')
    expect(headers.get('Access-Control-Expose-Headers')?.split(', ')).toEqual([
      'Mcp-Session-Id',
      'WWW-Authenticate',
      'DPoP-Nonce',
      'Retry-After',
      'Allow',
      'CF-Ray',
    ])
  })

  test('has Vary: Origin', () => {
    expect(cors.addHeaders(new Response(), request('https://app.example.com'), false).headers.get('Vary')).toBe(
      'Origin',
    )
    expect(cors.addHeaders(new Response(), request(), false).headers.get('Vary')).toBe('Origin')
    const varied = new Response(null, { headers: { Vary: 'Accept' } })
    expect(cors.addHeaders(varied, request(), false).headers.get('Vary')).toBe('Accept, Origin')
  })

  test('has no CORS headers for a POST without an origin, which is never cached', () => {
    const posted = new Request('https://mcp.example.com/mcp', { method: 'POST' })
    expect([...cors.addHeaders(new Response(null), posted, false).headers.keys()]).toEqual([])
  })

  test('has no Access-Control-Allow-Origin for a request without an origin', () => {
    expect(cors.addHeaders(new Response(), request(), false).headers.has('Access-Control-Allow-Origin')).toBe(false)
  })

  test('does not allow a refused page to read it', () => {
    const { headers } = cors.addHeaders(new Response('x', { status: 403 }), request('https://evil.example.com'), true)
    expect([...headers.keys()]).toEqual(['content-type', 'vary'])
  })

  test('does not allow credentials', () => {
    const { headers } = cors.addHeaders(new Response(), request('https://app.example.com'), false)
    expect(headers.has('Access-Control-Allow-Credentials')).toBe(false)
  })
})
