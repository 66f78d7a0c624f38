import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { connect } from '../../worker/testing/index.ts'
import { startServer, type TestServer } from '../support/server.ts'

let server: TestServer
beforeAll(async () => {
  server = await startServer('test/compose/shared-subscriptions')
})
afterAll(() => server[Symbol.asyncDispose]())

const updated = 'notifications/resources/updated'
const toolsChanged = 'notifications/tools/list_changed'

test.each(['2026-07-28', '2025-11-25'])(
  'subscribers get a change of a mounted server once when several outer servers share a class: %s',
  async (revision) => {
    const ask = async (path: string) => {
      expect((await fetch(new URL(path, server.url))).status).toBe(204)
    }
    // A note of its own: the other test may have changed its last note a moment ago.
    const last = `note://last-${revision}`
    await ask('/disable')
    await using stack = new AsyncDisposableStack()
    const clients = await Promise.all(
      ['one', 'two', 'outer'].map(async (name) => {
        const client = stack.use(await connect(new URL(`/${name}`, server.url), { revision }))
        const resourceSubscriptions = [`note://${revision}`, last]
        await client.subscribe({ toolsListChanged: true, resourceSubscriptions })
        return client
      }),
    )
    await ask('/enable')
    await ask(`/update?id=${revision}`)
    // The second update of the last note is coalesced. So it is delivered after repeated deliveries of the changes before it would be.
    await ask(`/update?id=last-${revision}`)
    await ask(`/update?id=last-${revision}`)
    const received = () =>
      clients.map(({ notifications }) =>
        notifications
          .filter(({ method }) => method === updated || method === toolsChanged)
          .map(({ method, params }) => (method === updated ? params?.uri : method))
          // Changes of different topics may arrive in any order.
          .toSorted(),
      )
    const expected = [last, last, `note://${revision}`, toolsChanged].toSorted()
    await vi.waitFor(() => {
      for (const all of received()) expect(all.filter((uri) => uri === last)).toHaveLength(2)
    })
    expect(received()).toEqual([expected, expected, expected])
  },
)
