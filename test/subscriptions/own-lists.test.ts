/** Lists that differ by session or by user: a handler changes one, and its session or its user is notified. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connect, type TestClient } from '../../worker/testing/index.ts'
import { startServer, type TestServer } from '../support/server.ts'

let server: TestServer
beforeAll(async () => {
  server = await startServer('test/subscriptions/files')
})
afterAll(() => server[Symbol.asyncDispose]())

const lists = { toolsListChanged: true, resourcesListChanged: true }

async function connectAs(token: string, options: { revision: string; sse?: boolean }): Promise<TestClient> {
  const client = await connect(server.url, { ...options, token })
  await client.subscribe(lists)
  return client
}

const listed = async (client: TestClient) => {
  const { resources } = await client.request('resources/list')
  return (resources as { uri: string }[]).map(({ uri }) => uri)
}

/** Returns whether the list of resources has changed, once everyone has received a later notification. */
async function changes(clients: readonly TestClient[]): Promise<boolean[]> {
  await clients[0]?.callTool('announce')
  return Promise.all(
    clients.map(async (client) => {
      await client.next('notifications/tools/list_changed')
      return client.notifications.some(({ method }) => method === 'notifications/resources/list_changed')
    }),
  )
}

test.each([{ revision: '2025-11-25' }, { revision: '2024-11-05', sse: true }])(
  'a handler adds a resource to its session: %j',
  async (options) => {
    await using own = await connectAs('ada', options)
    await using otherSession = await connectAs('ada', options)
    await using otherUser = await connectAs('bob', options)
    const clients = [own, otherSession, otherUser]
    await own.callTool('write_file', { name: 'report', text: 'Sales rose' })
    expect(await changes(clients)).toEqual([true, false, false])
    expect(await Promise.all(clients.map(listed))).toEqual([['file:///report'], [], []])
  },
)

test('a handler adds a resource to its user: every session and stream of the user is notified', async () => {
  await using stateless = await connectAs('eve', { revision: '2026-07-28' })
  await using session = await connectAs('eve', { revision: '2025-11-25' })
  await using sse = await connectAs('eve', { revision: '2024-11-05', sse: true })
  await using otherUser = await connectAs('bob', { revision: '2026-07-28' })
  const clients = [stateless, session, sse, otherUser]
  await stateless.callTool('write_note', { name: 'idea', text: 'Rest' })
  expect(await changes(clients)).toEqual([true, true, true, false])
  expect(await Promise.all(clients.map(listed))).toEqual([['note://idea'], ['note://idea'], ['note://idea'], []])
})
