/** Visits to a provider that end on pages of this server, in several tabs of one browser. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Browser } from '../../worker/testing/provider/browser.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { seen } from './client.ts'
import { GitHub } from './github.ts'
import { signInAs } from './tokens.ts'

let gitHub: GitHub
let server: TestServer
beforeAll(async () => {
  gitHub = await GitHub.start()
  server = await startServer('test/sign-in/server', { CASE: 'single', GITHUB: gitHub.url })
})
afterAll(async () => {
  await server?.[Symbol.asyncDispose]()
  await gitHub?.[Symbol.asyncDispose]()
})

/** Opens a page in a tab, up to the callback of the provider. */
async function begin(browser: Browser, path: string): Promise<URL> {
  const url = new URL(path, server.url)
  const response = path.includes('/link/') ? await browser.press(url) : await browser.visit(url)
  const toProvider = response.headers.get('Location') as string
  return new URL((await browser.visit(new URL(toProvider))).headers.get('Location') as string)
}

const visitsOf = (browser: Browser) =>
  [...browser.cookiesOf(server.url.origin).keys()].filter((name) => name.includes('oauth-visit'))

test('tabs of one browser do not end the visits of one another', async () => {
  const browser = new Browser()
  await signInAs(server.url, browser)
  const paths = ['/oauth/link/github?scope=repo', '/oauth/account', '/oauth/link/github?scope=gist']
  const callbacks: URL[] = []
  for (const path of paths) callbacks.push(await begin(browser, path))
  expect(await browser.open(callbacks[0] as URL)).toContain('GitHub is connected')
  expect(await browser.open(callbacks[2] as URL)).toContain('GitHub is connected')
  expect(await browser.open(callbacks[1] as URL)).toContain('/oauth/account')
  expect(await browser.open(new URL('/oauth/account', server.url))).toContain('End access')
  expect(visitsOf(browser)).toEqual([])
  expect(await browser.open(callbacks[0] as URL)).toContain('opened in another browser')
})

test('a provider is connected after a click only, on the page that this browser got', async () => {
  const browser = new Browser()
  await signInAs(server.url, browser)
  const url = new URL('/oauth/link/github?scope=repo', server.url)
  gitHub.requests.length = 0
  const shown = await browser.visit(url)
  expect([shown.status, shown.headers.get('Location')]).toEqual([200, null])
  expect(await shown.text()).toContain('Connect GitHub to Notes?')
  const [, token = ''] = /name="token" value="([^"]+)"/.exec(await (await browser.visit(url)).text()) ?? []
  for (const [who, form] of [
    [browser, {}],
    [browser, { token: 'other' }],
    [new Browser(), { token }],
    [new Browser(), { token: '' }],
  ] as const) {
    const refused = await who.visit(url, new URLSearchParams(form))
    expect([refused.status, refused.headers.get('Location')]).toEqual([403, null])
  }
  expect(gitHub.requests).toEqual([])
  expect((await browser.visit(url, new URLSearchParams({ token }))).headers.get('Location')).toContain(gitHub.url)
})

test('a browser holds the cookies of the last five visits', async () => {
  const browser = new Browser()
  await signInAs(server.url, browser)
  const callbacks: URL[] = []
  for (let index = 0; index < 8; index++) callbacks.push(await begin(browser, '/oauth/link/github?scope=repo'))
  expect(visitsOf(browser)).toHaveLength(5)
  const pages: string[] = []
  for (const callback of callbacks) pages.push(await browser.open(callback))
  expect(pages.map((page) => page.includes('GitHub is connected'))).toEqual([
    ...Array(3).fill(false),
    ...Array(5).fill(true),
  ])
})

test('the cookie of one visit does not end another one', async () => {
  const browser = new Browser()
  const other = new Browser()
  await signInAs(server.url, browser)
  const callback = await begin(browser, '/oauth/account')
  await begin(other, '/oauth/account')
  expect(await other.open(callback)).toContain('opened in another browser')
  const [name = ''] = visitsOf(browser)
  const [otherName = ''] = visitsOf(other)
  const cookies = other.cookiesOf(server.url.origin)
  cookies.set(name, cookies.get(otherName) as string)
  expect(await other.open(callback)).toContain('opened in another browser')
})

test('a provider whose metadata cannot be read signs nobody in, and the page says so', async () => {
  await using both = await startServer('test/sign-in/server', { CASE: 'both', GITHUB: gitHub.url })
  const browser = new Browser()
  const answers = () =>
    Promise.all([
      browser.visit(new URL('/oauth/account?with=oidc', both.url)),
      browser.press(new URL('/oauth/link/oidc', both.url)),
    ])
  gitHub.answers.set('/.well-known/openid-configuration', () => new Response(null, { status: 503 }))
  for (const answer of await answers()) {
    expect(await seen(answer)).toBe('502 page: Company did not sign you in. Try again later.')
    expect(answer.headers.getSetCookie().filter((cookie) => cookie.includes('oauth-visit'))).toEqual([])
  }
  gitHub.answers.clear()
  for (const { status } of await answers()) expect(status).toBe(302)
})
