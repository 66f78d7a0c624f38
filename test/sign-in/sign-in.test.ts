/** `signIn()`: published clients whose users sign in with an identity provider. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { GitHub } from '../../examples/github/auth-server/github.ts'
import { Journal } from '../auth/flow/journal.ts'
import { type Published, published } from '../auth/flow/programs.ts'
import { Wallet } from '../auth/flow/wallet.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { Browser } from './browser.ts'

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

/** A published client whose user has signed in with GitHub. */
async function signedIn({ start }: Published, browser = new Browser(), scopes?: string[]) {
  const wallet = new Wallet()
  const journal = new Journal()
  const program = start(server.url, wallet, journal)
  await expect(program.connect()).rejects.toThrow('Unauthorized')
  await program.finish(await browser.authorize(wallet.sentTo as URL, { decision: 'github', ...(scopes && { scopes }) }))
  await program.connect()
  return { program, wallet, journal, browser }
}

describe.each(published)('$name', (client) => {
  test('signs in with GitHub after a 401, calls a tool as its user, and refreshes an expired token', async () => {
    const { program, wallet, journal, browser } = await signedIn(client)
    expect(browser.pages[0]).toContain('Allow, and sign in with GitHub')
    expect(JSON.parse(await program.call('whoami'))).toMatchObject({
      issuer: server.url.origin,
      subject: 'github.1815',
      scopes: ['notes:read', 'notes:write'],
      claims: {
        preferred_username: 'ada',
        name: 'Ada Lovelace',
        email: 'ada@example.com',
        email_verified: true,
        provider: 'github',
      },
    })
    expect(journal.take(server.url.origin).lines).toEqual(
      expect.arrayContaining(['POST /oauth/register 201', 'POST /oauth/token authorization_code 200']),
    )
    const refreshToken = wallet.held?.refresh_token
    wallet.held = { ...wallet.held, access_token: 'expired', token_type: 'bearer' }
    expect(await program.call('write')).toBe('written')
    expect(journal.take(server.url.origin).lines).toContain('POST /oauth/token refresh_token 200')
    expect(wallet.held?.refresh_token).not.toBe(refreshToken)
    await program.close()
  })
})
