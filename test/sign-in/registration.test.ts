/** The registration of clients: what is stored of it is bounded. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startServer, type TestServer } from '../support/server.ts'
import { GitHub } from './github.ts'

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

const register = (client_name: string, redirect_uris = ['http://127.0.0.1:9/']): Promise<Response> =>
  fetch(new URL('/oauth/register', server.url), {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ redirect_uris, client_name, token_endpoint_auth_method: 'none' }),
  })

test('a registration of more than 64 KiB is refused', async () => {
  expect((await register('a'.repeat(60_000))).status).toBe(201)
  expect((await register('a'.repeat(70_000))).status).toBe(413)
})

test('an app has at most 100 redirect URIs', async () => {
  const uris = (count: number) => Array.from({ length: count }, (_, port) => `http://127.0.0.1:${port + 1}/`)
  expect((await register('app', uris(100))).status).toBe(201)
  const refused = await register('app', uris(101))
  expect([refused.status, await refused.json()]).toEqual([
    400,
    { error: 'invalid_redirect_uri', error_description: 'An app has at most 100 redirect URIs' },
  ])
})

test.each([
  ['none', {}, ['authorization_code', 'refresh_token']],
  ['one', { grant_types: ['authorization_code'] }, ['authorization_code']],
])('the answer has the grant types of a client that registers %s', async (_, registered, grantTypes) => {
  const response = await fetch(new URL('/oauth/register', server.url), {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ redirect_uris: ['http://127.0.0.1:9/'], client_name: 'app', ...registered }),
  })
  expect([response.status, await response.json()]).toMatchObject([201, { grant_types: grantTypes }])
})

test.each(['[]', 'null', '"app"', '{', ''])('a registration that is %j is refused', async (body) => {
  const response = await fetch(new URL('/oauth/register', server.url), {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body,
  })
  expect(response.status).toBe(400)
})
