/** Clients whose id is the URL of their metadata document. No such document can be read here: only hosts of the internet are asked. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startServer, type TestServer } from '../support/server.ts'
import { RawClient, seen } from './client.ts'

let server: TestServer
let client: RawClient
beforeAll(async () => {
  server = await startServer('test/sign-in/public-fetch')
  client = new RawClient(server.url)
})
afterAll(() => server?.[Symbol.asyncDispose]())

test('the metadata say that they are accepted', async () => {
  const metadata = await (await fetch(client.at('/.well-known/oauth-authorization-server'))).json()
  expect(metadata).toMatchObject({ client_id_metadata_document_supported: true })
})

test.each([
  'https://app.invalid/client.json',
  'https://127.0.0.1/client.json',
  'https://169.254.169.254/latest/meta-data',
  'https://localhost/client.json',
])('%s, which cannot be read, is refused', async (id) => {
  const { url } = client.ask({ id, secret: undefined })
  expect(await seen(await fetch(url, { redirect: 'manual' }))).toBe('400 page: This server cannot verify the app.')
  const form = { grant_type: 'refresh_token', refresh_token: 'a:b:c', client_id: id }
  expect(await seen(await client.token(form))).toBe('401 invalid_client')
})

test.each([
  'http://app.invalid/client.json',
  'https://app.invalid',
  'https://app.invalid/a/../client.json',
  'https://user@app.invalid/client.json',
  'https://app.invalid/client.json#x',
  'ftp://app.invalid/client.json',
])('%s is no such URL', async (id) => {
  const { url } = client.ask({ id, secret: undefined })
  expect(await seen(await fetch(url, { redirect: 'manual' }))).toMatch(
    /^400 page: (?:Invalid client_id|This server cannot verify the app)\.$/,
  )
})
