/** `startProvider()`: users sign in to a server with `signIn()` by GitHub, and by OpenID Connect. */
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { connect, type ProviderUser } from '../../worker/testing/index.ts'
import { type StartedProvider, startProvider } from '../../worker/testing/node/provider.ts'
import type { SignInAsOptions } from '../../worker/testing/provider/fake-provider.ts'
import { startServer, type TestServer } from '../support/server.ts'

const ada: ProviderUser = { id: 1815, login: 'ada', name: 'Ada Lovelace', organizations: ['Engines'] }
const eve: ProviderUser = { id: 666, login: 'eve', groups: ['readers'], claims: { org_id: 'looms' } }

let provider: StartedProvider
let server: TestServer
beforeAll(async () => {
  provider = await startProvider({ users: [] })
  server = await startServer('test/sign-in/server', { CASE: 'both', GITHUB: provider.url })
})
beforeEach(() => {
  provider.users.splice(0, Number.POSITIVE_INFINITY, { ...ada }, { ...eve })
  provider.answers.clear()
})
afterAll(async () => {
  await server?.[Symbol.asyncDispose]()
  await provider?.close()
})

async function call(tool: string, login: string, options?: SignInAsOptions): Promise<string> {
  await using client = await connect(server, { revision: '2026-07-28', token: provider.tokenFor(login, options) })
  const { content } = await client.callTool(tool)
  return content[0]?.type === 'text' ? content[0].text : ''
}

const principal = async (login: string, options?: SignInAsOptions) => JSON.parse(await call('whoami', login, options))

test('a user of an organization signs in with GitHub', async () => {
  const { subject, scopes, claims } = await principal('ada')
  expect({ subject, scopes }).toEqual({ subject: 'github.1815', scopes: ['notes:read', 'notes:write'] })
  expect(claims).toMatchObject({
    name: 'Ada Lovelace',
    preferred_username: 'ada',
    email: 'ada@example.com',
    groups: ['engines'],
  })
})

test('a user signs in with OpenID Connect, with the claims of the user', async () => {
  const { subject, tenant, claims } = await principal('eve', { provider: 'oidc' })
  expect({ subject, tenant }).toEqual({ subject: 'oidc.666', tenant: 'looms' })
  expect(claims).toMatchObject({ preferred_username: 'eve', groups: ['readers'] })
})

test('a user allows some of the scopes', async () => {
  expect((await principal('ada', { scopes: ['notes:read'] })).scopes).toEqual(['notes:read'])
})

test('a user whom the server refuses is an error with the reason', async () => {
  await expect(principal('eve')).rejects.toThrow('access_denied: You are not a member of engines on GitHub.')
})

test('a user of two organizations is an error that names them, until the test chooses one', async () => {
  await using own = await startServer('test/sign-in/server', { CASE: 'engines', GITHUB: provider.url })
  Object.assign(provider.users[0] ?? {}, { organizations: ['engines', 'looms'] })
  const called = async (options?: SignInAsOptions) => {
    await using client = await connect(own, { revision: '2026-07-28', token: provider.tokenFor('ada', options) })
    return JSON.stringify(await client.callTool('whoami'))
  }
  for (const options of [{}, { provider: 'github' }]) {
    await expect(called(options)).rejects.toThrow(
      'The user may act for engines, looms: choose one, as in tokenFor(login, { tenant: "engines" })',
    )
  }
  expect(await called({ tenant: 'looms' })).toContain('looms')
})

test('a user who is in an organization later may sign in then', async () => {
  Object.assign(provider.users[1] ?? {}, { organizations: ['engines'] })
  expect((await principal('eve')).subject).toBe('github.666')
})

test('a login that the provider does not have is an error that names its users', () => {
  expect(() => provider.tokenFor('bob')).toThrow('The provider has no user "bob": it has ada, eve')
})

test('an answer of the provider can be another one, or change what it is', async () => {
  provider.answers.set('/api/v3/user', async (_, next) => {
    const user = (await (await next()).json()) as object
    return Response.json({ ...user, name: 'Countess' })
  })
  expect((await principal('ada')).claims).toMatchObject({ name: 'Countess', preferred_username: 'ada' })
  provider.answers.set('/login/oauth/access_token', () => new Response(null, { status: 503 }))
  await expect(principal('ada')).rejects.toThrow('server_error: Signing in with GitHub failed')
})

test('the token of a user for the API of the provider ends with the user', async () => {
  await using client = await connect(server, { revision: '2026-07-28', token: provider.tokenFor('ada') })
  expect(JSON.stringify(await client.callTool('user'))).toContain('Ada Lovelace')
  provider.users.length = 0
  expect(JSON.stringify(await client.callTool('user'))).toContain('has to connect GitHub')
})

test('the requests to the provider are listed', async () => {
  provider.requests.length = 0
  await principal('ada')
  expect(provider.requests).toEqual([
    'GET /login/oauth/authorize',
    'GET /login/oauth/authorize',
    'POST /login/oauth/access_token',
    'GET /api/v3/user',
    'GET /api/v3/user/orgs',
    'GET /api/v3/user/emails',
  ])
})

test('an answer that throws is printed, and has status 500', async () => {
  const printed = vi.spyOn(console, 'error').mockReturnValue()
  provider.answers.set('/api/v3/user', () => {
    throw new Error('outage')
  })
  expect((await fetch(new URL('/api/v3/user', provider.url))).status).toBe(500)
  expect(printed).toHaveBeenCalledWith(new Error('outage'))
  printed.mockRestore()
})
