import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { extractWWWAuthenticateParams } from '@modelcontextprotocol/sdk/client/auth.js'
import { decodeJwt } from 'jose'
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import {
  type AuthorizationServer,
  type AuthorizationServerOptions,
  newKey,
  startAuthorizationServer,
} from '../../examples/protected/auth-server/authorization-server.ts'
import { freePort } from '../support/free-port.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { hear, Journal } from './flow/journal.ts'
import { Person } from './flow/person.ts'
import { askAgain, first, type Published, published } from './flow/programs.ts'
import { expiringAt } from './flow/signing.ts'
import { Wallet } from './flow/wallet.ts'

const key = await newKey()
const welcome = expect.stringContaining('Reading requires the scope notes:read')

/** What a person's browser asks of the authorization server, from the client to the client. */
const consented = ['GET /auth 303', 'GET /interaction/… 303', 'GET /auth/… 303']

describe('with an authorization server that signs in every user as ada', () => {
  let issuer: AuthorizationServer
  let server: TestServer
  let origin: string
  let audience: string
  let journal: Journal
  let everybody: ReturnType<typeof hear>

  beforeAll(async () => {
    issuer = await startAuthorizationServer({
      autoApprove: 'ada',
      key,
      fetch: describeClient,
      resource: () => audience,
    })
    everybody = hear(issuer.issuer)
    server = await startServer('examples/protected', { ISSUER: issuer.issuer })
    origin = server.url.origin
    audience = server.url.href
  })
  afterAll(async () => {
    everybody[Symbol.dispose]()
    await server[Symbol.asyncDispose]()
    await issuer[Symbol.asyncDispose]()
  })
  beforeEach(() => {
    journal = new Journal()
  })

  const fromIssuer = () => journal.take(issuer.issuer)
  const fromServer = () => journal.take(origin)

  /** A client that was let in to read. */
  async function letIn({ start }: Published, wallet = new Wallet(), person = new Person(journal.fetch)) {
    const program = start(server.url, wallet, journal)
    await expect(program.connect()).rejects.toThrow('Unauthorized')
    await program.finish(await person.goTo(wallet.sentTo as URL))
    await program.connect()
    return { program, wallet, person }
  }

  const withoutRefresh = (wallet: Wallet) => {
    wallet.clientMetadata.grant_types = ['authorization_code']
    return wallet
  }

  describe.each(published)('$name', (client) => {
    test('signs in after a 401, requests another scope to write, and refreshes an expired token', async () => {
      const wallet = new Wallet()
      const person = new Person(journal.fetch)
      const program = client.start(server.url, wallet, journal)

      // It knows nothing but an address.
      await expect(program.connect()).rejects.toThrow('Unauthorized')
      const bare = fromServer()
      expect(bare.lines).toEqual([`POST /mcp ${client.opens} 401`, 'GET /.well-known/oauth-protected-resource/mcp 200'])
      expect(bare.entries[0]?.challenge).toBe(
        `Bearer resource_metadata="${origin}/.well-known/oauth-protected-resource/mcp", scope="notes:read"`,
      )
      const registered = fromIssuer()
      expect(registered.lines).toEqual(['GET /.well-known/oauth-authorization-server 200', 'POST /reg 201'])
      const asked = wallet.sentTo as URL
      expect(Object.fromEntries(asked.searchParams)).toEqual({
        response_type: 'code',
        client_id: wallet.client?.client_id,
        code_challenge: expect.stringMatching(/^[\w-]{43}$/),
        code_challenge_method: 'S256',
        redirect_uri: wallet.redirectUrl,
        scope: 'notes:read',
        resource: audience,
      })

      // Its user lets it in.
      await program.finish(await person.goTo(asked))
      const redeemed = fromIssuer()
      expect(redeemed.lines).toEqual([...consented, 'POST /token authorization_code 200'])
      expect(redeemed.entries.at(-1)?.body).toMatchObject({
        code_verifier: expect.stringMatching(/^.{43,}$/),
        resource: audience,
      })
      expect(decodeJwt(wallet.held?.access_token as string)).toMatchObject({
        iss: issuer.issuer,
        sub: 'ada',
        aud: audience,
        scope: 'notes:read',
        client_id: wallet.client?.client_id,
      })

      // It reads.
      await program.connect()
      expect(await program.call('whoami')).toBe('ada, who may notes:read')
      expect(await program.call('read_note', { id: 'welcome' })).toEqual(welcome)
      const read = fromServer()
      expect(new Set(read.entries.map(({ status }) => status))).toEqual(new Set(client.session ? [200, 202] : [200]))
      expect(new Set(read.entries.map(({ bearer }) => bearer))).toEqual(new Set([wallet.held?.access_token]))
      expect(fromIssuer().lines).toEqual([])

      // It wants to write, which takes more than it was given.
      const refused = program.call('write_note', { id: 'ada', text: client.name })
      const held = wallet.held?.access_token
      if (client.stepsUp === 'by itself') {
        await expect(refused).rejects.toThrow('Unauthorized')
        const { lines, entries } = fromServer()
        expect(lines).toEqual(['POST /mcp tools/call 403'])
        expect(entries[0]?.challenge).toBe(challengeToWrite(origin))
        expect(fromIssuer().lines).toEqual([])
      } else {
        // It exchanges its refresh token first, which can give no more than there was, and then gives up.
        await expect(refused).rejects.toMatchObject({ code: 403, message: expect.stringContaining('upscoping') })
        const { lines, entries } = fromServer()
        expect(lines).toEqual(['POST /mcp tools/call 403', 'POST /mcp tools/call 403'])
        expect(fromIssuer().lines).toEqual(['POST /token refresh_token 200'])
        // Whoever uses it forgets its tokens, and has it ask for what the challenge names.
        const headers = { 'WWW-Authenticate': entries[1]?.challenge as string }
        const { scope } = extractWWWAuthenticateParams(new Response(null, { headers }))
        wallet.invalidateCredentials('tokens')
        expect(await askAgain(server.url, wallet, scope as string, journal)).toBe('REDIRECT')
      }
      const more = wallet.sentTo as URL
      expect(more.searchParams.get('scope')).toBe('notes:read notes:write')
      expect(more.searchParams.get('resource')).toBe(audience)
      await program.finish(await person.goTo(more))
      expect(fromIssuer().lines).toEqual([...consented, 'POST /token authorization_code 200'])
      expect(wallet.held?.access_token).not.toBe(held)
      // On the connection that there is: a session belongs to the person, not to the token.
      expect(await program.call('write_note', { id: 'ada', text: client.name })).toBe('Wrote ada.')
      expect(await program.call('read_note', { id: 'ada' })).toBe(client.name)
      expect(fromServer().lines).toEqual(['POST /mcp tools/call 200', 'POST /mcp tools/call 200'])

      // Time goes by.
      await expire(wallet)
      expect(await program.call('whoami')).toBe('ada, who may notes:read notes:write')
      const renewed = fromServer()
      expect(renewed.lines).toEqual(['POST /mcp tools/call 401', 'POST /mcp tools/call 200'])
      expect(renewed.entries[0]?.challenge).toContain(
        'error="invalid_token", error_description="The token has expired"',
      )
      expect(renewed.entries[1]?.bearer).toBe(wallet.held?.access_token)
      const refreshed = fromIssuer()
      expect(refreshed.lines).toEqual(['POST /token refresh_token 200'])
      expect(refreshed.entries[0]?.body).toMatchObject({ resource: audience, client_id: wallet.client?.client_id })
      await program.close()
    })

    test('whose refresh token is invalid signs in again', async () => {
      const { program, wallet, person } = await letIn(client)
      await expire(wallet)
      wallet.held = { ...wallet.held, refresh_token: 'gone' } as NonNullable<Wallet['held']>
      fromIssuer()
      // One of the clients says so.
      const warned = vi.spyOn(console, 'warn').mockReturnValue()
      await expect(program.call('whoami')).rejects.toThrow('Unauthorized')
      warned.mockRestore()
      expect(fromIssuer().lines).toEqual([expect.stringMatching('^POST /token refresh_token 400')])
      await program.finish(await person.goTo(wallet.sentTo as URL))
      expect(await program.call('whoami')).toBe('ada, who may notes:read')
      await program.close()
    })

    test('without a refresh token signs in again for another scope', async () => {
      const { program, wallet, person } = await letIn(client, withoutRefresh(new Wallet()))
      expect(wallet.held?.refresh_token).toBeUndefined()
      await expect(program.call('write_note', { id: 'x', text: 'x' })).rejects.toThrow('Unauthorized')
      await program.finish(await person.goTo(wallet.sentTo as URL))
      expect(await program.call('write_note', { id: 'x', text: 'x' })).toBe('Wrote x.')
      await program.close()
    })

    test('uses the URL of its client metadata document as its client id', async () => {
      const { program, wallet } = await letIn(client, new Wallet(clientUrl))
      expect(fromIssuer().lines).toEqual([
        'GET /.well-known/oauth-authorization-server 200',
        ...consented,
        'POST /token authorization_code 200',
      ])
      expect(decodeJwt(wallet.held?.access_token as string).client_id).toBe(clientUrl)
      expect(await program.call('whoami')).toBe('ada, who may notes:read')
      await program.close()
    })
  })

  test.each(first)('$name signs in, calls a tool, and signs in again for another scope', async ({ start, opens }) => {
    const wallet = new Wallet()
    const person = new Person(journal.fetch)
    vi.stubGlobal('fetch', journal.fetch)
    try {
      const program = start(server.url, wallet, journal)
      await expect(program.connect()).rejects.toThrow('Unauthorized')
      expect(fromServer().lines).toEqual(opens)
      expect(wallet.sentTo?.searchParams.has('resource')).toBe(false)
      await program.finish(await person.goTo(wallet.sentTo as URL))
      await program.connect()
      expect(await program.call('whoami')).toBe('ada, who may notes:read')
      expect(await program.call('read_note', { id: 'welcome' })).toEqual(welcome)
      const posted = fromIssuer().lines.filter((line) => line.startsWith('POST'))
      expect(posted).toEqual(['POST /reg 201', 'POST /token authorization_code 200'])

      fromServer()
      await expire(wallet)
      expect(await program.call('whoami')).toBe('ada, who may notes:read')
      expect(fromServer().lines).toContainEqual(expect.stringMatching('^POST /(mcp|messages) tools/call 401$'))
      expect(fromIssuer().lines).toContain('POST /token refresh_token 200')
      await program.close()
    } finally {
      vi.unstubAllGlobals()
    }
  })

  test('the server fetches the keys of the issuer once for all callers', async () => {
    for (const client of published) await (await letIn(client)).program.close()
    expect(everybody.heard.filter((line) => line === 'GET /jwks')).toEqual(['GET /jwks'])
  })

  test('a token is accepted until it expires, and refused afterwards', async () => {
    const { program, wallet } = await letIn(published[0] as Published)
    // A server bears a difference of 30 seconds between clocks.
    const expires = Math.floor(Date.now() / 1000) - 30 + 6
    const token = await expire(wallet, expires)
    fromServer()
    await program.call('whoami')
    await new Promise((resolve) => setTimeout(resolve, (expires + 31) * 1000 - Date.now()))
    await program.call('whoami')
    expect(fromServer().lines).toEqual([
      'POST /mcp tools/call 200',
      'POST /mcp tools/call 401',
      'POST /mcp tools/call 200',
    ])
    expect(wallet.held?.access_token).not.toBe(token)
    await program.close()
  })
})

describe('with an authorization server that asks for consent', () => {
  const client = published[0] as Published

  async function ask(answer: 'yes' | 'no', options: AuthorizationServerOptions = {}) {
    const issuer = await startAuthorizationServer(options)
    const server = await startServer('examples/protected', { ISSUER: issuer.issuer })
    const wallet = new Wallet()
    const journal = new Journal()
    const person = new Person(journal.fetch, { person: 'grace', answer })
    const program = client.start(server.url, wallet, journal)
    await expect(program.connect()).rejects.toThrow('Unauthorized')
    const returned = await person.goTo(wallet.sentTo as URL)
    return {
      person,
      program,
      returned,
      wallet,
      async [Symbol.asyncDispose]() {
        await program.close()
        await server[Symbol.asyncDispose]()
        await issuer[Symbol.asyncDispose]()
      },
    }
  }

  test('a user who consents signs in with the name they enter', async () => {
    await using asked = await ask('yes')
    expect(asked.person.pages).toEqual([expect.stringMatching(/A client.*notes:read.*127\.0\.0\.1:9/s)])
    await asked.program.finish(asked.returned)
    await asked.program.connect()
    expect(await asked.program.call('whoami')).toBe('grace, who may notes:read')
  })

  test('a client whose user denies access gets no token and cannot connect', async () => {
    await using asked = await ask('no')
    await expect(asked.program.finish(asked.returned)).rejects.toMatchObject({ code: 'access_denied' })
    expect(asked.wallet.held).toBeUndefined()
    await expect(asked.program.connect()).rejects.toThrow('Unauthorized')
  })
})

test('npm start starts the server and its authorization server, and stops both', async () => {
  const port = await freePort(2)
  const [url, issuer] = [`http://127.0.0.1:${port}/mcp`, `http://127.0.0.1:${port + 1}`]
  const data = mkdtempSync(join(tmpdir(), 'edgemcp-protected-'))
  const command = ['scripts/start.ts', 'protected', '--port', String(port), '--data', data]
  const child = spawn(process.execPath, command, { stdio: ['ignore', 'pipe', 'inherit'] })
  try {
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
    expect((await lines.next()).value).toBe(`ready on ${url}`)
    expect((await lines.next()).value).toMatch(`inspector on ${new URL(url).origin}/?inspector=`)
    expect((await lines.next()).value).toBe(`authorization server on ${issuer}`)

    const [wallet, journal] = [new Wallet(), new Journal()]
    const program = (published[0] as Published).start(new URL(url), wallet, journal)
    await expect(program.connect()).rejects.toThrow('Unauthorized')
    const person = new Person(journal.fetch, { person: 'grace', answer: 'yes' })
    await program.finish(await person.goTo(wallet.sentTo as URL))
    await program.connect()
    expect(await program.call('whoami')).toBe('grace, who may notes:read')
    await program.close()

    child.kill('SIGTERM')
    expect(await once(child, 'close')).toEqual([0, null])
    for (const gone of [url, issuer]) await expect(fetch(gone)).rejects.toThrow()
  } finally {
    child.kill('SIGKILL')
    rmSync(data, { recursive: true, force: true })
  }
})

/** Puts in the place of a client's token the same one with an earlier end. A server bears 30 seconds of difference. */
async function expire(wallet: Wallet, at = Math.floor(Date.now() / 1000) - 31): Promise<string> {
  const held = wallet.held as NonNullable<Wallet['held']>
  const token = await expiringAt(at, held.access_token, key)
  wallet.held = { ...held, access_token: token }
  return token
}

const clientUrl = 'https://client.example.com/oauth.json'

/** The only part of the environment that the authorization server reaches. */
async function describeClient(url: string | URL | Request): Promise<Response> {
  if (String(url) !== clientUrl) throw new Error(`Nothing is at ${url}`)
  return Response.json({ client_id: clientUrl, application_type: 'native', ...new Wallet().clientMetadata })
}

const challengeToWrite = (origin: string) =>
  [
    `Bearer resource_metadata="${origin}/.well-known/oauth-protected-resource/mcp"`,
    'scope="notes:read notes:write"',
    'error="insufficient_scope"',
    'error_description="Requires the scopes notes:read notes:write"',
  ].join(', ')
