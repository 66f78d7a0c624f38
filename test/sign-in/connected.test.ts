/** Providers that users connect besides the one that they sign in with: which account the tokens are of, and how users disconnect them. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { Browser } from '../../worker/testing/provider/browser.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { RawClient } from './client.ts'
import { GitHub } from './github.ts'

let gitHub: GitHub
let work: GitHub
let server: TestServer
/** Tokens that were revoked at the other provider. */
const revoked: string[] = []
beforeAll(async () => {
  ;[gitHub, work] = await Promise.all([GitHub.start(), GitHub.start()])
  server = await startServer('test/sign-in/server', { GITHUB: gitHub.url, WORK: work.url, CASE: 'connecting' })
  work.answers.set('/revoke', async (request) => {
    revoked.push(new URLSearchParams(await request.text()).get('token') ?? '')
    return new Response()
  })
})
afterAll(async () => {
  await server?.[Symbol.asyncDispose]()
  await Promise.all([gitHub?.[Symbol.asyncDispose](), work?.[Symbol.asyncDispose]()])
})
beforeEach(() => {
  revoked.length = 0
  work.expiresIn = 3600
  work.account = { id: 1, login: 'ada', name: 'Ada' }
})

const tokenPath = '/login/oauth/access_token'
const link = () => new URL('/oauth/link/work?with=github', server.url)
const account = () => new URL('/oauth/account', server.url)

/** Signs a new user in, and connects the other provider. */
async function connected() {
  gitHub.account = { id: Math.floor(Math.random() * 1e9), login: 'ada', name: 'Ada' }
  const raw = new RawClient(server.url)
  const browser = new Browser()
  const { tokens } = await raw.signIn(browser)
  expect(await browser.connect(link())).toContain('Work is connected')
  return { browser, call: (tool: string) => raw.call(tokens.access_token, tool) }
}

/** Answers as a provider that issues a refresh token with the first consent of an account only. */
function answerWithoutRefreshToken(): Response {
  work.tokens.set('gho_without_refresh', work.account)
  const answer = { access_token: 'gho_without_refresh', token_type: 'bearer', expires_in: 3600 }
  return Response.json(answer)
}

test.each([
  ['another account', 2, 'has to connect Work first', 1],
  ['the same account', 1, '200 gho_', 0],
] as const)('tokens of %s without a refresh token', async (_, id, renewed, revocations) => {
  const { browser, call } = await connected()
  const [old] = [...work.refreshTokens.keys()].slice(-1)
  work.account = { id, login: 'other', name: 'Other' }
  work.answers.set(tokenPath, answerWithoutRefreshToken)
  try {
    expect(await browser.connect(link())).toContain('Work is connected')
  } finally {
    work.answers.delete(tokenPath)
  }
  expect(await call('other')).toBe('200 gho_without_refresh')
  expect(await call('renewOther')).toContain(renewed)
  expect(revoked).toEqual(Array.from({ length: revocations }, () => old))
})

test('a user disconnects a provider, whose tokens are revoked and not returned any more', async () => {
  const { browser, call } = await connected()
  const [token] = [...work.refreshTokens.keys()].slice(-1)
  await browser.open(account())
  expect(await browser.open(account())).toContain('<button name="disconnect" value="work">Disconnect Work</button>')
  const answer = await browser.visit(account(), new URLSearchParams({ disconnect: 'work' }))
  expect([answer.status, answer.headers.get('Location')]).toEqual([303, '/oauth/account'])
  expect(revoked).toEqual([token])
  expect(await browser.open(account())).not.toContain('Disconnect')
  expect(await call('renewOther')).toContain('has to connect Work first')
  expect(await call('whoami')).toContain('200')
})

/** Returns the text of a page. */
const textOf = (page: string): string => /<main>(.*)<\/main>/s.exec(page)?.[1] ?? page

test('the page names the accounts, and says what to do if the app has another one', async () => {
  gitHub.account = { id: Math.floor(Math.random() * 1e9), login: 'ada <b>', name: 'Ada' }
  const browser = new Browser()
  const advice = 'sign out of GitHub, and open the link of the app again.'
  const signedIn = 'You signed in to GitHub as ada &#60;b&#62; and to Work as 1'
  expect(textOf(await browser.connect(link()))).toBe(
    `<h1>Nothing was connected</h1><p>${signedIn}, and no app has access to this server with this account. If your app uses another account, ${advice} Otherwise sign in to this server in your app first.</p>`,
  )
  await new RawClient(server.url).signIn(browser)
  expect(textOf(await browser.connect(link()))).toBe(
    `<h1>Work is connected</h1><p>${signedIn}. You can close this page and go on in your app. If the app asks again, it uses another account: ${advice}</p>`,
  )
  expect(textOf(await browser.connect(new URL('/oauth/link/github', server.url)))).toContain(
    '<p>You signed in to GitHub as ada &#60;b&#62;. You can close',
  )
})
