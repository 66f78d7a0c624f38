/** Which server a request is for, by its host and by its tenant. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { connect } from '../../worker/testing/index.ts'
import { namedHost } from '../support/named-host.ts'
import { startServer, type TestServer } from '../support/server.ts'

let server: TestServer
beforeAll(async () => {
  server = await startServer('test/compose/addresses')
})
afterAll(() => server?.[Symbol.asyncDispose]())

const get = (url: string) => namedHost(server.url)(new Request(url))

describe.each(['2026-07-28', '2025-11-25'])('for clients of %s', (revision) => {
  const at = (url: string, token: string) => connect(namedHost(server.url), { url, revision, token })
  const who = async (url: string, token: string) => {
    await using client = await at(url, token)
    return ((await client.callTool('who')).content as { text: string }[])[0]?.text
  }

  test('each host name leads to its server', async () => {
    expect(await who('http://notes.localhost/mcp', 'ada')).toBe('ada of nobody at notes')
    expect(await who('http://notes.localhost/mcp/', 'ada')).toBe('ada of nobody at notes')
    expect(await who('http://weather.localhost:8787/mcp', 'ada')).toBe('undefined of nobody at weather')
  })

  test.each([
    ['acme', 'http://acme.tenants.localhost/mcp'],
    ['globex', 'http://globex.tenants.localhost/mcp'],
    ['acme', 'http://localhost/acme/mcp'],
    ['globex', 'http://localhost/globex/mcp'],
    ['acme', 'http://localhost/acme/mcp/'],
  ])('the tenant %s is the one in the URL %s', async (tenant, url) => {
    expect(await who(url, 'ada')).toBe(`ada of ${tenant} at shared`)
    expect(await who(url, `ada@${tenant}`)).toBe(`ada of ${tenant} at shared`)
    await expect(who(url, 'ada@initech')).rejects.toThrow(
      `The token is for a different tenant: this endpoint accepts only tokens of the tenant ${tenant}`,
    )
  })
})

test('an endpoint of one tenant does not find the session of another tenant', async () => {
  const call = (path: string, session?: string) => {
    const initialize = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } }
    return fetch(new URL(path, server.url), {
      method: 'POST',
      headers: {
        Authorization: 'Bearer ada',
        'Content-Type': 'application/json',
        Accept: 'application/json, text/event-stream',
        'MCP-Protocol-Version': '2025-11-25',
        ...(session && { 'Mcp-Session-Id': session }),
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        ...(session ? { method: 'tools/list' } : { method: 'initialize', params: initialize }),
      }),
    })
  }
  const session = (await call('/acme/mcp')).headers.get('Mcp-Session-Id') ?? ''
  expect((await call('/acme/mcp', session)).status).toBe(200)
  expect((await call('/globex/mcp', session)).status).toBe(404)
})

test('each tenant has the metadata of its own endpoint', async () => {
  const resourceAt = async (url: string) => ((await (await get(url)).json()) as { resource: string }).resource
  const wellKnown = '.well-known/oauth-protected-resource'
  expect(await resourceAt(`http://localhost/${wellKnown}/acme/mcp`)).toBe('http://localhost/acme/mcp')
  expect(await resourceAt(`http://acme.tenants.localhost/${wellKnown}`)).toBe('http://acme.tenants.localhost/mcp')
  expect(await resourceAt(`http://notes.localhost/${wellKnown}/sse`)).toBe('http://notes.localhost/sse')
})

test('a tenant is found once at each endpoint, and an unknown one has none', async () => {
  const urls = ['http://acme.tenants.localhost/mcp', 'http://localhost/acme/mcp', 'http://localhost/globex/mcp']
  for (const url of [...urls, ...urls]) expect((await get(url)).status).toBe(400)
  const others = ['initech.tenants.localhost/mcp', 'a.b.tenants.localhost/mcp', 'localhost/initech/mcp', 'localhost/x']
  for (const url of [...others, 'localhost/acme/other', 'localhost/ac%6De/mcp', 'notes.localhost/x']) {
    expect((await get(`http://${url}`)).status, url).toBe(404)
  }
  const found = (await (await get('http://localhost/found')).json()) as string[]
  expect(found.filter((tenant) => tenant === 'acme')).toHaveLength(2)
  expect(found).toContain('initech')
})

const problemOf = async (host: string) =>
  (await get(`http://localhost/problem?${new URLSearchParams({ host })}`)).text()

test.each(['https://notes.example.com', 'notes.example.com/mcp', '', '*.example.com', 'münchen.example'])(
  'the host "%s" is refused',
  async (host) => {
    expect(await problemOf(host)).toBe(
      `routeByHost: invalid host "${host}": write it without scheme and path, as in "notes.example.com"`,
    )
  },
)
