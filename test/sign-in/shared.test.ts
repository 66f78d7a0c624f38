/** Two endpoints with different identities that share one `signIn()`. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Browser } from '../../worker/testing/provider/browser.ts'
import { bearing, call } from '../auth/call.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { GitHub } from './github.ts'
import { signInAs } from './tokens.ts'

let gitHub: GitHub
let server: TestServer
beforeAll(async () => {
  gitHub = await GitHub.start()
  server = await startServer('test/sign-in/hosts', { CASE: 'shared', GITHUB: gitHub.url })
})
afterAll(async () => {
  await server?.[Symbol.asyncDispose]()
  await gitHub?.[Symbol.asyncDispose]()
})

test('a token of one endpoint is refused at another that shares its signIn(), also when it was verified before', async () => {
  const { access_token: token } = await signInAs(server.url, new Browser())
  const statusAt = async (endpoint: string) =>
    (await call(server.url, { ...bearing(token), 'X-Endpoint': endpoint }, 'whoami')).status
  const found = []
  for (const endpoint of ['second', 'first', 'second', 'first']) found.push(await statusAt(endpoint))
  expect(found).toEqual([401, 200, 401, 200])
})
