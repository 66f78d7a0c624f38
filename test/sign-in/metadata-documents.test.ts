/** Clients whose id is the URL of their metadata document, which a stand-in for the internet answers. */
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { Browser, formOf } from '../../worker/testing/provider/browser.ts'
import { Journal } from '../auth/flow/journal.ts'
import { type Published, published } from '../auth/flow/programs.ts'
import { Wallet } from '../auth/flow/wallet.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { RawClient, redirectUri, seen, type Tokens } from './client.ts'
import { GitHub } from './github.ts'

const id = 'https://app.example/oauth/client.json'
const app = {
  client_id: id,
  client_name: 'An app',
  redirect_uris: ['http://localhost/callback', 'http://127.0.0.1/callback', 'https://app.example/callback'],
  grant_types: ['authorization_code', 'refresh_token'],
  response_types: ['code'],
  token_endpoint_auth_method: 'none',
}

/** What is at the URLs of `app.example`. */
const documents = new Map<string, () => Response | Promise<Response>>()
const asked: string[] = []

const internet = (request: Request): Response | Promise<Response> | undefined => {
  const { hostname } = new URL(request.url)
  if (hostname !== 'app.example') return undefined
  asked.push(request.url)
  return documents.get(request.url)?.() ?? new Response('Not Found', { status: 404 })
}

let gitHub: GitHub
let server: TestServer
let client: RawClient
beforeAll(async () => {
  gitHub = await GitHub.start()
  server = await startServer('test/sign-in/public-fetch', { GITHUB: gitHub.url }, internet)
  client = new RawClient(server.url)
})
beforeEach(() => {
  asked.length = 0
  documents.clear()
  documents.set(id, () => Response.json(app))
})
afterAll(async () => {
  await server?.[Symbol.asyncDispose]()
  await gitHub?.[Symbol.asyncDispose]()
})

const self = { id, secret: undefined }

/** Signs the user in. @returns the tokens, and the page that the user read */
async function signIn(changes: Readonly<Record<string, string>> = {}, browser = new Browser()) {
  const request = client.ask(self, changes)
  const code = await client.code(request, browser)
  const form = { ...client.codeForm(request, code), redirect_uri: changes.redirect_uri ?? redirectUri }
  const response = await client.token(form)
  expect(response.status).toBe(200)
  return { tokens: (await response.json()) as Tokens, page: browser.pages[0] }
}

test('the metadata say that they are accepted', async () => {
  const metadata = await (await fetch(client.at('/.well-known/oauth-authorization-server'))).json()
  expect(metadata).toMatchObject({
    client_id_metadata_document_supported: true,
    // Without `none`, hosts do not use their document.
    token_endpoint_auth_methods_supported: expect.arrayContaining(['none', 'private_key_jwt']),
  })
})

describe.each(published)('$name', ({ start }: Published) => {
  test('signs in with its document, registers nothing, and refreshes an expired token', async () => {
    const [wallet, journal, browser] = [new Wallet(id), new Journal(), new Browser()]
    const program = start(server.url, wallet, journal)
    await expect(program.connect()).rejects.toThrow('Unauthorized')
    expect(wallet.sentTo?.searchParams.get('client_id')).toBe(id)
    await program.finish(await browser.authorize(wallet.sentTo as URL, { decision: 'github' }))
    await program.connect()
    expect(JSON.parse(await program.call('whoami'))).toMatchObject({ subject: 'github.1815' })
    wallet.held = { ...wallet.held, access_token: 'expired', token_type: 'bearer' }
    expect(JSON.parse(await program.call('whoami'))).toMatchObject({ subject: 'github.1815' })
    const { lines } = journal.take(server.url.origin)
    expect(lines).toContain('POST /oauth/token refresh_token 200')
    expect(lines.filter((line) => line.includes('register'))).toEqual([])
    await program.close()
  })
})

test('the consent page shows who publishes the document, and where access is sent', async () => {
  const { page } = await signIn({ redirect_uri: 'https://app.example/callback' })
  expect(page).toContain('The app is published by <strong>app.example</strong>')
  expect(page).toContain(`<code>${id}</code>`)
  expect(page).toContain('Access is sent to <strong>app.example</strong>.')
})

test.each(['http://127.0.0.1:49152/callback', 'http://localhost:55611/callback', 'http://127.0.0.1/callback'])(
  'a program on this computer may use any port: %s',
  async (uri) => {
    const { page } = await signIn({ redirect_uri: uri })
    expect(page).toContain('a program on this computer')
  },
)

test.each(['http://127.0.0.1:9/other', 'https://app.example:444/callback', 'https://evil.example/callback'])(
  'a redirect URI that the document does not list is refused: %s',
  async (uri) => {
    const { url } = client.ask(self, { redirect_uri: uri })
    expect(await seen(await fetch(url, { redirect: 'manual' }))).toBe('400 page: Invalid redirect URI.')
  },
)

test('a document is read once as long as its headers allow', async () => {
  const cached = 'https://app.example/cached.json'
  const headers = { 'Cache-Control': 'public, max-age=3600' }
  documents.set(cached, () => Response.json({ ...app, client_id: cached }, { headers }))
  for (let times = 0; times < 3; times++) {
    const { url } = client.ask({ id: cached, secret: undefined })
    expect(await seen(await fetch(url, { redirect: 'manual' }))).toBe('200 page: consent')
  }
  expect(asked).toEqual([cached])
})

test('a refresh whose document cannot be read is refused, and works when it can be read again', async () => {
  const { tokens } = await signIn()
  const refresh = () => client.token(client.refreshForm(self, tokens.refresh_token))
  documents.delete(id)
  expect(await seen(await refresh())).toBe('401 invalid_client')
  documents.set(id, () => Response.json(app))
  expect(await seen(await refresh())).toBe('200 granted')
})

test.each([408, 429, 500, 503, 530])(
  'a refresh is answered with 503 while the host of the document answers with %i, and works afterwards',
  async (status) => {
    const { tokens } = await signIn()
    const headers = { Origin: 'https://app.example' }
    const refresh = () => client.token(client.refreshForm(self, tokens.refresh_token), headers)
    documents.set(id, () => new Response('Overloaded', { status }))
    const response = await refresh()
    expect(response.headers.get('Retry-After')).toBe('30')
    expect(response.headers.get('Access-Control-Allow-Origin')).toBe('https://app.example')
    expect(await seen(response)).toBe('503 temporarily_unavailable')
    documents.set(id, () => Response.json(app))
    expect(await seen(await refresh())).toBe('200 granted')
  },
)

test('an app of which a user has two, such as on two computers, stays signed in on both', async () => {
  const first = await signIn({ redirect_uri: 'http://127.0.0.1:33418/callback' })
  const second = await signIn({ redirect_uri: 'http://127.0.0.1:33418/callback' })
  for (const { tokens } of [first, second]) {
    expect(await client.call(tokens.access_token)).toContain('"subject":"github.1815"')
    expect(await seen(await client.token(client.refreshForm(self, tokens.refresh_token)))).toBe('200 granted')
  }
})

test('the account page shows where the access of a client was sent, and does not wait for its document', async () => {
  const browser = new Browser()
  await signIn({ redirect_uri: 'http://127.0.0.1:33418/callback' }, browser)
  documents.set(id, () => new Promise(() => {}))
  await browser.open(client.at('/oauth/account?with=github'))
  asked.length = 0
  const shown = await browser.open(client.at('/oauth/account'))
  expect(shown).toContain('<legend>app.example</legend>')
  expect(shown).toContain(`published by <strong>app.example</strong> (<code>${id}</code>)`)
  expect(shown).toContain('127.0.0.1')
  expect(asked).toEqual([])
})

test('the access of a client with a long URL can be ended on the account page', async () => {
  const long = `https://app.example/a${'/'.repeat(4000)}c.json`
  documents.set(long, () => Response.json({ ...app, client_id: long }))
  const self = { id: long, secret: undefined }
  const browser = new Browser()
  const request = client.ask(self)
  const response = await client.token(client.codeForm(request, await client.code(request, browser)))
  const { refresh_token } = (await response.json()) as Tokens
  await browser.open(client.at('/oauth/account?with=github'))
  const form = new URLSearchParams({ client: long })
  const ended = await browser.visit(client.at('/oauth/account'), form, { headers: { Origin: server.url.origin } })
  expect(ended.status).toBe(303)
  expect(await seen(await client.token(client.refreshForm(self, refresh_token)))).toBe('400 invalid_grant')
})

describe('while documents are not answered', () => {
  const slow = 'https://app.example/slow.json'

  /** Sends token requests that wait for their document. @returns what answers the documents, and the statuses of the requests */
  async function hang(clientId: string, form: Readonly<Record<string, string>>, count = 110) {
    const released = Promise.withResolvers<void>()
    let waiting = 0
    documents.set(clientId, async () => {
      waiting += 1
      await released.promise
      return Response.json({ ...app, client_id: clientId })
    })
    const sent = Array.from({ length: count }, async () => seen(await client.token({ ...form, client_id: clientId })))
    await expect.poll(() => waiting).toBe(count)
    documents.set(id, () => Response.json(app))
    return async () => {
      released.resolve()
      return new Set(await Promise.all(sent))
    }
  }

  test.each([
    { whose: 'another client', clientId: slow },
    { whose: 'the client of the grant', clientId: id },
  ])('the requests of $whose delay neither a refresh, nor the end of a stolen grant', async ({ clientId }) => {
    const { tokens } = await signIn()
    const [user, grant] = tokens.refresh_token.split(':')
    const end = await hang(clientId, client.refreshForm(self, `${user}:${grant}:x`))
    const refresh = async (token: string) => (await client.token(client.refreshForm(self, token))).json()
    const second = (await refresh(tokens.refresh_token)) as Tokens
    const third = (await refresh(second.refresh_token)) as Tokens
    expect(await client.call(second.access_token)).toContain('"subject":"github.1815"')
    // The token of a thief.
    expect(await refresh(tokens.refresh_token)).toMatchObject({ error: 'invalid_grant' })
    expect(await client.call(third.access_token)).toMatch(/^401 /)
    expect(await end()).toEqual(new Set(['400 invalid_grant']))
  })

  test('a revocation is not delayed', async () => {
    const { tokens } = await signIn()
    const end = await hang(slow, { token: tokens.refresh_token })
    expect((await client.token({ token: tokens.refresh_token, client_id: id })).status).toBe(200)
    expect(await client.call(tokens.access_token)).toMatch(/^401 /)
    await end()
  })
})

describe('a client with a key', () => {
  const ownId = 'https://app.example/keyed.json'

  /** @param jwksUri where its keys are. Default: in the document */
  async function keyed(jwksUri?: string, keyId = ownId) {
    const { publicKey, privateKey } = await generateKeyPair('ES256')
    const jwks = { keys: [{ ...(await exportJWK(publicKey)), alg: 'ES256', use: 'sig' }] }
    const keys = jwksUri === undefined ? { jwks } : { jwks_uri: jwksUri }
    const document = { ...app, client_id: keyId, token_endpoint_auth_method: 'private_key_jwt', ...keys }
    documents.set(keyId, () => Response.json(document))
    const assertion = (audience: string, key = privateKey) =>
      new SignJWT({ jti: crypto.randomUUID() })
        .setProtectedHeader({ alg: 'ES256' })
        .setIssuer(keyId)
        .setSubject(keyId)
        .setAudience(audience)
        .setIssuedAt()
        .setExpirationTime('1m')
        .sign(key)
    return { assertion, jwks }
  }

  const proof = (client_assertion: string) => ({
    client_assertion,
    client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
  })

  test('gets tokens for an assertion, which works once', async () => {
    const { assertion } = await keyed()
    const request = client.ask({ id: ownId, secret: undefined })
    const form = client.codeForm(request, await client.code(request))
    expect(await seen(await client.token(form))).toBe('401 invalid_client')
    const signed = await assertion(server.url.origin)
    const response = await client.token({ ...form, ...proof(signed) })
    expect(response.status).toBe(200)
    const { refresh_token } = (await response.json()) as Tokens
    const refresh = client.refreshForm({ id: ownId, secret: undefined }, refresh_token)
    expect(await seen(await client.token({ ...refresh, ...proof(signed) }))).toBe('401 invalid_client')
    const foreign = await generateKeyPair('ES256')
    const forged = await assertion(server.url.origin, foreign.privateKey)
    expect(await seen(await client.token({ ...refresh, ...proof(forged) }))).toBe('401 invalid_client')
    const elsewhere = await assertion('https://other.example')
    expect(await seen(await client.token({ ...refresh, ...proof(elsewhere) }))).toBe('401 invalid_client')
    expect(await seen(await client.token({ ...refresh, ...proof(await assertion(server.url.origin)) }))).toBe(
      '200 granted',
    )
  })

  test('gets the same tokens when it refreshes twice at once, and none for an assertion that was used', async () => {
    const { assertion } = await keyed()
    const self = { id: ownId, secret: undefined }
    const request = client.ask(self)
    const prove = async () => proof(await assertion(server.url.origin))
    const first = await client.token({ ...client.codeForm(request, await client.code(request)), ...(await prove()) })
    const refresh = client.refreshForm(self, ((await first.json()) as Tokens).refresh_token)
    const parts = [await prove(), await prove()].map((each) => client.token({ ...refresh, ...each }))
    const [one, other] = await Promise.all(parts.map(async (part) => (await (await part).json()) as Tokens))
    expect(other?.refresh_token).toBe(one?.refresh_token)
    expect(await client.call(String(other?.access_token))).toContain('"subject":"github.1815"')
    const used = await prove()
    expect(await seen(await client.token({ ...refresh, ...used }))).toBe('200 granted')
    expect(await seen(await client.token({ ...refresh, ...used }))).toBe('401 invalid_client')
    const { client_assertion_type } = used
    const unproven: Record<string, string>[] = [{}, { ...used, client_assertion: '' }, { client_assertion_type }]
    for (const each of unproven) {
      expect(await seen(await client.token({ ...refresh, ...each }))).toMatch(/^40[01] invalid_/)
    }
    const next = client.refreshForm(self, String(one?.refresh_token))
    expect(await seen(await client.token({ ...next, ...(await prove()) }))).toBe('200 granted')
  })

  test('never gets the tokens of another client that refreshed', async () => {
    const { assertion } = await keyed()
    const other = await keyed(undefined, 'https://app.example/other-keyed.json')
    const request = client.ask({ id: ownId, secret: undefined })
    const prove = async () => proof(await assertion(server.url.origin))
    const first = await client.token({ ...client.codeForm(request, await client.code(request)), ...(await prove()) })
    // The assertion names the client, so the form need not.
    const refresh = { grant_type: 'refresh_token', refresh_token: ((await first.json()) as Tokens).refresh_token }
    expect(await seen(await client.token({ ...refresh, ...(await prove()) }))).toBe('200 granted')
    const foreign = proof(await other.assertion(server.url.origin))
    expect(await seen(await client.token({ ...refresh, ...foreign }))).toBe('400 invalid_grant')
    expect(await seen(await client.token({ ...refresh, ...(await prove()) }))).toBe('200 granted')
  })

  test('has keys that are read once, whatever its requests are signed with', async () => {
    const [jwksUri, self] = ['https://app.example/own-keys.json', { id: ownId, secret: undefined }]
    const { assertion, jwks } = await keyed(jwksUri)
    documents.set(jwksUri, () => Response.json(jwks))
    const prove = async (key?: CryptoKey) => proof(await assertion(server.url.origin, key))
    const { privateKey: foreign } = await generateKeyPair('ES256')
    const request = client.ask(self)
    let form = client.codeForm(request, await client.code(request))
    for (let times = 0; times < 3; times++) {
      expect(await seen(await client.token({ ...form, ...(await prove(foreign)) }))).toBe('401 invalid_client')
      const response = await client.token({ ...form, ...(await prove()) })
      form = client.refreshForm(self, ((await response.json()) as Tokens).refresh_token)
    }
    expect(asked.filter((url) => url === jwksUri)).toHaveLength(1)
  })

  test('has keys that are read again after those of 31 invented clients', async () => {
    const refused = async (id: string) => {
      const { assertion, jwks } = await keyed(`${id}/keys`, id)
      documents.set(`${id}/keys`, () => Response.json(jwks))
      const form = {
        grant_type: 'refresh_token',
        refresh_token: 'a.b:c:d',
        ...proof(await assertion(server.url.origin)),
      }
      return seen(await client.token(form))
    }
    const readsOf = (id: string) => asked.filter((url) => url === `${id}/keys`).length
    const own = 'https://app.example/kept'
    for (let times = 0; times < 2; times++) expect(await refused(own)).toMatch(/^40[01]/)
    const before = readsOf(own)
    // The library would keep the keys of each for five minutes, whatever memory they take.
    for (let index = 0; index < 31; index++) {
      const invented = `https://app.example/invented-${index}`
      expect(await refused(invented)).toMatch(/^40[01]/)
      expect(readsOf(invented)).toBe(1)
    }
    await refused(own)
    expect(readsOf(own)).toBeGreaterThan(before)
  })

  test('is answered with 503 while its keys cannot be read, and gets tokens afterwards', async () => {
    const jwksUri = 'https://app.example/keys.json'
    const { assertion, jwks } = await keyed(jwksUri)
    const request = client.ask({ id: ownId, secret: undefined })
    const form = {
      ...client.codeForm(request, await client.code(request)),
      ...proof(await assertion(server.url.origin)),
    }
    documents.set(jwksUri, () => new Response('Overloaded', { status: 503 }))
    expect(await seen(await client.token(form))).toBe('503 temporarily_unavailable')
    documents.delete(jwksUri)
    expect(await seen(await client.token(form))).toBe('401 invalid_client')
    documents.set(jwksUri, () => Response.json(jwks))
    expect(await seen(await client.token(form))).toBe('200 granted')
  })
})

test.each<{ what: string; document: () => Response; answer?: string }>([
  { what: 'of another client', document: () => Response.json({ ...app, client_id: 'https://app.example/other.json' }) },
  { what: 'without a name', document: () => Response.json({ ...app, client_name: undefined }) },
  { what: 'without redirect URIs', document: () => Response.json({ ...app, redirect_uris: [] }) },
  { what: 'with a script as redirect URI', document: () => Response.json({ ...app, redirect_uris: ['javascript:1'] }) },
  { what: 'with a secret', document: () => Response.json({ ...app, client_secret: 'hush' }) },
  {
    what: 'of 6 KiB',
    document: () => Response.json({ ...app, client_uri: `https://app.example/${'x'.repeat(6000)}` }),
  },
  { what: 'that is a page', document: () => new Response('<!doctype html>') },
  { what: 'that is a list', document: () => Response.json([app]) },
  { what: 'that is gone', document: () => new Response('{}', { status: 410 }) },
  {
    what: 'that fails',
    document: () => Response.json(app, { status: 500 }),
    answer: '503 temporarily_unavailable',
  },
])('a document $what is refused', async ({ document, answer = '401 invalid_client' }) => {
  const { tokens } = await signIn()
  documents.set(id, document)
  const { url } = client.ask(self)
  expect(await seen(await fetch(url, { redirect: 'manual' }))).toBe('400 page: This server cannot verify the app.')
  expect(await seen(await client.token(client.refreshForm(self, tokens.refresh_token)))).toBe(answer)
})

test.each([
  'https://app.invalid/client.json',
  'https://127.0.0.1/client.json',
  'https://169.254.169.254/latest/meta-data',
  'https://localhost/client.json',
])('%s, which cannot be read, is refused', async (id) => {
  const { url } = client.ask({ id, secret: undefined })
  expect(await seen(await fetch(url, { redirect: 'manual' }))).toBe('400 page: This server cannot verify the app.')
  const form = { grant_type: 'refresh_token', refresh_token: 'a:b:c', client_id: id }
  expect(await seen(await client.token(form))).toBe('503 temporarily_unavailable')
})

test.each([
  'http://app.invalid/client.json',
  'https://app.invalid',
  'https://app.invalid/a/../client.json',
  'https://user@app.invalid/client.json',
  'https://app.invalid/client.json#x',
  'ftp://app.invalid/client.json',
])('%s is no such URL', async (id) => {
  const { url } = client.ask({ id, secret: undefined })
  expect(await seen(await fetch(url, { redirect: 'manual' }))).toMatch(
    /^400 page: (?:Your app is not registered .*|This server cannot verify the app\.)$/,
  )
})

test('an app that lets its document wait gets no access that has ended meanwhile', async () => {
  const operate = async (what: string) => {
    const body = JSON.stringify({ issuer: client.server.origin, subject: 'github.1815' })
    return (await fetch(client.at(`/operator?do=${what}`), { method: 'POST', body })).json()
  }
  await signIn()
  const browser = new Browser()
  const again = client.ask(self)
  const form = formOf(await (await browser.visit(again.url)).text(), { decision: 'github' })
  const toProvider = (await browser.visit(client.at('/authorize'), form)).headers.get('Location') ?? ''
  const back = (await browser.visit(new URL(toProvider))).headers.get('Location') ?? ''
  const [arrived, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  documents.set(id, async () => {
    arrived.resolve()
    await released.promise
    return Response.json(app)
  })
  const callback = browser.visit(new URL(back))
  await arrived.promise
  documents.set(id, () => Response.json(app))
  expect(await operate('signOut')).toBeGreaterThan(0)
  released.resolve()
  const location = new URL((await callback).headers.get('Location') ?? '')
  expect([location.pathname, location.searchParams.get('prompt')]).toEqual(['/authorize', 'consent'])
  expect(await operate('grants')).toEqual([])
})
