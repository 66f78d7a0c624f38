/** A grant that is revoked while a refresh of it runs, and access that ends while a user signs in. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Browser } from '../../worker/testing/provider/browser.ts'
import { type ControlledServer, startControlled } from '../support/objects.ts'
import { RawClient, seen, type Tokens } from './client.ts'
import { GitHub } from './github.ts'
import { objectAt } from './tokens.ts'

let gitHub: GitHub
let server: ControlledServer
let client: RawClient
beforeAll(async () => {
  gitHub = await GitHub.start()
  server = await startControlled('test/sign-in/held', { GITHUB: gitHub.url })
  client = new RawClient(server.url)
})
afterAll(async () => {
  await server?.[Symbol.asyncDispose]()
  await gitHub?.[Symbol.asyncDispose]()
})

const state = async (path = '/state') =>
  (await fetch(client.at(path))).json() as Promise<{ held: number; arrived: number }>

/** Returns the table of the entries of an object, which an empty one does not have. */
async function stored(name: string) {
  const storage = await server.harness.getWorker().getDurableObjectStorage('McpSignIn', { name })
  return storage.exec("SELECT name FROM sqlite_master WHERE type = 'table' AND name = '_cf_KV'")
}

test('a grant that is revoked while a refresh has read it stays revoked', async () => {
  const { client: registered, tokens } = await client.signIn()
  await state('/hold')
  const refresh = client.token(client.refreshForm(registered, tokens.refresh_token))
  await expect.poll(async () => (await state()).held).toBe(1)
  const revocation = client.token({ token: tokens.refresh_token, client_id: registered.id })
  await expect.poll(async () => (await state()).arrived).toBe(2)
  // A revocation that does not wait for the refresh has ended by then.
  for (let times = 0; times < 20; times++) await state()
  const [user, grant] = tokens.refresh_token.split(':')
  const name = objectAt(server.url, `grant:${user}:${grant}`)
  await state(`/release?name=${encodeURIComponent(name)}`)
  const next = (await (await refresh).json()) as Tokens
  expect((await revocation).status).toBe(200)
  expect(await client.call(next.access_token)).toMatch(/^401 /)
  expect((await client.token(client.refreshForm(registered, next.refresh_token))).status).toBe(400)
})

test('at most 100 token requests of a grant wait for each other', async () => {
  const { client: registered, tokens } = await client.signIn()
  await state('/hold')
  const refresh = client.token(client.refreshForm(registered, tokens.refresh_token))
  await expect.poll(async () => (await state()).held).toBe(1)
  const statuses: number[] = []
  const refreshed = client.refreshForm(registered, tokens.refresh_token)
  const other = async (n: number) => statuses.push((await client.token({ ...refreshed, n: String(n) })).status)
  const others = Array.from({ length: 120 }, (_, n) => other(n))
  await expect.poll(() => statuses.length).toBe(21)
  expect(new Set(statuses)).toEqual(new Set([503]))
  const [user, grant] = tokens.refresh_token.split(':')
  await state(`/release?name=${encodeURIComponent(objectAt(server.url, `grant:${user}:${grant}`))}`)
  await Promise.all(others)
  expect([(await refresh).status, statuses.filter((status) => status === 503).length]).toEqual([200, 21])
})

test('requests with tokens that were not issued for the grant wait for none', async () => {
  const { client: registered, tokens } = await client.signIn()
  await state('/hold')
  const refresh = client.token(client.refreshForm(registered, tokens.refresh_token))
  await expect.poll(async () => (await state()).held).toBe(1)
  const forged = `${tokens.refresh_token}x`
  for (const form of [client.refreshForm(registered, forged), { token: forged, client_id: registered.id }]) {
    const { status } = await client.token(form)
    expect(status).toBe('token' in form ? 200 : 400)
  }
  const [user, grant] = tokens.refresh_token.split(':')
  await state(`/release?name=${encodeURIComponent(objectAt(server.url, `grant:${user}:${grant}`))}`)
  expect((await refresh).status).toBe(200)
})

test('a request that names another client waits for none, and ends nothing', async () => {
  const { client: registered, tokens } = await client.signIn()
  const other = await client.registered()
  await state('/hold')
  const refresh = client.token(client.refreshForm(registered, tokens.refresh_token))
  await expect.poll(async () => (await state()).held).toBe(1)
  const foreign = client.refreshForm(other, tokens.refresh_token)
  expect((await client.token(foreign)).status).toBe(400)
  expect((await client.token({ ...foreign, client_id: 'unknown' })).status).toBe(401)
  expect((await client.token({ token: tokens.refresh_token, client_id: other.id })).status).toBe(200)
  const [user, grant] = tokens.refresh_token.split(':')
  await state(`/release?name=${encodeURIComponent(objectAt(server.url, `grant:${user}:${grant}`))}`)
  const next = (await (await refresh).json()) as Tokens
  expect((await client.token(client.refreshForm(registered, next.refresh_token))).status).toBe(200)
})

test('a refresh whose access ends while it stores its answer gives no tokens, and leaves nothing', async () => {
  const { client: registered, tokens } = await client.signIn()
  const [user, grant] = tokens.refresh_token.split(':')
  const name = objectAt(server.url, `grant:${user}:${grant}`)
  await state('/hold?what=finish')
  const refresh = client.token(client.refreshForm(registered, tokens.refresh_token))
  await expect.poll(async () => (await state()).held).toBe(1)
  await state(`/sign-out?user=${user}`)
  await state(`/release?name=${encodeURIComponent(name)}`)
  expect(await seen(await refresh)).toBe('400 invalid_grant')
  expect(await stored(name)).toEqual([])
})

test('signOut() that fails after some grants has ended them, and the next calls end the others', async () => {
  gitHub.account = { id: 9, login: 'ada', name: 'Ada' }
  const browser = new Browser()
  const all: Awaited<ReturnType<RawClient['signIn']>>[] = []
  for (let grants = 0; grants < 31; grants++) all.push(await client.signIn(browser))
  const alive = async () => {
    const calls = all.map(({ tokens }) => client.call(tokens.access_token))
    return (await Promise.all(calls)).filter((said) => said.startsWith('200')).length
  }
  const signOut = async (limit: number) => (await fetch(client.at(`/sign-out?user=github.9&limit=${limit}`))).json()
  // Three requests for each grant.
  expect(await signOut(30)).toContain('Too many subrequests')
  expect(await signOut(30)).toContain('Too many subrequests')
  expect([await signOut(60), await alive()]).toEqual([11, 0])
})

/** A user whose access ends while a second sign-in stores the tokens of the provider, which goes on when `release` is called. */
async function endedWhileSigningIn(id: number) {
  gitHub.account = { id, login: 'ada', name: 'Ada' }
  const user = `github.${id}`
  const [upstream, grants] = [`upstream:${user}`, `user:${user}`].map((key) => objectAt(server.url, key))
  const release = (name = '', more = '') => state(`/release?name=${encodeURIComponent(name)}${more}`)
  await client.signIn()
  await state('/hold?what=keepUpstream')
  const signingIn = new Browser().authorize(client.ask(await client.registered()).url, { decision: 'github' })
  await expect.poll(async () => (await state()).held).toBe(1)
  await state(`/sign-out?user=${user}`)
  return { upstream, grants, release, signingIn }
}

test('a sign-in whose access has ended leaves the tokens of the next one', async () => {
  const { upstream, grants, release, signingIn } = await endedWhileSigningIn(7)
  await state('/hold?what=list')
  await release(upstream)
  await expect.poll(async () => (await state()).held).toBe(1)
  const { tokens } = await client.signIn()
  await release(grants)
  await signingIn
  const [token] = [...gitHub.tokens.keys()].slice(-1)
  expect(await client.call(tokens.access_token, 'starred')).toBe(`200 ${token}`)
})

test('tokens that were stored after the end of access are deleted, also if nobody knows of them', async () => {
  const { upstream = '', release, signingIn } = await endedWhileSigningIn(8)
  await release(upstream, '&lost')
  expect((await signingIn).get('error')).toBe('server_error')
  expect(await stored(upstream)).toHaveLength(1)
  await server.advance(2 * 60 * 60_000)
  expect(await stored(upstream)).toEqual([])
})
