/** In development the inspector is at `/`; what a deployment has there is at `/?page`. */
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { startServer, type TestServer } from '../support/server.ts'

let server: TestServer
beforeAll(async () => {
  vi.stubEnv('NODE_ENV', 'development')
  server = await startServer('test/inspector/deployed')
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
  vi.unstubAllEnvs()
})

const open = (host: string) => server.harness.fetch(`http://${host}.localhost:${server.url.port}/?page`)

test('/?page shows the page of inspector({ auth })', async () => {
  const response = await open('guarded')
  expect(response.status).toBe(200)
  expect(await response.text()).toContain('<title>&#60;i&#62;Deployed&#60;/i&#62; – inspector</title>')
})

test('/?page refuses an inspector({ auth }) that differs from the auth of serve(), like a deployment', async () => {
  expect((await open('other')).status).toBe(500)
})
