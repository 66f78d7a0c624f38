import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { connect, type TestClient } from '../../worker/testing/index.ts'
import { startServer, type TestServer } from '../support/server.ts'

let server: TestServer
beforeAll(async () => {
  server = await startServer('test/serve/crowded')
})
afterAll(() => server[Symbol.asyncDispose]())

const revision = '2026-07-28'
const listen = (client: TestClient) => client.watch({ toolsListChanged: true })
const refused = {
  status: 429,
  code: -32600,
  message: 'Too many streams of changes are open: close one, or try again later',
}

test('streams of changes are refused when a person has enough of them, or all together, until one ends', async () => {
  await using ada = await connect(server.url, { revision, token: 'ada' })
  await using bob = await connect(server.url, { revision, token: 'bob' })
  await using eve = await connect(server.url, { revision, token: 'eve' })
  const first = await listen(ada)
  const second = await listen(ada)
  await expect(listen(ada)).rejects.toMatchObject(refused)
  await listen(bob)
  await listen(bob)
  await listen(eve)
  await expect(listen(eve)).rejects.toMatchObject(refused)
  // Everything else goes on.
  expect((await ada.callTool('greet')).content).toEqual([{ type: 'text', text: 'Hello!' }])
  await first.close()
  await vi.waitFor(() => listen(eve))
  await second.close()
  await vi.waitFor(() => listen(ada))
})

test('one address takes a few streams of changes where nobody is signed in, and leaves room for others', async () => {
  await using nobody = await connect(server.url, { revision })
  await vi.waitFor(() => listen(nobody))
  const second = await listen(nobody)
  await listen(nobody)
  await expect(listen(nobody)).rejects.toMatchObject(refused)
  await using ada = await connect(server.url, { revision, token: 'ada' })
  await listen(ada)
  await second.close()
  await vi.waitFor(() => listen(nobody))
})
