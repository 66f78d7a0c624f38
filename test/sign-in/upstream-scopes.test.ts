/** Scopes that a provider spells in another way than they were requested, and scopes that a user does not grant. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { heldScopes } from '../../worker/plugins/sign-in/held-scopes.ts'
import { github } from '../../worker/plugins/sign-in/providers/github.ts'
import { entra, google } from '../../worker/plugins/sign-in/providers/openid-providers.ts'
import { connect, type TestClient } from '../../worker/testing/index.ts'
import { Browser } from '../../worker/testing/provider/browser.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { GitHub } from './github.ts'
import { signInAs } from './tokens.ts'

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
beforeEach(() => {
  gitHub.grantedScopes = (requested) => requested
  gitHub.account = { id: Math.floor(Math.random() * 1e9), login: 'ada', name: 'Ada' }
})

const textOf = (result: unknown) => (result as { content: { text: string }[] }).content[0]?.text ?? ''

/** What a call returns: `token`, or the message without the link. */
async function called(client: TestClient, tool: string): Promise<{ text: string; url: URL | undefined }> {
  const text = textOf(await client.callTool(tool))
  const [link] = /http\S+$/.exec(text) ?? []
  const url = link === undefined ? undefined : new URL(link)
  return { text: gitHub.tokens.has(text) ? 'token' : text.replace(link ?? '', '').trim(), url }
}

const asked = 'The user has to connect GitHub first. Give them this link, and call again afterwards:'
const notGranted = 'GitHub did not grant the scope repo. The user can connect GitHub again, and allow it:'

async function signedIn(revision: string) {
  const browser = new Browser()
  const { access_token: token } = await signInAs(server.url, browser)
  return { browser, client: await connect(server.url, { revision, token }) }
}

describe.each(['2026-07-28', '2025-11-25'])('a client of %s', (revision) => {
  test('gets a token whose scope includes the one that it needs', async () => {
    gitHub.grantedScopes = (requested) => requested.replace('read:user user:email', 'user')
    const { client, browser } = await signedIn(revision)
    await using ada = client
    expect(await called(ada, 'emails')).toEqual({ text: 'token', url: undefined })
    // A scope that another one of the provider includes is requested by that one.
    const { url } = await called(ada, 'clone')
    expect(url?.search).toBe('?scope=repo')
    await browser.connect(url as URL)
    for (const tool of ['clone', 'push', 'emails']) expect((await called(ada, tool)).text).toBe('token')
  })

  test('gets a token when the response has no scopes, which are then those that were requested', async () => {
    gitHub.grantedScopes = () => undefined
    const { client, browser } = await signedIn(revision)
    await using ada = client
    expect((await called(ada, 'emails')).text).toBe('token')
    await browser.connect((await called(ada, 'push')).url as URL)
    expect((await called(ada, 'push')).text).toBe('token')
  })

  test('does not get a token that lost its scope when it was refreshed', async () => {
    const { client, browser } = await signedIn(revision)
    await using ada = client
    gitHub.expiresIn = 30
    await browser.connect((await called(ada, 'push')).url as URL)
    gitHub.expiresIn = undefined
    gitHub.grantedScopes = (requested) => requested.replace(/ ?repo/, '')
    const { text, url } = await called(ada, 'push')
    expect([text, url?.search]).toEqual([asked, '?scope=repo'])
    expect((await called(ada, 'starred')).text).toBe('token')
  })

  test('is asked twice for a scope that the user does not grant, and then reads so', async () => {
    const { client, browser } = await signedIn(revision)
    await using ada = client
    gitHub.grantedScopes = (requested) => requested.replace(' repo', '')
    for (let time = 0; time < 2; time++) {
      const { text, url } = await called(ada, 'push')
      expect(text).toBe(asked)
      await browser.connect(url as URL)
    }
    const { text, url } = await called(ada, 'push')
    expect(text).toBe(notGranted)
    // A sign-in, which does not request the scope, changes nothing.
    await signInAs(server.url, browser)
    expect((await called(ada, 'push')).text).toBe(notGranted)
    expect((await called(ada, 'starred')).text).toBe('token')

    gitHub.grantedScopes = (requested) => requested
    await browser.connect(url as URL)
    expect((await called(ada, 'push')).text).toBe('token')
  })

  test('whose user takes a scope of the sign-in away is asked once more', async () => {
    gitHub.grantedScopes = (requested) => requested.replace(' user:email', '')
    const { client, browser } = await signedIn(revision)
    await using ada = client
    const { text, url } = await called(ada, 'emails')
    expect(text).toBe(asked)
    await browser.connect(url as URL)
    expect((await called(ada, 'emails')).text).toBe(notGranted.replace('repo', 'user:email'))
  })

  test('cannot get a scope that the provider does not list', async () => {
    const { client } = await signedIn(revision)
    await using ada = client
    expect((await called(ada, 'runners')).text).toContain(
      'ctx.upstream("github") needs the scope "manage_runners:org", which signIn() does not request: add it to additionalScopes of the provider',
    )
  })
})

test('a client that opens pages reads that the scope was not granted, and opens two', async () => {
  const revision = '2026-07-28'
  const { client, browser } = await signedIn(revision)
  const { access_token: token } = await signInAs(server.url, browser)
  await client[Symbol.asyncDispose]()
  gitHub.grantedScopes = (requested) => requested.replace(' repo', '')
  let opened = 0
  const elicit = async ({ url }: { url?: unknown }) => {
    opened += 1
    await browser.connect(new URL(String(url)))
    return { action: 'accept' as const }
  }
  const options = { revision, token, capabilities: { elicitation: { url: {} } }, answers: { elicit } }
  await using ada = await connect(server.url, options as never)
  for (let time = 0; time < 4; time++) expect((await called(ada, 'push')).text).toBe(notGranted)
  expect(opened).toBe(2)
})

test('a page that connects a provider shows a scope once, however often its address names it', async () => {
  const page = await (await fetch(new URL('/oauth/link/github?scope=repo+repo', server.url))).text()
  expect(page.match(/<code>repo<\/code>/g)).toHaveLength(1)
})

const options = { clientId: 'a', clientSecret: 'b' }
const userInfo = 'https://www.googleapis.com/auth/userinfo.'
const graph = 'https://graph.microsoft.com/Mail.Read'
const tenant = '00000000-0000-0000-0000-000000000000'

test.each([
  [github(options), ['admin:org'], 'read:org', true],
  [github(options), ['repo'], 'public_repo', true],
  [github(options), ['public_repo'], 'repo', false],
  [github(options), ['constructor'], 'repo', false],
  [google(options), ['openid', `${userInfo}email`], 'email', true],
  [google(options), [`${userInfo}profile`], 'profile', true],
  [google(options), [`${userInfo}profile`], 'email', false],
  [entra({ ...options, tenant, additionalScopes: [graph] }), ['Mail.Read'], graph, true],
  [entra({ ...options, tenant, additionalScopes: ['Mail.Read'] }), [graph], 'Mail.Read', true],
  [github({ ...options, impliedScopes: { all: ['repo'] } }), ['all'], 'repo:status', true],
])('$name: %s includes %s: %s', (provider, held, scope, isHeld) => {
  expect(heldScopes(provider, held as string[]).has(scope as string)).toBe(isHeld)
})
