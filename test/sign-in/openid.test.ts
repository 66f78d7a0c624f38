/** `oidc()` with an OpenID provider that answers well, and badly. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { Browser } from '../../worker/testing/provider/browser.ts'
import { logText, startServer, type TestServer } from '../support/server.ts'
import { RawClient } from './client.ts'
import { OpenId } from './openid.ts'

let openId: OpenId
let server: TestServer
beforeAll(async () => {
  ;({ openId, server } = await start())
})
afterEach(() => openId.restore())
afterAll(async () => {
  await server?.[Symbol.asyncDispose]()
  await openId?.[Symbol.asyncDispose]()
})

async function start() {
  const openId = await OpenId.start()
  const server = await startServer('test/sign-in/server', { CASE: 'openid', OPENID: openId.issuer })
  await openId.serve(new URL('/oauth/callback/oidc', server.url).href)
  return { openId, server }
}

/** What the client receives: its code, or the error. */
async function signIn({ url }: TestServer = server) {
  const client = new RawClient(url)
  const asked = client.ask(await client.registered())
  const params = await new Browser().authorize(asked.url, { decision: 'oidc' })
  return {
    client,
    asked,
    code: params.get('code') ?? '',
    error: params.get('error'),
    text: params.get('error_description'),
  }
}

const denied = { error: 'server_error', text: 'Signing in with Company failed', code: '' }

describe('a provider that answers well', () => {
  test('signs its user in, with what the user info endpoint says', async () => {
    openId.asked.length = 0
    const { client, asked, code } = await signIn()
    const { access_token } = (await (await client.token(client.codeForm(asked, code))).json()) as {
      access_token: string
    }
    expect(JSON.parse((await client.call(access_token)).slice(4))).toMatchObject({
      issuer: server.url.origin,
      subject: 'oidc.auth0~7C1815',
      tenant: 'engines',
      claims: { name: 'Ada Lovelace', email: 'ada@example.com', email_verified: true, groups: ['authors'] },
    })
    expect(openId.asked).toEqual([
      'GET /.well-known/openid-configuration',
      'GET /auth',
      'GET /interaction/…',
      'GET /auth/…',
      'POST /token',
      'GET /me',
    ])
  })

  test('reads the claims of the ID token, and then does not ask for more', async () => {
    openId.asked.length = 0
    openId.changeIdToken({ name: 'Ada', email: 'ada@engines.example' })
    expect(await signIn()).toMatchObject({ error: null })
    expect(openId.asked).not.toContain('GET /me')
  })

  test('may send null or an empty text for what it does not know of a user', async () => {
    openId.changeIdToken({ name: null, preferred_username: '', email: 'ada@example.com' })
    const { client, asked, code } = await signIn()
    const { access_token } = (await (await client.token(client.codeForm(asked, code))).json()) as {
      access_token: string
    }
    const { claims } = JSON.parse((await client.call(access_token)).slice(4))
    expect(claims).toMatchObject({ email: 'ada@example.com' })
    expect(claims).not.toHaveProperty('name')
    expect(claims).not.toHaveProperty('preferred_username')
  })

  test('may answer a verified email address as a text', async () => {
    openId.changeIdToken({ email: 'ada@example.com', email_verified: 'true' })
    const { client, asked, code } = await signIn()
    const { access_token } = (await (await client.token(client.codeForm(asked, code))).json()) as {
      access_token: string
    }
    expect(JSON.parse((await client.call(access_token)).slice(4)).claims.email_verified).toBe(true)
  })
})

describe('refuses an ID token', () => {
  const now = Math.floor(Date.now() / 1000)
  test.each([
    { what: 'with another nonce', claims: { nonce: 'x' } },
    { what: 'without a nonce', claims: { nonce: undefined } },
    { what: 'of another issuer', claims: { iss: 'https://evil.example' } },
    { what: 'of an issuer with a slash at its end', claims: { iss: 'http://127.0.0.1:1/' } },
    { what: 'without an issuer', claims: { iss: undefined } },
    { what: 'for another client', claims: { aud: 'other' } },
    { what: 'for several clients, and authorized for another one', claims: { aud: ['edge', 'other'], azp: 'other' } },
    { what: 'without an audience', claims: { aud: undefined } },
    { what: 'that has expired', claims: { exp: now - 3600 } },
    { what: 'that never expires', claims: { exp: undefined } },
    { what: 'that is not valid yet', claims: { nbf: now + 3600 } },
    { what: 'without a time', claims: { iat: undefined } },
    { what: 'without a subject', claims: { sub: undefined } },
    { what: 'with an empty subject', claims: { sub: '' } },
    { what: 'whose subject is a number', claims: { sub: 1815 } },
    { what: 'that is unsigned', claims: {}, header: { alg: 'none' } },
    { what: 'that is signed with the secret', claims: {}, header: { alg: 'HS256' } },
    { what: 'with a critical extension', claims: {}, header: { crit: ['b64'] } },
  ])('$what', async ({ claims, header }) => {
    openId.changeIdToken(claims, header)
    expect(await signIn()).toMatchObject(denied)
  })
})

describe('refuses claims', () => {
  test.each([
    { what: 'a tenant that is a number', claims: { org_id: 42 } },
    { what: 'a tenant that is a list', claims: { org_id: ['engines'] } },
    { what: 'a tenant that is an object', claims: { org_id: { id: 'engines' } } },
    { what: 'a tenant that is null', claims: { org_id: null } },
    { what: 'an empty tenant', claims: { org_id: '' } },
    { what: 'groups that are a text', claims: { groups: 'suspended' } },
    { what: 'groups with a number', claims: { groups: ['authors', 7] } },
    { what: 'a verification that is a list', claims: { email: 'ada@example.com', email_verified: ['true'] } },
    { what: 'a verification that is another text', claims: { email: 'ada@example.com', email_verified: 'yes' } },
    { what: 'an email address that is a list', claims: { email: ['ada@example.com'] } },
  ])('$what', async ({ claims }) => {
    openId.changeIdToken({ email: 'ada@example.com', ...claims })
    expect(await signIn()).toMatchObject(denied)
  })

  test('a tenant that is not among those of the provider', async () => {
    openId.changeIdToken({ email: 'ada@example.com', org_id: 'acme' })
    expect(await signIn()).toMatchObject({
      error: 'access_denied',
      text: 'The organization acme has no access to this server with Company.',
    })
  })
})

describe('refuses a token response', () => {
  test.each<{ what: string; change: (body: Record<string, unknown>) => Record<string, unknown> }>([
    { what: 'without an ID token', change: ({ id_token: _, ...body }) => body },
    { what: 'with an ID token that is no JWT', change: (body) => ({ ...body, id_token: 'x' }) },
    { what: 'without an access token', change: ({ access_token: _, ...body }) => body },
    { what: 'of another type', change: (body) => ({ ...body, token_type: 'mac' }) },
    { what: 'with a number as token', change: (body) => ({ ...body, access_token: 7 }) },
    { what: 'that is a list', change: () => [] as never },
  ])('$what', async ({ change }) => {
    openId.changes.set('/token', change)
    expect(await signIn()).toMatchObject(denied)
  })
})

describe('refuses the user info', () => {
  test.each<{ what: string; change: (body: Record<string, unknown>) => Record<string, unknown> }>([
    { what: 'of another user', change: (body) => ({ ...body, sub: 'auth0|1' }) },
    { what: 'without a user', change: ({ sub: _, ...body }) => body },
    { what: 'that is a list', change: () => [] as never },
  ])('$what', async ({ change }) => {
    openId.changes.set('/me', change)
    expect(await signIn()).toMatchObject(denied)
  })
})

describe.each(['/token', '/me'])('a provider whose %s', (path) => {
  test.each([
    { what: 'fails', status: 500, type: 'text/plain', text: 'Internal Server Error' },
    { what: 'answers with a page', status: 200, type: 'text/html', text: '<h1>Maintenance</h1>' },
    { what: 'answers with nothing', status: 200, type: 'application/json', text: '' },
    { what: 'answers with null', status: 200, type: 'application/json', text: 'null' },
    {
      what: 'answers with more than a megabyte',
      status: 200,
      type: 'application/json',
      text: `{"x":"${'x'.repeat(1024 * 1024 + 1)}"}`,
    },
    { what: 'redirects', status: 302, type: 'text/plain', text: '' },
  ])('$what: the client learns that it failed', async ({ status, type, text }) => {
    openId.instead.set(path, (_, response) =>
      response.writeHead(status, { 'Content-Type': type, Location: 'http://127.0.0.1:1/' }).end(text),
    )
    expect(await signIn()).toMatchObject(denied)
  })

  test('closes the connection: the client learns that it failed', async () => {
    openId.instead.set(path, (_, response) => response.destroy())
    expect(await signIn()).toMatchObject(denied)
  })

  test('never answers: the client learns it after ten seconds', async () => {
    openId.instead.set(path, () => {})
    expect(await signIn()).toMatchObject(denied)
  })
})

describe('a provider whose metadata', () => {
  const metadata = '/.well-known/openid-configuration'
  test.each<{ what: string; spoil: (one: OpenId) => unknown }>([
    {
      what: 'are of another issuer',
      spoil: (one) => one.changes.set(metadata, (body) => ({ ...body, issuer: 'https://evil.example' })),
    },
    {
      what: 'have no authorization endpoint',
      spoil: (one) => one.changes.set(metadata, ({ authorization_endpoint: _, ...body }) => body),
    },
    {
      what: 'are a page',
      spoil: (one) =>
        one.instead.set(metadata, (_, to) => to.writeHead(200, { 'Content-Type': 'text/html' }).end('<h1>')),
    },
    { what: 'fail', spoil: (one) => one.instead.set(metadata, (_, to) => to.writeHead(500).end()) },
  ])('$what: the client learns that it failed, and the next sign-in works', async ({ spoil }) => {
    const fresh = await start()
    try {
      spoil(fresh.openId)
      expect(await signIn(fresh.server)).toMatchObject(denied)
      fresh.openId.restore()
      expect(await signIn(fresh.server)).toMatchObject({ error: null })
    } finally {
      await fresh.server[Symbol.asyncDispose]()
      await fresh.openId[Symbol.asyncDispose]()
    }
  })
})

test('the log says what was wrong, without tokens', async () => {
  openId.changeIdToken({ aud: 'other' })
  server.harness.clearLogs()
  await signIn()
  const log = () => logText(server)
  await expect.poll(log).toContain('unexpected JWT "aud" (audience) claim value')
  expect(log()).not.toMatch(/eyJ[\w-]{20,}/)
})
