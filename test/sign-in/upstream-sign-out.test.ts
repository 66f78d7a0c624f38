/** Tokens of a provider when their user signs out while they are refreshed. */
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Stage } from './attacks/stage.ts'

let stage: Stage
beforeAll(async () => {
  stage = await Stage.start({ CASE: 'revocable' })
})
afterAll(() => stage?.[Symbol.asyncDispose]())

test('tokens that arrive after the user has signed out are revoked, and returned to no call', async () => {
  const { gitHub } = stage
  const revoked: string[] = []
  gitHub.instead.set('/revoke', async (request, response) => {
    revoked.push(new URLSearchParams(await text(request)).get('token') ?? '')
    response.writeHead(200).end()
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
