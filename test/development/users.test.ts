/** Users that whoever develops a server makes up, and who else may not. */
import { request } from 'node:http'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { type InspectorUser, inspectorUserToken } from '../../worker/client/test-users.ts'
import { connect, everyRevision } from '../../worker/testing/index.ts'
import { startIssuer } from '../../worker/testing/node/index.ts'
import { inspectorCookie, inspectorSecrets } from '../support/inspector-key.ts'
import { startServer, startWithWrangler, type TestServer } from '../support/server.ts'

afterEach(() => vi.unstubAllEnvs())

/** As a developer starts it, with wrangler, which requests go through. */
async function start() {
  vi.stubEnv('NODE_ENV', 'development')
  const issuer = await startIssuer()
  const server = await startWithWrangler('examples/protected', { ISSUER: issuer.issuer, ...inspectorSecrets })
  return {
    issuer,
    url: server.url,
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]()
      await issuer[Symbol.asyncDispose]()
    },
  }
}

let server: Awaited<ReturnType<typeof start>>
beforeAll(async () => {
  server = await start()
})
afterAll(() => server[Symbol.asyncDispose]())

const ada: InspectorUser = { subject: 'Ada Łovelace', scopes: ['notes:read'], tenant: undefined, claims: {} }
/** Headers as a browser sends them that was opened with the link of the terminal. */
const withKey = (headers: Headers, url: URL) => ({ ...Object.fromEntries(headers), ...inspectorCookie(url) })
const clientInfo = { name: 'browser', version: '1.0.0' }
const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo }

/** As a browser or a tunnel would ask: `fetch` sets these headers itself. @returns the status */
function ask(url: URL, headers: Record<string, string>): Promise<number> {
  const usual = { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' }
  return new Promise((resolve, reject) => {
    const asked = request(url, { method: 'POST', headers: { ...usual, ...headers } }, (response) => {
      response.resume()
      resolve(Number(response.statusCode))
    })
    asked.on('error', reject)
    asked.end(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params }))
  })
}

test('a test user is signed in for every protocol version, with the given scopes only', async () => {
  for (const revision of everyRevision) {
    const inBrowser = (request: Request) =>
      fetch(new Request(request, { headers: withKey(request.headers, server.url) }))
    await using client = await connect(inBrowser, { url: server.url.href, revision, token: inspectorUserToken(ada) })
    const { content } = await client.callTool('whoami')
    expect(content).toEqual([{ type: 'text', text: 'Ada Łovelace, who may notes:read' }])
    await expect(client.callTool('write_note', { id: 'a', text: 'A' })).rejects.toMatchObject({ status: 403 })
  }
})

test('a token of the issuer is verified beside test users', async () => {
  const token = server.issuer.tokenFor({ sub: 'grace', scope: 'notes:read' })
  await using client = await connect(server.url, { revision: '2026-07-28', token })
  expect((await client.callTool('whoami')).content).toEqual([{ type: 'text', text: 'grace, who may notes:read' }])
})

test('a test user is refused from other origins and hosts, and when it is malformed', async () => {
  const token = inspectorUserToken(ada)
  const as = (credential: string, headers = {}) =>
    ask(server.url, { Authorization: `Bearer ${credential}`, ...inspectorCookie(server.url), ...headers })
  expect(await as(token)).toBe(200)
  expect(await as(token, { Origin: server.url.origin, 'Sec-Fetch-Site': 'same-origin' })).toBe(200)
  expect(await as(token, { Origin: 'http://localhost:1', 'Sec-Fetch-Site': 'same-site' })).toBe(401)
  expect(await as(token, { 'Sec-Fetch-Site': 'cross-site' })).toBe(401)
  expect(await as(token, { 'X-Forwarded-Host': 'tunnel.example' })).toBe(401)
  expect(await as(token, { Cookie: '' })).toBe(401)
  expect(await as(token, { Host: 'tunnel.example', 'X-Forwarded-Proto': 'https' })).toBe(403)
  for (const bad of ['null', '{}', '{"subject":1,"scopes":[],"claims":{}}', '{"subject":"a"}', 'no json', '']) {
    expect(await as(token.slice(0, token.indexOf('.') + 1) + btoa(bad))).toBe(401)
  }
  expect(await as(`${token.slice(0, token.indexOf('.') + 1)}no_base64`)).toBe(401)
})

test('a test user is refused with the CF-Connecting-IP of another machine, which a tunnel adds', async () => {
  const from = (address: string) =>
    ask(server.url, {
      Authorization: `Bearer ${inspectorUserToken(ada)}`,
      ...inspectorCookie(server.url),
      'CF-Connecting-IP': address,
    })
  for (const address of ['127.0.0.1', '::1']) expect(await from(address)).toBe(200)
  for (const address of ['203.0.113.9', '2001:db8::9', '10.0.0.7', '127.0.0.1.example', '127.0.0.1, 203.0.113.9']) {
    expect(await from(address)).toBe(401)
  }
})

test('the page without the inspector key explains how to use test users', async () => {
  const url = new URL('/', server.url)
  const sentence = 'open the link that npm start or wrangler dev prints, in a browser'
  const says = async (headers = {}, text = sentence, at = url) =>
    (await (await fetch(at, { headers })).text()).includes(text)
  expect(await says()).toBe(true)
  // An earlier start has left its cookie, or its link.
  const earlier = 'is of an earlier start of the server'
  expect(await says({ Cookie: `edgemcp-inspector-${url.port}=wrong` }, earlier)).toBe(true)
  expect(await says({}, earlier, new URL('/?inspector=wrong', url))).toBe(true)
  expect(await says({ ...inspectorCookie(url), 'X-Forwarded-For': '203.0.113.9' })).toBe(true)
  expect(await says(inspectorCookie(url))).toBe(false)
})

test('the page offers test users when the server requires tokens', async () => {
  vi.stubEnv('NODE_ENV', 'development')
  await using open = await startServer('examples/hello', inspectorSecrets)
  const page = async ({ url }: { url: URL }) =>
    (await fetch(new URL('/', url), { headers: inspectorCookie(url) })).text()
  expect(await page(server)).toContain(' data-users>')
  expect(await page(open)).not.toContain('data-users')
})

test('a test user is refused in a deployment', async () => {
  vi.stubEnv('NODE_ENV', 'production')
  await using deployed = await startServer('examples/protected', {
    ISSUER: 'https://issuer.example',
    ...inspectorSecrets,
  })
  const headers = { ...inspectorCookie(deployed.url), Authorization: `Bearer ${inspectorUserToken(ada)}` }
  expect(await ask(deployed.url, headers)).toBe(401)
})

describe('bearer() gives a test user the principal of a token with the same claims', () => {
  let server: TestServer
  beforeAll(async () => {
    vi.stubEnv('NODE_ENV', 'development')
    server = await startServer('test/development/users', inspectorSecrets)
  })
  afterAll(() => server[Symbol.asyncDispose]())

  async function who(endpoint: string, user: Partial<InspectorUser>): Promise<unknown> {
    const url = new URL(`/${endpoint}/mcp`, server.url)
    const token = inspectorUserToken({ ...ada, subject: 'ada', scopes: [], ...user })
    const inBrowser = (request: Request) => fetch(new Request(request, { headers: withKey(request.headers, url) }))
    await using client = await connect(inBrowser, { url: url.href, revision: '2026-07-28', token })
    const { content } = await client.callTool('who')
    return JSON.parse((content[0] as { text: string }).text)
  }
  const issuer = 'https://auth.example.com'
  const client = 'edgemcp-inspector'

  test.each<[string, string, Partial<InspectorUser>, unknown]>([
    ['its issuer', 'implied', {}, [issuer, 'ada', client, null, []]],
    [
      'implied scopes',
      'implied',
      { scopes: ['notes:write'] },
      [issuer, 'ada', client, null, ['notes:write', 'notes:read']],
    ],
    [
      'the scopes of getScopes',
      'roles',
      { scopes: ['notes:write'], claims: { roles: ['admin'] } },
      [issuer, 'ada', client, null, ['admin']],
    ],
    ['a required scope', 'required', { scopes: ['mcp'] }, [issuer, 'ada', client, null, ['mcp']]],
    ['the tenant of its claim', 'organisation', { tenant: 'acme' }, [issuer, 'ada', client, 'acme', []]],
    ['the tenant that tokens need', 'tenantsOnly', { tenant: 'acme' }, [issuer, 'ada', client, 'acme', []]],
    ['the tenant of an address', 'acme', { tenant: 'acme' }, [issuer, 'ada', client, 'acme', []]],
    [
      'another accepted issuer',
      'two',
      { claims: { iss: 'https://other.example.com' } },
      ['https://other.example.com', 'ada', client, null, []],
    ],
  ])('%s', async (_, endpoint, user, expected) => {
    expect(await who(endpoint, user)).toEqual(expected)
  })

  test('the origin is the issuer when verify decides and no issuer is configured', async () => {
    expect(await who('verified', {})).toEqual([server.url.origin, 'ada', client, null, []])
  })

  test.each<[string, string, Partial<InspectorUser>, number, string]>([
    ['without a required scope', 'required', {}, 403, 'mcp'],
    ['of another tenant than the address', 'acme', { tenant: 'globex' }, 403, 'only tokens of the tenant acme'],
    ['without the tenant that tokens need', 'tenantsOnly', {}, 403, 'has no claim "org_id"'],
    ['with a tenant that no token can name', 'implied', { tenant: 'acme' }, 401, 'bearer() has no tenant'],
    [
      'of an issuer that is not accepted',
      'two',
      { claims: { iss: 'https://third.example.com' } },
      401,
      'iss is "https://third.example.com", and this server accepts tokens of https://auth.example.com and https://other.example.com',
    ],
    ['that has expired', 'implied', { claims: { exp: 1 } }, 401, 'The token has expired'],
    ['with an odd tenant claim', 'organisation', { claims: { org_id: 7 } }, 401, 'The claim "org_id"'],
  ])('a test user %s is refused', async (_, endpoint, user, status, message) => {
    await expect(who(endpoint, user)).rejects.toMatchObject({ status, message: expect.stringContaining(message) })
  })
})
