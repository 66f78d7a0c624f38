/** Enterprise-managed authorization: assertions of the identity providers of two organizations, and attacks on it. */
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { connect } from '../../worker/testing/index.ts'
import { evict } from '../../worker/testing/node/evict.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { tokenRequest } from './tokens.ts'

type Key = Awaited<ReturnType<typeof generateKeyPair>>['privateKey']

const keys: Record<string, Key> = {}
const documents: Record<string, object> = {}
/** What other addresses answer. Default: not found. */
const answers: Record<string, () => Response | Promise<Response>> = {}
/** The URLs that the server has requested. */
const requests: string[] = []
let server: TestServer
beforeAll(async () => {
  for (const [name, alg] of [
    ['acme', 'RS256'],
    ['globex', 'ES256'],
    ['stranger', 'RS256'],
    ['initech', 'RS256'],
    ['hooli', 'RS256'],
    ['umbrella', 'RS256'],
  ] as const) {
    const { privateKey, publicKey } = await generateKeyPair(alg)
    keys[name] = privateKey
    documents[`https://${name}.example/keys`] = {
      keys: [{ ...(await exportJWK(publicKey)), kid: name, alg, use: 'sig' }],
    }
  }
  for (const name of ['acme', 'initech', 'umbrella']) {
    const issuer = `https://${name}.example`
    documents[`${issuer}/.well-known/openid-configuration`] = { issuer, jwks_uri: `${issuer}/keys` }
  }
  server = await startServer('test/sign-in/server', { CASE: 'enterprise', GITHUB: 'http://127.0.0.1:9' }, ({ url }) => {
    requests.push(url)
    return answers[url]?.() ?? (url in documents ? Response.json(documents[url]) : new Response(null, { status: 404 }))
  })
})
afterAll(() => server?.[Symbol.asyncDispose]())

const now = () => Math.floor(Date.now() / 1000)
let count = 0

/** Signs an assertion of Acme for Ada, with changes. */
async function assertion(
  claims: JWTPayload = {},
  { key = 'acme', alg = 'RS256', typ = 'oauth-id-jag+jwt', kid = key }: Record<string, string> = {},
): Promise<string> {
  const payload: JWTPayload = {
    iss: 'https://acme.example',
    sub: 'ada',
    aud: server.url.origin,
    resource: server.url.href,
    client_id: 'desktop',
    jti: `jti-${++count}`,
    iat: now(),
    exp: now() + 200,
    scope: 'notes:read notes:write',
    ...claims,
  }
  return new SignJWT(payload).setProtectedHeader({ alg, typ, kid }).sign(keys[key] as Key)
}

type Parameters = Record<string, string>

const basic = (id = 'desktop', secret = 'a secret') => ({
  Authorization: `Basic ${btoa(`${encodeURIComponent(id)}:${encodeURIComponent(secret)}`)}`,
})

const exchange = (text: string, params: Parameters = {}, headers: Parameters = basic(), path = '/oauth/token') =>
  fetch(new URL(path, server.url), {
    method: 'POST',
    headers,
    body: new URLSearchParams({
      grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
      assertion: text,
      ...params,
    }),
  })

type Issued = { access_token: string; refresh_token?: string; scope: string; expires_in: number }

async function issued(claims: JWTPayload = {}, header: Record<string, string> = {}, params: Parameters = {}) {
  const response = await exchange(await assertion(claims, header), params)
  expect(response.status).toBe(200)
  return (await response.json()) as Issued
}

async function principalOf(token: string) {
  await using client = await connect(server.url, { revision: '2026-07-28', token })
  const { content } = (await client.callTool('whoami')) as { content: { text: string }[] }
  return JSON.parse(content[0]?.text ?? '')
}

const globex = { key: 'globex', alg: 'ES256' }
const ofGlobex = { iss: 'https://globex.example' }

describe('an assertion of an organization', () => {
  test('is announced in the metadata', async () => {
    const metadata = await (await fetch(new URL('/.well-known/oauth-authorization-server', server.url))).json()
    expect(metadata).toMatchObject({
      authorization_grant_profiles_supported: ['urn:ietf:params:oauth:grant-profile:id-jag'],
      grant_types_supported: expect.arrayContaining(['urn:ietf:params:oauth:grant-type:jwt-bearer']),
    })
  })

  test('becomes an access token without a refresh token', async () => {
    const tokens = await issued({ email: 'ada@acme.example', email_verified: true, groups: ['engineers'], name: 'Ada' })
    expect(tokens).toMatchObject({ scope: 'notes:read notes:write', expires_in: 3600 })
    expect(tokens.refresh_token).toBe(undefined)
    expect(await principalOf(tokens.access_token)).toMatchObject({
      issuer: server.url.origin,
      subject: 'acme.ada',
      client: 'desktop',
      tenant: 'acme',
      scopes: ['notes:read', 'notes:write'],
      claims: { provider: 'acme', name: 'Ada', email: 'ada@acme.example', email_verified: true, groups: ['engineers'] },
    })
  })

  test('of another issuer with the same subject is of another user', async () => {
    const { access_token: token } = await issued({ ...ofGlobex, org_id: 'west' }, globex)
    expect(await principalOf(token)).toMatchObject({ subject: 'globex.ada', tenant: 'west' })
  })

  test('names no tenant, unless its issuer may', async () => {
    const { access_token: token } = await issued({ tenant: 'globex', org_id: 'globex' })
    expect(await principalOf(token)).toMatchObject({ subject: 'acme.ada', tenant: 'acme' })
    const { access_token: other } = await issued({ ...ofGlobex, tenant: 'acme' }, globex)
    expect((await principalOf(other)).tenant).toBe(undefined)
  })

  test('with a subject that has separators is of a user of this issuer', async () => {
    const { access_token: token } = await issued({ sub: 'globex.ada:x:y' })
    expect((await principalOf(token)).subject).toBe('acme.globex.ada~3Ax~3Ay')
  })

  test('grants what grantScopes leaves', async () => {
    expect((await issued({ groups: ['readers'] })).scope).toBe('notes:read')
  })

  test('tells grantScopes which issuer describes the user', async () => {
    const email = { email: 'ada@globex.example', email_verified: true }
    expect((await issued({ ...ofGlobex, ...email }, globex)).scope).toBe('notes:read notes:write')
    expect((await issued({ ...ofGlobex, email: 'eve@globex.example' }, globex)).scope).toBe('notes:read')
  })

  test.each(['ada@acme.example', 'ada@acme.example@example.com', 'globex.example', 'ada@sub.globex.example'])(
    'of globex cannot state the email address %s',
    async (email) => {
      const { access_token: token } = await issued({ ...ofGlobex, email, email_verified: true }, globex)
      const { claims } = await principalOf(token)
      expect(claims.provider).toBe('globex')
      expect(claims).not.toHaveProperty('email')
      expect(claims).not.toHaveProperty('email_verified')
    },
  )

  test.each([
    ['of the assertion', { scope: 'notes:read' }, {}, 'notes:read'],
    [
      'of the request, among those of the assertion',
      { scope: 'notes:read' },
      { scope: 'notes:read notes:write' },
      'notes:read',
    ],
    ['of the request, without those of the assertion', { scope: undefined }, { scope: 'notes:read' }, 'notes:read'],
    ['of the server, without both', { scope: undefined }, {}, 'notes:read notes:write'],
    ['that the server has', { scope: 'notes:read admin' }, { scope: 'notes:read admin' }, 'notes:read'],
  ] as [string, JWTPayload, Parameters, string][])('grants the scopes %s', async (_, claims, params, scope) => {
    expect((await issued(claims, {}, params)).scope).toBe(scope)
  })

  test('is used once, however many clients send it at the same time', async () => {
    const text = await assertion()
    const responses = await Promise.all(Array.from({ length: 20 }, () => exchange(text)))
    expect(responses.map(({ status }) => status).sort()).toEqual([200, ...Array.from({ length: 19 }, () => 400)])
  })

  test('is used once, also when the object that knows it is lost', async () => {
    const text = await assertion()
    expect((await exchange(text)).status).toBe(200)
    const ids = await server.harness.getWorker().listDurableObjectIds('McpSignIn')
    for (const id of ids) await evict(server.harness, 'McpSignIn', { id }, 'close')
    expect((await exchange(text)).status).toBe(400)
  })
})

const badGrant = { status: 400, error: 'invalid_grant' }
const badClient = { status: 401, error: 'invalid_client' }

/** What is sent, and the answer. */
type Row = [name: string, () => Promise<Response>, { status: number; error: string }]

const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
const unsigned = async (alg: string) => {
  const [, payload] = (await assertion()).split('.')
  return `${part({ alg, typ: 'oauth-id-jag+jwt', kid: 'acme' })}.${payload}.`
}
const hmac = async () =>
  new SignJWT({
    iss: 'https://acme.example',
    sub: 'ada',
    client_id: 'desktop',
    jti: `jti-${++count}`,
    iat: now(),
    exp: now() + 200,
  })
    .setAudience(server.url.origin)
    .setProtectedHeader({ alg: 'HS256', typ: 'oauth-id-jag+jwt', kid: 'acme' })
    .sign(new TextEncoder().encode(JSON.stringify(documents['https://acme.example/keys'])))

const withClaims = (claims: JWTPayload) => async () => exchange(await assertion(claims))
const withHeader =
  (header: Record<string, string>, claims: JWTPayload = {}) =>
  async () =>
    exchange(await assertion(claims, header))

describe('is refused', () => {
  test.each([
    ['an assertion that was used', async () => exchange(await usedOnce()), badGrant],
    ['an ID token', withHeader({ typ: 'JWT' }), badGrant],
    ['an access token', withHeader({ typ: 'at+jwt' }), badGrant],
    ['an assertion for another server', withClaims({ aud: 'https://other.example' }), badGrant],
    [
      'an assertion for two servers',
      async () => exchange(await assertion({ aud: [server.url.origin, 'https://other.example'] })),
      badGrant,
    ],
    [
      'an assertion for the endpoint instead of the issuer',
      async () => exchange(await assertion({ aud: server.url.href })),
      badGrant,
    ],
    ['an assertion without an audience', withClaims({ aud: undefined }), badGrant],
    ['an issuer that is not trusted', withHeader({ key: 'stranger' }, { iss: 'https://stranger.example' }), badGrant],
    ['a trusted issuer with a slash', withClaims({ iss: 'https://acme.example/' }), badGrant],
    ['a key of another organization', withHeader(globex), badGrant],
    ['a key of another organization with the kid of this one', withHeader({ ...globex, kid: 'acme' }), badGrant],
    ['a key of nobody with the kid of this organization', withHeader({ key: 'stranger', kid: 'acme' }), badGrant],
    ['the name of another organization', withHeader({}, ofGlobex), badGrant],
    ['an algorithm that the issuer does not use', withHeader({ key: 'acme', kid: 'globex' }, ofGlobex), badGrant],
    ['alg none', async () => exchange(await unsigned('none')), badGrant],
    ['no signature', async () => exchange(await unsigned('RS256')), badGrant],
    ['alg HS256 with the public key as secret', async () => exchange(await hmac()), badGrant],
    ['an assertion for another client', withClaims({ client_id: 'mobile' }), badGrant],
    ['an assertion without a client', withClaims({ client_id: undefined }), badGrant],
    [
      'another resource',
      withClaims({ resource: 'https://other.example/mcp' }),
      { status: 400, error: 'invalid_target' },
    ],
    [
      'another resource of the request',
      async () => exchange(await assertion(), { resource: 'https://other.example/mcp' }),
      { status: 400, error: 'invalid_target' },
    ],
    ['an expired assertion', withClaims({ iat: now() - 400, exp: now() - 100 }), badGrant],
    ['an assertion that lives too long', withClaims({ exp: now() + 3600 }), badGrant],
    ['an assertion of the future', withClaims({ iat: now() + 200, exp: now() + 400 }), badGrant],
    ['an assertion that is not valid yet', withClaims({ nbf: now() + 200 }), badGrant],
    ['an assertion without an expiry', withClaims({ exp: undefined }), badGrant],
    ['an assertion without an id', withClaims({ jti: undefined }), badGrant],
    ['an assertion without a subject', withClaims({ sub: undefined }), badGrant],
    ['an assertion that is bound to a key', withClaims({ cnf: { jkt: 'x' } }), badGrant],
    [
      'a scope that only the request has',
      async () => exchange(await assertion({ scope: 'notes:read' }), { scope: 'notes:write' }),
      badGrant,
    ],
    ['scopes that the server does not have', withClaims({ scope: 'admin' }), badGrant],
    ['a blank claim of scopes', withClaims({ scope: ' ' }), badGrant],
    ['an empty claim of scopes', withClaims({ scope: '' }), badGrant],
    [
      'scopes of the request, where those of the assertion are blank',
      async () => exchange(await assertion({ scope: '  ' }), { scope: 'notes:read' }),
      badGrant,
    ],
    ['groups that are no list of strings', withClaims({ groups: 'admins' }), badGrant],
    ['the tenant of another organization', withHeader(globex, { ...ofGlobex, org_id: 'acme' }), badGrant],
    [
      'a verification of an address that is a list',
      withClaims({ email: 'ada@acme.example', email_verified: ['true'] }),
      badGrant,
    ],
    ['a tenant that is no string', withHeader(globex, { ...ofGlobex, org_id: ['acme'] }), badGrant],
    ['a user whom allow refuses with a reason', withClaims({ sub: 'mallory' }), badGrant],
    ['a user whom allow refuses', withClaims({ sub: 'nobody' }), badGrant],
    ['a user of several tenants, who has no page to choose one', withClaims({ sub: 'both' }), badGrant],
    ['a text that is no assertion', async () => exchange('a.b.c'), badGrant],
    ['no assertion', async () => exchange(''), { status: 400, error: 'invalid_request' }],
    ['an assertion of 20,000 characters', withClaims({ padding: 'x'.repeat(20_000) }), badGrant],
    ['a client without a secret', async () => exchange(await assertion(), { client_id: 'desktop' }, {}), badClient],
    [
      'a client with another secret',
      async () => exchange(await assertion(), {}, basic('desktop', 'another')),
      badClient,
    ],
    ['a client that is not registered', async () => exchange(await assertion(), {}, basic('laptop')), badClient],
    ['no client', async () => exchange(await assertion(), {}, {}), badClient],
    ['a public client that registered itself', publicClient, badClient],
    ['another confidential client that registered itself', confidentialClient, badGrant],
    [
      'another grant type of the client of the options',
      async () =>
        fetch(new URL('/oauth/token', server.url), {
          method: 'POST',
          headers: basic(),
          body: new URLSearchParams({ grant_type: 'refresh_token', refresh_token: 'acme.ada:x:y' }),
        }),
      { status: 400, error: 'unauthorized_client' },
    ],
  ] as Row[])('%s', async (_, send, outcome) => {
    const response = await send()
    const { error } = (await response.json()) as { error: string }
    expect({ status: response.status, error }).toEqual(outcome)
  })
})

async function usedOnce(): Promise<string> {
  const text = await assertion()
  expect((await exchange(text)).status).toBe(200)
  return text
}

const advance = (ms: number) => fetch(new URL('/operator?do=advance', server.url), { method: 'POST', body: String(ms) })

async function register(method: string) {
  const response = await fetch(new URL('/oauth/register', server.url), {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ redirect_uris: ['http://127.0.0.1:9/callback'], token_endpoint_auth_method: method }),
  })
  return (await response.json()) as { client_id: string; client_secret: string }
}

async function publicClient(): Promise<Response> {
  const { client_id } = await register('none')
  return exchange(await assertion({ client_id }), { client_id }, {})
}

async function confidentialClient(): Promise<Response> {
  const { client_id, client_secret } = await register('client_secret_basic')
  return exchange(await assertion(), {}, basic(client_id, client_secret))
}

test('an access token of an assertion can be revoked', async () => {
  const { access_token: token } = await issued()
  const revoked = await fetch(new URL('/oauth/token', server.url), {
    method: 'POST',
    headers: basic(),
    // An assertion means nothing here.
    body: new URLSearchParams({ token, assertion: 'x' }),
  })
  expect(revoked.status).toBe(200)
  await expect(principalOf(token)).rejects.toMatchObject({ status: 401 })
})

test('an assertion from before the end of access gives none after it', async () => {
  const sub = 'grace'
  // The clock of the issuer may be a minute ahead.
  const before = [await assertion({ sub }), await assertion({ sub, iat: now() + 50 })]
  const first = await issued({ sub })
  const principal = { issuer: server.url.origin, subject: `acme.${sub}` }
  const ended = await fetch(new URL('/operator?do=signOut', server.url), {
    method: 'POST',
    body: JSON.stringify(principal),
  })
  expect(await ended.json()).toBe(1)
  await expect(principalOf(first.access_token)).rejects.toMatchObject({ status: 401 })
  for (const text of before) {
    const refused = await exchange(text)
    expect([refused.status, await refused.json()]).toEqual([400, expect.objectContaining({ error: 'invalid_grant' })])
  }
  const listed = await fetch(new URL('/operator?do=grants', server.url), {
    method: 'POST',
    body: JSON.stringify(principal),
  })
  expect(await listed.json()).toEqual([])
  await advance(62_000)
  await issued({ sub, iat: now() + 62 })
})

test('users of an organization are told that they cannot connect a provider', async () => {
  const { access_token: token } = await issued()
  await using client = await connect(server.url, { revision: '2026-07-28', token })
  expect(await client.callTool('starred')).toMatchObject({
    isError: true,
    content: [{ text: 'Users of acme cannot connect GitHub: their organization signs them in' }],
  })
})

test('the endpoint for tokens answers other requests as before', async () => {
  expect((await tokenRequest(server.url, { grant_type: 'password' })).status).toBe(401)
})

const outage = { status: 503, error: 'temporarily_unavailable', retryAfter: '30' }
const refusal = { status: 400, error: 'invalid_grant', retryAfter: null }

async function seen(sent: Response | Promise<Response>) {
  const response = await sent
  const { error } = (await response.json()) as { error?: string }
  return { status: response.status, error, retryAfter: response.headers.get('Retry-After') }
}

const failing = (status = 500) => new Response('{', { status })
const requestsTo = (url: string) => requests.filter((one) => one === url).length

describe('while nobody can decide, an assertion is neither accepted nor refused, and is accepted later, once:', () => {
  test('the metadata of its issuer cannot be read, for which one request is sent', async () => {
    const where = 'https://initech.example/.well-known/openid-configuration'
    answers[where] = () => failing()
    const texts = await Promise.all(
      Array.from({ length: 20 }, () => assertion({ iss: 'https://initech.example' }, { key: 'initech' })),
    )
    const all = await Promise.all(texts.map((text) => seen(exchange(text))))
    expect(all).toEqual(texts.map(() => outage))
    expect(requestsTo(where)).toBe(1)
    delete answers[where]
    await advance(6000)
    const later = await Promise.all(texts.map((text) => exchange(text)))
    expect(later.map(({ status }) => status)).toEqual(texts.map(() => 200))
    expect(requestsTo(where)).toBe(2)
    expect(await seen(exchange(texts[0] as string))).toEqual(refusal)
  })

  test('the metadata is of another issuer', async () => {
    const where = 'https://umbrella.example/.well-known/openid-configuration'
    answers[where] = () => Response.json({ issuer: 'https://acme.example', jwks_uri: 'https://acme.example/keys' })
    const text = await assertion({ iss: 'https://umbrella.example' }, { key: 'umbrella' })
    expect(await seen(exchange(text))).toEqual(outage)
    delete answers[where]
    await advance(6000)
    expect((await exchange(text)).status).toBe(200)
  })

  test('the keys of its issuer cannot be read', async () => {
    const where = 'https://hooli.example/keys'
    const text = await assertion({ iss: 'https://hooli.example' }, { key: 'hooli' })
    for (const answer of [() => failing(), () => failing(404), () => failing(200), () => Response.json({})]) {
      answers[where] = answer
      expect(await seen(exchange(text))).toEqual(outage)
    }
    delete answers[where]
    expect((await exchange(text)).status).toBe(200)
    expect(await seen(exchange(text))).toEqual(refusal)
  })

  test.each(['allow', 'tenant', 'grantScopes'])('%s throws', async (option) => {
    const text = await assertion({ sub: 'hopper' })
    lookUps(option, () => failing())
    expect(await seen(exchange(text))).toEqual(outage)
    expect(await seen(exchange(text))).toEqual(outage)
    lookUps(option, () => new Response())
    expect((await exchange(text)).status).toBe(200)
    expect(await seen(exchange(text))).toEqual(refusal)
  })

  test('its grant cannot be stored', async () => {
    const text = await assertion()
    await fetch(new URL('/operator?do=failWrites', server.url), { method: 'POST', body: '1' })
    expect(await seen(exchange(text))).toEqual({ ...outage, retryAfter: '5' })
    expect((await exchange(text)).status).toBe(200)
    expect(await seen(exchange(text))).toEqual(refusal)
  })

  test('another request with it does not make it valid while the first one runs', async () => {
    const text = await assertion({ sub: 'hopper' })
    const { asked, answer } = held()
    const first = exchange(text)
    await asked
    expect(await seen(exchange(text))).toEqual(refusal)
    expect(await seen(exchange(text))).toEqual(refusal)
    answer(failing())
    expect(await seen(first)).toEqual(outage)
    lookUps('allow', () => new Response())
    expect((await exchange(text)).status).toBe(200)
  })

  test('its client has gone before allow throws', async () => {
    const text = await assertion({ sub: 'hopper' })
    const { asked, answer } = held()
    answers['https://members.example/gone'] = () => asked.then(() => new Response())
    expect(await (await exchange(text, {}, basic(), '/abandoned')).text()).toBe('given up')
    answer(failing())
    lookUps('allow', () => new Response())
    await expect.poll(async () => (await exchange(text)).status).toBe(200)
  })
})

/** Decides what the service answers that an option asks. The others get an answer. */
function lookUps(option: string, answer: () => Response | Promise<Response>): void {
  for (const one of ['allow', 'tenant', 'grantScopes']) answers[`https://members.example/${one}`] = () => new Response()
  answers[`https://members.example/${option}`] = answer
}

/** Lets `allow` wait for an answer. */
function held() {
  const { promise: asked, resolve: ask } = Promise.withResolvers<void>()
  const { promise: answered, resolve: answer } = Promise.withResolvers<Response>()
  lookUps('allow', () => {
    ask()
    return answered
  })
  return { asked, answer }
}
