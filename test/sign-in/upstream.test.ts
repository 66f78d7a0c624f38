/** `ctx.upstream()`: tokens of the user for the API of the provider. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
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
  gitHub.expiresIn = undefined
  gitHub.beforeRefresh = undefined
  gitHub.refreshed.length = 0
  gitHub.account = { id: Math.floor(Math.random() * 1e9), login: 'ada', name: 'Ada' }
})

const textOf = (result: unknown) => (result as { content: { text: string }[] }).content[0]?.text ?? ''

describe.each(['2026-07-28', '2025-11-25'])('a client of %s', (revision) => {
  const client = async (browser = new Browser()): Promise<TestClient> => {
    const { access_token: token } = await signInAs(server.url, browser)
    return connect(server.url, { revision, token })
  }

  test('returns the token of the sign-in, without asking the provider again', async () => {
    await using ada = await client()
    const token = textOf(await ada.callTool('starred'))
    expect(gitHub.tokens.get(token)).toBe(gitHub.account)
    expect(textOf(await ada.callTool('starred'))).toBe(token)
    expect(gitHub.refreshed).toEqual([])
  })

  test('replaces a token that the API rejected, also for the calls that follow', async () => {
    gitHub.expiresIn = 3600
    await using ada = await client()
    const first = textOf(await ada.callTool('starred'))
    const second = textOf(await ada.callTool('renew'))
    expect(second).not.toBe(first)
    expect(gitHub.tokens.has(second)).toBe(true)
    expect(textOf(await ada.callTool('starred'))).toBe(second)
    expect(gitHub.refreshed).toHaveLength(1)
  })

  test('refreshes an expired token once, however many calls ask at the same time', async () => {
    gitHub.expiresIn = 30
    await using ada = await client()
    const release = Promise.withResolvers<void>()
    gitHub.beforeRefresh = () => release.promise
    // The token expires within a minute, so the first call refreshes it. The new one is valid for an hour.
    const calls = Array.from({ length: 50 }, () => ada.callTool('starred'))
    gitHub.expiresIn = 3600
    await expect.poll(() => gitHub.refreshed.length).toBe(1)
    release.resolve()
    const tokens = new Set((await Promise.all(calls)).map(textOf))
    expect(tokens.size).toBe(1)
    expect(gitHub.refreshed).toHaveLength(1)
    expect(textOf(await ada.callTool('starred'))).toBe([...tokens][0])
  })

  test('asks the user to connect the provider for a scope that is missing, and returns a token with it', async () => {
    const browser = new Browser()
    await using ada = await client(browser)
    const refused = textOf(await ada.callTool('push'))
    const [url = ''] = /http\S+$/.exec(refused) ?? []
    expect(refused).toBe(
      `The user has to connect GitHub first. Give them this link, and call again afterwards: ${server.url.origin}/oauth/link/github?scope=repo`,
    )
    expect(await browser.connect(new URL(url))).toContain('GitHub is connected')
    expect(gitHub.tokens.has(textOf(await ada.callTool('push')))).toBe(true)
  })

  test('keeps the scopes that the user connected before', async () => {
    const browser = new Browser()
    await using ada = await client(browser)
    for (const tool of ['push', 'gist']) {
      const [url = ''] = /http\S+$/.exec(textOf(await ada.callTool(tool))) ?? []
      await browser.connect(new URL(url))
    }
    for (const tool of ['push', 'gist', 'push']) {
      expect(gitHub.tokens.has(textOf(await ada.callTool(tool)))).toBe(true)
    }
  })

  test.each([undefined, 3600])(
    'keeps the scopes that the user connected when they sign in again: tokens expire in %s',
    async (expiresIn) => {
      gitHub.expiresIn = expiresIn
      const browser = new Browser()
      await using ada = await client(browser)
      await browser.connect(new URL('/oauth/link/github?scope=repo', server.url))
      await using _ = await client(browser)
      expect(gitHub.tokens.has(textOf(await ada.callTool('push')))).toBe(true)
    },
  )

  test.each([undefined, 3600])(
    'asks for all connected scopes after a revocation, and a sign-in replaces the tokens: they expire in %s',
    async (expiresIn) => {
      gitHub.expiresIn = expiresIn
      const browser = new Browser()
      await using ada = await client(browser)
      await browser.connect(new URL('/oauth/link/github?scope=gist+repo', server.url))
      const revoke = () => {
        gitHub.tokens.clear()
        gitHub.refreshTokens.clear()
      }
      revoke()
      for (let time = 0; time < 2; time++) {
        expect(textOf(await ada.callTool('user'))).toContain('/oauth/link/github?scope=gist+repo')
      }
      await browser.connect(new URL('/oauth/link/github?scope=gist+repo', server.url))
      for (const tool of ['push', 'gist']) expect(gitHub.tokens.has(textOf(await ada.callTool(tool)))).toBe(true)
      revoke()
      expect(textOf(await ada.callTool('user'))).toContain('has to connect')
      await using _ = await client(browser)
      expect(textOf(await ada.callTool('user'))).toContain('ada')
    },
  )

  test.each([undefined, 3600])(
    'asks for all connected scopes also after several sign-ins: tokens expire in %s',
    async (expiresIn) => {
      gitHub.expiresIn = expiresIn
      const browser = new Browser()
      await using ada = await client(browser)
      const link = '/oauth/link/github?scope=gist+repo'
      for (const signIns of [0, 1]) {
        await browser.connect(new URL(link, server.url))
        expect(gitHub.tokens.has(textOf(await ada.callTool('push')))).toBe(true)
        const connected = { tokens: [...gitHub.tokens.keys()], refreshTokens: [...gitHub.refreshTokens.keys()] }
        // The tokens of a sign-in that can be used, or none.
        for (let times = 0; times < signIns; times++) await signInAs(server.url, browser)
        for (const token of connected.tokens) gitHub.tokens.delete(token)
        for (const token of connected.refreshTokens) gitHub.refreshTokens.delete(token)
        await ada.callTool('user')
        for (let times = 0; times < 2; times++) {
          await signInAs(server.url, browser)
          expect(textOf(await ada.callTool('push'))).toContain(link)
          expect(textOf(await ada.callTool('user'))).toContain('ada')
        }
      }
      await browser.connect(new URL(link, server.url))
      for (const tool of ['push', 'gist']) expect(gitHub.tokens.has(textOf(await ada.callTool(tool)))).toBe(true)
    },
  )

  test('keeps the tokens of a new sign-in when a late answer refuses the old refresh token', async () => {
    gitHub.expiresIn = 30
    const browser = new Browser()
    await using ada = await client(browser)
    const release = Promise.withResolvers<void>()
    gitHub.beforeRefresh = () => release.promise
    gitHub.refreshTokens.clear()
    const call = ada.callTool('starred')
    await expect.poll(() => gitHub.refreshed.length).toBe(1)
    gitHub.expiresIn = 3600
    await signInAs(server.url, browser)
    release.resolve()
    expect(gitHub.tokens.has(textOf(await call))).toBe(true)
    expect(gitHub.tokens.has(textOf(await ada.callTool('starred')))).toBe(true)
  })

  test('keeps the refresh token when the answer to another sign-in has none', async () => {
    gitHub.expiresIn = 30
    const browser = new Browser()
    await using ada = await client(browser)
    const path = '/login/oauth/access_token'
    gitHub.answers.set(path, () => {
      const answer = { access_token: 'gho_short', token_type: 'bearer', scope: 'read:user,user:email', expires_in: 30 }
      gitHub.tokens.set(answer.access_token, gitHub.account)
      return Response.json(answer)
    })
    try {
      await signInAs(server.url, browser)
    } finally {
      gitHub.answers.delete(path)
    }
    gitHub.expiresIn = 3600
    const token = textOf(await ada.callTool('starred'))
    expect([gitHub.tokens.has(token), token === 'gho_short']).toEqual([true, false])
  })

  test('asks the user again when the provider does not accept the refresh token any more', async () => {
    gitHub.expiresIn = 30
    await using ada = await client()
    gitHub.refreshTokens.clear()
    expect(textOf(await ada.callTool('starred'))).toContain('The user has to connect GitHub first')
    expect(textOf(await ada.callTool('starred'))).toContain('The user has to connect GitHub first')
    expect(gitHub.refreshed).toHaveLength(1)
  })

  test('is an error that says so while the provider does not answer, and works again afterwards', async () => {
    gitHub.expiresIn = 30
    await using ada = await client()
    gitHub.answers.set('/login/oauth/access_token', () => new Response(null, { status: 503 }))
    await expect(ada.callTool('starred')).rejects.toThrow('GitHub does not answer: try again later')
    gitHub.answers.clear()
    expect(gitHub.tokens.has(textOf(await ada.callTool('starred')))).toBe(true)
  })

  test('connects a provider to the user who opens the link, not to the user who sent it', async () => {
    const ada = { ...gitHub.account }
    await using hers = await client()
    gitHub.account = { id: 666, login: 'eve', name: 'Eve' }
    const eve = new Browser()
    await using _ = await client(eve)
    // Ada's link, in Eve's browser.
    await eve.connect(new URL('/oauth/link/github?scope=repo', server.url))
    expect(textOf(await hers.callTool('push'))).toContain('has to connect')
    const token = textOf(await hers.callTool('starred'))
    expect(gitHub.tokens.get(token)).toEqual(ada)
  })
})
