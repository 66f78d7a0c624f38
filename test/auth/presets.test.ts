/** The ways to say who is let in, besides one issuer of JWTs and nothing else. */
import type { JWTPayload } from 'jose'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { TestServer } from '../support/server.ts'
import { AuthorizationServer, json, type Key, newKey } from './authorization-server.ts'
import { type Answered, bearing, call } from './call.ts'
import { declare, startDeclared, stopClock } from './declare.ts'

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

const principalIn = ({ text }: Answered) => JSON.parse(text)
const challengeOf = ({ headers }: Answered) => headers.get('WWW-Authenticate')
const wellKnown = (url: URL) => fetch(new URL(`/.well-known/oauth-protected-resource${url.pathname}`, url))
const published = () => ({ keys: issuer.keys.map(({ publicJwk }) => publicJwk) })

describe('behind Cloudflare Access', () => {
  const certs = '/cdn-cgi/access/certs'
  const application = 'f'.repeat(64)
  let name: string
  let team: string
  const assertion = (token: string) => ({ 'Cf-Access-Jwt-Assertion': token })

  beforeEach(() => {
    // Keys are kept by the name of the issuer, from test to test.
    name = `team-${crypto.randomUUID()}`
    team = `https://${name}.cloudflareaccess.com`
    // Access publishes the same keys as certificates, too.
    issuer.instead.set(certs, (_, response) => json(response, { ...published(), public_cert: {}, public_certs: [] }))
  })

  const behindAccess = (options: object = {}) =>
    declare(
      server,
      { team: name, audience: application, ...options },
      { preset: 'cloudflareAccess', reached: issuer.issuer },
    )

  /** What Access adds to a request. `undefined` leaves a claim out. */
  const issued = (claims: JWTPayload = {}, key = issuer.keys[0] as Key) => {
    const person = { iss: team, aud: [application], client_id: undefined, email: 'ada@example.com', type: 'app' }
    return issuer.token(application, { ...person, ...claims }, { key, header: { typ: undefined } })
  }

  test('the principal is the subject of the Access assertion', async () => {
    const url = await behindAccess()
    const answer = await call(url, assertion(await issued()))
    expect(answer.status).toBe(200)
    expect(principalIn(answer)).toEqual({ issuer: team, subject: 'ada', scopes: [] })
    expect(Object.fromEntries(issuer.asked)).toEqual({ [certs]: 1 })
  })

  test('handlers receive no header that carries a credential of Access', async () => {
    const token = await issued()
    const headers = {
      ...assertion(token),
      ...bearing(token),
      Cookie: `a=b; CF_Authorization=${token}`,
      'Cf-Access-Token': token,
      'CF-Access-Client-Id': 'service.access',
      'CF-Access-Client-Secret': 'a secret',
      'X-Kept': 'kept',
    }
    const { text } = await call(await behindAccess(), headers, 'headers')
    const received = text.split(' ')
    expect(received).toContain('x-kept')
    expect(received).toContain('cf-access-client-id')
    const credentials = [
      'authorization',
      'cf-access-jwt-assertion',
      'cookie',
      'cf-access-token',
      'cf-access-client-secret',
    ]
    for (const name of credentials) expect(received).not.toContain(name)
  })

  test('the principal of a service token is its common name', async () => {
    const url = await behindAccess({ serviceTokens: true })
    const service = { sub: '', common_name: 'e367826f93b8d71185e03fe518aff3b4.access', email: undefined }
    expect(principalIn(await call(url, assertion(await issued(service))))).toEqual({
      issuer: team,
      subject: service.common_name,
      scopes: [],
    })
    expect(principalIn(await call(url, assertion(await issued({ common_name: 'grace' }))))).toMatchObject({
      subject: 'ada',
    })
  })

  test.each([
    ['a service token, unless serviceTokens is set', {}, { sub: '', common_name: 'e36.access' }],
    ['a token without a subject', {}, { sub: '' }],
    ['a token without a subject, also with serviceTokens', { serviceTokens: true }, { sub: '' }],
    ['a token that has only a common name', { serviceTokens: true }, { sub: undefined, common_name: 'e36.access' }],
    ['a service token whose name is a list', { serviceTokens: true }, { sub: '', common_name: ['e36.access'] }],
  ])('%s is refused', async (_, options, claims) => {
    const url = await behindAccess(options)
    expect(await call(url, assertion(await issued(claims)))).toMatchObject({ status: 401 })
  })

  test('a request without an Access assertion is refused', async () => {
    const url = await behindAccess()
    const token = await issued()
    const others: HeadersInit[] = [{}, bearing(token), assertion(''), { Cookie: `CF_Authorization=${token}` }]
    for (const headers of others) {
      const refused = await call(url, headers)
      expect(refused.status).toBe(401)
      expect(challengeOf(refused)).not.toContain('resource_metadata')
    }
  })

  test.each(['Bearer other', 'Bearer', 'Basic YTpi', 'Bearer a, Bearer b'])(
    'the server ignores the Authorization header: %s',
    async (Authorization) => {
      const url = await behindAccess()
      expect(await call(url, { ...assertion(await issued()), Authorization })).toMatchObject({ status: 200 })
    },
  )

  test.each<[string, () => Promise<string>]>([
    ['of another application', () => issued({ aud: ['a'.repeat(64)] })],
    ['of another team', () => issued({ iss: 'https://other.cloudflareaccess.com' })],
    ['that has expired', () => issued({ exp: Math.floor(Date.now() / 1000) - 60 })],
    ['that never expires', () => issued({ exp: undefined })],
    ['signed with another key', async () => issued({}, await newKey('RS256', issuer.keys[0]?.kid as string))],
    ['twice', async () => `${await issued()}, ${await issued()}`],
  ])('an assertion %s is refused', async (_, token) => {
    const url = await behindAccess()
    const refused = await call(url, assertion(await token()))
    expect(refused.status).toBe(401)
    expect(challengeOf(refused)).toContain('error="invalid_token"')
  })

  test('a server can accept several Access applications', async () => {
    const url = await behindAccess({ audience: [application, 'a'.repeat(64)] })
    for (const aud of [application, 'a'.repeat(64)]) {
      expect(await call(url, assertion(await issued({ aud: [aud] })))).toMatchObject({ status: 200 })
    }
  })

  test('a claim can give scopes and the tenant', async () => {
    const url = await behindAccess({ tenantClaim: 'org', impliedScopes: { all: ['notes:read'] } })
    const token = await issued({ org: 'acme', scope: 'all' })
    expect(principalIn(await call(url, assertion(token)))).toMatchObject({
      tenant: 'acme',
      scopes: ['all', 'notes:read'],
    })
    expect(await call(url, assertion(token), 'read')).toMatchObject({ status: 200 })
    const refused = await call(url, assertion(token), 'write')
    expect(refused.status).toBe(403)
    expect(challengeOf(refused)).toContain('error="insufficient_scope"')
  })

  test('the server publishes no resource metadata, because clients cannot request Access tokens', async () => {
    expect((await wellKnown(await behindAccess())).status).toBe(404)
  })
})

describe('behind an OAuth provider in the same Worker', () => {
  const behindProvider = () => declare(server, {}, { preset: 'oauthProvider' })
  /** What the provider hands over beside the request. */
  const withProps = (url: URL, props: unknown, auth: unknown = null) =>
    new URL(`?${new URLSearchParams({ props: JSON.stringify(props), auth: JSON.stringify(auth) })}`, url)

  test('the principal has the subject and scopes of the props', async () => {
    const url = withProps(await behindProvider(), { user: 'ada', scopes: ['notes:read'] })
    expect(principalIn(await call(url))).toEqual({
      issuer: 'https://provider.example',
      subject: 'ada',
      scopes: ['notes:read'],
    })
    expect(await call(url, {}, 'read')).toMatchObject({ status: 200, text: 'read' })
    const refused = await call(url, {}, 'write')
    expect(refused.status).toBe(403)
    expect(challengeOf(refused)).toContain('error="insufficient_scope"')
    expect(challengeOf(refused)).toContain('scope="notes:read notes:write"')
  })

  test.each([
    ['https://mcp.example.com', 'https://mcp.example.com/.well-known/oauth-protected-resource'],
    ['https://mcp.example.com/mcp', 'https://mcp.example.com/.well-known/oauth-protected-resource/mcp'],
  ])('challenges name the metadata that the provider serves for its resource %s', async (audience, metadata) => {
    const url = await behindProvider()
    const auth = { scope: ['notes:read'], audience }
    const lacking = await call(withProps(url, { user: 'ada' }, auth), {}, 'write')
    expect([lacking.status, challengeOf(lacking)]).toEqual([
      403,
      expect.stringContaining(`resource_metadata="${metadata}"`),
    ])
    const unknown = await call(withProps(url, { theme: 'dark' }, auth))
    expect([unknown.status, challengeOf(unknown)]).toEqual([401, `Bearer resource_metadata="${metadata}"`])
  })

  test('the scopes are those that both the props and the token allow', async () => {
    const server = await behindProvider()
    const scopesWith = async (props: object, auth: object) =>
      principalIn(await call(withProps(server, { user: 'ada', ...props }, auth))).scopes
    expect(await scopesWith({ scopes: ['notes:read', 'notes:write'] }, { scope: ['notes:read'] })).toEqual([
      'notes:read',
    ])
    expect(await scopesWith({ scopes: ['notes:read'] }, { scope: [] })).toEqual([])
  })

  test.each([
    ['a user that is a number', { user: 7 }, 'The subject of the principal must be a non-empty string, not a number'],
    ['an empty user', { user: '' }, 'The subject of the principal must be a non-empty string, not an empty string'],
    ['a tenant that is null', { user: 'ada', tenant: null }, 'The tenant of the principal must be a non-empty string'],
    ['scopes in one text', { user: 'ada', scopes: 'a b' }, 'The scopes of the principal must be a list of strings'],
  ])('a caller is refused when the provider hands over %s', async (_, props, text) => {
    const refused = await call(withProps(await behindProvider(), props))
    expect(refused).toMatchObject({ status: 401, text: expect.stringContaining(text) })
    expect(challengeOf(refused)).toContain('error="invalid_token"')
  })

  test.each([
    ['nothing', null],
    ['no subject', {}],
    ['nobody', { theme: 'dark' }],
    ['a text', 'ada'],
    ['a number', 1],
    ['a list', []],
  ])('a caller gets a challenge when the provider hands over %s', async (_, props) => {
    const url = withProps(await behindProvider(), props)
    const refused = await call(url, bearing(await issuer.token(url.href)))
    expect(refused.status).toBe(401)
    expect(challengeOf(refused)).toMatch(/^Bearer resource_metadata="[^"]+"$/)
  })
})

describe('a verify function', () => {
  test('determines the principal, and is called with every request', async () => {
    const url = await declare(server, { tenantClaim: 'org' }, { preset: 'verified' })
    const headers = (org: string) => ({ ...bearing('good-ada'), 'X-Org': org })
    const expected = { issuer: 'https://own.example', subject: 'ada', tenant: 'one', scopes: ['notes:read'] }
    expect(principalIn(await call(url, headers('one')))).toEqual(expected)
    expect(principalIn(await call(url, headers('two')))).toEqual({ ...expected, tenant: 'two' })
    expect(principalIn(await call(url, headers('one')))).toEqual(expected)
    expect(await call(url, headers('two'), 'read')).toMatchObject({ status: 200 })
    expect(await call(url, headers('two'), 'write')).toMatchObject({ status: 403 })
  })

  test('cannot be combined with tokenCacheMs', async () => {
    await expect(declare(server, { tokenCacheMs: 1_000 }, { preset: 'verified' })).rejects.toThrow(
      'bearer() has verify and tokenCacheMs: 1000. bearer() never caches results of verify',
    )
    await declare(server, { tokenCacheMs: 0 }, { preset: 'verified' })
  })

  test('refuses a token without details, and its exceptions become internal errors', async () => {
    const url = await declare(server, {}, { preset: 'verified' })
    expect(await call(url)).toMatchObject({ status: 401 })
    expect(await call(url, bearing('bad'))).toMatchObject({
      status: 401,
      text: 'The token is not valid for this resource',
    })
    expect(await call(url, bearing('broken'))).toMatchObject({ status: 500, text: 'Internal error' })
    expect(await call(url, bearing('good-ada'))).toMatchObject({ status: 200 })
  })

  test.each<[string, object, string]>([
    ['a subject that is a number', { sub: 7 }, 'The claim "sub" of the token must be a non-empty string, not a number'],
    ['no subject', { sub: undefined }, 'The token has no subject'],
    ['no issuer', { iss: undefined }, 'The token has no issuer'],
    ['an issuer that is null', { iss: null }, 'The claim "iss" of the token must be a non-empty string, not null'],
    ['a tenant that is a number', { org: 42 }, 'The claim "org" of the token must be a non-empty string, not a number'],
    ['an expiry that is a text', { exp: 'soon' }, 'The claim "exp" of the token must be a number of seconds'],
    ['an expiry that has passed', { exp: 1 }, 'The token has expired'],
  ])('returns claims with %s: the server refuses the token', async (_, claims, text) => {
    const url = await declare(server, { tenantClaim: 'org' }, { preset: 'claimed' })
    const token = (more: object) => btoa(JSON.stringify({ iss: 'https://own.example', sub: 'ada', ...more }))
    expect(await call(url, bearing(token({})))).toMatchObject({ status: 200 })
    const refused = await call(url, bearing(token(claims)))
    expect(refused).toMatchObject({ status: 401, text: expect.stringContaining(text) })
  })

  test('makes the metadata omit authorization_servers', async () => {
    const described = await (await wellKnown(await declare(server, {}, { preset: 'verified' }))).json()
    expect(described).not.toHaveProperty('authorization_servers')
  })

  test('a getScopes() function maps claims to scopes', async () => {
    const url = await declare(server, { issuer: issuer.issuer }, { preset: 'counted' })
    const token = await issuer.token(url.href, { roles: ['read', 'write'], scope: 'ignored' })
    expect(principalIn(await call(url, bearing(token)))).toMatchObject({ scopes: ['notes:read', 'notes:write'] })
  })
})

describe('a server with allowAnonymous', () => {
  test('allows every caller to use entries without scopes', async () => {
    const url = await declare(server, { issuer: issuer.issuer, allowAnonymous: true })
    expect(await call(url, {}, 'open')).toMatchObject({ status: 200, text: 'nobody' })
    const token = await issuer.token(url.href, { scope: 'notes:read' })
    expect(await call(url, bearing(token), 'open')).toMatchObject({ status: 200, text: 'ada' })
    expect(await call(url, bearing(token), 'read')).toMatchObject({ status: 200, text: 'read' })
  })

  test('challenges callers of entries with scopes', async () => {
    const url = await declare(server, { issuer: issuer.issuer, allowAnonymous: true })
    const refused = await call(url, {}, 'read')
    expect(refused.status).toBe(401)
    expect(challengeOf(refused)).toContain('scope="notes:read"')
    expect(challengeOf(refused)).toContain('resource_metadata="')
    expect(challengeOf(refused)).not.toContain('error=')
  })

  test('refuses an invalid token instead of treating the caller as anonymous', async () => {
    const url = await declare(server, { issuer: issuer.issuer, allowAnonymous: true })
    const expired = await issuer.token(url.href, { exp: 1 })
    for (const Authorization of [`Bearer ${expired}`, 'Bearer x.y.z', 'Bearer', 'Bearer a b']) {
      const { status } = await call(url, { Authorization }, 'open')
      expect([400, 401]).toContain(status)
    }
  })
})

describe('a server with requiredScopes', () => {
  test('refuses tokens that lack one of them', async () => {
    const url = await declare(server, { issuer: issuer.issuer, requiredScopes: ['mcp', 'v2'] })
    const refused = await call(url, bearing(await issuer.token(url.href, { scope: 'mcp notes:read' })), 'open')
    expect(refused.status).toBe(403)
    expect(challengeOf(refused)).toContain('error="insufficient_scope"')
    expect(
      /scope="([^"]*)"/
        .exec(challengeOf(refused) ?? '')?.[1]
        ?.split(' ')
        .sort(),
    ).toEqual(['mcp', 'notes:read', 'v2'])
    const good = await issuer.token(url.href, { scope: 'v2 mcp' })
    expect(await call(url, bearing(good), 'open')).toMatchObject({ status: 200 })
  })

  test('refuses a cached token again', async () => {
    const url = await declare(server, { issuer: issuer.issuer, requiredScopes: ['mcp'] })
    const token = await issuer.token(url.href)
    for (const _ of [1, 2]) expect(await call(url, bearing(token), 'open')).toMatchObject({ status: 403 })
  })

  test('responds with a challenge to requests without a token', async () => {
    const url = await declare(server, { issuer: issuer.issuer, requiredScopes: ['mcp'] })
    expect(challengeOf(await call(url))).toContain('scope="mcp notes:read notes:write"')
    expect(await (await wellKnown(url)).json()).toMatchObject({
      scopes_supported: ['mcp', 'notes:read', 'notes:write'],
    })
  })
})

describe('a claim of a token', () => {
  test.each<[string, JWTPayload, string | undefined]>([
    ['is named', { org_id: 'acme' }, 'acme'],
    ['is left out', {}, undefined],
    ['is in another claim', { tid: 'acme' }, undefined],
  ])('is read as the tenant if it is the tenantClaim: the tenant %s', async (_, claims, tenant) => {
    const url = await declare(server, { issuer: issuer.issuer, tenantClaim: 'org_id' })
    const principal = principalIn(await call(url, bearing(await issuer.token(url.href, claims))))
    expect(principal.tenant).toBe(tenant)
  })

  test('decides that it is an access token where the header has no type, by its audience', async () => {
    const url = await declare(server, { issuer: issuer.issuer })
    const untyped = { header: { typ: undefined } }
    expect(await call(url, bearing(await issuer.token(url.href, {}, untyped)))).toMatchObject({ status: 200 })
    expect(await call(url, bearing(await issuer.token('client', {}, untyped)))).toMatchObject({ status: 401 })
  })

  test('does not give the tenant when tenantClaim is not set', async () => {
    const url = await declare(server, { issuer: issuer.issuer })
    const token = await issuer.token(url.href, { org_id: 'acme', tenant: 'acme' })
    expect(principalIn(await call(url, bearing(token)))).not.toHaveProperty('tenant')
  })

  test('for scopes is refused when getScopes() returns no list', async () => {
    const url = await declare(server, { issuer: issuer.issuer }, { preset: 'miscounted' })
    const token = await issuer.token(url.href, { roles: 'admin' })
    expect(await call(url, bearing(token))).toMatchObject({
      status: 401,
      text: 'The scopes of the token must be a list of strings, not a string',
    })
  })

  test('for scopes includes its impliedScopes', async () => {
    const implies = { admin: ['editor'], editor: ['notes:write', 'notes:read'], 'notes:read': ['admin'] }
    const url = await declare(server, { issuer: issuer.issuer, impliedScopes: implies })
    const scopesWith = async (scope: string) =>
      principalIn(await call(url, bearing(await issuer.token(url.href, { scope })))).scopes
    expect(await scopesWith('admin')).toEqual(['admin', 'editor', 'notes:write', 'notes:read'])
    expect(await scopesWith('notes:write')).toEqual(['notes:write'])
    expect(await scopesWith('constructor __proto__')).toEqual(['constructor', '__proto__'])
  })

  test.each<[string, JWTPayload]>([
    ['a text', { scope: 'a b' }],
    ['a list', { scope: ['a', 'b'] }],
    ['two claims', { scope: 'a', scp: ['b'] }],
    ['many spaces', { scp: ' a  b ' }],
  ])('for scopes can be written with %s', async (_, claims) => {
    const url = await declare(server, { issuer: issuer.issuer })
    const { scopes } = principalIn(await call(url, bearing(await issuer.token(url.href, claims))))
    expect(scopes).toEqual(['a', 'b'])
  })
})

describe('several issuers', () => {
  test('are distinguished, and each has its own audience and algorithms', async () => {
    await using other = await AuthorizationServer.start()
    other.keys = [await newKey('RS256')]
    const issuers = [issuer.issuer, { issuer: other.issuer, audience: 'urn:notes', algorithms: ['RS256'] }]
    const url = await declare(server, { issuer: issuers })
    const one = await issuer.token(url.href)
    const two = await other.token('urn:notes')
    expect(principalIn(await call(url, bearing(one)))).toMatchObject({ issuer: issuer.issuer, subject: 'ada' })
    expect(principalIn(await call(url, bearing(two)))).toMatchObject({ issuer: other.issuer, subject: 'ada' })
    expect(await call(url, bearing(await other.token(url.href)))).toMatchObject({ status: 401 })
    expect(await call(url, bearing(await issuer.token('urn:notes')))).toMatchObject({ status: 401 })
    expect(await (await wellKnown(url)).json()).toMatchObject({ authorization_servers: [issuer.issuer, other.issuer] })
  })

  test('cannot sign tokens for one another or for an unknown issuer', async () => {
    await using other = await AuthorizationServer.start()
    const url = await declare(server, { issuer: [issuer.issuer, other.issuer] })
    const borrowed = await other.token(url.href, { iss: issuer.issuer })
    const [mine] = issuer.keys
    const renamed = await other.token(url.href, { iss: issuer.issuer }, { header: { kid: mine?.kid } })
    const third = await other.token(url.href, { iss: 'https://third.example' })
    for (const token of [borrowed, renamed, third]) {
      expect(await call(url, bearing(token))).toMatchObject({ status: 401 })
    }
  })

  test('continue to work while another issuer is unavailable', async () => {
    const away = await AuthorizationServer.start()
    const url = await declare(server, { issuer: [away.issuer, issuer.issuer] })
    const token = await away.token(url.href)
    await away[Symbol.asyncDispose]()
    expect(await call(url, bearing(token))).toMatchObject({ status: 503 })
    expect(await call(url, bearing(await issuer.token(url.href)))).toMatchObject({ status: 200 })
  })
})

describe('configured keys', () => {
  const given = (options: object = {}) => declare(server, { issuer: issuer.issuer, keys: published(), ...options })

  test('are used without a request to the issuer', async () => {
    const url = await given()
    expect(await call(url, bearing(await issuer.token(url.href)))).toMatchObject({ status: 200 })
    const stranger = await newKey('ES256')
    expect(await call(url, bearing(await issuer.token(url.href, {}, { key: stranger })))).toMatchObject({ status: 401 })
    expect([...issuer.asked.keys()]).toEqual([])
  })

  test('can be several without a kid', async () => {
    issuer.keys = await Promise.all(['ES256', 'ES256', 'RS256'].map((alg) => newKey(alg)))
    const keys = published().keys.map((key) => ({ ...key, kid: undefined }))
    const url = await given({ keys: { keys } })
    for (const key of issuer.keys) {
      const token = await issuer.token(url.href, {}, { key, header: { kid: undefined } })
      expect(await call(url, bearing(token))).toMatchObject({ status: 200 })
    }
    const stranger = await issuer.token(url.href, {}, { key: await newKey('ES256'), header: { kid: undefined } })
    expect(await call(url, bearing(stranger))).toMatchObject({ status: 401 })
  })

  test('can be a URL of a key set', async () => {
    const url = await given({ keys: `${issuer.issuer}/jwks` })
    expect(await call(url, bearing(await issuer.token(url.href)))).toMatchObject({ status: 200 })
    expect(Object.fromEntries(issuer.asked)).toEqual({ '/jwks': 1 })
  })

  test.each<[string, object]>([
    ['a secret', { keys: { keys: [{ kty: 'oct', k: 'AAAA' }] } }],
    ['a private key', { keys: { keys: [{ kty: 'EC', crv: 'P-256', x: 'A', y: 'A', d: 'A' }] } }],
    ['an http URL of keys', { keys: 'http://auth.example/jwks' }],
    ['an http URL of the issuer', { issuer: 'http://auth.example' }],
    ['no issuer', { issuer: undefined }],
    ['a resource that is not a URL', { resource: 'notes' }],
    ['a symmetric algorithm', { algorithms: ['HS256'] }],
    ['no algorithm', { algorithms: ['none'] }],
  ])('are refused at startup with %s', async (_, options) => {
    await expect(given(options)).rejects.toThrow(/must be|needs|is symmetric/)
  })
})

describe('tokens signed with', () => {
  const algorithms = [
    'ES256',
    'ES384',
    'ES512',
    'RS256',
    'RS384',
    'RS512',
    'PS256',
    'PS384',
    'PS512',
    'EdDSA',
    'Ed25519',
  ]

  test.each(algorithms)('%s are accepted', async (alg) => {
    issuer.keys = [await newKey(alg)]
    const url = await declare(server, { issuer: issuer.issuer })
    expect(await call(url, bearing(await issuer.token(url.href)))).toMatchObject({ status: 200 })
    const forged = await newKey(alg, issuer.keys[0]?.kid as string)
    expect(await call(url, bearing(await issuer.token(url.href, {}, { key: forged })))).toMatchObject({ status: 401 })
  })

  test.each(algorithms)('%s are refused where only another algorithm is accepted', async (alg) => {
    issuer.keys = [await newKey(alg)]
    const url = await declare(server, { issuer: issuer.issuer, algorithms: [alg === 'ES256' ? 'RS256' : 'ES256'] })
    const refused = await call(url, bearing(await issuer.token(url.href)))
    expect(refused).toMatchObject({ status: 401, text: 'The signature algorithm of the token is not accepted' })
  })
})

describe('an auth of the server itself', () => {
  const options = { credentialHeaders: ['X-API-Key'] }
  const headers = { 'X-API-Key': 'ada', Authorization: 'Bearer other', 'X-Kept': 'kept' }

  test.each([
    ['keeps the headers that it names from handlers', options, false],
    ['keeps Authorization only from handlers, if it names none', {}, true],
  ])('%s', async (_, declared, isReceived) => {
    const url = await declare(server, declared, { preset: 'ownKeys' })
    const received = (await call(url, headers, 'headers')).text.split(' ')
    expect(received).toContain('x-kept')
    expect(received.includes('x-api-key')).toBe(isReceived)
    expect(received).not.toContain('authorization')
    expect(JSON.parse((await call(url, headers)).text)).toMatchObject({ subject: 'ada' })
  })

  test('refuses callers for whom it returns undefined', async () => {
    const url = await declare(server, options, { preset: 'ownKeys' })
    const refused = await call(url)
    expect(refused).toMatchObject({ status: 401, text: 'Authorization is required' })
    expect(refused.headers.get('WWW-Authenticate')).toBe('Bearer')
  })

  test('admits them as anonymous callers with allowAnonymous: true', async () => {
    const url = await declare(server, { ...options, allowAnonymous: true }, { preset: 'ownKeys' })
    expect(await call(url, {}, 'open')).toMatchObject({ status: 200, text: 'nobody' })
  })

  test('must name the headers in a list', async () => {
    const declared = declare(server, { credentialHeaders: 'X-API-Key' }, { preset: 'ownKeys' })
    await expect(declared).rejects.toThrow('"auth" of serve() must be an auth such as bearer({ issuer })')
  })
})
