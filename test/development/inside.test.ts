/** What only whoever develops a server may see of it. */
import { request } from 'node:http'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { connect } from '../../worker/testing/index.ts'
import { inspectorCookie, inspectorSecrets } from '../support/inspector-key.ts'
import { startServer, type TestServer } from '../support/server.ts'

let server: TestServer
beforeAll(async () => {
  // Wrangler puts this into the bundle.
  vi.stubEnv('NODE_ENV', 'development')
  server = await startServer('test/inspector/server', inspectorSecrets)
})
afterAll(() => server?.harness.close())

type Answer = { status: number; body: unknown }

/** As a browser or a tunnel would ask: `fetch` sets these headers itself. */
function ask(path: string, headers: Record<string, string> = inspectorCookie(server.url)): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const asked = request(new URL(path, server.url), { headers }, async (response) => {
      const chunks: Buffer[] = []
      for await (const chunk of response) chunks.push(chunk)
      resolve({ status: Number(response.statusCode), body: JSON.parse(String(Buffer.concat(chunks))) })
    })
    asked.on('error', reject)
    asked.end()
  })
}

const refused = {
  status: 403,
  body: { problem: 'Only the inspector can read this: open it with the link that the terminal prints' },
}

type Hop = { number: number; kind: string; what: string; milliseconds?: number; hasFailed?: true }

async function hopsOf(response: Response): Promise<Hop[]> {
  const number = /^request;desc="(\d+)"/.exec(response.headers.get('Server-Timing') ?? '')?.[1]
  return (await ask(`/?inside=hops&request=${number}`)).body as Hop[]
}

const post = (message: object, headers: Record<string, string>) =>
  fetch(server.url, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream', ...headers },
    body: JSON.stringify({ jsonrpc: '2.0', ...message }),
  })

test('the inspector gets the timings of a request in the Worker, the Durable Object and the handler', async () => {
  await using client = await connect(server.url, { revision: '2025-11-25' })
  const response = await post(
    { id: 7, method: 'tools/call', params: { name: 'whoami', arguments: {} } },
    { 'Mcp-Session-Id': String(client.session), 'MCP-Protocol-Version': '2025-11-25' },
  )
  expect(response.headers.get('Server-Timing')).toMatch(
    /^request;desc="\d+", worker;dur=\d+, McpSession\.post;dur=\d+, tools-call-whoami;dur=\d+$/,
  )
  expect(await response.text()).toContain('nobody')
  const hops = await hopsOf(response)
  expect(hops.map(({ kind, what }) => [kind, what])).toEqual([
    ['request', 'POST /mcp'],
    ['object', 'McpSession.post'],
    ['handler', 'tools/call whoami'],
  ])
  expect(hops.every(({ milliseconds }) => Number.isInteger(milliseconds))).toBe(true)
})

test('the timings of concurrent calls in one session are separate', async () => {
  await using client = await connect(server.url, { revision: '2025-11-25' })
  const headers = { 'Mcp-Session-Id': String(client.session), 'MCP-Protocol-Version': '2025-11-25' }
  const names = ['whoami', 'cancelled', 'touch', 'markup']
  const responses = await Promise.all(
    names.map((name, at) => post({ id: at + 1, method: 'tools/call', params: { name, arguments: {} } }, headers)),
  )
  const handlers = await Promise.all(
    responses.map(async (response) => {
      await response.text()
      return (await hopsOf(response)).filter(({ kind }) => kind === 'handler').map(({ what }) => what)
    }),
  )
  expect(handlers).toEqual(names.map((name) => [`tools/call ${name}`]))
})

test('the rows of an object that no request has reached are not available', async () => {
  expect(await ask('/?inside=rows&class=McpSession&name=nobody')).toEqual({
    status: 404,
    body: { problem: 'No request has reached McpSession "nobody" since the server started' },
  })
  expect((await ask('/?inside=rows')).status).toBe(404)
})

test('what no plugin answers is not found', async () => {
  for (const name of ['Events', 'objects'])
    expect(await ask(`/?inside=${name}`)).toEqual({
      status: 404,
      body: { problem: `No plugin of this server answers "${name}" to the inspector` },
    })
  expect((await ask('/?inside=')).status).toBe(200)
})

test('the rows of a key ring do not show its keys', async () => {
  await using _ = await connect(server.url, { revision: '2025-11-25' })
  const objects = (await ask('/?inside')).body as { className: string; name: string }[]
  expect(objects).toContainEqual(expect.objectContaining({ className: 'McpSession', name: 'keys' }))
  const { body } = await ask('/?inside=rows&class=McpSession&name=keys')
  expect((body as { values: unknown[] }).values).toContainEqual(['keys', '(not shown)'])
})

test.each([
  ['another page on this machine', { Origin: 'http://localhost:1' }],
  ['a page of another site, without credentials of any kind', { 'Sec-Fetch-Site': 'cross-site' }],
  ['a page of another port', { 'Sec-Fetch-Site': 'same-site' }],
])('%s cannot read the internals', async (_, headers: Record<string, string>) => {
  for (const path of ['/?inside', '/?inside=hops&request=1', '/?inside=rows&class=McpSession&name=keys']) {
    expect(await ask(path, { ...inspectorCookie(server.url), ...headers })).toEqual(refused)
  }
})

test('requests to another host name cannot read the internals', async () => {
  expect(await ask('/?inside', { ...inspectorCookie(server.url), Host: 'tunnel.localhost' })).toEqual(refused)
})

test.each<[string, Record<string, string>]>([
  ['adds X-Forwarded-Host', { 'X-Forwarded-Host': 'abc.devtunnels.example' }],
  ['adds X-Forwarded-For', { 'X-Forwarded-For': '203.0.113.9' }],
  ['adds Forwarded', { Forwarded: 'for=203.0.113.9' }],
  ['adds Via', { Via: '1.1 tunnel' }],
])('a tunnel that rewrites Host and %s cannot read the internals, even with the key', async (_, headers) => {
  expect(await ask('/?inside', { ...inspectorCookie(server.url), ...headers })).toEqual(refused)
})

test.each<[string, Record<string, string>]>([
  ['no key', {}],
  ['another key', { Cookie: 'edgemcp-inspector=another' }],
])('a tunnel that rewrites Host and adds no header cannot read the internals with %s', async (_, headers) => {
  for (const path of ['/?inside', '/?inside=rows&class=McpSession&name=keys']) {
    expect(await ask(path, headers)).toEqual(refused)
  }
})

test('the link in the terminal stores the key in a cookie, and a link with another key does not', async () => {
  const open = (key: string) => fetch(new URL(`/?inspector=${key}`, server.url), { redirect: 'manual' })
  const signedIn = await open(inspectorSecrets.EDGEMCP_INSPECTOR_KEY)
  expect([signedIn.status, signedIn.headers.get('Location')]).toEqual([303, '/'])
  const [cookie = ''] = (signedIn.headers.get('Set-Cookie') ?? '').split(';')
  expect(signedIn.headers.get('Set-Cookie')).toBe(`${cookie}; Path=/; HttpOnly; SameSite=Strict`)
  expect((await ask('/?inside', { Cookie: cookie })).status).toBe(200)
  expect((await open('another')).headers.get('Set-Cookie')).toBeNull()
})

test('a page of the server itself can read the internals', async () => {
  const headers = { ...inspectorCookie(server.url), Origin: server.url.origin, 'Sec-Fetch-Site': 'same-origin' }
  expect((await ask('/?inside', headers)).status).toBe(200)
})
