/** The page that shows which apps have access, and ends it. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Browser } from '../../worker/testing/provider/browser.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { RawClient } from './client.ts'
import { GitHub } from './github.ts'
import { objectAt, signInAs, tokenRequest } from './tokens.ts'

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

const page = () => new URL('/oauth/account', server.url)

/** Opens the page in a browser, and signs in with GitHub. */
async function openAccount(browser: Browser): Promise<string> {
  await browser.open(new URL('/oauth/account?with=github', server.url))
  return browser.open(page())
}

test('shows the apps of the signed-in person, and ends the access of one', async () => {
  const browser = new Browser()
  const first = await signInAs(server.url, browser)
  const second = await signInAs(server.url, browser)
  const shown = await openAccount(browser)
  expect(shown).toContain('Apps with access to Notes')
  const clients = [...shown.matchAll(/name="client" value="([^"]+)"/g)].map(([, id]) => id)
  expect(clients.sort()).toEqual([first.client_id, second.client_id].sort())

  const ended = await browser.visit(page(), new URLSearchParams({ client: first.client_id }))
  expect(ended.status).toBe(303)
  // The app asks the person again.
  expect(ended.headers.getSetCookie()).toEqual([expect.stringMatching(/^__Host-oauth-approvals=; Max-Age=0;/)])
  expect(await browser.open(page())).not.toContain(first.client_id)
  const refresh = ({ refresh_token, client_id }: typeof first) =>
    tokenRequest(server.url, { grant_type: 'refresh_token', refresh_token, client_id })
  expect((await refresh(first)).status).toBe(400)
  expect((await refresh(second)).status).toBe(200)
})

test('an app whose access has ended asks again, also in a browser that remembers the approval', async () => {
  await using single = await startServer('test/sign-in/server', { GITHUB: gitHub.url, CASE: 'single' })
  const account = new URL('/oauth/account', single.url)
  const [laptop, phone] = [new Browser(), new Browser()]
  const client = new RawClient(single.url)
  const app = await client.registered()
  const refreshTokens: string[] = []
  /** Signs in on the laptop. Returns the number of consent pages. */
  const signIn = async () => {
    laptop.pages.length = 0
    const asked = client.ask(app)
    const code = await client.code(asked, laptop)
    const response = await client.token(client.codeForm(asked, code))
    expect(response.status).toBe(200)
    const { refresh_token } = (await response.json()) as { refresh_token: string }
    refreshTokens.push(refresh_token)
    return laptop.pages.length
  }
  expect([await signIn(), await signIn()]).toEqual([1, 0])
  await phone.open(account)
  const shown = await phone.open(account)
  expect(shown.match(/name="client"/g)).toHaveLength(1)
  await phone.visit(account, new URLSearchParams({ client: app.id }))
  // Each sign-in without a page has a grant of its own.
  for (const token of refreshTokens) expect((await client.token(client.refreshForm(app, token))).status).toBe(400)
  // The approval is remembered again, once it is given again.
  expect([await signIn(), await signIn()]).toEqual([1, 0])
})

test('an app whose grant has ended already asks again after the end of its access', async () => {
  await using single = await startServer('test/sign-in/server', { GITHUB: gitHub.url, CASE: 'single' })
  const account = new URL('/oauth/account', single.url)
  const [laptop, phone, client] = [new Browser(), new Browser(), new RawClient(single.url)]
  const { client: app, tokens } = await client.signIn(laptop)
  await phone.open(account)
  expect((await client.token({ token: tokens.refresh_token, client_id: app.id })).status).toBe(200)
  await phone.visit(account, new URLSearchParams({ client: app.id }))
  const pages = laptop.pages.length
  await client.code(client.ask(app), laptop)
  expect(laptop.pages.length).toBe(pages + 1)
})

test('shows where the access of an app was sent, which chose its name itself', async () => {
  const client = new RawClient(server.url)
  const callback = 'https://elsewhere.example/callback'
  const app = await client.registered({ client_name: 'Claude', redirect_uris: [callback] })
  const browser = new Browser()
  await client.code(client.ask(app, { redirect_uri: callback }), browser)
  const [entry] = /<legend>Claude.*?<\/fieldset>/s.exec(await openAccount(browser)) ?? []
  expect(entry).toContain('The app chose this name itself, and it is not verified.')
  expect(entry).toContain('<strong>elsewhere.example</strong>')
})

test('shows the names of apps without letters that hide or turn around what follows', async () => {
  const client = new RawClient(server.url)
  const app = await client.registered({ client_name: `evil\u202egnp.exe\u200b${'x'.repeat(3000)}` })
  const browser = new Browser()
  await client.code(client.ask(app), browser)
  const shown = await openAccount(browser)
  expect(shown).toContain('evilgnp.exe')
  expect(shown).not.toMatch(/[\u202e\u200b]|x{200}/)
})

test('switches to the account of the provider that the person chooses, and shows the page for any other choice', async () => {
  const browser = new Browser()
  const shown = await openAccount(browser)
  const choosing = (name: string) => browser.visit(new URL(`/oauth/account?with=${name}`, server.url))
  const { status, headers } = await choosing('work')
  expect([status, new URL(headers.get('Location') ?? '').origin]).toEqual([302, 'http://127.0.0.1:1'])
  for (const name of ['github', '', 'unknown']) expect(await (await choosing(name)).text()).toBe(shown)
})

test('shows nothing of another person, and ends none of their grants', async () => {
  const ada = await signInAs(server.url, new Browser())
  gitHub.account = { id: 666, login: 'eve', name: 'Eve' }
  const eve = new Browser()
  await signInAs(server.url, eve)
  const { refresh_token, client_id } = ada
  expect(await openAccount(eve)).not.toContain(client_id)
  await eve.visit(page(), new URLSearchParams({ client: client_id }))
  const refreshed = await tokenRequest(server.url, { grant_type: 'refresh_token', refresh_token, client_id })
  expect(refreshed.status).toBe(200)
})

test('changes nothing without the cookie of the page, and for a form of another site', async () => {
  const browser = new Browser()
  const { refresh_token, client_id } = await signInAs(server.url, browser)
  const body = new URLSearchParams({ client: client_id })
  expect((await fetch(page(), { method: 'POST', body })).status).toBe(403)
  await openAccount(browser)
  const foreign = await browser.visit(page(), body, { headers: { Origin: 'https://evil.example' } })
  expect(foreign.status).toBe(403)
  expect((await tokenRequest(server.url, { grant_type: 'refresh_token', refresh_token, client_id })).status).toBe(200)
})

test('a revoked grant stays revoked when a refresh competes with its end', async () => {
  for (let round = 0; round < 3; round++) {
    const browser = new Browser()
    const { refresh_token, client_id } = await signInAs(server.url, browser)
    await openAccount(browser)
    // Each is another request, so each rotates the token.
    const refreshing = Array.from({ length: 20 }, (_, index) =>
      tokenRequest(server.url, { grant_type: 'refresh_token', refresh_token, client_id, index: String(index) }),
    )
    await browser.visit(page(), new URLSearchParams({ client: client_id }))
    const answers = await Promise.all(refreshing)
    for (const answer of answers.filter(({ status }) => status === 200)) {
      const next = (await answer.json()) as { refresh_token: string }
      const again = await tokenRequest(server.url, {
        grant_type: 'refresh_token',
        client_id,
        refresh_token: next.refresh_token,
      })
      expect(again.status).toBe(400)
    }
  }
})

test('the tokens of the provider are deleted with the last grant of the user', async () => {
  gitHub.account = { id: 4711, login: 'bob', name: 'Bob' }
  const { refresh_token, client_id } = await signInAs(server.url, new Browser())
  const name = objectAt(server.url, 'upstream:github.4711')
  // An object that stores nothing has no table.
  const tables = async () => {
    const storage = await server.harness.getWorker().getDurableObjectStorage('McpSignIn', { name })
    return storage.exec("SELECT name FROM sqlite_master WHERE type = 'table' AND name = '_cf_KV'")
  }
  expect(await tables()).toHaveLength(1)
  expect((await tokenRequest(server.url, { token: refresh_token, client_id })).status).toBe(200)
  expect(await tables()).toEqual([])
})
