import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { connect, type TestClient } from '../../worker/testing/index.ts'
import { startServer, type TestServer } from '../support/server.ts'

let server: TestServer
beforeAll(async () => {
  server = await startServer('test/serve/crowded')
})
afterAll(() => server[Symbol.asyncDispose]())

test('streams of changes are refused when a person has enough of them, or all together, until one ends', async () => {
  const revision = '2026-07-28'
  await using ada = await connect(server.url, { revision, token: 'ada' })
  await using bob = await connect(server.url, { revision, token: 'bob' })
  const listen = (client: TestClient) => client.watch({ toolsListChanged: true })
  const refused = {
    status: 429,
    code: -32600,
    message: 'Too many streams of changes are open: close one, or try again later',
  }
  const first = await listen(ada)
  const second = await listen(ada)
  await expect(listen(ada)).rejects.toMatchObject(refused)
  await listen(bob)
  await expect(listen(bob)).rejects.toMatchObject(refused)
  // Everything else goes on.
  expect((await ada.callTool('greet')).content).toEqual([{ type: 'text', text: 'Hello!' }])
  await first.close()
  await vi.waitFor(() => listen(bob))
  await second.close()
  await vi.waitFor(() => listen(ada))
})
