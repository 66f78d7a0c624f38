/** Subscriptions and tasks end with the access of their caller, without an option of the developer. */
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { connect } from '../../worker/testing/index.ts'
import { Browser } from '../../worker/testing/provider/browser.ts'
import { RawClient, type Registered, type Tokens } from '../sign-in/client.ts'
import { GitHub } from '../sign-in/github.ts'
import { type ControlledServer, startControlled } from '../support/objects.ts'
import { knowing, TaskClient, textOf } from '../tasks/client.ts'
import { Internet, Receiver } from './receivers.ts'

const internet = new Internet()
let server: ControlledServer
let gitHub: GitHub
let people: RawClient
/** The key of the issuer of an organization. */
let privateKey: Awaited<ReturnType<typeof generateKeyPair>>['privateKey']
beforeAll(async () => {
  const pair = await generateKeyPair('RS256')
  privateKey = pair.privateKey
  const jwks = { keys: [{ ...(await exportJWK(pair.publicKey)), kid: 'acme', alg: 'RS256', use: 'sig' }] }
  gitHub = await GitHub.start()
  server = await startControlled('test/events/lasting', { GITHUB: gitHub.url }, (request) => {
    if (request.url.startsWith(gitHub.url)) return undefined
    return request.url === 'https://acme.example/keys' ? Response.json(jwks) : internet.answer(request)
  })
  people = new RawClient(server.url)
})
beforeEach(() => {
  gitHub.account = { id: Math.floor(Math.random() * 1e9), login: 'ada', name: 'Ada Lovelace' }
})
afterAll(async () => {
  await server?.[Symbol.asyncDispose]()
  await gitHub?.[Symbol.asyncDispose]()
})

async function ask<T>(name: string, ...args: unknown[]): Promise<T> {
  const body = JSON.stringify({ name, args })
  return (await (await fetch(new URL('/do', server.url), { method: 'POST', body })).json()) as T
}

type Key = { readonly id: string; readonly key: string }
const both = ['notes:read', 'notes:write']
async function newKey(scopes: readonly string[] = both, options: object = {}, tenant?: string) {
  const owner = { subject: crypto.randomUUID(), ...(tenant !== undefined && { tenant }) }
  return { owner, ...(await ask<Key>('create', owner, { scopes, ...options })) }
}

/** Subscribes to an event. */
async function subscribed(token: string, name = 'saved') {
  const receiver = new Receiver(internet, crypto.randomUUID())
  await using client = await connect(server.url, { revision: '2025-11-25', token })
  const delivery = { mode: 'webhook', url: receiver.url, secret: receiver.secret }
  const params = { name, arguments: {}, delivery, ttlMs: null }
  const { id, refreshBefore } = (await client.request('events/subscribe', params)) as {
    id: string
    refreshBefore: string
  }
  const hours = Math.round((Date.parse(refreshBefore) - Date.now()) / 3_600_000)
  return {
    hours,
    /** Publishes an event, which reaches the receiver. */
    async receives() {
      const event = crypto.randomUUID()
      await ask('publish', name, event)
      // One that was published before may arrive later.
      await expect.poll(() => receiver.events.map(({ data }) => data), { timeout: 5_000 }).toContainEqual({ id: event })
    },
    /** Publishes an event, which ends the subscription and is not sent. Returns the reason. */
    async ends() {
      const count = receiver.events.length
      await ask('publish', name, crypto.randomUUID())
      const text = `The subscription ${id} to "${name}" has ended: `
      const reasons = () =>
        server.harness.getLogs().flatMap(({ message }) => message.split(text)[1]?.split('\n')[0] ?? [])
      await expect.poll(() => reasons().length, { timeout: 5_000 }).toBeGreaterThan(0)
      expect(receiver.events.length).toBe(count)
      return reasons()[0]
    },
  }
}

/** Begins a task that waits for input. Returns a function that answers, and returns the ended task. It takes another token of the same principal. */
async function waiting(token: string) {
  const sent = (text: string) => ({ capabilities: knowing, user: `Bearer ${text}` })
  const client = new TaskClient(server.url)
  const taskId = await client.begin('confirm', {}, sent(token))
  await client.until(taskId, 'input_required', sent(token))
  return async (status: 'completed' | 'failed', reader = token) => {
    const inputResponses = { sure: { action: 'accept', content: {} } }
    await client.result('tasks/update', { taskId, inputResponses }, sent(reader))
    return client.until(taskId, status, sent(reader))
  }
}

/** The same client signs in again. */
async function again({ id, secret }: Registered, browser = new Browser()) {
  const asked = people.ask({ id, secret })
  const form = people.codeForm(asked, await people.code(asked, browser))
  return (await (await people.token(form)).json()) as Tokens
}

const signOut = () => ask('signOut', { issuer: server.url.origin, subject: `github.${gitHub.account.id}` })

type SignedIn = Awaited<ReturnType<RawClient['signIn']>>

const refresh = ({ client, tokens }: Pick<SignedIn, 'client' | 'tokens'>) =>
  people.token(people.refreshForm(client, tokens.refresh_token))

const revoke = ({ id }: Registered, { refresh_token: token }: Tokens) => people.token({ token, client_id: id })

/** Refreshes while the user is somebody whom this server refuses. */
async function refuse(signedIn: SignedIn, change: Partial<GitHub['account']>): Promise<void> {
  const account = { ...gitHub.account }
  Object.assign(gitHub.account, change)
  await refresh(signedIn)
  Object.assign(gitHub.account, account)
}

/** All that ends the access of an app. */
const ends: readonly { readonly what: string; readonly end: (signedIn: SignedIn) => Promise<unknown> }[] = [
  { what: 'the operator signs the user out', end: signOut },
  {
    what: 'the user ends it at the account page',
    async end({ client }) {
      const browser = new Browser()
      await browser.open(people.at('/oauth/account'))
      await browser.visit(people.at('/oauth/account'), new URLSearchParams({ client: client.id }))
    },
  },
  {
    what: 'the client revokes its refresh token',
    end: ({ client, tokens }) => revoke(client, tokens),
  },
  {
    what: 'an old refresh token is sent again',
    async end({ client, tokens }) {
      const next = (await (await refresh({ client, tokens })).json()) as Tokens
      await refresh({ client, tokens: next })
      await people.token({ ...people.refreshForm(client, tokens.refresh_token), scope: 'notes:read' })
    },
  },
  { what: 'a code is sent twice', end: ({ asked, code }) => people.token(people.codeForm(asked, code)) },
  { what: 'allow refuses the user at a refresh', end: (signedIn) => refuse(signedIn, { login: 'banned' }) },
  { what: 'the user has another tenant at a refresh', end: (signedIn) => refuse(signedIn, { name: 'of acme' }) },
]

const refused = "reauthorize of the server's auth refused the caller who began it"

describe('of an API key', () => {
  test('last for maxTtl, and end once it is revoked, before the next attempt', async () => {
    const { key, id, owner } = await newKey()
    const one = await subscribed(key)
    expect(one.hours).toBe(7 * 24)
    await one.receives()
    await ask('revoke', owner, id)
    expect(await one.ends()).toContain(refused)
  })

  test('end once it was rotated and its grace is over; those of its successor go on', async () => {
    const { key, id, owner } = await newKey()
    const one = await subscribed(key)
    const { key: successor } = await ask<Key>('rotate', owner, id, { grace: 0 })
    const other = await subscribed(successor)
    await other.receives()
    expect(await one.ends()).toContain(refused)
  })

  test('are not ended by another key of its owner', async () => {
    const { owner, key } = await newKey()
    const other = await ask<Key>('create', owner, { scopes: both })
    const one = await subscribed(key)
    await ask('revoke', owner, other.id)
    await one.receives()
  })

  test('fail at the next step of a task, and a task of a valid key has the claims of its key', async () => {
    const { owner, key, id } = await newKey(both, { claims: { plan: 'pro' } })
    const other = await ask<Key>('create', owner, { scopes: both })
    const [goOn, stop] = [await waiting(other.key), await waiting(key)]
    const { claims, ...principal } = JSON.parse(String(textOf(await (await waiting(key))('completed'))))
    expect(principal).toMatchObject({ subject: owner.subject, scopes: both })
    expect(claims).toMatchObject({ plan: 'pro', jti: id })
    expect(JSON.stringify(claims)).not.toContain(key)
    await ask('revoke', owner, id)
    expect((await stop('failed', other.key)).error).toMatchObject({ message: `The task was stopped: ${refused}` })
    expect(await goOn('completed')).toBeDefined()
  })
})

describe('of a user who signed in', () => {
  test('last for maxTtl, and end once the user has signed out, before the next attempt', async () => {
    const { tokens } = await people.signIn(new Browser())
    const one = await subscribed(tokens.access_token, 'named')
    expect(one.hours).toBe(7 * 24)
    await one.receives()
    await signOut()
    expect(await one.ends()).toContain(refused)
  })

  test('end once the client has revoked its refresh token, and those of another client go on', async () => {
    const [one, two] = [await people.signIn(new Browser()), await people.signIn(new Browser())]
    const ended = await subscribed(one.tokens.access_token)
    const kept = await subscribed(two.tokens.access_token)
    await revoke(one.client, one.tokens)
    await kept.receives()
    expect(await ended.ends()).toContain(refused)
  })

  test('end when grantScopes gave fewer scopes at a refresh, if they need them, and do not get others', async () => {
    const { client, tokens } = await people.signIn(new Browser())
    const [reading, writing] = [await subscribed(tokens.access_token), await subscribed(tokens.access_token, 'written')]
    await writing.receives()
    const goOn = await waiting(tokens.access_token)
    gitHub.account.login = 'guest'
    const refreshed = await people.token(people.refreshForm(client, tokens.refresh_token))
    expect(await refreshed.json()).toMatchObject({ scope: 'notes:read' })
    expect(await writing.ends()).toContain('lacks a scope')
    await reading.receives()
    expect(JSON.parse(String(textOf(await goOn('completed'))))).toMatchObject({
      scopes: ['notes:read'],
      claims: { preferred_username: 'guest', name: 'Ada Lovelace' },
    })
  })

  test('have no more scopes than the token with which they began', async () => {
    const { client, tokens } = await people.signIn(new Browser())
    const form = { ...people.refreshForm(client, tokens.refresh_token), scope: 'notes:read' }
    const narrow = (await (await people.token(form)).json()) as { access_token: string; refresh_token: string }
    const goOn = await waiting(narrow.access_token)
    await people.token(people.refreshForm(client, narrow.refresh_token))
    expect(JSON.parse(String(textOf(await goOn('completed')))).scopes).toEqual(['notes:read'])
  })

  test('go on after a refresh with narrower scopes: it is the client that wants fewer', async () => {
    const { client, tokens } = await people.signIn(new Browser())
    const writing = await subscribed(tokens.access_token, 'written')
    await people.token({ ...people.refreshForm(client, tokens.refresh_token), scope: 'notes:read' })
    await writing.receives()
  })

  test('have the claims of the last refresh', async () => {
    const { client, tokens } = await people.signIn(new Browser())
    const one = await subscribed(tokens.access_token, 'named')
    await one.receives()
    gitHub.account.name = 'Ada Byron'
    await people.token(people.refreshForm(client, tokens.refresh_token))
    expect(await one.ends()).toContain('visibleTo')
  })

  test('go on when the client signs in again, and end with that grant, also if it does so once more', async () => {
    const { client, tokens } = await people.signIn(new Browser())
    const [goOn, one] = [await waiting(tokens.access_token), await subscribed(tokens.access_token)]
    const later = await again(client)
    await goOn('completed', later.access_token)
    await one.receives()
    await revoke(client, later)
    await again(client)
    expect(await one.ends()).toContain(refused)
  })

  test('end when the client signs in again for another tenant', async () => {
    gitHub.account.name = 'of acme'
    const { client, tokens } = await people.signIn(new Browser())
    const one = await subscribed(tokens.access_token)
    await one.receives()
    gitHub.account.name = 'of globex'
    await again(client)
    expect(await one.ends()).toContain(refused)
  })

  test.each(ends)('end when $what, also if the client signs in again', async ({ end }) => {
    const signedIn = await people.signIn(new Browser())
    const { client, tokens } = signedIn
    const one = await subscribed(tokens.access_token)
    const fails = await waiting(tokens.access_token)
    await end(signedIn)
    expect((await refresh(signedIn)).status).toBe(400)
    const later = await again(client)
    expect((await fails('failed', later.access_token)).error).toMatchObject({
      message: `The task was stopped: ${refused}`,
    })
    expect(await one.ends()).toContain(refused)
  })

  test('end with the grant that the client revokes. Another one of it, and the approval, go on', async () => {
    const browser = new Browser()
    const { client, tokens } = await people.signIn(browser)
    browser.pages.length = 0
    const other = await again(client, browser)
    const [ended, kept] = [await subscribed(tokens.access_token), await subscribed(other.access_token)]
    await revoke(client, tokens)
    expect(await ended.ends()).toContain(refused)
    await kept.receives()
    expect((await refresh({ client, tokens: other })).status).toBe(200)
    await again(client, browser)
    // Signed in twice, without a consent page.
    expect(browser.pages).toEqual([])
  })

  test('go on with the grant that is valid when another one of the client is revoked', async () => {
    const { client, tokens } = await people.signIn(new Browser())
    const one = await subscribed(tokens.access_token)
    const browser = new Browser()
    // With a consent page: it takes the place of the first grant. The other one has none.
    const [second, third] = [await again(client, browser), await again(client, browser)]
    await revoke(client, second)
    await one.receives()
    await revoke(client, third)
    await again(client)
    expect(await one.ends()).toContain(refused)
  })

  test('end when all grants of the client are revoked at the same time', async () => {
    const { client, tokens } = await people.signIn(new Browser())
    const one = await subscribed(tokens.access_token)
    const browser = new Browser()
    const valid = [await again(client, browser), await again(client, browser)]
    await Promise.all(valid.map((grant) => revoke(client, grant)))
    await again(client)
    expect(await one.ends()).toContain(refused)
  })

  test('of one tenant go on when another tenant refuses the user', async () => {
    const browser = new Browser()
    gitHub.account.name = 'of acme'
    const { client, tokens } = await people.signIn(browser)
    const one = await subscribed(tokens.access_token)
    gitHub.account.name = 'of globex'
    const other = await again(client, browser)
    gitHub.account.name = 'of acme'
    await again(client, browser)
    await one.receives()
    // The user has left globex.
    expect((await refresh({ client, tokens: other })).status).toBe(400)
    await one.receives()
  })

  test('end at a revocation that runs beside a refresh, and go on when a sign-in takes the place of the grant', async () => {
    const { client, tokens } = await people.signIn(new Browser())
    const [ended, other] = [await subscribed(tokens.access_token), await people.signIn(new Browser())]
    await Promise.all([refresh({ client, tokens }), revoke(client, tokens)])
    await again(client)
    expect(await ended.ends()).toContain(refused)
    const kept = await subscribed(other.tokens.access_token)
    await Promise.all([refresh(other), again(other.client)])
    await kept.receives()
  })
})

describe('of a client of an organization', () => {
  afterAll(() => server.reload({ DEPLOYED: '' }))
  let laterMs = 0
  const credentials = { Authorization: `Basic ${btoa('desktop:a%20secret')}` }
  async function issued(): Promise<string> {
    const now = Math.floor((Date.now() + laterMs) / 1000)
    const claims = {
      iss: 'https://acme.example',
      sub: `ada-${gitHub.account.id}`,
      aud: server.url.origin,
      resource: server.url.href,
      client_id: 'desktop',
      jti: crypto.randomUUID(),
      iat: now,
      exp: now + 200,
      scope: both.join(' '),
    }
    const header = { alg: 'RS256', typ: 'oauth-id-jag+jwt', kid: 'acme' }
    const assertion = await new SignJWT(claims).setProtectedHeader(header).sign(privateKey)
    const form = { grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer', assertion }
    const response = await people.token(form, credentials)
    expect(response.status).toBe(200)
    return ((await response.json()) as Tokens).access_token
  }

  test('end when the client revokes its token. What another token of it began goes on', async () => {
    const [token, other] = [await issued(), await issued()]
    const [ended, kept] = [await subscribed(token), await subscribed(other)]
    await ended.receives()
    expect((await people.token({ token }, credentials)).status).toBe(200)
    await expect(subscribed(token)).rejects.toThrow('The token is not valid')
    expect(await ended.ends()).toContain(refused)
    await kept.receives()
  })

  test.each([
    { when: 'at once', ms: 0 },
    { when: 'once the token would have expired', ms: 70 * 60_000 },
  ])('end when the client revokes its token, also if it gets another one $when', async ({ ms }) => {
    const token = await issued()
    const fails = await waiting(token)
    await people.token({ token }, credentials)
    if (ms > 0) await server.advance(ms)
    laterMs += ms
    expect((await fails('failed', await issued())).error).toMatchObject({
      message: `The task was stopped: ${refused}`,
    })
  })

  test('go on with the next token once theirs has expired', async () => {
    const goOn = await waiting(await issued())
    await server.advance(70 * 60_000)
    laterMs += 70 * 60_000
    await goOn('completed', await issued())
  })
})

describe('after a deployment', () => {
  afterEach(() => server.reload({ DEPLOYED: '' }))

  test('end when it needs another scope, and when no auth has their issuer', async () => {
    const key = await subscribed((await newKey()).key)
    const user = await subscribed((await people.signIn(new Browser())).tokens.access_token)
    const other = await subscribed('third_')
    await server.reload({ DEPLOYED: 'strict' })
    expect(await key.ends()).toContain('Requires the scopes base')
    expect(await user.ends()).toContain('no longer has reauthorize')
    expect(await other.ends()).toContain('does not accept callers of the issuer "https://old.example"')
  })

  test('end when it accepts another tenant only. The option reauthorize takes scopes away, and adds none', async () => {
    const plain = await subscribed((await newKey()).key)
    const { key } = await newKey(['notes:read', 'other'], {}, 'acme')
    const [goOn, ofTenant] = [await waiting(key), await subscribed(key)]
    await server.reload({ DEPLOYED: 'tenant' })
    await ofTenant.receives()
    expect(await plain.ends()).toContain('The token has no claim "tenant"')
    expect(JSON.parse(String(textOf(await goOn('completed')))).scopes).toEqual(['notes:read'])
  })
})

test('of keys and grants end when these expire', async () => {
  const { key } = await newKey(both, { expiresIn: '1h' })
  const { tokens } = await people.signIn(new Browser())
  const [ofKey, ofGrant] = [await subscribed(key), await subscribed(tokens.access_token)]
  await server.advance(4 * 3_600_000)
  expect(await ofKey.ends()).toContain(refused)
  expect(await ofGrant.ends()).toContain(refused)
})

test('end when the end of access is no longer remembered, also if the client signs in again', async () => {
  await server.reload({ DEPLOYED: 'forgetting' })
  const { client, tokens } = await people.signIn(new Browser())
  const [one, fails] = [await subscribed(tokens.access_token), await waiting(tokens.access_token)]
  await signOut()
  await server.advance(4 * 3_600_000)
  const later = await again(client)
  expect((await fails('failed', later.access_token)).error).toMatchObject({
    message: `The task was stopped: ${refused}`,
  })
  expect(await one.ends()).toContain(refused)
})
