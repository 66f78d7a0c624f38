/** A Worker with the option `origin`, behind a proxy: requests reach it at another host than the one that clients know. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connect } from '../../worker/testing/index.ts'
import { Browser } from '../../worker/testing/provider/browser.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { RawClient, seen } from './client.ts'
import { GitHub } from './github.ts'

let gitHub: GitHub
let server: TestServer
let client: RawClient
const proxy = createServer(async (request, response) => {
  const { host: _, connection: __, ...headers } = request.headers as Record<string, string>
  const hasBody = request.method === 'POST'
  const answer = await fetch(new URL(request.url ?? '', server.url), {
    method: request.method as string,
    headers,
    redirect: 'manual',
    ...(hasBody && { body: await buffer(request) }),
  })
  const { 'content-encoding': ___, 'set-cookie': ____, ...passed } = Object.fromEntries(answer.headers)
  response.writeHead(answer.status, { ...passed, 'set-cookie': answer.headers.getSetCookie() })
  response.end(await answer.bytes())
})
beforeAll(async () => {
  proxy.listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  const origin = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
  gitHub = await GitHub.start()
  server = await startServer('test/sign-in/server', { CASE: 'proxied', GITHUB: gitHub.url, ORIGIN: origin })
  client = new RawClient(new URL('/mcp', origin))
})
afterAll(async () => {
  proxy.closeAllConnections()
  proxy.close()
  await server?.[Symbol.asyncDispose]()
  await gitHub?.[Symbol.asyncDispose]()
})

const jsonAt = async (url: URL) => (await fetch(url)).json() as Promise<Record<string, unknown>>

test.each(['the proxy', 'the host of the Worker'])('the metadata name the origin at %s', async (at) => {
  const { origin } = client.server
  const base = at === 'the proxy' ? client.server : server.url
  const resource = await jsonAt(new URL('/.well-known/oauth-protected-resource/mcp', base))
  expect(resource).toMatchObject({ resource: `${origin}/mcp`, authorization_servers: [origin] })
  expect(await jsonAt(new URL('/.well-known/oauth-authorization-server', base))).toMatchObject({
    issuer: origin,
    authorization_endpoint: `${origin}/authorize`,
    token_endpoint: `${origin}/oauth/token`,
    registration_endpoint: `${origin}/oauth/register`,
  })
  const { headers } = await fetch(base, { method: 'POST' })
  expect(headers.get('WWW-Authenticate')).toContain(`${origin}/.well-known/oauth-protected-resource/mcp`)
})

test('a user signs in through the proxy, and the client calls tools and refreshes', async () => {
  const { client: registered, tokens } = await client.signIn()
  expect(JSON.parse((await client.call(tokens.access_token)).slice(4))).toMatchObject({
    issuer: client.server.origin,
    subject: 'github.1815',
  })
  const refreshed = await client.token(client.refreshForm(registered, tokens.refresh_token))
  expect(await seen(refreshed)).toBe('200 granted')
})

test('a user connects a provider, and ends access, on pages behind the proxy', async () => {
  const browser = new Browser()
  const { tokens, client: app } = await client.signIn(browser)
  await using mcp = await connect(client.server, { revision: '2026-07-28', token: tokens.access_token })
  const { content } = await mcp.callTool('push')
  const [url = ''] = /http\S+$/.exec((content as { text: string }[])[0]?.text ?? '') ?? []
  expect(new URL(url).origin).toBe(client.server.origin)
  expect(await browser.connect(new URL(url))).toContain('GitHub is connected')

  const page = client.at('/oauth/account')
  await browser.open(page)
  const form = new URLSearchParams({ client: app.id })
  expect(await browser.open(page)).toContain(app.id)
  for (const [origin, status] of [
    [server.url.origin, 403],
    [client.server.origin, 303],
  ] as const) {
    expect((await browser.visit(page, form, { headers: { Origin: origin } })).status).toBe(status)
  }
})

test('a visit that starts at the host of the Worker ends there', async () => {
  const asked = client.ask(await client.registered())
  const direct = new URL(asked.url.pathname + asked.url.search, server.url)
  const params = new Browser().authorize(direct, { decision: 'github' })
  await expect(params).rejects.toThrow('This authorization was not started in this browser; start again.')
})

test('forTenant() changes nothing about the tokens of a user without a tenant', async () => {
  const { origin } = client.server
  await using another = await startServer('test/sign-in/server', {
    CASE: 'ofTenant',
    GITHUB: gitHub.url,
    ORIGIN: origin,
  })
  const first = server
  server = another
  try {
    const { tokens } = await client.signIn()
    expect(JSON.parse((await client.call(tokens.access_token)).slice(4)).tenant).toBe('acme')
    expect(gitHub.tokens.has((await client.call(tokens.access_token, 'starred')).slice(4))).toBe(true)
  } finally {
    server = first
  }
})
