/** The events of several endpoints of one Worker, as the inspector reads them. */
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { newSecret } from '../../worker/client/webhook.ts'
import { connect } from '../../worker/testing/index.ts'
import { inspectorCookie, inspectorSecrets } from '../support/inspector-key.ts'
import { startServer, type TestServer } from '../support/server.ts'

let server: TestServer
beforeAll(async () => {
  // Wrangler puts this into the bundle.
  vi.stubEnv('NODE_ENV', 'development')
  server = await startServer('test/inspector/endpoints', { ...inspectorSecrets, EDGEMCP_KEYS: `k1:${'a'.repeat(43)}` })
})
afterAll(() => server?.harness.close())

async function inside(query: string, method = 'GET') {
  const init = { method, headers: inspectorCookie(server.url) }
  return await (await fetch(new URL(`/?inside=events${query}`, server.url), init)).json()
}

const clientOf = (path: string) =>
  connect(new URL(path, server.url), { revision: '2026-07-28', headers: { Authorization: 'Bearer ada' } })

test('lists what each endpoint delivers, once, and sends dead letters of each again', async () => {
  await using first = await clientOf('/first')
  await using second = await clientOf('/second')
  const delivery = {
    mode: 'webhook',
    url: new URL('/?inside=receiver', server.url).href,
    secret: newSecret(),
  }
  for (const client of [first, second])
    for (const name of ['note.saved', 'note.removed'])
      await client.request('events/subscribe', { name, arguments: {}, delivery, cursor: null })
  const events = async () => (await inside('')).subscriptions.map(({ event }: { event: string }) => event)
  expect((await events()).toSorted()).toEqual(['note.removed', 'note.removed', 'note.saved', 'note.saved'])
  await inside('&answer=410', 'POST')
  await first.callTool('save')
  await second.callTool('save')
  const dead = async () => (await inside('')).deadLetters.map(({ id }: { id: string }) => id)
  await expect.poll(async () => (await dead()).toSorted()).toEqual(['evt_FirstEvents', 'evt_SecondEvents'])
  await inside('&answer=204', 'POST')
  expect(await inside('&id=evt_FirstEvents&id=evt_SecondEvents', 'POST')).toEqual({ redelivered: 2 })
  await expect.poll(dead).toEqual([])
})
