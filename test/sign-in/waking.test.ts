/** What sign-in does as time passes: tasks that sleep for longer than the tokens of their user live, and refreshes that are repeated late. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Browser } from '../../worker/testing/provider/browser.ts'
import { type ControlledServer, startControlled } from '../support/objects.ts'
import { TaskClient, textOf } from '../tasks/client.ts'
import { GitHub } from './github.ts'
import { signInAs, type Tokens, tokenRequest } from './tokens.ts'

let gitHub: GitHub
let server: ControlledServer
beforeAll(async () => {
  gitHub = await GitHub.start()
  gitHub.expiresIn = 8 * 60 * 60
  server = await startControlled('test/sign-in/waking', {
    GITHUB: gitHub.url,
    EDGEMCP_KEYS: 'k1:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8',
  })
})
afterAll(async () => {
  await server?.[Symbol.asyncDispose]()
  await gitHub?.[Symbol.asyncDispose]()
})

const halfDay = 12 * 60 * 60_000

test.each(['evicted', 'in memory'])(
  'a task whose object is %s wakes with a token that is refreshed once',
  async (state) => {
    gitHub.refreshed.length = 0
    const { access_token, refresh_token, client_id } = await signInAs(server.url, new Browser())
    const client = new TaskClient(server.url)
    const user = `Bearer ${access_token}`
    const taskId = await client.begin('nightly', {}, { user })
    await expect.poll(() => client.get(taskId, { user })).toMatchObject({ status: 'working', statusMessage: 'asleep' })
    if (state === 'evicted') await server.evict({ task: taskId })
    await server.advance(halfDay)
    // The token of the client has expired, too.
    const response = await tokenRequest(server.url, { grant_type: 'refresh_token', refresh_token, client_id })
    const later = { user: `Bearer ${((await response.json()) as Tokens).access_token}` }
    const { before, after } = JSON.parse(String(textOf(await client.until(taskId, 'completed', later))))
    expect(after[0]).not.toBe(before)
    expect(after).toEqual([after[0], after[0]])
    expect(gitHub.tokens.has(after[0])).toBe(true)
    expect(gitHub.refreshed).toHaveLength(1)
  },
)

test('a repeated refresh has the remaining lifetime of its access token, and another token once that has expired', async () => {
  const { refresh_token, client_id } = await signInAs(server.url, new Browser())
  const refresh = async () => {
    const response = await tokenRequest(server.url, { grant_type: 'refresh_token', refresh_token, client_id })
    return (await response.json()) as Tokens
  }
  const first = await refresh()
  expect(first.expires_in).toBe(180)
  await server.advance(60_000)
  const second = await refresh()
  expect(second.access_token).toBe(first.access_token)
  expect(second.expires_in).toBeLessThanOrEqual(120)
  await server.advance(180_000)
  const third = await refresh()
  expect(third.access_token).not.toBe(first.access_token)
  expect(third.expires_in).toBe(180)
})
