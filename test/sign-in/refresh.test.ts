/** Refreshes of one grant that compete, are repeated, or come after the loss of its Durable Object. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Browser } from '../../worker/testing/provider/browser.ts'
import { bearing, call } from '../auth/call.ts'
import { evict } from '../support/objects.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { RawClient } from './client.ts'
import { GitHub } from './github.ts'
import { objectAt, signInAs, type Tokens, tokenRequest } from './tokens.ts'

let gitHub: GitHub
let server: TestServer
beforeAll(async () => {
  gitHub = await GitHub.start()
  server = await startServer('test/sign-in/server', { GITHUB: gitHub.url })
})
afterAll(async () => {
  await server?.[Symbol.asyncDispose]()
  await gitHub?.[Symbol.asyncDispose]()
})

const refresh = async ({ client_id, refresh_token }: Tokens): Promise<Tokens> => {
  const response = await tokenRequest(server.url, { grant_type: 'refresh_token', refresh_token, client_id })
  const answer = (await response.json()) as Tokens & { error?: string }
  return response.status === 200 ? { ...answer, client_id } : Promise.reject(new Error(answer.error))
}

test('refreshes at the same time with one refresh token get the same tokens, which work', async () => {
  const signedIn = await signInAs(server.url, new Browser())
  const all = await Promise.all(Array.from({ length: 40 }, () => refresh(signedIn)))
  expect(new Set(all.map(({ refresh_token }) => refresh_token)).size).toBe(1)
  await expect(refresh(all[17] as Tokens)).resolves.toHaveProperty('access_token')
})

test('refreshes whose parameters have another order get the same tokens', async () => {
  const { client_id, refresh_token } = await signInAs(server.url, new Browser())
  const again = { grant_type: 'refresh_token', refresh_token, client_id }
  const other = { client_id, refresh_token, grant_type: 'refresh_token' }
  const answers = [again, other].map(async (form) => (await (await tokenRequest(server.url, form)).json()) as Tokens)
  const [one, two] = await Promise.all(answers)
  expect(two?.refresh_token).toBe(one?.refresh_token)
})

test('scopes that are requested twice are granted once', async () => {
  const { client_id, refresh_token, scope } = await signInAs(server.url, new Browser(), 'notes:read notes:read')
  const again = { grant_type: 'refresh_token', refresh_token, client_id, scope: 'notes:read notes:read' }
  const refreshed = (await (await tokenRequest(server.url, again)).json()) as Tokens
  expect([scope, refreshed.scope]).toEqual(['notes:read', 'notes:read'])
})

test('a refresh whose response was lost with the object is answered with the same tokens', async () => {
  const signedIn = await signInAs(server.url, new Browser())
  const first = await refresh(signedIn)
  const [user, grant] = signedIn.refresh_token.split(':')
  await evict(server, 'McpSignIn', objectAt(server.url, `grant:${user}:${grant}`), 'close')
  expect((await refresh(signedIn)).refresh_token).toBe(first.refresh_token)
  await expect(refresh(first)).resolves.toHaveProperty('access_token')
})

test('a repeated refresh does not return an access token that was revoked', async () => {
  const signedIn = await signInAs(server.url, new Browser())
  const { access_token: token } = await refresh(signedIn)
  expect((await tokenRequest(server.url, { token, client_id: signedIn.client_id })).status).toBe(200)
  const again = await refresh(signedIn)
  expect(again.access_token).not.toBe(token)
  await expect(refresh(again)).resolves.toHaveProperty('access_token')
})

test('a refresh token is refused once a later one was used', async () => {
  const signedIn = await signInAs(server.url, new Browser())
  const first = await refresh(signedIn)
  await refresh(first)
  await expect(refresh(signedIn)).rejects.toThrow('invalid_grant')
})

test('a refresh token that is sent again after its successor was used ends the grant', async () => {
  const signedIn = await signInAs(server.url, new Browser())
  const [user, grant] = signedIn.refresh_token.split(':')
  const first = await refresh(signedIn)
  const last = await refresh(await refresh(first))
  expect((await call(server.url, bearing(last.access_token), 'whoami')).status).toBe(200)
  // Whoever knows the ids of the grant only, or is another client, ends nothing.
  await expect(refresh({ ...last, refresh_token: `${user}:${grant}:guessed` })).rejects.toThrow('invalid_grant')
  await expect(refresh({ ...signedIn, client_id: 'unknown' })).rejects.toThrow('invalid_client')
  const still = await refresh(last)
  await evict(server, 'McpSignIn', objectAt(server.url, `grant:${user}:${grant}`), 'close')
  await expect(refresh(first)).rejects.toThrow('invalid_grant')
  await expect(refresh(still)).rejects.toThrow('invalid_grant')
  expect((await call(server.url, bearing(still.access_token), 'whoami')).status).toBe(401)
})

test.each(['\u00a0', '\u2003'])(
  'the client of a grant is the one that was verified: after "Basic", %j',
  async (space) => {
    const client = new RawClient(server.url)
    const victim = await client.registered({ token_endpoint_auth_method: 'client_secret_basic' })
    const basic = (separator: string, secret: string | undefined) => ({
      // Bytes of UTF-8, each as a character.
      Authorization: `Basic${Buffer.from(separator).toString('latin1')}${btoa(`${victim.id}:${secret}`)}`,
    })
    const own = basic(' ', victim.secret)
    const asked = client.ask(victim)
    const { client_id: _, ...form } = client.codeForm(asked, await client.code(asked))
    const first = (await (await client.token(form, own)).json()) as Tokens
    const again = (token: string) => client.token({ grant_type: 'refresh_token', refresh_token: token }, own)
    const second = (await (await again(first.refresh_token)).json()) as Tokens
    const third = (await (await again(second.refresh_token)).json()) as Tokens
    const stolen = client.refreshForm(await client.registered(), first.refresh_token)
    expect((await client.token(stolen, basic(space, 'guessed'))).status).toBe(400)
    expect((await again(third.refresh_token)).status).toBe(200)
  },
)

test('a grant has at most 100 access tokens: the oldest ends with each refresh beyond', async () => {
  const signedIn = await signInAs(server.url, new Browser())
  const second = await refresh(signedIn)
  let last = second
  for (let tokens = 2; tokens <= 100; tokens += 1) last = await refresh(last)
  const statusOf = async ({ access_token }: typeof last) =>
    (await call(server.url, bearing(access_token), 'whoami')).status
  // None was verified before: a token that was is cached.
  expect([await statusOf(signedIn), await statusOf(second), await statusOf(last)]).toEqual([401, 200, 200])
})

test('the response is repeated to nobody who has not the same refresh token and the same client', async () => {
  const signedIn = await signInAs(server.url, new Browser())
  const other = await signInAs(server.url, new Browser())
  await refresh(signedIn)
  await expect(refresh({ ...signedIn, client_id: other.client_id })).rejects.toThrow('invalid_grant')
  await expect(refresh({ ...signedIn, refresh_token: `${signedIn.refresh_token}x` })).rejects.toThrow('invalid_grant')
})
