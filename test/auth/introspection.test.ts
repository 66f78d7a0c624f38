/** Tokens that say nothing themselves: the authorization server is asked what they are worth. */
import type { RequestListener, ServerResponse } from 'node:http'
import type { JWTPayload } from 'jose'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import type { TestServer } from '../support/server.ts'
import { AuthorizationServer, json, newKey } from './authorization-server.ts'
import { type Answered, bearing, call } from './call.ts'
import { ahead, declare, startDeclared, stopClock } from './declare.ts'

const second = 1_000

let server: TestServer
let issuer: AuthorizationServer

beforeAll(async () => {
  server = await startDeclared()
})
afterAll(() => server[Symbol.asyncDispose]())

beforeEach(async () => {
  issuer = await AuthorizationServer.start()
  await stopClock(server)
})
afterEach(() => issuer[Symbol.asyncDispose]())

/** A server that asks the issuer about tokens. */
const introspecting = (options: object = {}) =>
  declare(server, { issuer: issuer.issuer, introspection: issuer.resourceServer, ...options })

const asked = (path = '/introspect') => issuer.asked.get(path) ?? 0
const now = () => Math.floor(Date.now() / 1000)

describe('an opaque token', () => {
  test('that is active is accepted with its claims', async () => {
    const url = await introspecting()
    const token = issuer.opaqueToken({ aud: url.href, scope: 'notes:read' })
    expect(JSON.parse((await call(url, bearing(token))).text)).toEqual({
      issuer: issuer.issuer,
      subject: 'ada',
      client: 'client',
      scopes: ['notes:read'],
    })
    expect(await call(url, bearing(token), 'read')).toMatchObject({ status: 200, text: 'read' })
    expect(await call(url, bearing(token), 'write')).toMatchObject({ status: 403 })
  })

  test.each<[string, JWTPayload, string]>([
    ['has expired', { exp: now() - 60 }, 'The token has expired'],
    ['is for another audience', { aud: 'https://other.example/mcp' }, 'a different audience'],
    [
      'is for other audiences',
      { aud: ['https://other.example/mcp', 'https://third.example/'] },
      'a different audience',
    ],
    ['has no audience', { aud: undefined }, 'a different audience'],
    [
      'is of another issuer',
      { iss: 'https://other.example' },
      'does not trust the issuer of the token: iss is "https://other.example", and this server accepts tokens of http://',
    ],
    ['is bound to a key', { cnf: { jkt: 'A'.repeat(43) } }, 'bound to a key'],
    ['names a client and a user name, but no subject', { sub: undefined, username: 'ada' }, 'The token has no subject'],
    ['has a common name for a subject', { sub: '', common_name: 'ada' }, 'The claim "sub" of the token must be'],
    ['is not good yet', { nbf: now() + 60 }, 'The token is not valid yet'],
    [
      'expires at a text',
      { exp: `${now() + 60}` as never },
      'The claim "exp" of the token must be a number of seconds',
    ],
    ['expires at null', { exp: null as never }, 'The claim "exp" of the token must be a number of seconds, not null'],
    ['is good from a text on', { nbf: '0' as never }, 'The claim "nbf" of the token must be a number of seconds'],
    ['was issued at a list', { iat: [1] as never }, 'The claim "iat" of the token must be a number of seconds'],
    ['has a number for a subject', { sub: 1 as never }, 'The claim "sub" of the token must be a non-empty string'],
    ['has a number for a client', { client_id: 1 }, 'The claim "client_id" of the token must be a non-empty string'],
    [
      'has a list for an issuer',
      { iss: ['https://a.example'] as never },
      'does not trust the issuer of the token: iss is ["https://a.example"], and',
    ],
    [
      'has a long issuer',
      { iss: `https://${'a'.repeat(1000)}` },
      `iss is "https://${'a'.repeat(191)}, and this server`,
    ],
    ['has an object for an audience', { aud: {} as never }, 'The claim "aud" of the token must be a string or a list'],
    ['has numbers for scopes', { scope: [1] }, 'The claim "scope" of the token must be a string or a list of strings'],
    ['is of several types', { token_type: ['refresh_token'] }, 'not valid for this resource'],
    ['is no longer active', { active: false }, 'not valid for this resource'],
    ['is nearly active', { active: 'true' }, 'not valid for this resource'],
  ])('that %s is refused', async (_, claims, reason) => {
    const url = await introspecting()
    const refused = await call(url, bearing(issuer.opaqueToken({ aud: url.href, ...claims })))
    expect(refused).toMatchObject({ status: 401, text: expect.stringContaining(reason) })
    expect(refused.headers.get('WWW-Authenticate')).toContain('error="invalid_token"')
  })

  test.each<[string, (audience: string) => JWTPayload]>([
    ['expires soon', (aud) => ({ aud, exp: now() + 60 })],
    ['has expired within the clock tolerance', (aud) => ({ aud, exp: now() - 10 })],
    ['is for several audiences', (aud) => ({ aud: ['https://other.example/', aud] })],
    ['names its issuer', (aud) => ({ aud, iss: issuer.issuer })],
  ])('that %s is accepted', async (_, claims) => {
    const url = await introspecting()
    expect(await call(url, bearing(issuer.opaqueToken(claims(url.href))))).toMatchObject({ status: 200 })
  })

  test('has the subject of the claim that subjectClaim names, and no other', async () => {
    const url = await introspecting({ subjectClaim: 'username' })
    const token = issuer.opaqueToken({ aud: url.href, sub: undefined, username: 'grace', scope: '' })
    expect(JSON.parse((await call(url, bearing(token))).text)).toMatchObject({ subject: 'grace' })
    const without = issuer.opaqueToken({ aud: url.href, sub: 'ada' })
    expect(await call(url, bearing(without))).toMatchObject({
      status: 401,
      text: 'The token has no subject: it needs the claim username',
    })
  })

  test('that no issuer knows is refused', async () => {
    expect(await call(await introspecting(), bearing('unknown'))).toMatchObject({ status: 401 })
    expect(asked()).toBe(1)
  })

  test('needs no audience where the issuer issues tokens for this server only', async () => {
    const url = await introspecting({ audience: false })
    expect(await call(url, bearing(issuer.opaqueToken()))).toMatchObject({ status: 200 })
  })

  test('may contain two dots, like a JWT', async () => {
    const url = await introspecting()
    const token = issuer.opaqueToken({ aud: url.href }, 'one.two.three')
    expect(await call(url, bearing(token))).toMatchObject({ status: 200 })
  })

  test('is refused without introspection', async () => {
    const url = await declare(server, { issuer: issuer.issuer })
    expect(await call(url, bearing(issuer.opaqueToken({ aud: url.href })))).toMatchObject({ status: 401 })
    expect([...issuer.asked.keys()]).toEqual([])
  })
})

describe('the introspection of a token', () => {
  test('is cached for a minute', async () => {
    const url = await introspecting()
    const token = issuer.opaqueToken({ aud: url.href })
    for (let time = 0; time < 60; time += 10) {
      await ahead(server, time * second)
      expect(await call(url, bearing(token))).toMatchObject({ status: 200 })
    }
    expect(asked()).toBe(1)
    await ahead(server, 61 * second)
    expect(await call(url, bearing(token))).toMatchObject({ status: 200 })
    expect(asked()).toBe(2)
  })

  test('is cached for tokenCacheMs', async () => {
    const url = await introspecting({ tokenCacheMs: 5 * second })
    const token = issuer.opaqueToken({ aud: url.href })
    await call(url, bearing(token))
    issuer.opaque.delete(token)
    await ahead(server, 3 * second)
    expect(await call(url, bearing(token))).toMatchObject({ status: 200 })
    await ahead(server, 6 * second)
    expect(await call(url, bearing(token))).toMatchObject({ status: 401 })
    expect(asked()).toBe(2)
  })

  test('is not cached when tokenCacheMs is 0', async () => {
    const url = await introspecting({ tokenCacheMs: 0 })
    const token = issuer.opaqueToken({ aud: url.href })
    for (const _ of [1, 2, 3]) expect(await call(url, bearing(token))).toMatchObject({ status: 200 })
    expect(asked()).toBe(3)
    issuer.opaque.delete(token)
    expect(await call(url, bearing(token))).toMatchObject({ status: 401 })
  })

  test('is removed from the cache when the token expires', async () => {
    const url = await introspecting({ clockTolerance: 0 })
    const token = issuer.opaqueToken({ aud: url.href, exp: now() + 20 })
    expect(await call(url, bearing(token))).toMatchObject({ status: 200 })
    await ahead(server, 30 * second)
    expect(await call(url, bearing(token))).toMatchObject({ status: 401, text: 'The token has expired' })
  })

  test('is cached for each token separately', async () => {
    const url = await introspecting()
    const tokens = ['ada', 'bob'].map((sub) => issuer.opaqueToken({ aud: url.href, sub }))
    for (const _ of [1, 2]) {
      const answers = await Promise.all(tokens.map((token) => call(url, bearing(token), 'open')))
      expect(answers.map(({ text }) => text)).toEqual(['ada', 'bob'])
    }
    expect(asked()).toBe(2)
  })

  test('is cached for a moment when the token is inactive', async () => {
    const url = await introspecting()
    for (const _ of [1, 2, 3]) expect(await call(url, bearing('soon'))).toMatchObject({ status: 401 })
    expect(asked()).toBe(1)
    issuer.opaqueToken({ aud: url.href }, 'soon')
    await ahead(server, 6 * second)
    expect(await call(url, bearing('soon'))).toMatchObject({ status: 200 })
  })
})

describe('concurrent requests', () => {
  /** Sends a request, and resolves when it has come. */
  async function send(url: URL, token: string): Promise<() => Promise<Answered>> {
    const arrived = async () => Number(await (await fetch(new URL('/arrived', server.url))).text())
    const before = await arrived()
    const answer = call(url, bearing(token))
    await vi.waitFor(async () => expect(await arrived()).toBe(before + 1))
    return () => answer
  }

  test('with one token cause one introspection request', async () => {
    const url = await introspecting()
    const token = issuer.opaqueToken({ aud: url.href })
    const answers = await Promise.all(Array.from({ length: 50 }, () => call(url, bearing(token))))
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
    expect(asked()).toBe(1)
  })

  test('with one token succeed although the client of the first one disconnects', async () => {
    const url = await introspecting()
    await call(url, bearing(issuer.opaqueToken({ aud: url.href })))
    const token = issuer.opaqueToken({ aud: url.href })
    const [held, gone] = [Promise.withResolvers<ServerResponse>(), Promise.withResolvers<ServerResponse>()]
    issuer.instead.set('/introspect', (_, response) => held.resolve(response))
    issuer.instead.set('/gone', (_, response) => gone.resolve(response))
    const abandoned = new URL(`/abandoned${url.pathname}?until=${issuer.issuer}/gone`, url)
    const first = call(abandoned, bearing(token))
    const response = await held.promise
    const other = await send(url, token)
    ;(await gone.promise).end()
    expect(await first).toMatchObject({ text: 'given up' })
    json(response, { active: true, sub: 'ada', aud: url.href })
    expect(await other()).toMatchObject({ status: 200 })
    expect(asked()).toBe(2)
  })

  test('with inactive tokens cause one introspection request for each token', async () => {
    const url = await introspecting()
    // Few enough that a busy machine has introspected all of them before the first is requested again, and in time.
    const tokens = Array.from({ length: 8 }, () => crypto.randomUUID())
    for (const _ of [1, 2]) {
      const answers = await Promise.all(tokens.map((token) => call(url, bearing(token))))
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([401]))
    }
    expect(asked()).toBe(tokens.length)
  })

  const from = (network: number) => ({ 'CF-Connecting-IP': `192.0.2.${network}` })

  test('cause no request to an introspection endpoint that failed for five networks a moment ago', async () => {
    const url = await introspecting()
    issuer.instead.set('/introspect', (_, response) => response.writeHead(503).end())
    for (const network of [1, 2, 3, 4, 5])
      expect(await call(url, { ...bearing(`of-${network}`), ...from(network) })).toMatchObject({ status: 503 })
    const answers = await Promise.all(Array.from({ length: 50 }, (_, turn) => call(url, bearing(`other-${turn}`))))
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([503]))
    expect(asked()).toBe(5)
  })

  test.each([403, 429, 500])(
    'are accepted while tokens of another network cause the introspection status %i',
    async (status) => {
      const url = await introspecting({ tokenCacheMs: 0 })
      const good = issuer.opaqueToken({ aud: url.href })
      issuer.instead.set('/introspect', (_, response) => response.writeHead(status).end())
      for (let turn = 0; turn < 10; turn += 1)
        expect(await call(url, { ...bearing(`bad-${turn}`), ...from(1) })).toMatchObject({ status: 503 })
      issuer.instead.clear()
      expect(await call(url, { ...bearing(good), ...from(2) })).toMatchObject({ status: 200 })
      expect(await call(url, { ...bearing(good), ...from(1) })).toMatchObject({ status: 200 })
    },
  )

  test('that failed a moment ago are not asked about again', async () => {
    const url = await introspecting()
    issuer.instead.set('/introspect', (_, response) => response.writeHead(500).end())
    for (let turn = 0; turn < 10; turn += 1) expect(await call(url, bearing('bad'))).toMatchObject({ status: 503 })
    expect(asked()).toBe(1)
  })

  test.each([400, 413, 414, 422])(
    'are accepted after the introspection status %i, which refuses the token that caused it',
    async (status) => {
      const url = await introspecting()
      const good = issuer.opaqueToken({ aud: url.href })
      issuer.instead.set('/introspect', (_, response) => response.writeHead(status).end())
      expect(await call(url, bearing('a'.repeat(10_000)))).toMatchObject({ status: 401 })
      issuer.instead.clear()
      expect(await call(url, bearing(good))).toMatchObject({ status: 200 })
    },
  )
})

describe('the introspection endpoint', () => {
  test('is that of the metadata', async () => {
    const url = await introspecting()
    await call(url, bearing(issuer.opaqueToken({ aud: url.href })))
    expect(Object.fromEntries(issuer.asked)).toEqual({
      '/.well-known/oauth-authorization-server': 1,
      '/jwks': 1,
      '/introspect': 1,
    })
  })

  test('is the configured URL, and no metadata is fetched', async () => {
    issuer.instead.set('/given', (request, response) => issuer.introspect(request, response))
    const introspection = { ...issuer.resourceServer, url: `${issuer.issuer}/given` }
    const url = await introspecting({ introspection })
    expect(await call(url, bearing(issuer.opaqueToken({ aud: url.href })))).toMatchObject({ status: 200 })
    expect(Object.fromEntries(issuer.asked)).toEqual({ '/given': 1 })
  })

  const failing: [string, RequestListener][] = [
    ['answers with 503', (_, response) => response.writeHead(503).end()],
    ['answers with 401', (_, response) => response.writeHead(401).end()],
    ['closes the connection', (request) => request.socket.destroy()],
    ['answers with a page', (_, response) => response.end('<!doctype html>')],
    ['answers with 204', (_, response) => response.writeHead(204).end()],
  ]
  test.each(failing)('that %s causes a 503 with Retry-After, and is asked again afterwards', async (_, answer) => {
    const url = await introspecting()
    const token = issuer.opaqueToken({ aud: url.href })
    issuer.instead.set('/introspect', answer)
    const refused = await call(url, bearing(token))
    expect(refused).toMatchObject({ status: 503, text: expect.stringContaining('try again') })
    expect(refused.headers.get('Retry-After')).toBe('5')
    expect(refused.headers.get('WWW-Authenticate')).toBeNull()
    issuer.instead.clear()
    await ahead(server, 6 * second)
    expect(await call(url, bearing(token))).toMatchObject({ status: 200 })
  })

  test('may fail without effect on tokens that are in the cache', async () => {
    const url = await introspecting()
    const token = issuer.opaqueToken({ aud: url.href })
    await call(url, bearing(token))
    issuer.instead.set('/introspect', (_, response) => response.writeHead(503).end())
    expect(await call(url, bearing(token))).toMatchObject({ status: 200 })
  })

  test('delays only the requests that need it when it is slow', async () => {
    const url = await introspecting()
    const [slow, quick] = [issuer.opaqueToken({ aud: url.href }), issuer.opaqueToken({ aud: url.href })]
    expect(await call(url, bearing(quick))).toMatchObject({ status: 200 })
    const held = Promise.withResolvers<ServerResponse>()
    issuer.instead.set('/introspect', (_, response) => held.resolve(response))
    const waiting = call(url, bearing(slow))
    const response = await held.promise
    expect(await call(url, bearing(quick))).toMatchObject({ status: 200 })
    json(response, { active: true, sub: 'late', aud: url.href })
    expect(await waiting).toMatchObject({ status: 200, text: expect.stringContaining('late') })
  })

  test('causes a 503 when it hangs', async () => {
    const url = await introspecting()
    issuer.instead.set('/introspect', (_, response) => void response.writeHead(200).write('{'))
    expect(await call(url, bearing('opaque'))).toMatchObject({ status: 503 })
  })

  test('is not named in the response when the metadata lacks it', async () => {
    const { introspection_endpoint: _, ...metadata } = issuer.metadata
    issuer.instead.set('/.well-known/oauth-authorization-server', (_, response) => json(response, metadata))
    const refused = await call(await introspecting(), bearing('opaque'))
    expect(refused).toMatchObject({ status: 503, text: expect.not.stringContaining('introspection') })
  })

  test('must not be an http URL', async () => {
    const introspection = { ...issuer.resourceServer, url: 'http://auth.example/introspect' }
    await expect(declare(server, { issuer: 'https://auth.example', introspection })).rejects.toThrow('https')
  })

  test('gets no client secret when the metadata names an http URL', async () => {
    const elsewhere = { ...issuer.metadata, introspection_endpoint: 'http://auth.example/introspect' }
    issuer.instead.set('/.well-known/oauth-authorization-server', (_, response) => json(response, elsewhere))
    const url = await declare(
      server,
      { issuer: issuer.issuer, introspection: issuer.resourceServer },
      // Whatever the host, this is who hears it.
      { reached: issuer.issuer },
    )
    expect(await call(url, bearing(issuer.opaqueToken({ aud: url.href })))).toMatchObject({ status: 503 })
    expect(asked()).toBe(0)
  })

  test.each<[string, string, string]>([
    ['plain', 'mcp', 'secret'],
    ['a colon', 'urn:mcp:one', 'a:b:c'],
    ['spaces and plus signs', 'my client', 'one + one'],
    ['separators of form data', 'a&b=c', '100%&x=y+z'],
    ['quotes and brackets', `"it's" (mine)!`, '*~{}[]\\/'],
    ['other alphabets', 'клиент', '秘密 🔑'],
    ['an encoded text', 'a%20b', '%2B%25'],
  ])('gets the client id and secret encoded when they contain %s', async (_, clientId, clientSecret) => {
    issuer.resourceServer = { clientId, clientSecret }
    const url = await introspecting()
    expect(await call(url, bearing(issuer.opaqueToken({ aud: url.href })))).toMatchObject({ status: 200 })
    issuer.resourceServer = { clientId, clientSecret: `${clientSecret}.` }
    expect(await call(url, bearing(issuer.opaqueToken({ aud: url.href })))).toMatchObject({ status: 503 })
  })
})

describe('several kinds of tokens', () => {
  test('are accepted together, and a JWT causes no introspection request', async () => {
    const url = await introspecting()
    const opaque = issuer.opaqueToken({ aud: url.href, sub: 'opaque' })
    const jwt = await issuer.token(url.href, { sub: 'jwt' })
    expect(await call(url, bearing(jwt), 'open')).toMatchObject({ status: 200, text: 'jwt' })
    expect(asked()).toBe(0)
    expect(await call(url, bearing(opaque), 'open')).toMatchObject({ status: 200, text: 'opaque' })
  })

  test('cause no introspection request for a JWT with a wrong signature', async () => {
    const url = await introspecting()
    const [mine] = issuer.keys
    const forged = await issuer.token(url.href, {}, { key: await newKey('ES256', mine?.kid as string) })
    issuer.opaqueToken({ aud: url.href }, forged)
    expect(await call(url, bearing(forged))).toMatchObject({ status: 401 })
    expect(asked()).toBe(0)
  })
})

describe('several issuers', () => {
  let other: AuthorizationServer
  let url: URL

  const entry = (each: AuthorizationServer, tokenPrefix?: string) => ({
    issuer: each.issuer,
    introspection: { ...each.resourceServer, ...(tokenPrefix !== undefined && { tokenPrefix }) },
  })

  beforeEach(async () => {
    other = await AuthorizationServer.start()
    url = await declare(server, { issuer: [entry(issuer, 'one_'), entry(other, 'two_')] })
  })
  afterEach(() => other[Symbol.asyncDispose]())

  const issuerIn = (text: string) => JSON.parse(text).issuer
  const opaqueOf = (each: AuthorizationServer, claims: JWTPayload = {}) =>
    each.opaqueToken({ aud: url.href, ...claims }, `${each === issuer ? 'one_' : 'two_'}${crypto.randomUUID()}`)

  test('issue opaque tokens and JWTs that the server accepts', async () => {
    for (const each of [issuer, other]) {
      for (const token of [opaqueOf(each), await each.token(url.href)]) {
        const { status, text } = await call(url, bearing(token))
        expect([status, issuerIn(text)]).toEqual([200, each.issuer])
      }
    }
  })

  test('do not get opaque tokens of another issuer', async () => {
    expect(await call(url, bearing(opaqueOf(other)))).toMatchObject({ status: 200 })
    expect([asked(), other.asked.get('/introspect')]).toEqual([0, 1])
    expect(await call(url, bearing('three_unknown'))).toMatchObject({ status: 401 })
    expect(await call(url, bearing('two_unknown'))).toMatchObject({ status: 401 })
    expect([asked(), other.asked.get('/introspect')]).toEqual([0, 2])
  })

  test('cannot issue tokens in the name of another issuer', async () => {
    expect(await call(url, bearing(opaqueOf(other, { iss: issuer.issuer })))).toMatchObject({ status: 401 })
    const signed = await other.token(url.href, { iss: issuer.issuer })
    expect(await call(url, bearing(signed))).toMatchObject({ status: 401 })
  })

  test('are independent: tokens of one are accepted while another fails', async () => {
    issuer.instead.set('/introspect', (_, response) => response.writeHead(503).end())
    expect(await call(url, bearing(opaqueOf(other)))).toMatchObject({ status: 200 })
    expect(await call(url, bearing(await issuer.token(url.href)))).toMatchObject({ status: 200 })
  })

  test('cause a 503 for a token while their introspection fails, and a 401 for it afterwards', async () => {
    issuer.instead.set('/introspect', (_, response) => response.writeHead(503).end())
    expect(await call(url, bearing('one_unknown'))).toMatchObject({ status: 503 })
    expect(await call(url, bearing('two_unknown'))).toMatchObject({ status: 401 })
    issuer.instead.clear()
    await ahead(server, 6 * second)
    expect(await call(url, bearing('one_unknown'))).toMatchObject({ status: 401 })
  })

  test.each<[string, string | undefined, string | undefined, string]>([
    ['without prefixes', undefined, undefined, 'needs a tokenPrefix'],
    ['of which one has no prefix', 'one_', undefined, 'needs a tokenPrefix'],
    ['with the same prefix', 'one_', 'one_', 'The tokenPrefix "one_" of'],
    ['with a prefix that begins with the other', 'one_more_', 'one_', 'The tokenPrefix "one_" of'],
    ['with an empty prefix', 'one_', '', 'must be a non-empty string'],
  ])('%s are refused at startup', async (_, one, two, message) => {
    await expect(declare(server, { issuer: [entry(issuer, one), entry(other, two)] })).rejects.toThrow(message)
  })

  test('need no token prefix when only one of them has introspection', async () => {
    const mixed = await declare(server, { issuer: [entry(issuer), other.issuer] })
    expect(await call(mixed, bearing(issuer.opaqueToken({ aud: mixed.href })))).toMatchObject({ status: 200 })
    expect(await call(mixed, bearing(await other.token(mixed.href)))).toMatchObject({ status: 200 })
  })
})
