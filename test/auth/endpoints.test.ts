/** One `bearer()` for several endpoints: each of them checks what is its own. */
import type { JWTPayload } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startServer, type TestServer } from '../support/server.ts'
import { AuthorizationServer } from './authorization-server.ts'
import { bearing, call } from './call.ts'

let issuer: AuthorizationServer
let other: AuthorizationServer
let server: TestServer
const at = (name: string) => new URL(`/${name}/mcp`, server.url)

beforeAll(async () => {
  ;[issuer, other] = await Promise.all([AuthorizationServer.start(), AuthorizationServer.start()])
  server = await startServer('test/auth/endpoints', { ISSUER: issuer.issuer, OTHER: other.issuer })
})
afterAll(async () => {
  for (const started of [server, issuer, other]) await started?.[Symbol.asyncDispose]()
})

describe('two endpoints that share one bearer()', () => {
  test.each([
    ['alpha', 'beta'],
    ['beta', 'alpha'],
    ['acme', 'globex'],
    ['alpha', 'acme'],
  ])('a token for /%s/mcp is refused at /%s/mcp, also after the first endpoint accepted it', async (one, other) => {
    const headers = bearing(await issuer.token(at(one).href))
    const refused = {
      status: 401,
      text: `The token is for a different audience: this server accepts ${at(other).href}`,
    }
    expect(await call(at(other), headers)).toMatchObject(refused)
    for (const _ of [1, 2]) {
      expect(await call(at(one), headers)).toMatchObject({ status: 200 })
      expect(await call(at(other), headers)).toMatchObject(refused)
    }
  })

  test('a token for both endpoints acts for the tenant of the endpoint that it is sent to', async () => {
    const headers = bearing(await issuer.token(at('acme').href, { aud: [at('acme').href, at('globex').href] }))
    for (const _ of [1, 2]) {
      expect(await call(at('acme'), headers)).toMatchObject({ status: 200, text: '["ada","client","acme"]' })
      expect(await call(at('globex'), headers)).toMatchObject({ status: 200, text: '["ada","client","globex"]' })
    }
  })

  test('a token for /sse, which endpoints in one folder share, is refused at /mcp', async () => {
    const headers = bearing(await issuer.token(new URL('/alpha/sse', server.url).href))
    expect(await call(at('alpha'), headers)).toMatchObject({
      status: 401,
      text: `The token is for a different audience: this server accepts ${at('alpha').href}`,
    })
  })

  test.each(['/', '//'])(
    'slashes at the end of the path, %s, do not change which tokens are accepted',
    async (slashes) => {
      const url = new URL(at('alpha').href + slashes)
      expect(await call(url, bearing(await issuer.token(at('alpha').href)))).toMatchObject({ status: 200 })
      for (const audience of [new URL('/alpha/sse', url).href, at('beta').href]) {
        const { status, headers, text } = await call(url, bearing(await issuer.token(audience)))
        expect([status, text]).toEqual([
          401,
          `The token is for a different audience: this server accepts ${at('alpha').href}`,
        ])
        expect(headers.get('WWW-Authenticate')).toContain(
          `resource_metadata="${new URL('/.well-known/oauth-protected-resource/alpha/mcp', url)}"`,
        )
      }
    },
  )

  test('a token for another host of the same endpoint is refused', async () => {
    const local = new URL(at('alpha'))
    local.hostname = local.hostname === 'localhost' ? '127.0.0.1' : 'localhost'
    const headers = bearing(await issuer.token(at('alpha').href))
    expect(await call(at('alpha'), headers)).toMatchObject({ status: 200 })
    expect(await call(local, headers)).toMatchObject({ status: 401 })
  })
})

describe('forTenant() with issuers', () => {
  test.each(['named', 'combined'])('/%s/mcp accepts the tenant from these issuers only', async (name) => {
    const tokenOf = (from: AuthorizationServer, org_id: string) => from.token(at(name).href, { org_id })
    expect(await call(at(name), bearing(await tokenOf(issuer, 'acme')))).toMatchObject({
      status: 200,
      text: '["ada","client","acme"]',
    })
    expect(await call(at(name), bearing(await tokenOf(other, 'acme')))).toMatchObject({
      status: 403,
      text: `The token is from ${other.issuer}: this endpoint accepts tokens of the tenant acme only from ${issuer.issuer}`,
    })
    expect(await call(at(name), bearing(await tokenOf(issuer, 'globex')))).toMatchObject({ status: 403 })
  })
})

describe('a claim of the wrong type is refused, not treated as absent', () => {
  const claiming = async (name: string, claims: object) =>
    bearing(await issuer.token(at(name).href, claims as JWTPayload))
  const refused = (claim: string, found: string) => ({
    status: 401,
    text: `The claim "${claim}" of the token must be a non-empty string, not ${found}`,
  })

  test.each<[unknown, string]>([
    [42, 'a number'],
    [0, 'a number'],
    [['globex'], 'a list'],
    [['acme'], 'a list'],
    [[], 'a list'],
    [{ id: 'globex' }, 'an object'],
    [true, 'true'],
    [null, 'null'],
    ['', 'an empty string'],
  ])('a tenant claim %j is refused, with and without forTenant()', async (org_id, found) => {
    for (const endpoint of ['own', 'shared']) {
      const answer = await call(at(endpoint), await claiming(endpoint, { org_id }))
      expect(answer).toMatchObject(refused('org_id', found))
      expect(answer.headers.get('WWW-Authenticate')).toContain('error="invalid_token"')
    }
  })

  test('a token with a tenant claim acts for that tenant, and a token without one for none', async () => {
    expect(await call(at('own'), await claiming('own', { org_id: 'acme' }))).toMatchObject({
      text: '["ada","client","acme"]',
    })
    expect(await call(at('own'), await claiming('own', { org_id: 'globex' }))).toMatchObject({ status: 403 })
    expect(await call(at('shared'), await claiming('shared', {}))).toMatchObject({ text: '["ada","client",null]' })
  })

  test('a token without the tenant claim is refused by forTenant()', async () => {
    expect(await call(at('own'), await claiming('own', {}))).toMatchObject({
      status: 403,
      text: 'The token has no claim "org_id": this endpoint accepts only tokens of the tenant acme',
    })
  })

  test('a token without the tenant claim is refused where requireTenant is set', async () => {
    // The second time, the verified token comes from the cache.
    for (const _ of [1, 2]) {
      expect(await call(at('tenants-only'), await claiming('tenants-only', {}))).toMatchObject({
        status: 403,
        text: 'The token has no claim "org_id": this endpoint accepts only tokens with a tenant',
      })
    }
    expect(await call(at('tenants-only'), await claiming('tenants-only', { org_id: 'acme' }))).toMatchObject({
      status: 200,
      text: '["ada","client","acme"]',
    })
    expect(await call(at('tenants-only'), await claiming('tenants-only', { org_id: '' }))).toMatchObject({
      status: 401,
    })
  })

  test('requireTenant does not refuse anonymous callers that allowAnonymous admits', async () => {
    expect(await call(at('tenants-only'))).toMatchObject({ status: 200, text: '[null,null,null]' })
  })

  test('a token without the tenant claim acts for the tenant where allowMissingClaim is set', async () => {
    expect(await call(at('lenient'), await claiming('lenient', {}))).toMatchObject({ text: '["ada","client","acme"]' })
    expect(await call(at('lenient'), await claiming('lenient', { org_id: 'globex' }))).toMatchObject({ status: 403 })
    expect(await call(at('lenient'), await claiming('lenient', { org_id: 7 }))).toMatchObject({ status: 401 })
  })

  test.each<[unknown, string]>([
    [1, 'a number'],
    [['ada'], 'a list'],
    [null, 'null'],
    ['', 'an empty string'],
  ])('a subject %j is refused, although the token names a client', async (sub, found) => {
    expect(await call(at('shared'), await claiming('shared', { sub }))).toMatchObject(refused('sub', found))
  })

  test('users whose subjects are numbers do not share a state', async () => {
    for (const [sub, name] of [
      [1, 'write'],
      [2, 'diary'],
    ] as const) {
      const headers = await claiming('shared', { sub, client_id: 'chat' })
      expect(await call(at('shared'), headers, name)).toMatchObject(refused('sub', 'a number'))
    }
  })

  test.each(['client_id', 'azp', 'appid'])('a claim %s that is a number is refused', async (claim) => {
    const headers = await claiming('shared', { client_id: undefined, [claim]: 7 })
    expect(await call(at('shared'), headers)).toMatchObject(refused(claim, 'a number'))
  })

  test.each([
    ['scope', 7, 'a number'],
    ['scope', ['a', 1], 'a list of other values'],
    ['scp', { a: true }, 'an object'],
    ['scp', null, 'null'],
  ])('a claim %s that is %j is refused', async (claim, value, found) => {
    expect(await call(at('shared'), await claiming('shared', { [claim]: value }))).toMatchObject({
      status: 401,
      text: `The claim "${claim}" of the token must be a string or a list of strings, not ${found}`,
    })
  })
})
