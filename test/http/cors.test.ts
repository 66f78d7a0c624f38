import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { found, launch, missing } from '../support/chromium.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { initializeSession } from '../support/session-http.ts'
import { statelessHeaders } from '../support/stateless.ts'

const Origin = 'http://app.example.com'
const foreign = 'http://evil.example.com'

let server: TestServer
beforeAll(async () => {
  server = await startServer('test/http/cross-origin')
})
afterAll(() => server[Symbol.asyncDispose]())

const at = (path: string) => new URL(path, server.url)
const preflight = (path: string, origin = Origin, method = 'POST') =>
  fetch(at(path), {
    method: 'OPTIONS',
    headers: {
      Origin: origin,
      'Access-Control-Request-Method': method,
      'Access-Control-Request-Headers': 'cf-account-id, mcp-param-region',
    },
  })
const listOf = ({ headers }: Response, name: string) => headers.get(name)?.toLowerCase().split(', ')
const corsOf = (response: Response) => ({
  status: response.status,
  origin: response.headers.get('Access-Control-Allow-Origin'),
  exposed: listOf(response, 'Access-Control-Expose-Headers')?.slice(-1),
})
const readable = (status: number) => ({ status, origin: Origin, exposed: ['x-report-id'] })

describe('the option cors', () => {
  test.each(['/mcp', '/sse', '/messages', '/report', '/api/x'])('adds to the preflight of %s', async (path) => {
    const response = await preflight(path)
    expect(corsOf(response)).toEqual(readable(204))
    expect(listOf(response, 'Access-Control-Allow-Headers')?.slice(-3)).toEqual([
      'baggage',
      'cf-account-id',
      'mcp-param-region',
    ])
    expect(response.headers.get('Access-Control-Max-Age')).toBe('600')
  })

  test.each(['/mcp', '/sse', '/messages', '/report', '/api/x'])(
    'adds no CORS headers for other origins: %s',
    async (path) => {
      const response = await preflight(path, foreign)
      expect(corsOf(response)).toEqual({ status: 403, origin: null, exposed: undefined })
      expect(response.headers.has('Access-Control-Allow-Headers')).toBe(false)
    },
  )

  test('exposes headers of results, errors, streams and plugin routes', async () => {
    const method = 'tools/list'
    const modern = { ...statelessHeaders(method), Origin }
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': {},
    }
    const post = (headers: Record<string, string>, params: object = {}) =>
      fetch(at('/mcp'), { method: 'POST', headers, body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }) })
    expect(corsOf(await post(modern, { _meta }))).toEqual(readable(200))
    expect(corsOf(await post(modern))).toEqual(readable(400))

    const { session } = await initializeSession(server.url, '2025-11-25')
    const inSession = { ...modern, 'MCP-Protocol-Version': '2025-11-25', 'Mcp-Session-Id': session }
    const listed = await post(inSession)
    expect(corsOf(listed)).toEqual(readable(200))
    expect(await listed.text()).toContain('greet')
    expect(corsOf(await post({ ...inSession, 'Mcp-Session-Id': 'forged' }))).toEqual(readable(404))

    const closed = new AbortController()
    const sse = await fetch(at('/sse'), { headers: { Accept: 'text/event-stream', Origin }, signal: closed.signal })
    expect(corsOf(sse)).toEqual(readable(200))
    closed.abort()

    const report = await fetch(at('/report'), { headers: { Origin, 'cf-account-id': 'a1' } })
    expect(corsOf(report)).toEqual(readable(200))
    expect(await report.json()).toEqual({ account: 'a1' })
    expect(corsOf(await fetch(at('/report'), { method: 'DELETE', headers: { Origin } }))).toEqual(readable(405))
    expect(corsOf(await fetch(at('/nothing'), { headers: { Origin } }))).toEqual(readable(404))
  })
})

describe('POST to the stream of HTTP+SSE', () => {
  // https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#backwards-compatibility
  test('is 405, after which clients open the stream with GET', async () => {
    const response = await fetch(at('/sse'), { method: 'POST', headers: statelessHeaders('tools/list'), body: '{}' })
    expect([response.status, response.headers.get('Allow')]).toEqual([405, 'GET, OPTIONS'])
  })
})

describe('createGuard()', () => {
  test('serves requests without an origin, the own origin and configured origins', async () => {
    expect((await fetch(at('/api/x'))).status).toBe(200)
    expect(corsOf(await fetch(at('/api/x'), { headers: { Origin } }))).toEqual(readable(200))
    const own = await fetch(at('/api/x'), { headers: { Origin: server.url.origin } })
    expect([own.status, own.headers.get('Access-Control-Allow-Origin')]).toEqual([200, server.url.origin])
  })

  test('allows its methods, and keeps Vary', async () => {
    expect((await preflight('/api/x', Origin, 'PUT')).headers.get('Access-Control-Allow-Methods')).toBe('GET, PUT')
    expect((await fetch(at('/api/x'), { headers: { Origin } })).headers.get('Vary')).toBe('Accept, Origin')
  })

  test.each([
    ['the page that may read it', Origin, Origin],
    ['a page of another origin', foreign, null],
    ['a request without an origin', undefined, null],
  ])('withCors() keeps no CORS headers of the response that it wraps: %s', async (_, origin, allowed) => {
    const { headers } = await fetch(at('/wrapped'), { headers: { ...(origin && { Origin: origin }) } })
    expect(headers.get('Access-Control-Allow-Origin')).toBe(allowed)
    expect(headers.has('Access-Control-Allow-Credentials')).toBe(false)
    expect(headers.get('Vary')).toBe('Origin')
  })

  test('leaves an OPTIONS request that is not a preflight to the route', async () => {
    const response = await fetch(at('/api/x'), { method: 'OPTIONS' })
    expect(await response.json()).toEqual({ method: 'OPTIONS' })
  })

  test('rejects other origins with an error that they cannot read', async () => {
    const response = await fetch(at('/api/x'), { headers: { Origin: foreign } })
    expect(corsOf(response)).toEqual({ status: 403, origin: null, exposed: undefined })
    expect(await response.text()).toContain('This origin is not allowed: add it to the option origins')
  })
})

describe.skipIf(!found)(`a page in Chromium${missing}`, () => {
  let pages: Server
  let browser: Browser
  let port: number

  beforeAll(async () => {
    pages = createServer((_, response) => response.writeHead(200, { 'Content-Type': 'text/html' }).end('<p>Page'))
    pages.listen(0, '127.0.0.1')
    await once(pages, 'listening')
    port = (pages.address() as AddressInfo).port
    // The server knows the page as http://app.example.com, so its requests have this origin without a port.
    browser = await launch([
      `--host-resolver-rules=MAP app.example.com:80 127.0.0.1:${port}, MAP evil.example.com:80 127.0.0.1:${port}`,
      `--unsafely-treat-insecure-origin-as-secure=${Origin},${foreign}`,
    ])
  })
  afterAll(async () => {
    await browser?.close()
    pages?.closeAllConnections()
    pages?.close()
  })

  /** Sends a request from a page. @returns the status and a header; `Failed to fetch` if the browser did not send it */
  async function send(origin: string, path: string, headers: Record<string, string>): Promise<unknown> {
    const page = await browser.newPage()
    await page.goto(`${origin}/`)
    const result = await page.evaluate(
      async ([url, init]) => {
        try {
          const response = await fetch(url, init)
          return [response.status, response.headers.get('X-Report-Id'), await response.text()]
        } catch (error) {
          return (error as Error).message
        }
      },
      [at(path).href, { headers }] as const,
    )
    await page.close()
    return result
  }

  test('sends a header of cors.headers and reads one of cors.exposeHeaders', async () => {
    expect(await send(Origin, '/report', { 'cf-account-id': 'a1' })).toEqual([200, 'r1', '{"account":"a1"}'])
    expect(await send(Origin, '/api/x', { 'cf-account-id': 'a1' })).toEqual([200, 'r2', '{"method":"GET"}'])
  })

  test('cannot send another header', async () => {
    expect(await send(Origin, '/report', { 'cf-other-id': 'a1' })).toBe('Failed to fetch')
  })

  test('of another origin cannot send it', async () => {
    expect(await send(foreign, '/report', { 'cf-account-id': 'a1' })).toBe('Failed to fetch')
    expect(await send(foreign, '/api/x', { 'cf-account-id': 'a1' })).toBe('Failed to fetch')
  })
})
