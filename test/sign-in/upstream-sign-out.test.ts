/** Users of `oauth2()`, and tokens of a provider when their user signs out while they are refreshed. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { Browser } from '../../worker/testing/provider/browser.ts'
import { Stage } from './attacks/stage.ts'
import type { Tokens } from './client.ts'
import { objectAt } from './tokens.ts'

let stage: Stage
beforeAll(async () => {
  stage = await Stage.start({ CASE: 'revocable' })
})
afterAll(() => stage?.[Symbol.asyncDispose]())

test('tokens that arrive after the user has signed out are revoked, and returned to no call', async () => {
  const { gitHub } = stage
  const revoked: string[] = []
  gitHub.answers.set('/revoke', async (request) => {
    revoked.push(new URLSearchParams(await request.text()).get('token') ?? '')
    return new Response()
  })
  gitHub.expiresIn = 30
  const { client, tokens } = await stage.signIn()
  const [old] = [...gitHub.refreshTokens.keys()]
  const arrived = Promise.withResolvers<void>()
  const release = Promise.withResolvers<void>()
  gitHub.beforeRefresh = () => {
    arrived.resolve()
    return release.promise
  }
  const call = stage.call(tokens.access_token, 'starred')
  await arrived.promise
  expect((await stage.token({ token: tokens.refresh_token, client_id: client.id })).status).toBe(200)
  expect(revoked).toEqual([old])
  release.resolve()
  expect(await call).toContain('The user has to connect GitHub first')
  const [next] = [...gitHub.refreshTokens.keys()]
  expect(revoked).toEqual([old, next])
})

/** Ends all access of a user. Returns how many grants have ended. */
async function signOut(of: Stage, subject: string): Promise<unknown> {
  const body = JSON.stringify({ issuer: of.server.origin, subject })
  return (await fetch(of.at('/operator?do=signOut'), { method: 'POST', body })).json()
}

/** Returns what the object with the tokens of a user stores: an object that stores nothing has no table. */
async function stored(of: Stage, user: string): Promise<unknown> {
  const name = objectAt(of.server, `upstream:${user}`)
  const storage = await of.harness.getWorker().getDurableObjectStorage('McpSignIn', { name })
  return storage.exec("SELECT name FROM sqlite_master WHERE type = 'table' AND name = '_cf_KV'")
}

test.each(['signOut', 'account page'])(
  'tokens are deleted with the last grant, also after an end that was interrupted: %s',
  async (what) => {
    stage.gitHub.account = { id: 8, login: 'ada', name: 'Ada' }
    const browser = new Browser()
    const [interrupted, other] = [await stage.signIn(browser), await stage.signIn(browser)]
    await browser.open(stage.at('/oauth/account'))
    const end = async (client: string) => {
      const headers = { Origin: stage.server.origin }
      return (await browser.visit(stage.at('/oauth/account'), new URLSearchParams({ client }), { headers })).status
    }
    const operate = (action: string, body: number) =>
      fetch(stage.at(`/operator?do=${action}`), { method: 'POST', body: JSON.stringify(body) })
    await operate('failRemovals', 1)
    expect(await end(interrupted.client.id)).toBe(500)
    await operate('advance', 2 * 60_000)
    if (what === 'signOut') expect(await signOut(stage, 'github.8')).toBe(1)
    else expect(await end(other.client.id)).toBe(303)
    expect(await stored(stage, 'github.8')).toEqual([])
  },
)

test('a provider that is connected while the user signs out leaves no tokens: tenant() goes on', async () => {
  await using looking = await Stage.start({ CASE: 'looking' })
  looking.gitHub.account = { id: 5, login: 'ada', name: 'Ada', claims: { org_id: 'acme' } }
  const browser = new Browser()
  const asked = looking.ask(await looking.registered())
  await looking.code(asked, browser, 'oidc')
  expect(await stored(looking, 'oidc.5')).toHaveLength(1)
  const tenant = looking.gitHub.hold('/tenant')
  const page = browser.connect(looking.at('/oauth/link/oidc?tenant=acme'))
  await tenant.arrived
  expect(await signOut(looking, 'oidc.5')).toBe(1)
  tenant.release()
  expect(await page).toContain('Nothing was connected')
  expect(await stored(looking, 'oidc.5')).toEqual([])
})

test('a provider that is connected while the user signs out leaves no tokens: their revocation goes on', async () => {
  const { gitHub } = stage
  gitHub.account = { id: 6, login: 'ada', name: 'Ada' }
  const browser = new Browser()
  await stage.signIn(browser)
  const toProvider = (await browser.press(stage.at('/oauth/link/github'))).headers.get('Location') ?? ''
  const back = (await browser.visit(new URL(toProvider))).headers.get('Location') ?? ''
  const revocation = gitHub.hold('/revoke')
  const ended = signOut(stage, 'github.6')
  await revocation.arrived
  const page = browser.open(new URL(back))
  gitHub.account = { id: 7, login: 'grace', name: 'Grace' }
  // The page waits for the end of access. A page that does not has ended after the sign-in of another user.
  await Promise.race([page, stage.signIn()])
  revocation.release()
  expect(await ended).toBe(1)
  expect(await page).toContain('Nothing was connected')
  expect(await stored(stage, 'github.6')).toEqual([])
})

describe('the user function of oauth2()', () => {
  afterEach(() => stage.gitHub.answers.delete('/api/v3/user'))

  /** Signs in a user whom the API describes in this way. Returns the subject, or the error of the client. */
  async function subjectOf(profile: object) {
    stage.gitHub.answers.set('/api/v3/user', () => Response.json(profile))
    const asked = stage.ask(await stage.registered())
    const params = await new Browser().authorize(asked.url, { decision: 'github' })
    const code = params.get('code')
    if (code === null) return params.get('error')
    const { access_token } = (await (await stage.token(stage.codeForm(asked, code))).json()) as Tokens
    return JSON.parse((await stage.call(access_token)).slice(4)).subject
  }

  test.each([7, '7', 'a|7'])('a user whose id is %j is signed in', async (id) => {
    expect(await subjectOf({ id, login: 'ada' })).toBe(`github.${String(id).replace('|', '~7C')}`)
  })

  test.each([undefined, null, '', 'undefined', 'null', 'NaN', '\ud800', 1.5, 0, 2 ** 53, true, {}, ['7']])(
    'a user whose id is %j is not signed in',
    async (id) => {
      expect(await subjectOf({ id, login: 'ada' })).toBe('server_error')
    },
  )

  test.each([
    { login: 7 },
    { email: ['ada@example.com'] },
    { email: 'ada@example.com', emailVerified: ['true'] },
    { groups: 'admins' },
    { tenant: 'acme' },
    { tenant: 7 },
  ])('a user with %j is not signed in', async (profile) => {
    expect(await subjectOf({ id: 7, login: 'ada', ...profile })).toBe('server_error')
  })
})
