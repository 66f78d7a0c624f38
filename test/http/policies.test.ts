import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { checkOrigins } from '../../worker/http/check-origins-and-hosts.ts'
import { guardHost, guardOrigin, type Policy } from '../../worker/http/origin-and-host.ts'
import { policies } from '../../worker/http/policies.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { exchange, type RawAnswer } from './raw-http.ts'

const app = 'https://app.example.com'

describe('a policy allows or refuses a request', () => {
  const listed = policies.browser({ origins: [app] })
  const named = policies.browser({ origins: [app], hosts: ['mcp.example.com'] })
  const { local } = policies
  test.each<[string, Policy, string, string | undefined, boolean]>([
    ['local, of a program', local, 'http://127.0.0.1:8787/mcp', undefined, true],
    ['local, under another name of this machine', local, 'http://mcp.localhost:8787/mcp', undefined, true],
    ['local, of a page of this machine', local, 'http://localhost:8787/mcp', 'http://localhost:3000', true],
    ['local, of a page elsewhere', local, 'http://localhost:8787/mcp', app, false],
    ['local, of a program, once it is deployed', local, 'https://mcp.example.com/mcp', undefined, false],
    [
      'local, of its own page, once it is deployed',
      local,
      'https://mcp.example.com/mcp',
      'https://mcp.example.com',
      false,
    ],
    ['public, of any page', policies.public, 'https://mcp.example.com/mcp', 'https://any.example', true],
    ['public, of a page without an origin', policies.public, 'https://mcp.example.com/mcp', 'null', true],
    ['public, under any http host name', policies.public, 'http://evil.example/mcp', undefined, false],
    ['browser, of a listed page', listed, 'https://mcp.example.com/mcp', app, true],
    ['browser, of its own page', listed, 'https://mcp.example.com/mcp', 'https://mcp.example.com', true],
    ['browser, of another page', listed, 'https://mcp.example.com/mcp', 'https://app.example.org', false],
    ['browser, of a program', listed, 'https://mcp.example.com/mcp', undefined, true],
    ['browser, under any https name', listed, 'https://other.example.com/mcp', app, true],
    ['browser with hosts, under its own name', named, 'https://mcp.example.com/mcp', app, true],
    ['browser with hosts, under another name', named, 'https://other.example.com/mcp', app, false],
  ])('%s', (_, policy, address, origin, isLetIn) => {
    const request = new Request(address, { headers: origin === undefined ? {} : { Origin: origin } })
    const url = new URL(request.url)
    const refused = guardHost(url, policy) ?? guardOrigin(request.headers.get('Origin'), url, policy)
    expect(refused?.kind).toBe(isLetIn ? undefined : 'forbidden')
  })
})

describe('a policy with an invalid origin or host', () => {
  test.each<[string, string]>([
    ['https://app.example.com/', app],
    ['https://app.example.com/index.html', app],
    ['https://APP.example.com', app],
    ['https://app.example.com:443', app],
    ['https://ada@app.example.com', app],
    ['app.example.com', app],
    ['null', app],
    ['', app],
    ['file:///index.html', app],
    ['localhost:3000', app],
    ['http://localhost:3000/', 'http://localhost:3000'],
    ['chrome-extension://abcdefgh/page.html', 'chrome-extension://abcdefgh'],
  ])('is an error that names the origin to write instead of %j', (origin, fix) => {
    const message = `Invalid origin "${origin}": write "${fix}"`
    expect(() => policies.browser({ origins: [app, origin] })).toThrow(message)
    expect(() => checkOrigins([origin])).toThrow(message)
  })

  test.each([
    app,
    'http://localhost:3000',
    'http://[::1]:3000',
    'https://xn--bcher-kva.example',
    'capacitor://localhost',
  ])('is not one with the origin %s', (origin) => {
    expect(policies.browser({ origins: [origin] })).toEqual({ origins: [origin], hosts: [] })
  })

  test.each<[string, string]>([
    ['https://mcp.example.com', 'mcp.example.com'],
    ['mcp.example.com:8443', 'mcp.example.com'],
    ['mcp.example.com/mcp', 'mcp.example.com'],
    ['MCP.example.com', 'mcp.example.com'],
    ['', 'mcp.example.com'],
  ])('is an error that names the host to write instead of %j', (host, fix) => {
    expect(() => policies.browser({ origins: [app], hosts: [host] })).toThrow(
      `Invalid host name "${host}": write "${fix}"`,
    )
  })

  test('is an error that names the policy for every origin', () => {
    expect(() => policies.browser({ origins: ['*'] })).toThrow(
      '"*" would allow every origin: use policies.public for that',
    )
    expect(() => checkOrigins(['*'])).not.toThrow()
  })

  test('is an error when it has no origins', () => {
    expect(() => policies.browser({ origins: [] })).toThrow('policies.browser() needs origins')
  })
})

describe('in the Workers runtime', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer('test/http/pages')
  })
  afterAll(() => server[Symbol.asyncDispose]())

  const list = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' })

  /** As a browser on this machine would send it that thinks the server is called that. */
  function ask(path: string, host: string | undefined, headers: Record<string, string>, method = 'POST') {
    const body = method === 'POST' ? list : ''
    const lines = Object.entries({
      Host: host ?? server.url.host,
      'Content-Type': 'application/json',
      'Content-Length': String(body.length),
      ...headers,
    }).map(([name, value]) => `${name}: ${value}`)
    const bytes = [`${method} ${path} HTTP/1.1`, ...lines, '', body].join('\r\n')
    return exchange(server.url, { bytes })
  }

  const preflight = (path: string, origin: string, asked: string) =>
    ask(
      path,
      undefined,
      { Origin: origin, 'Access-Control-Request-Method': 'POST', 'Access-Control-Request-Headers': asked },
      'OPTIONS',
    )

  const listOf = ({ headers }: RawAnswer, name: string) => headers.get(name)?.toLowerCase().split(', ')

  test.each([app, 'chrome-extension://abcdefghijklmnop'])(
    'a page of %s can send a preflight, reads the challenge, and calls with a token',
    async (origin) => {
      const names = 'authorization, content-type, mcp-protocol-version, mcp-method, mcp-name, mcp-param-region'
      const asked = `${names}, mcp-session-id, last-event-id, accept, traceparent, tracestate, baggage`
      const answer = await preflight('/browser/mcp', origin, asked)
      expect([answer.status, answer.headers.get('Access-Control-Allow-Origin')]).toEqual([204, origin])
      expect(listOf(answer, 'Access-Control-Allow-Methods')).toContain('post')
      expect(listOf(answer, 'Access-Control-Allow-Headers')).toEqual(expect.arrayContaining(asked.split(', ')))

      const refused = await ask('/browser/mcp', undefined, { Origin: origin })
      expect([refused.status, refused.headers.get('Access-Control-Allow-Origin')]).toEqual([401, origin])
      expect(refused.headers.get('WWW-Authenticate')).toContain(
        `resource_metadata="${server.url.origin}/.well-known/oauth-protected-resource/browser/mcp"`,
      )
      expect(listOf(refused, 'Access-Control-Expose-Headers')).toEqual(
        expect.arrayContaining(['www-authenticate', 'mcp-session-id', 'retry-after', 'allow', 'cf-ray']),
      )

      const served = await ask('/browser/mcp', undefined, { Origin: origin, Authorization: 'Bearer good' })
      expect([served.status, served.headers.get('Access-Control-Allow-Origin')]).toEqual([200, origin])
      expect(served.text).toContain('greet')
    },
  )

  test('a preflight of another origin is refused', async () => {
    const answer = await preflight('/browser/mcp', 'https://evil.example', 'authorization')
    expect([answer.status, answer.headers.has('Access-Control-Allow-Headers')]).toEqual([403, false])
  })

  test.each(['local', 'public', 'browser', 'named'])(
    'a page whose host name resolves to this machine is refused, with any token: %s',
    async (policy) => {
      for (const host of ['evil.example', `evil.example:${server.url.port}`, '127.0.0.1.evil.example']) {
        const headers = { Origin: `http://${host}`, Authorization: 'Bearer good' }
        const answer = await ask(`/${policy}/mcp`, host, headers)
        expect(answer.status).toBe(403)
        expect(answer.text).toContain('is not allowed')
      }
    },
  )

  test('a public server serves every origin, and a local one origins of this machine only', async () => {
    const statusFor = async (policy: string, Origin: string) =>
      (await ask(`/${policy}/mcp`, undefined, { Origin, Authorization: 'Bearer good' })).status
    expect(await statusFor('public', 'https://any.example')).toBe(200)
    expect(await statusFor('local', 'https://any.example')).toBe(403)
    expect(await statusFor('local', 'http://localhost:3000')).toBe(200)
  })

  test('a configured host name is served, over plain http as well', async () => {
    const headers = { Authorization: 'Bearer good' }
    expect((await ask('/named/mcp', 'mcp.example.com', headers)).status).toBe(200)
    expect((await ask('/named/mcp', 'other.example.com', headers)).status).toBe(403)
  })
})
