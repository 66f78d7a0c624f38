/** Users of `oauth2()`, and tokens of a provider when their user signs out while they are refreshed. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { Browser } from '../../worker/testing/provider/browser.ts'
import { Stage } from './attacks/stage.ts'
import type { Tokens } from './client.ts'

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

  test.each([undefined, null, '', 'undefined', 'null', 'NaN', 1.5, 0, 2 ** 53, true, {}, ['7']])(
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
