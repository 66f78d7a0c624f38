import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { connect, type TestClient } from '../../worker/testing/index.ts'
import { startServer, type TestServer } from '../support/server.ts'

let server: TestServer
beforeAll(async () => {
  server = await startServer('test/subscriptions/two-servers')
})
afterAll(() => server[Symbol.asyncDispose]())

const run = async (path: string) => (await fetch(new URL(path, server.url))).json()
const connectTo = (name: string, revision = '2026-07-28') => connect(new URL(`/${name}/mcp`, server.url), { revision })

async function toolsOf(client: TestClient): Promise<string[]> {
  const { tools } = (await client.request('tools/list')) as { tools: { name: string }[] }
  return tools.map(({ name }) => name)
}

describe('two servers of one Worker', () => {
  test('enable and disable entries of the same name separately', async () => {
    await using one = await connectTo('one')
    await using two = await connectTo('two')
    await run('/one/disable')
    expect([await toolsOf(one), await toolsOf(two)]).toEqual([[], ['hammer']])
    await run('/two/disable')
    await run('/one/enable')
    expect([await toolsOf(one), await toolsOf(two)]).toEqual([['hammer'], []])
  })

  test.each(['2026-07-28', '2025-11-25'])(
    'notify their own clients only, in all shards, and count them separately: %s',
    async (revision) => {
      await using stack = new AsyncDisposableStack()
      const open = async (name: string) => {
        // Sessions in random shards, streams of one address in one.
        const clients = await Promise.all(Array.from({ length: 4 }, () => connectTo(name, revision)))
        for (const client of clients) {
          stack.use(client)
          const lists = { resourcesListChanged: true, promptsListChanged: true }
          await client.subscribe({ ...lists, resourceSubscriptions: ['note://1'] })
        }
        return clients
      }
      const [ones, twos] = [await open('one'), await open('two')]
      const kind = revision === '2026-07-28' ? 'streams' : 'sessions'
      expect(await run('/one/subscribers')).toMatchObject({ [kind]: 4 })
      expect(await run('/two/subscribers')).toMatchObject({ [kind]: 4 })
      const [prompts, list, resource] = ['prompts/list_changed', 'resources/list_changed', 'resources/updated'].map(
        (method) => `notifications/${method}`,
      ) as [string, string, string]
      await run('/one/update')
      await run('/one/resourcesChanged')
      for (const client of ones) await Promise.all([client.next(resource), client.next(list)])
      await run('/one/promptsChanged')
      await run('/two/promptsChanged')
      const received = [...ones, ...twos].map(async (client) => {
        await client.next(prompts)
        return [prompts, list, resource].filter((name) => client.notifications.some(({ method }) => method === name))
      })
      const [own, other] = [[prompts, list, resource], [prompts]]
      expect(await Promise.all(received)).toEqual([own, own, own, own, other, other, other, other])
    },
  )
})
