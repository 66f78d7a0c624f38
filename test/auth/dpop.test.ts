/** DPoP: the flow of clients, with nonces, sessions, streams, other transports and several instances. */
import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import { text } from 'node:stream/consumers'
import * as oauth from 'oauth4webapi'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { evict } from '../support/objects.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { AuthorizationServer } from './authorization-server.ts'
import { bearing, call } from './call.ts'
import { declare, startDeclared } from './declare.ts'
import { Holder } from './dpop/holder.ts'

let issuer: AuthorizationServer
let server: TestServer
let holder: Holder

beforeAll(async () => {
  issuer = await AuthorizationServer.start()
  server = await startServer('test/auth/dpop', { ISSUER: issuer.issuer })
  holder = await Holder.create()
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
  await issuer[Symbol.asyncDispose]()
})

const at = (path: string) => new URL(path, server.url)
const metadataOf = (url: URL) => `${url.origin}/.well-known/oauth-protected-resource${url.pathname}`
const algs = 'ES256 ES384 ES512 EdDSA Ed25519 PS256 PS384 PS512 RS256 RS384 RS512'
const who = (answer: { text: string }) => JSON.parse(answer.text)

/** A token for an endpoint that is bound to the key of the holder. */
const tokenFor = (url: URL, claims = {}) => issuer.token(url.href, { ...holder.bound, ...claims })

const outcomeOf = ({ status, text, headers }: { status: number; text: string; headers: Headers }) => ({
  status,
  text,
  challenge: headers.get('WWW-Authenticate'),
})

describe('a bound token', () => {
  test.each(['ES256', 'ES384', 'EdDSA', 'Ed25519', 'RS256', 'PS256'])('is accepted with a proof of %s', async (alg) => {
    const url = at('/mcp')
    const other = await Holder.create(alg)
    const token = await issuer.token(url.href, other.bound)
    const answer = await call(url, await other.headers(url, token))
    expect([answer.status, who(answer)]).toEqual([200, { subject: 'ada', cnf: { jkt: other.jkt }, headers: [] }])
  })

  test('is accepted where the option is not set', async () => {
    const url = at('/unset/mcp')
    const token = await tokenFor(url)
    expect(await call(url, await holder.headers(url, token))).toMatchObject({ status: 200 })
  })

  test('is accepted after introspection', async () => {
    const url = at('/opaque/mcp')
    const token = issuer.opaqueToken({ aud: url.href, token_type: 'DPoP', ...holder.bound })
    expect(await call(url, await holder.headers(url, token))).toMatchObject({ status: 200 })
    expect(await call(url, bearing(token))).toMatchObject({ status: 401 })
  })

  test('is accepted with the scheme in any case, and a nonce that nobody asked for', async () => {
    const url = at('/mcp')
    const token = await tokenFor(url)
    const DPoP = await holder.proof(url, { token, claims: { nonce: 'of another server' } })
    expect(await call(url, { Authorization: `dpop ${token}`, DPoP })).toMatchObject({ status: 200 })
  })

  test('that lacks scopes gets a challenge of its scheme', async () => {
    const url = at('/mcp')
    const token = await tokenFor(url, { scope: 'notes:read' })
    expect(outcomeOf(await call(url, await holder.headers(url, token), 'write'))).toEqual({
      status: 403,
      text: 'Requires the scopes notes:write',
      challenge: `DPoP resource_metadata="${metadataOf(url)}", scope="notes:read notes:write", algs="${algs}", error="insufficient_scope", error_description="Requires the scopes notes:write"`,
    })
  })

  test('is refused as today with dpop: false', async () => {
    const url = at('/off/mcp')
    const token = await tokenFor(url)
    expect(outcomeOf(await call(url, bearing(token)))).toEqual({
      status: 401,
      text: 'Tokens that are bound to a key (DPoP or mutual TLS) are not supported',
      challenge: `Bearer resource_metadata="${metadataOf(url)}", scope="notes:write", error="invalid_token", error_description="Tokens that are bound to a key (DPoP or mutual TLS) are not supported"`,
    })
    expect(outcomeOf(await call(url, await holder.headers(url, token)))).toEqual({
      status: 401,
      text: 'Authorization is required: send a bearer token',
      challenge: `Bearer resource_metadata="${metadataOf(url)}", scope="notes:write"`,
    })
  })

  test('has its proof verified although the token is cached', async () => {
    const url = at('/mcp')
    const token = await tokenFor(url)
    const headers = await holder.headers(url, token)
    expect(await call(url, headers)).toMatchObject({ status: 200 })
    const refused = [{ Authorization: `DPoP ${token}` }, bearing(token), { ...headers, DPoP: 'a.b.c' }, headers]
    for (const sent of refused) expect(await call(url, sent)).toMatchObject({ status: 401 })
    expect(await call(url, await holder.headers(url, token))).toMatchObject({ status: 200 })
  })

  test('of verify is verified, too', async () => {
    const url = at('/verified/mcp')
    const token = btoa(JSON.stringify({ iss: 'https://own.example', sub: 'ada', ...holder.bound }))
    expect(await call(url, await holder.headers(url, token))).toMatchObject({ status: 200 })
    expect(await call(url, bearing(token))).toMatchObject({ status: 401 })
  })
})

describe('challenges and metadata', () => {
  test.each([
    [
      '/mcp',
      'both schemes',
      (url: URL) => `Bearer resource_metadata="${metadataOf(url)}", scope="notes:write", DPoP algs="${algs}"`,
    ],
    [
      '/unset/mcp',
      'only bearer tokens',
      (url: URL) => `Bearer resource_metadata="${metadataOf(url)}", scope="notes:write"`,
    ],
    [
      '/required/mcp',
      'only DPoP',
      (url: URL) => `DPoP resource_metadata="${metadataOf(url)}", scope="notes:write", algs="${algs}"`,
    ],
    [
      '/tuned/mcp',
      'its algorithms',
      (url: URL) => `Bearer resource_metadata="${metadataOf(url)}", scope="notes:write", DPoP algs="ES256"`,
    ],
  ])('%s offers %s', async (path, _, challenge) => {
    const { status, headers } = await call(at(path))
    expect([status, headers.get('WWW-Authenticate')]).toEqual([401, challenge(at(path))])
  })

  test.each([
    ['/mcp', { dpop_signing_alg_values_supported: algs.split(' ') }],
    ['/unset/mcp', {}],
    ['/off/mcp', {}],
    ['/required/mcp', { dpop_signing_alg_values_supported: algs.split(' '), dpop_bound_access_tokens_required: true }],
    ['/tuned/mcp', { dpop_signing_alg_values_supported: ['ES256'] }],
  ])('the metadata of %s', async (path, dpop) => {
    const response = await fetch(metadataOf(at(path)))
    expect(await response.json()).toEqual({
      resource: at(path).href,
      authorization_servers: [issuer.issuer],
      scopes_supported: ['notes:write'],
      bearer_methods_supported: ['header'],
      ...dpop,
    })
  })

  test('a page may send proofs and read nonces', async () => {
    const { origin } = server.url
    const preflight = await fetch(at('/mcp'), {
      method: 'OPTIONS',
      headers: { Origin: origin, 'Access-Control-Request-Method': 'POST', 'Access-Control-Request-Headers': 'dpop' },
    })
    expect(preflight.headers.get('Access-Control-Allow-Headers')?.split(', ')).toContain('DPoP')
    const { headers } = await call(at('/nonce/mcp'), { Origin: origin })
    expect(headers.get('Access-Control-Expose-Headers')?.split(', ')).toEqual(
      expect.arrayContaining(['DPoP-Nonce', 'WWW-Authenticate']),
    )
  })
})

describe('nonces', () => {
  test('oauth4webapi calls a server that requires them', async () => {
    const url = at('/nonce/mcp')
    const keys = await oauth.generateKeyPair('ES256', { extractable: true })
    const client: oauth.Client = { client_id: 'client' }
    const DPoP = oauth.DPoP(client, keys)
    const token = await issuer.token(url.href, { cnf: { jkt: await DPoP.calculateThumbprint() } })
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' })
    const post = () =>
      oauth.protectedResourceRequest(
        token,
        'POST',
        url,
        new Headers({ 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' }),
        body,
        { DPoP, [oauth.allowInsecureRequests]: true },
      )
    const refused = await post().catch((problem) => problem)
    expect(refused).toBeInstanceOf(oauth.WWWAuthenticateChallengeError)
    expect(oauth.isDPoPNonceError(refused)).toBe(true)
    // The library keeps the nonce for its next requests.
    for (let round = 0; round < 3; round += 1) expect((await post()).status).toBe(200)
  })

  const nonceOf = async (url: URL, token: string) => {
    const { status, headers } = await call(url, await holder.headers(url, token))
    expect(status).toBe(401)
    return headers.get('DPoP-Nonce') ?? ''
  }

  test('a nonce counts in every instance, and for several proofs', async () => {
    const url = at('/nonce/mcp')
    const token = await tokenFor(url)
    const nonce = await nonceOf(url, token)
    for (const instance of ['1', '2', '1']) {
      const headers = await holder.headers(url, token, { claims: { nonce } })
      expect(await call(url, { ...headers, 'X-Instance': instance })).toMatchObject({ status: 200 })
    }
  })

  test('responses bring a new nonce when half of the time is over, and refused ones when all of it is', async () => {
    await using late = await startServer('test/auth/dpop', { ISSUER: issuer.issuer })
    const url = new URL('/nonce/mcp', late.url)
    await fetch(new URL('/clock', url))
    const start = Date.now()
    const token = await issuer.token(url.href, { ...holder.bound, exp: Math.floor(start / 1000) + 3600 })
    const nonce = await nonceOf(url, token)
    const abort = new AbortController()
    const streamAfter = async (seconds: number, proofNonce: string) => {
      await fetch(new URL(`/clock?ahead=${seconds * 1000}`, url))
      const claims = { nonce: proofNonce, iat: Math.floor(start / 1000) + seconds }
      const sse = new URL('/nonce/sse', url)
      const sent = await holder.headers(sse, token, { claims, method: 'GET' })
      const { status, headers } = await fetch(sse, {
        headers: { Accept: 'text/event-stream', ...sent },
        signal: abort.signal,
      })
      return [status, headers.get('DPoP-Nonce')]
    }
    const callAfter = async (seconds: number, proofNonce: string) => {
      await fetch(new URL(`/clock?ahead=${seconds * 1000}`, url))
      const claims = { nonce: proofNonce, iat: Math.floor(start / 1000) + seconds }
      const { status, headers } = await call(url, await holder.headers(url, token, { claims }))
      return [status, headers.get('DPoP-Nonce'), headers.get('WWW-Authenticate')] as const
    }
    expect(await streamAfter(139, nonce)).toEqual([200, null])
    expect(await callAfter(140, nonce)).toEqual([200, null, null])
    expect(await streamAfter(160, nonce)).toEqual([200, expect.stringMatching(/^[\w-]{39}$/)])
    const [status, renewed] = await callAfter(160, nonce)
    expect([status, renewed]).toEqual([200, expect.stringMatching(/^[\w-]{39}$/)])
    expect(renewed).not.toBe(nonce)
    expect(await callAfter(310, nonce)).toEqual([
      401,
      expect.stringMatching(/^[\w-]{39}$/),
      expect.stringContaining('error="use_dpop_nonce"'),
    ])
    expect(await callAfter(311, renewed ?? '')).toMatchObject([200, expect.any(String), null])
    abort.abort()
  })
})

describe('replay', () => {
  test('a proof is accepted once, by whichever instance, at once or after the object has restarted', async () => {
    const url = at('/mcp')
    const token = await tokenFor(url)
    const headers = await holder.headers(url, token)
    const many = Array.from({ length: 10 }, (_, index) => call(url, { ...headers, 'X-Instance': `${1 + (index % 2)}` }))
    const statuses = (await Promise.all(many)).map(({ status }) => status).sort()
    expect(statuses).toEqual([200, ...Array(9).fill(401)])
    const window = Math.floor(JSON.parse(atob(headers.DPoP?.split('.')[1] ?? '')).iat / 600)
    await evict(server, 'McpSession', `dpop ${holder.jkt} ${window}`, 'close')
    expect(outcomeOf(await call(url, { ...headers, 'X-Instance': '2' }))).toMatchObject({
      status: 401,
      text: 'The DPoP proof was used before: make a proof for each request',
    })
  })

  test('with replay: isolate, each isolate accepts a proof once', async () => {
    const url = at('/isolate/mcp')
    const token = await tokenFor(url)
    const headers = await holder.headers(url, token)
    const statuses: number[] = []
    for (const instance of ['1', '1', '2', '2'])
      statuses.push((await call(url, { ...headers, 'X-Instance': instance })).status)
    expect(statuses).toEqual([200, 401, 200, 401])
  })

  test('a Worker without the class refuses bound tokens, and logs what to add', async () => {
    await using declared = await startDeclared()
    const url = await declare(declared, { issuer: issuer.issuer })
    const token = await tokenFor(url)
    const refused = await call(url, await holder.headers(url, token), 'open')
    expect(refused).toMatchObject({ status: 503, text: 'The DPoP proof cannot be checked: try again later' })
    const logs = () => JSON.stringify(declared.harness.getLogs())
    await expect.poll(logs).toContain('This Worker has no Durable Object McpSession')
    const alone = await declare(declared, { issuer: issuer.issuer, dpop: { replay: 'isolate' } })
    const own = await tokenFor(alone)
    expect(await call(alone, await holder.headers(alone, own), 'open')).toMatchObject({ status: 200, text: 'ada' })
  })
})

describe('oneOf()', () => {
  const url = () => at('/several/mcp')

  test('the auth of a token decides whether it has to be bound, and asks for its nonce', async () => {
    const token = await issuer.token(url().href)
    expect(outcomeOf(await call(url(), bearing(token)))).toMatchObject({
      status: 401,
      text: 'This server accepts only tokens that are bound to a key (DPoP)',
    })
    const boundToken = await tokenFor(url())
    const asked = await call(url(), await holder.headers(url(), boundToken))
    expect([asked.status, asked.headers.get('WWW-Authenticate')]).toEqual([
      401,
      expect.stringMatching(/^DPoP [^,]+, scope="notes:write", algs="ES256", error="use_dpop_nonce", .*, Bearer /),
    ])
    const nonce = asked.headers.get('DPoP-Nonce')
    const answer = await call(url(), await holder.headers(url(), boundToken, { claims: { nonce } }))
    expect(answer).toMatchObject({ status: 200 })
    expect(await call(url(), bearing(boundToken))).toMatchObject({ status: 401 })
  })

  test('the metadata has the algorithms of all, and requires bound tokens only if all do', async () => {
    const metadata = await (await fetch(metadataOf(url()))).json()
    expect(metadata).toEqual({
      resource: url().href,
      authorization_servers: [issuer.issuer, 'https://other.example'],
      scopes_supported: ['notes:write'],
      bearer_methods_supported: ['header'],
      dpop_signing_alg_values_supported: ['ES256', 'RS256'],
    })
  })
})

describe('sessions', () => {
  const json = { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' }
  const initialize = (version: string) => ({
    jsonrpc: '2.0',
    id: 0,
    method: 'initialize',
    params: { protocolVersion: version, capabilities: {}, clientInfo: { name: 'test', version: '1' } },
  })

  const startSession = async (url: URL, token: string) => {
    const response = await fetch(url, {
      method: 'POST',
      headers: { ...json, ...(await holder.headers(url, token)) },
      body: JSON.stringify(initialize('2025-11-25')),
    })
    expect(response.status).toBe(200)
    await response.text()
    return { 'Mcp-Session-Id': response.headers.get('Mcp-Session-Id') ?? '', 'MCP-Protocol-Version': '2025-11-25' }
  }

  test('each request of a session needs its own proof: POST, GET and DELETE', async () => {
    const url = at('/mcp')
    const token = await tokenFor(url)
    const session = await startSession(url, token)
    const send = async (method: string, headers: Record<string, string>) => {
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' })
      const abort = new AbortController()
      const response = await fetch(url, {
        method,
        headers: { ...json, ...session, ...headers },
        signal: abort.signal,
        ...(method === 'POST' && { body }),
      })
      if (method === 'GET' && response.status === 200) abort.abort()
      else await response.text()
      return response.status
    }
    for (const method of ['POST', 'GET', 'DELETE']) {
      expect(await send(method, bearing(token))).toBe(401)
      expect(await send(method, { Authorization: `DPoP ${token}` })).toBe(401)
      const other = method === 'POST' ? 'GET' : 'POST'
      expect(await send(method, await holder.headers(url, token, { method: other }))).toBe(401)
    }
    const opened = await holder.headers(url, token, { method: 'GET' })
    expect(await send('GET', opened)).toBe(200)
    expect(await send('GET', opened)).toBe(401)
    expect(await send('POST', await holder.headers(url, token))).toBe(200)
    expect(await send('DELETE', await holder.headers(url, token, { method: 'DELETE' }))).toBe(204)
  })

  test('a stream is resumed with another proof, and by another key of the same principal', async () => {
    const url = at('/mcp')
    const token = await tokenFor(url)
    const session = await startSession(url, token)
    const body = JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'slow', arguments: {}, _meta: { progressToken: 1 } },
    })
    const headers = { ...json, ...session, ...(await holder.headers(url, token)) }
    const stream = await (await fetch(url, { method: 'POST', headers, body })).text()
    const id = [...stream.matchAll(/^id: (.+)$/gm)].at(-1)?.[1] ?? ''
    const other = await Holder.create()
    const renewed = await issuer.token(url.href, other.bound)
    const resume = { ...json, Accept: 'text/event-stream', ...session, 'Last-Event-ID': id }
    expect((await fetch(url, { headers: { ...resume, ...bearing(renewed) } })).status).toBe(401)
    const resumed = await fetch(url, {
      headers: { ...resume, ...(await other.headers(url, renewed, { method: 'GET' })) },
    })
    expect(resumed.status).toBe(200)
    expect(await resumed.text()).toContain('"text":"done"')
  })

  test('HTTP+SSE: the proof of each POST is for /messages, without the query', async () => {
    const url = at('/sse')
    const token = await tokenFor(url)
    const abort = new AbortController()
    const opened = await fetch(url, {
      headers: { Accept: 'text/event-stream', ...(await holder.headers(url, token, { method: 'GET' })) },
      signal: abort.signal,
    })
    expect(opened.status).toBe(200)
    const reader = opened.body?.pipeThrough(new TextDecoderStream()).getReader()
    const { value: first = '' } = (await reader?.read()) ?? {}
    const messages = new URL(/data: (\S+)/.exec(first)?.[1] ?? '', url)
    expect(messages.search).toMatch(/^\?session=/)
    const post = async (headers: Record<string, string>, target = messages) => {
      const body = JSON.stringify(initialize('2024-11-05'))
      const response = await fetch(target, { method: 'POST', headers: { ...json, ...headers }, body })
      await response.text()
      return response.status
    }
    expect(await post(bearing(token))).toBe(401)
    expect(await post(await holder.headers(url, token))).toBe(401)
    const sent = await holder.headers(messages, token)
    expect(await post(sent)).toBe(202)
    expect(await post(sent)).toBe(401)
    // A query is not part of what is proven.
    const claims = { htu: messages.href }
    expect(await post(await holder.headers(messages, token, { claims }))).toBe(202)
    abort.abort()
  })
})

test('two headers DPoP on the wire are refused, although one is valid', async () => {
  const url = at('/mcp')
  const token = await tokenFor(url)
  const proofs = [await holder.proof(url, { token }), await holder.proof(url, { token })]
  const sent = httpRequest(url, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Authorization: `DPoP ${token}`, DPoP: proofs },
  })
  sent.end(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' }))
  const [response] = await once(sent, 'response')
  expect([response.statusCode, JSON.parse(await text(response)).error.message]).toEqual([
    401,
    'The header DPoP must be one JWT',
  ])
})

test('no log contains a proof or a token', async () => {
  const url = at('/mcp')
  const token = await tokenFor(url)
  const headers = await holder.headers(url, token)
  const refused = await call(url, { ...headers, 'User-Agent': `${headers.DPoP}`, 'X-Instance': '1' }, 'write')
  expect(refused.status).toBe(403)
  const logs = () => JSON.stringify(server.harness.getLogs())
  await expect.poll(logs).toContain('insufficient_scope')
  expect(logs()).not.toContain(token)
  expect(logs()).not.toContain((headers.DPoP ?? '').slice(0, 60))
})
