/** What tokens and tenants may state is bounded before it is compared, stored or made twice. */
import { createExecutionContext } from 'cloudflare:test'
import { createServer, serve } from 'edgemcp'
import { tenants } from 'edgemcp/auth'
import { describe, expect, test, vi } from 'vitest'
import { upstreamWithoutGrants } from '../../durable-objects/sign-in/sign-out.ts'
import { insufficientScope } from '../../worker/plugins/auth/challenge-error.ts'
import { principalOf } from '../../worker/plugins/auth/claims.ts'
import { IssuerDocuments } from '../../worker/plugins/auth/issuer-keys-and-metadata.ts'
import { VerifiedTokens } from '../../worker/plugins/auth/verified-token-cache.ts'
import { oauth2 } from '../../worker/plugins/sign-in/index.ts'
import { UpstreamCache } from '../../worker/plugins/sign-in/upstream-cache.ts'

const names = (count: number) => Array.from({ length: count }, (_, index) => `s${index}`).join(' ')

describe('a token', () => {
  const claims = { iss: 'https://login.example.com', sub: 'ada' }

  test('has at most 1,000 scopes', () => {
    expect(principalOf({ ...claims, scope: names(1000) }, {}).scopes).toHaveLength(1000)
    expect(() => principalOf({ ...claims, scope: names(1001) }, {})).toThrow('The token has more than 1000 scopes')
  })

  test.each([
    [30_000, true],
    [40_000, false],
  ])('whose principal has %i characters is cached: %j', (length, isCached) => {
    const cache = new VerifiedTokens(60_000)
    const principal = principalOf({ ...claims, name: 'n'.repeat(length) }, {})
    const tokenExpires = Date.now() + 60_000
    cache.add('token', [], { principal, tokenExpires, isRevocable: true })
    expect(cache.get('token', []) !== undefined).toBe(isCached)
  })
})

test('the principals of cached tokens have two million characters together, whichever auths have verified them', () => {
  const caches = Array.from({ length: 10 }, () => new VerifiedTokens(60_000))
  const claims = { iss: 'https://login.example.com', sub: 'ada', name: 'n'.repeat(30_000) }
  const verified = { principal: principalOf(claims, {}), tokenExpires: Date.now() + 60_000, isRevocable: true }
  const cached = () => caches.flatMap((cache) => Array.from({ length: 10 }, (_, token) => cache.get(`${token}`, [])))
  for (let token = 0; token < 10; token += 1) for (const cache of caches) cache.add(`${token}`, [], verified)
  const { length } = cached().filter((entry) => entry)
  expect(length).toBeGreaterThan(0)
  expect(length).toBeLessThanOrEqual(2_000_000 / 30_000)
  // The last one is there, for its own auth only.
  expect(caches.at(-1)?.get('9', [])).toBeDefined()
  expect(new VerifiedTokens(60_000).get('9', [])).toBeUndefined()
})

test('the documents of issuers have 16 million characters together, and only what verifies a signature of their keys', async () => {
  let requests = 0
  const fetch = async (url: string) => {
    requests += 1
    const issuer = new URL(url).origin
    const padding = 'x'.repeat(120_000)
    if (url.endsWith('/keys')) {
      return Response.json({ keys: [{ kty: 'EC', crv: 'P-256', x: 'x', y: 'y', kid: 'k', x5c: padding, padding }] })
    }
    return Response.json({ issuer, jwks_uri: `${issuer}/keys`, padding })
  }
  const issuers = Array.from(
    { length: 200 },
    (_, index) => new IssuerDocuments({ issuer: `https://issuer-${index}.example`, keysUrl: undefined, fetch }),
  )
  const host = { waitUntil: () => {}, report: () => {} }
  for (const issuer of issuers) await issuer.current(host)
  const { keys } = (await issuers.at(-1)?.current(host)) ?? {}
  expect(keys).toEqual({ keys: [{ kty: 'EC', crv: 'P-256', x: 'x', y: 'y', kid: 'k' }] })
  requests = 0
  await issuers.at(-1)?.current(host)
  expect(requests).toBe(0)
  await issuers[0]?.current(host)
  expect(requests).toBe(2)
})

test('a provider grants at most 500 scopes', async () => {
  const granting = (count: number) =>
    oauth2({
      clientId: 'edge',
      clientSecret: 'hush',
      authorizationUrl: 'https://example.com/authorize',
      tokenUrl: 'https://example.com/token',
      fetch: async () => Response.json({ access_token: 'a', token_type: 'bearer', scope: names(count) }),
      user: () => ({ id: '1' }),
    }).refresh?.({ accessToken: 'a', refreshToken: 'r', scopes: [] })
  expect((await granting(500))?.scopes).toHaveLength(500)
  await expect(granting(501)).rejects.toThrow('The provider granted more than 500 scopes')
})

test('requests that come at the same time get one auth of a tenant', async () => {
  const authenticated: number[] = []
  let made = 0
  const worker = serve(createServer({ name: 'at once', version: '1.0.0' }), {
    tenants: tenants('/{tenant}/mcp', async () => {
      made += 1
      const number = made
      await Promise.resolve()
      const authenticate = async () => {
        authenticated.push(number)
        return undefined
      }
      return { auth: { issuers: ['https://issuer.example'], allowAnonymous: true, authenticate } }
    }),
  })
  const ask = () =>
    worker.fetch(
      new Request('https://example.com/acme/mcp', { method: 'POST', body: '{}' }),
      {},
      createExecutionContext(),
    )
  await Promise.all([ask(), ask(), ask()])
  expect(authenticated).toHaveLength(3)
  expect(new Set(authenticated).size).toBe(1)
})

test.each([
  [1_000, true],
  [10_000, false],
])('a challenge repeats %i characters of the scopes of a token: %j', (length, isRepeated) => {
  const { challenge } = insufficientScope(['write'], ['read', 'x'.repeat(length)])
  expect(challenge.scopes).toEqual(isRepeated ? ['read', 'x'.repeat(length), 'write'] : ['write'])
})

test('an access token that fits into no header is not cached', () => {
  const cache = new UpstreamCache(60_000)
  for (const length of [16_384, 16_385]) cache.set(String(length), 'a'.repeat(length))
  expect([cache.get('16384')?.length, cache.get('16385')]).toEqual([16_384, undefined])
})

test('grants that end at once are not compared with each other', () => {
  const keys = Array.from({ length: 1_000 }, (_, index) => `grant:ada:${index}`)
  const entries = new Map(keys.map((key) => [key, { value: 'upstream:ada' }]))
  const kv = { get: (key: string) => entries.get(key), list: () => entries } as never
  const searching = vi.spyOn(Array.prototype, 'includes')
  const found = [keys, keys.slice(1)].map((ended) => upstreamWithoutGrants(kv, ended))
  const searches = searching.mock.calls.length
  searching.mockRestore()
  expect([found, searches]).toEqual([['upstream:ada', undefined], 0])
})
