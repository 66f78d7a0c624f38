/** Tokens at the pair of the HTTP+SSE transport, `/sse` and `/messages`: their audience is the URL of either endpoint (RFC 8707). */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startServer, type TestServer } from '../support/server.ts'
import { AuthorizationServer } from './authorization-server.ts'

let issuer: AuthorizationServer
let server: TestServer
beforeAll(async () => {
  issuer = await AuthorizationServer.start()
  server = await startServer('test/auth/audited', { ISSUER: issuer.issuer })
})
afterAll(async () => {
  await server?.[Symbol.asyncDispose]()
  await issuer?.[Symbol.asyncDispose]()
})

const url = (path: string) => new URL(path, server.url).href
/** @param audience URLs, or paths at the server */
const tokenFor = (...audience: string[]) => issuer.token(url('/mcp'), { aud: audience.map(url) })

const openStream = (token: string, signal: AbortSignal) =>
  fetch(url('/sse'), { headers: { Authorization: `Bearer ${token}`, Accept: 'text/event-stream' }, signal })

const post = (path: string, token: string) =>
  fetch(url(path), {
    method: 'POST',
    headers: {
      Authorization: `Bearer ${token}`,
      'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream',
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'initialize',
      params: { protocolVersion: '2024-11-05', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
    }),
  })

/** Where the stream says to post to. */
async function endpointIn(stream: Response): Promise<string> {
  let text = ''
  const decoder = new TextDecoder()
  const reader = (stream.body as ReadableStream<Uint8Array>).getReader()
  for (;;) {
    // The stream stays open: it is the session.
    const { value, done } = await reader.read()
    if (done) throw new Error('The stream ended before it named an endpoint')
    text += decoder.decode(value, { stream: true })
    const [, endpoint] = /data: (\S+)\n\n/.exec(text) ?? []
    if (endpoint) return endpoint
  }
}

describe.each([
  ['/sse', ['/sse']],
  ['/mcp', ['/mcp']],
  ['another server and /sse', ['https://other.example.com/mcp', '/sse']],
])('a token for %s', (_, audience) => {
  test('opens the stream and posts messages to the session', async () => {
    const token = await tokenFor(...audience)
    const stop = new AbortController()
    const stream = await openStream(token, stop.signal)
    expect(stream.status).toBe(200)
    try {
      expect((await post(await endpointIn(stream), token)).status).toBe(202)
    } finally {
      stop.abort()
    }
  })
})

describe.each([
  ['/messages'],
  ['/sse/'],
  ['/SSE'],
  ['/'],
  ['/other/sse'],
  ['/mcp/sse'],
  ['https://other.example.com/sse'],
])('a token for %s', (audience) => {
  test('is refused with a challenge that names the metadata of /sse', async () => {
    const token = await tokenFor(audience)
    for (const response of [
      await openStream(token, AbortSignal.timeout(30_000)),
      await post('/messages?session=any', token),
    ]) {
      expect(response.status).toBe(401)
      const challenge = response.headers.get('WWW-Authenticate')
      expect(challenge).toContain('error="invalid_token"')
      expect(challenge).toContain(`resource_metadata="${url('/.well-known/oauth-protected-resource/sse')}"`)
      await response.text()
    }
  })
})

test('a token for /sse is accepted at /messages/', async () => {
  expect((await post('/messages/?session=any', await tokenFor('/sse'))).status).toBe(404)
})

test('a token for /sse is refused at /mcp, and a token for both audiences is accepted at both', async () => {
  expect((await post('/mcp', await tokenFor('/sse'))).status).toBe(401)
  expect((await post('/mcp', await tokenFor('/sse', '/mcp'))).status).toBe(200)
})

test.each(['/sse', '/sse/'])('the metadata of %s names /sse as the resource', async (path) => {
  const described = await fetch(url(`/.well-known/oauth-protected-resource${path}`))
  expect(await described.json()).toMatchObject({ resource: url('/sse') })
})
