/** Several kinds of credentials for one endpoint: each goes to one auth, and a refused one is refused. */
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
  server = await startServer('test/auth/combined', { ISSUER: issuer.issuer, OTHER: other.issuer })
})
afterAll(async () => {
  for (const started of [server, issuer, other]) await started?.[Symbol.asyncDispose]()
})

const key = (value: string) => ({ 'X-API-Key': value })
const unknownKind = 'The credential is of no kind that this server accepts'
const required = 'Authorization is required: send a bearer token'

describe('each credential goes to its auth', () => {
  test('a JWT goes to the auth of its issuer', async () => {
    expect(await call(at('all'), bearing(await issuer.token(at('all').href)))).toMatchObject({
      status: 200,
      text: JSON.stringify([issuer.issuer, 'ada', null, false]),
    })
    expect(await call(at('all'), bearing(await other.token(at('all').href, { scope: 'second' })))).toMatchObject({
      status: 200,
      text: JSON.stringify([other.issuer, 'ada', null, false]),
    })
  })

  test('an opaque token goes to the auth of its prefix', async () => {
    const token = other.opaqueToken({ aud: at('all').href, scope: 'second' }, 'opq_1')
    expect(await call(at('all'), bearing(token))).toMatchObject({
      text: JSON.stringify([other.issuer, 'ada', null, false]),
    })
  })

  test('a header goes to the auth that names it, and handlers do not receive it', async () => {
    expect(await call(at('all'), key('plain-key'))).toMatchObject({ text: '["keys","ada",null,false]' })
  })

  test('scopes are those of the credential', async () => {
    expect(await call(at('all'), key('reader-key'), 'read')).toMatchObject({ text: 'read' })
    expect(await call(at('all'), key('plain-key'), 'read')).toMatchObject({ status: 403 })
    const token = await issuer.token(at('all').href)
    const refused = await call(at('all'), bearing(token), 'read')
    expect(refused.status).toBe(403)
    expect(refused.headers.get('WWW-Authenticate')).toMatch(
      /^Bearer resource_metadata="[^"]+", scope="notes:read", error/,
    )
  })

  test('requiredScopes of one auth do not hold for another', async () => {
    expect(await call(at('all'), bearing(await other.token(at('all').href)))).toMatchObject({ status: 403 })
  })

  test('of each issuer has the tenant claim of its own auth, behind forTenant()', async () => {
    const url = at('tenants')
    const tenantOf = async (token: string) => {
      const { status, text } = await call(url, bearing(token))
      return status === 200 ? JSON.parse(text)[2] : `${status} ${text}`
    }
    expect(await tenantOf(await issuer.token(url.href))).toBe('acme')
    expect(await tenantOf(await other.token(url.href, { org_id: 'acme' }))).toBe('acme')
    expect(await tenantOf(await other.token(url.href, { org_id: 'globex' }))).toMatch(/^403 /)
    expect(await tenantOf(await other.token(url.href))).toMatch(/^403 The token has no claim "org_id"/)
    expect(await call(at('all'), key('plain-key'))).toMatchObject({ status: 200 })
  })

  test('forTenant() of one auth does not hold for another', async () => {
    const token = await issuer.token(at('tenant').href, { org_id: 'acme' })
    expect(await call(at('tenant'), bearing(token))).toMatchObject({ text: expect.stringContaining('"acme"') })
    const foreign = await issuer.token(at('tenant').href, { org_id: 'globex' })
    expect(await call(at('tenant'), bearing(foreign))).toMatchObject({ status: 403 })
    expect(await call(at('tenant'), key('plain-key'))).toMatchObject({ text: '["keys","ada",null,false]' })
  })

  test('verify() gets the tokens of no other auth', async () => {
    expect(await call(at('verify'), bearing('v-1'))).toMatchObject({
      text: expect.stringContaining('verified.example'),
    })
    expect(await call(at('verify'), bearing(await issuer.token(at('verify').href)))).toMatchObject({
      text: expect.stringContaining(issuer.issuer),
    })
  })
})

describe('a refused credential is refused', () => {
  const attacks: readonly (readonly [string, string, () => Promise<HeadersInit> | HeadersInit, object])[] = [
    ['no credential', 'all', () => ({}), { status: 401, text: required }],
    [
      'an expired JWT, where anonymous callers are admitted',
      'open',
      expired,
      { status: 401, text: 'The token has expired' },
    ],
    ['a bad key, where anonymous callers are admitted', 'open', () => key('wrong'), { status: 401 }],
    ['an empty key, where anonymous callers are admitted', 'open', () => key(''), { status: 401 }],
    [
      'Basic, where anonymous callers are admitted',
      'open',
      () => ({ Authorization: 'Basic YTpi' }),
      { status: 401, text: unknownKind },
    ],
    [
      'DPoP, where anonymous callers and bearer tokens are admitted',
      'without-dpop',
      async () => ({ Authorization: `DPoP ${await issuer.token(at('without-dpop').href)}` }),
      { status: 401, text: required },
    ],
    [
      'DPoP, where one auth admits anonymous callers and bearer tokens',
      'alone',
      async () => ({ Authorization: `DPoP ${await issuer.token(at('alone').href)}` }),
      { status: 401, text: required },
    ],
    [
      'Bearer without a token, where anonymous callers are admitted',
      'open',
      () => ({ Authorization: 'Bearer' }),
      { status: 400 },
    ],
    ['a key as a bearer token', 'all', () => bearing('reader-key'), { status: 401, text: unknownKind }],
    ['a JWT in the header of keys', 'all', async () => key(await issuer.token(at('all').href)), { status: 401 }],
    [
      'a token and a key, both valid',
      'all',
      async () => ({ ...bearing(await issuer.token(at('all').href)), ...key('reader-key') }),
      { status: 400, text: 'The request has credentials in Authorization and X-API-Key: send one of them' },
    ],
    ['a bad token and a valid key', 'all', () => ({ ...bearing('nonsense'), ...key('reader-key') }), { status: 400 }],
    [
      'a valid token and an empty key',
      'open',
      async () => ({ ...bearing(await issuer.token(at('open').href)), ...key('') }),
      { status: 400 },
    ],
    ['two bearer tokens', 'all', () => ({ Authorization: 'Bearer a, Bearer b' }), { status: 400 }],
    [
      'a JWT of an unknown issuer',
      'all',
      async () => bearing(await issuer.token(at('all').href, { iss: 'https://evil.example' })),
      { status: 401, text: unknownKind },
    ],
    [
      'a JWT signed by one issuer that names the other',
      'all',
      async () => bearing(await issuer.token(at('all').href, { iss: other.issuer, scope: 'second' })),
      { status: 401 },
    ],
    [
      'a JWT without issuer',
      'all',
      async () => bearing(await issuer.token(at('all').href, { iss: undefined })),
      { status: 401, text: unknownKind },
    ],
    [
      'a JWT whose issuer is that of keys',
      'all',
      async () => bearing(await issuer.token(at('all').href, { iss: 'keys' })),
      { status: 401, text: unknownKind },
    ],
    [
      'an opaque token of another prefix',
      'all',
      () => bearing(other.opaqueToken({ aud: at('all').href, scope: 'second' }, 'opaque')),
      { status: 401, text: unknownKind },
    ],
    [
      'a prefix in front of a JWT',
      'all',
      async () => bearing(`opq_${await issuer.token(at('all').href)}`),
      { status: 401 },
    ],
    [
      'a token of the form of sign-in that was not issued',
      'signed',
      () => bearing('github.1:grant:secret'),
      { status: 401 },
    ],
    [
      'a token with a colon where no auth issues such',
      'all',
      () => bearing('github.1:grant:secret'),
      { status: 401, text: unknownKind },
    ],
    ['a principal of the issuer of another auth', 'verify', () => bearing('impostor'), { status: 500 }],
    ['a key that verify() would have to accept', 'verify', () => bearing('plain-key'), { status: 401 }],
  ]
  test.each(attacks)('%s', async (_, endpoint, headers, outcome) => {
    expect(await call(at(endpoint), await headers())).toMatchObject(outcome)
  })

  async function expired() {
    return bearing(await issuer.token(at('open').href, { exp: Math.floor(Date.now() / 1000) - 100 }))
  }

  test('a token in the URL', async () => {
    const url = new URL(`?access_token=${await issuer.token(at('all').href)}`, at('all'))
    expect(await call(url)).toMatchObject({ status: 400 })
    expect(await call(url, key('plain-key'))).toMatchObject({ status: 400 })
  })

  test('an own auth that returns undefined refuses the caller, with the challenges of all auths', async () => {
    for (const headers of [{}, key('wrong')]) {
      const refused = await call(at('closed'), headers)
      expect(refused).toMatchObject({ status: 401, text: 'Authorization is required' })
      expect(refused.headers.get('WWW-Authenticate')).toContain('resource_metadata=')
    }
    expect(await call(at('closed'), key('plain-key'))).toMatchObject({ text: '["keys","ada","acme",false]' })
  })

  test('an own auth with allowAnonymous admits anonymous callers, also in forTenant()', async () => {
    expect(await call(at('open-keys'))).toMatchObject({ status: 200, text: '[null,null,null,false]' })
  })

  test('anonymous callers are admitted where one auth admits them', async () => {
    expect(await call(at('open'))).toMatchObject({ status: 200, text: '[null,null,null,false]' })
    const refused = await call(at('open'), {}, 'read')
    expect(refused.status).toBe(401)
    expect(refused.headers.get('WWW-Authenticate')).toContain('resource_metadata=')
  })

  test('no other issuer is asked about an opaque token', async () => {
    const before = issuer.asked.get('/introspect') ?? 0
    await call(at('all'), bearing(other.opaqueToken({ aud: at('all').href, scope: 'second' }, 'opq_2')))
    expect(issuer.asked.get('/introspect') ?? 0).toBe(before)
  })

  test('ctx.upstream() is for users who have signed in', async () => {
    expect(await call(at('signed'), key('plain-key'), 'starred')).toMatchObject({
      text: expect.stringContaining('github needs a user who has signed in, not another credential'),
    })
  })

  test('the log contains no credential', async () => {
    await call(at('all'), key('a-very-secret-key'), 'a-very-secret-key')
    const logs = () => JSON.stringify(server.harness.getLogs())
    await expect.poll(logs).toContain('audit')
    expect(logs()).not.toContain('a-very-secret-key')
  })
})

describe('what clients find', () => {
  const metadataUrl = (name: string) => new URL(`/.well-known/oauth-protected-resource/${name}/mcp`, server.url)

  test('the challenge has the metadata, also after a refused key', async () => {
    for (const headers of [{}, key('wrong'), bearing('nonsense')]) {
      const refused = await call(at('all'), headers)
      expect(refused.status).toBe(401)
      expect(refused.headers.get('WWW-Authenticate')).toContain(`Bearer resource_metadata="${metadataUrl('all')}"`)
    }
  })

  test('the metadata names all authorization servers and scopes', async () => {
    const metadata = await (await fetch(metadataUrl('all'))).json()
    expect(metadata).toMatchObject({
      resource: at('all').href,
      authorization_servers: [issuer.issuer, other.issuer],
      scopes_supported: ['notes:read', 'second'],
    })
    const signed = await (await fetch(metadataUrl('signed'))).json()
    expect(signed).toMatchObject({ authorization_servers: [issuer.issuer, server.url.origin] })
  })

  test.each(['signed', 'swapped'])(
    'the metadata of %s names all authorization servers also with a slash at the end',
    async (name) => {
      const at = new URL(`${metadataUrl(name)}/`)
      const { authorization_servers: found } = (await (await fetch(at)).json()) as { authorization_servers: string[] }
      expect(found.sort()).toEqual([issuer.issuer, server.url.origin].sort())
    },
  )

  test('the metadata of an authorization server at this origin is its own', async () => {
    const found = (path: string) => fetch(new URL(path, server.url)).then((response) => response.json())
    expect(await found('/.well-known/oauth-authorization-server')).toMatchObject({ issuer: server.url.origin })
  })

  test('pages may send the header', async () => {
    const response = await fetch(at('all'), { method: 'OPTIONS' })
    expect(response.headers.get('Access-Control-Allow-Headers')).toContain('X-API-Key')
  })
})
