/** `examples/oauth-provider`: an MCP server behind `@cloudflare/workers-oauth-provider`, in one Worker. */
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { connect, type TestClient } from '../../worker/testing/index.ts'
import type { RunningServer } from '../../worker/testing/node/index.ts'
import { Journal } from './flow/journal.ts'
import { type Published, published } from './flow/programs.ts'
import { Wallet } from './flow/wallet.ts'
import { type SentryServer, startSentry } from './provider/sentry.ts'
import { startProvider } from './provider/start.ts'
import { User } from './provider/user.ts'

const app = 'https://app.example.com'

let sentry: SentryServer
let server: RunningServer
beforeAll(async () => {
  sentry = await startSentry()
  server = await startProvider({ APP: app, SENTRY_DSN: sentry.dsn })
})
afterAll(async () => {
  await server?.[Symbol.asyncDispose]()
  await sentry?.[Symbol.asyncDispose]()
})

/** A published client whose user has signed in. */
async function signedIn({ start }: Published, user: User, journal = new Journal()) {
  const wallet = new Wallet()
  const program = start(server.url, wallet, journal)
  await expect(program.connect()).rejects.toThrow('Unauthorized')
  await program.finish(await user.authorize(wallet.sentTo as URL))
  await program.connect()
  return { program, wallet, journal }
}

describe.each(published)('$name', (client) => {
  test('signs in after a 401, calls a tool with the API token of its user, and refreshes an expired token', async () => {
    const user = new User('ada')
    const { program, wallet, journal } = await signedIn(client, user)
    expect(user.pages[0]).toContain('<li>projects:read</li>')
    expect(await program.call('list_projects')).toContain('rocket')
    const { lines } = journal.take(server.url.origin)
    expect(lines).toEqual(
      expect.arrayContaining(['POST /oauth/register 201', 'POST /oauth/token authorization_code 200']),
    )
    expect(lines[0]).toBe(`POST /mcp ${client.opens} 401`)

    wallet.held = { ...wallet.held, access_token: 'expired', token_type: 'bearer' }
    expect(await program.call('whoami')).toBe('ada in the account acme')
    expect(journal.take(server.url.origin).lines).toContain('POST /oauth/token refresh_token 200')
    await program.close()
  })

  test('receives an error when its user denies access', async () => {
    const wallet = new Wallet()
    const program = client.start(server.url, wallet, new Journal())
    await expect(program.connect()).rejects.toThrow('Unauthorized')
    const returned = await new User('ada', 'deny').authorize(wallet.sentTo as URL)
    expect(returned.get('error')).toBe('access_denied')
    expect(returned.has('code')).toBe(false)
  })
})

/** Returns an access token for these scopes, as a client gets it from the authorize page. */
async function tokenOf(user: string, scope: string): Promise<string> {
  const redirectUri = 'http://127.0.0.1:9/callback'
  const { registration_endpoint, authorization_endpoint, token_endpoint } = await metadata('oauth-authorization-server')
  const registered = await fetch(String(registration_endpoint), {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ redirect_uris: [redirectUri], client_name: 'A client', token_endpoint_auth_method: 'none' }),
  })
  const { client_id: clientId } = (await registered.json()) as { client_id: string }
  const verifier = 'v'.repeat(43)
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier))
  const url = new URL(String(authorization_endpoint))
  url.search = `${new URLSearchParams({
    response_type: 'code',
    client_id: clientId,
    redirect_uri: redirectUri,
    scope,
    code_challenge: Buffer.from(digest).toString('base64url'),
    code_challenge_method: 'S256',
  })}`
  const code = String((await new User(user).authorize(url)).get('code'))
  const granted = await fetch(String(token_endpoint), {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'authorization_code',
      code,
      client_id: clientId,
      redirect_uri: redirectUri,
      code_verifier: verifier,
    }),
  })
  return ((await granted.json()) as { access_token: string }).access_token
}

async function metadata(name: string): Promise<Record<string, unknown>> {
  return (await (await fetch(new URL(`/.well-known/${name}`, server.url))).json()) as Record<string, unknown>
}

test('publishes its metadata, for the whole origin', async () => {
  const { origin } = server.url
  expect(await metadata('oauth-protected-resource')).toMatchObject({
    resource: origin,
    authorization_servers: [origin],
    scopes_supported: ['projects:read'],
  })
  expect(await metadata('oauth-authorization-server')).toMatchObject({
    issuer: origin,
    scopes_supported: ['projects:read', 'projects:write'],
  })
})

const eras = [
  ['2026-07-28', false],
  ['2025-11-25', false],
  ['2025-06-18', false],
  ['2024-11-05', true],
] as const

const contentOf = ({ content }: { content?: unknown }) => (content as { text: string }[])[0]?.text ?? ''

describe.each(eras)('a client of %s (HTTP+SSE: %s)', (revision, sse) => {
  const everything = 'projects:read projects:write'

  /** Connects a client that sends the header `cf-account-id`, as far as an account is given. */
  async function connected(scope: string, account?: string): Promise<TestClient> {
    return connect(server, {
      revision,
      sse,
      token: await tokenOf('ada', scope),
      headers: account === undefined ? {} : { 'cf-account-id': account },
      answers: { elicit: () => ({ action: 'accept', content: { sure: true } }) },
    })
  }

  test('works in the account of the header cf-account-id', async () => {
    await using client = await connected(everything, 'analytical')
    expect(client.initializeResult.instructions).toBe('All tools work in the account analytical.')
    expect(contentOf(await client.callTool('whoami'))).toBe('ada in the account analytical')
    expect(contentOf(await client.callTool('list_projects'))).toBe('engine')
  })

  test('is rejected for an account of others', async () => {
    await expect(connected(everything, 'foreign')).rejects.toThrow('No access to the account "foreign"')
  })

  test.skipIf(revision === '2024-11-05')('deletes after asking, with the API token of its user', async () => {
    await using client = await connected(everything)
    const name = `of ${revision}`
    expect(contentOf(await client.callTool('delete_project', { name }))).toBe(`Deleted ${name}.`)
  })

  test('sees delete_project without projects:write, and is told which scopes to request', async () => {
    await using client = await connected('projects:read')
    const { tools } = (await client.request('tools/list')) as unknown as { tools: { name: string }[] }
    expect(tools.map(({ name }) => name)).toEqual(['whoami', 'list_projects', 'delete_project'])
    await expect(client.callTool('delete_project', { name: 'rocket' })).rejects.toThrow(/projects:write/)
  })

  test('reads an error id, and Sentry receives the error once', async () => {
    await using client = await connected(everything, 'offline')
    const before = sentry.events.length
    const result = await client.callTool('list_projects')
    expect(result).toMatchObject({ isError: true })
    const errorId = /^The tool "list_projects" failed \(error id (\w+)\)$/.exec(contentOf(result))?.[1]
    expect(errorId).toBeDefined()
    await vi.waitFor(() => expect(sentry.events.length).toBeGreaterThan(before), { timeout: 30_000 })
    expect(sentry.events.slice(before)).toMatchObject([
      {
        exception: { values: [{ type: 'Error', value: expect.stringMatching(/^API status 500, request /) }] },
        tags: { method: 'tools/call', entry: 'list_projects', errorId },
        user: { id: 'ada' },
      },
    ])
  })

  test('leaves one event for a call, without its API token', async () => {
    server.harness.clearLogs()
    await using client = await connected(everything)
    await client.callTool('list_projects')
    const logs = () => server.harness.getLogs().map(({ message }) => message)
    const events = () => logs().filter((line) => line.includes('"name":"list_projects"'))
    await expect.poll(events).toHaveLength(1)
    expect(JSON.parse(String(events()[0]))).toMatchObject({
      mcp: { outcome: { type: 'answered' }, revision, principal: { subject: 'ada', issuer: server.url.origin } },
    })
    expect(logs().join()).not.toContain('token-of-ada')
  })
})

describe.each(['/mcp/anything', '/mcp/mcp', '/mcp//mcp', '/mcp/..%2fmcp', '/sse/x', '/messages/x'])(
  'the path %s, which the provider counts among its API,',
  (path) => {
    const send = async (method: string, headers: Record<string, string> = {}) => {
      const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'whoami', arguments: {} } }
      const token = await tokenOf('ada', 'projects:read')
      return fetch(new URL(path, server.url), {
        method,
        headers: {
          Authorization: `Bearer ${token}`,
          Accept: 'application/json, text/event-stream',
          'Content-Type': 'application/json',
          'MCP-Protocol-Version': '2025-11-25',
          ...headers,
        },
        ...(method === 'POST' && { body: JSON.stringify(message) }),
      })
    }

    test.each(['POST', 'GET', 'DELETE', 'PUT'])('is not found with a valid token: %s', async (method) => {
      const response = await send(method)
      expect([response.status, await response.text()]).toEqual([404, 'Not found. The MCP endpoint is /mcp\n'])
    })

    test('is rejected for a page of another origin with a valid token', async () => {
      const response = await send('POST', { Origin: 'https://elsewhere.example.com' })
      await response.body?.cancel()
      expect(response.status).toBe(403)
    })

    test('needs a token', async () => {
      expect((await fetch(new URL(path, server.url))).status).toBe(401)
    })
  },
)

describe('a page', () => {
  const preflight = (path: string, origin: string) =>
    fetch(new URL(path, server.url), {
      method: 'OPTIONS',
      headers: {
        Origin: origin,
        'Access-Control-Request-Method': 'POST',
        'Access-Control-Request-Headers': 'authorization,content-type,cf-account-id',
      },
    })

  test.each(['/mcp', '/sse', '/messages', '/mcp/', '/sse//'])(
    'of the app may send cf-account-id to %s',
    async (path) => {
      const { status, headers } = await preflight(path, app)
      expect(status).toBe(204)
      expect(headers.get('Access-Control-Allow-Origin')).toBe(app)
      expect(headers.get('Access-Control-Allow-Headers')).toContain('cf-account-id')
    },
  )

  test.each(['/mcp', '/sse', '/messages', '/mcp/', '/sse//'])('of another origin is rejected at %s', async (path) => {
    const { status, headers } = await preflight(path, 'https://elsewhere.example.com')
    expect(status).toBe(403)
    expect(headers.get('Access-Control-Allow-Origin')).toBeNull()
    const posted = await fetch(new URL(path, server.url), {
      method: 'POST',
      headers: { Origin: 'https://elsewhere.example.com' },
    })
    expect([posted.status, posted.headers.get('Access-Control-Allow-Origin')]).toEqual([403, null])
  })

  test.each([app, 'https://elsewhere.example.com'])('of %s can read the metadata', async (origin) => {
    for (const name of ['oauth-protected-resource', 'oauth-authorization-server']) {
      const { status, headers } = await fetch(new URL(`/.well-known/${name}`, server.url), {
        headers: { Origin: origin },
      })
      expect([status, headers.get('Access-Control-Allow-Origin')]).toEqual([200, origin])
    }
  })

  test('of the app can read the challenge of a request without a token', async () => {
    const { status, headers } = await fetch(server.url, { method: 'POST', headers: { Origin: app }, body: '{}' })
    expect(status).toBe(401)
    expect(headers.get('Access-Control-Allow-Origin')).toBe(app)
    expect(headers.get('Access-Control-Expose-Headers')).toContain('WWW-Authenticate')
    expect(headers.get('WWW-Authenticate')).toContain(
      `resource_metadata="${server.url.origin}/.well-known/oauth-protected-resource"`,
    )
  })
})
