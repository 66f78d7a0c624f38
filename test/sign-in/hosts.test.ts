/** Two hosts of one Worker: each is an authorization server of its own. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { connect } from '../../worker/testing/index.ts'
import { Browser } from '../../worker/testing/provider/browser.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { RawClient, seen, unknownApp } from './client.ts'
import { GitHub } from './github.ts'

describe.each([
  { what: 'two endpoints on two hosts', folder: 'test/sign-in/hosts', instance: 'choice', isOne: false },
  { what: 'two endpoints of one identity on two hosts', folder: 'test/sign-in/hosts', instance: 'same', isOne: false },
  { what: 'one endpoint on two hosts', folder: 'test/sign-in/server', instance: 'uncached', isOne: true },
])('$what', ({ folder, instance, isOne }) => {
  let server: TestServer
  let providers: [GitHub, GitHub]
  let first: RawClient
  let second: RawClient
  beforeAll(async () => {
    providers = await Promise.all([GitHub.start(), GitHub.start()])
    const [GITHUB, WORK] = providers.map(({ url }) => url) as [string, string]
    server = await startServer(folder, { GITHUB, WORK, CASE: instance })
    first = new RawClient(server.url)
    const other = new URL(server.url)
    other.hostname = 'localhost'
    second = new RawClient(other)
  })
  beforeEach(() => {
    for (const provider of providers) {
      provider.expiresIn = undefined
      provider.account = { id: 1815, login: 'ada', name: 'Ada' }
    }
  })
  afterAll(async () => {
    await server?.[Symbol.asyncDispose]()
    for (const provider of providers ?? []) await provider[Symbol.asyncDispose]()
  })

  /** The provider of the second host. */
  const providerOfSecond = () => providers[isOne ? 0 : 1]
  const textOf = (result: unknown) => (result as { content: { text: string }[] }).content[0]?.text ?? ''
  const upstreamAt = async (at: RawClient, token: string) => {
    await using client = await connect(at.server, { revision: '2026-07-28', token })
    return textOf(await client.callTool('starred'))
  }
  const account = (browser: Browser, at: RawClient) => {
    const page = at.at('/oauth/account')
    return browser.open(page).then(() => browser.open(page))
  }

  test('know the clients, codes and tokens of their own only', async () => {
    const { client, tokens } = await first.signIn()
    expect(await seen(await fetch(second.ask(client).url, { redirect: 'manual' }))).toBe(unknownApp)
    expect(await seen(await second.token(second.refreshForm(client, tokens.refresh_token)))).toBe('401 invalid_client')
    expect(await first.call(tokens.access_token)).toMatch(/^200 /)
    const other = await second.signIn()
    for (const token of [tokens.access_token, other.tokens.refresh_token]) {
      expect(await second.call(token)).toMatch(/^401 /)
    }
    expect(await seen(await second.token(second.refreshForm(other.client, tokens.refresh_token)))).toBe(
      '400 invalid_grant',
    )
    const asked = first.ask(client)
    const code = await first.code(asked)
    expect(await seen(await second.token(second.codeForm(asked, code)))).toBe('401 invalid_client')
    expect(await seen(await first.token(first.codeForm(asked, code)))).toBe('200 granted')
    expect(JSON.parse((await second.call(other.tokens.access_token)).slice(4)).issuer).toBe(second.server.origin)
  })

  test.skipIf(isOne)('decide about the users of their own only', async () => {
    const refresh = async (at: RawClient, { client, tokens }: Awaited<ReturnType<RawClient['signIn']>>) =>
      seen(await at.token(at.refreshForm(client, tokens.refresh_token)))
    const [one, two, three] = [await first.signIn(), await second.signIn(), await first.signIn()]
    expect(await refresh(first, one)).toBe('200 granted')
    for (const provider of providers) provider.account.login = 'removed'
    expect(await refresh(first, three)).toBe('400 invalid_grant')
    expect(await refresh(second, two)).toBe('200 granted')
  })

  test('show and end the grants of their own only', async () => {
    const browser = new Browser()
    const one = await first.signIn(browser)
    const two = await second.signIn(browser)
    const [atFirst, atSecond] = [await account(browser, first), await account(browser, second)]
    expect(atFirst).toContain(one.client.id)
    expect(atFirst).not.toContain(two.client.id)
    expect(atSecond).toContain(two.client.id)
    expect(atSecond).not.toContain(one.client.id)
    const form = new URLSearchParams({ client: one.client.id })
    await browser.visit(second.at('/oauth/account'), form)
    expect(await seen(await first.token(first.refreshForm(one.client, one.tokens.refresh_token)))).toBe('200 granted')
  })

  test('have tokens of the provider of their own, which they refresh at their own provider', async () => {
    for (const provider of providers) provider.account = { id: isOne ? 7 : 8, login: 'ada', name: 'Ada' }
    const one = await first.signIn()
    providerOfSecond().expiresIn = 30
    const two = await second.signIn()
    const token = await upstreamAt(first, one.tokens.access_token)
    expect(providers[0].tokens.has(token)).toBe(true)
    const counts = providers.map(({ refreshed }) => refreshed.length)
    const other = await upstreamAt(second, two.tokens.access_token)
    expect(other).not.toBe(token)
    expect(providerOfSecond().tokens.has(other)).toBe(true)
    const expected = isOne ? [1, 0] : [0, 1]
    expect(providers.map(({ refreshed }, index) => refreshed.length - (counts[index] as number))).toEqual(expected)
    // The only grant at the second host ends.
    expect((await second.token({ token: two.tokens.refresh_token, client_id: two.client.id })).status).toBe(200)
    expect(await upstreamAt(first, one.tokens.access_token)).toBe(token)
  })
})
