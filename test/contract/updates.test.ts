import { expect, test } from 'vitest'
import type { Params } from '../../worker/protocol/types.ts'
import { connect } from '../../worker/testing/index.ts'
import { behaviour, withoutSessions, withServer, withSessions } from '../support/behaviour.ts'
import { startEverything } from '../support/server.ts'

withServer()

behaviour('subscribers are notified of a changed resource', async ({ connect }) => {
  const [listener, other] = [await connect(), await connect()]
  await listener.subscribe({ resourceSubscriptions: ['note://1'] })
  await other.subscribe({ resourceSubscriptions: ['note://2'] })
  await other.callTool('touch', { id: '1' })
  await other.callTool('touch', { id: '2' })
  expect((await listener.next('notifications/resources/updated')).params).toMatchObject({ uri: 'note://1' })
  expect((await other.next('notifications/resources/updated')).params).toMatchObject({ uri: 'note://2' })
  await other.callTool('touch', { id: '1' })
  await listener.next('notifications/resources/updated')
  const heard = listener.notifications.map(({ params }) => params?.uri).filter((uri) => uri !== undefined)
  expect(heard).toEqual(['note://1', 'note://1'])
})

behaviour('a subscription matches another spelling of the URI', async ({ connect }) => {
  const client = await connect()
  expect(await client.request('resources/read', { uri: 'note://%31' })).toBeDefined()
  const subscription = await client.subscribe({ resourceSubscriptions: ['note://%31'] })
  await client.callTool('touch', { id: '1' })
  expect((await client.next('notifications/resources/updated')).params).toMatchObject({ uri: 'note://1' })
  await subscription.close()
})

behaviour('a scheme in capitals is the same scheme', async ({ connect }) => {
  const client = await connect()
  expect(await client.request('resources/read', { uri: 'NOTE://1' })).toBeDefined()
  const subscription = await client.subscribe({ resourceSubscriptions: ['Note://1'] })
  await client.callTool('touch', { id: '1' })
  expect((await client.next('notifications/resources/updated')).params).toMatchObject({ uri: 'note://1' })
  await subscription.close()
})

behaviour('no notification is sent after unsubscribing', async ({ connect }) => {
  const client = await connect()
  const first = await client.subscribe({ resourceSubscriptions: ['note://1'] })
  await client.callTool('touch', { id: '1' })
  await client.next('notifications/resources/updated')
  await first.close()
  await client.subscribe({ resourceSubscriptions: ['note://2'] })
  await client.callTool('touch', { id: '1' })
  await client.callTool('touch', { id: '2' })
  expect((await client.next('notifications/resources/updated')).params).toMatchObject({ uri: 'note://2' })
})

behaviour('all subscribers are notified of changed lists', async ({ connect }) => {
  const [one, two] = [await connect(), await connect()]
  const filter = { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true }
  for (const client of [one, two]) await client.subscribe(filter)
  await one.callTool('change_lists')
  for (const client of [one, two]) {
    for (const list of ['tools', 'prompts', 'resources']) await client.next(`notifications/${list}/list_changed`)
  }
})

behaviour(
  'a subscriptions/listen stream has only the requested notifications, with its subscription id',
  async ({ connect }) => {
    const client = await connect()
    await client.subscribe({ promptsListChanged: true, resourceSubscriptions: ['note://3', 'secret://1'] })
    const acknowledged = await client.next('notifications/subscriptions/acknowledged')
    expect(acknowledged.params).toEqual({
      notifications: { promptsListChanged: true, resourceSubscriptions: ['note://3'] },
      _meta: { 'io.modelcontextprotocol/subscriptionId': expect.any(Number) },
    })
    await client.callTool('change_lists')
    const { params } = await client.next('notifications/prompts/list_changed')
    expect(params).toEqual({ _meta: acknowledged.params?._meta })
    expect(client.notifications.map(({ method }) => method)).not.toContain('notifications/tools/list_changed')
    await expect(client.request('subscriptions/listen', {})).rejects.toMatchObject({ code: -32602 })
  },
  {
    revisions: withSessions,
    because: 'subscriptions/listen came with 2026-07-28',
    async instead({ connect }) {
      const client = await connect()
      await expect(client.request('subscriptions/listen', { notifications: {} })).rejects.toMatchObject({
        code: -32601,
      })
    },
  },
)

behaviour(
  'a subscription to an unknown resource is refused',
  async ({ connect }) => {
    const client = await connect()
    for (const method of ['resources/subscribe', 'resources/unsubscribe']) {
      await expect(client.request(method, {})).rejects.toMatchObject({ code: -32602 })
    }
    await expect(client.request('resources/subscribe', { uri: 'other://1' })).rejects.toMatchObject({ code: -32002 })
  },
  {
    revisions: withoutSessions,
    because: 'subscriptions are streams of their own',
    async instead({ connect }) {
      const client = await connect()
      const subscribe = client.request('resources/subscribe', { uri: 'note://1' })
      await expect(subscribe).rejects.toMatchObject({ code: -32601, status: 404 })
    },
  },
)

test('a batch that subscribes and unsubscribes leaves no subscription', async () => {
  await using server = await startEverything()
  await using client = await connect(server.url, { revision: '2025-03-26' })
  await client.subscribe({ resourceSubscriptions: ['note://2'] })
  const methods = ['resources/subscribe', 'resources/unsubscribe']
  const batch = methods.map((method, id) => ({
    jsonrpc: '2.0',
    id: `batch ${id}`,
    method,
    params: { uri: 'note://1' },
  }))
  const response = await fetch(server.url, {
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream',
      'Mcp-Session-Id': client.session as string,
    },
    body: JSON.stringify(batch),
  })
  await response.text()
  await client.callTool('touch', { id: '1' })
  await client.callTool('touch', { id: '2' })
  expect((await client.next('notifications/resources/updated')).params).toMatchObject({ uri: 'note://2' })
})

const lists = {
  tool: { list: 'tools', names: (result: Params) => (result.tools as { name: string }[]).map(({ name }) => name) },
  prompt: {
    list: 'prompts',
    names: (result: Params) => (result.prompts as { name: string }[]).map(({ name }) => name),
  },
  resource: {
    list: 'resources',
    names: (result: Params) => (result.resources as { uri: string }[]).map(({ uri }) => uri.replace('data://', '')),
  },
} as const
behaviour('enabling and disabling applies to all clients and notifies them', async ({ connect }) => {
  const [one, two] = [await connect(), await connect()]
  await two.subscribe({ toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true })
  for (const [what, { list, names }] of Object.entries(lists)) {
    const isListed = async () => {
      const listed: string[] = []
      for (let cursor: unknown, more = true; more; more = cursor !== undefined) {
        const page = await two.request(`${list}/list`, cursor ? { cursor } : {})
        listed.push(...names(page))
        cursor = page.nextCursor
      }
      return listed.includes('seasonal')
    }
    const turn = async (how: string) => {
      await one.callTool('turn', { what, how })
      await two.next(`notifications/${list}/list_changed`)
    }
    if (!(await isListed())) await turn('enable')
    expect(await isListed(), what).toBe(true)
    await turn('disable')
    expect(await isListed(), what).toBe(false)
    await turn('enable')
    await turn('disable')
    expect(await isListed(), what).toBe(false)
  }
  await expect(two.callTool('seasonal')).rejects.toMatchObject({ code: -32602, message: 'Unknown tool: seasonal' })
  await one.callTool('turn', { what: 'tool', how: 'enable' })
  expect((await two.callTool('seasonal')).content).toEqual([{ type: 'text', text: 'It is the season' }])
  // Nothing has changed, so nothing is said.
  await two.next('notifications/tools/list_changed')
  const heard = two.notifications.length
  await one.callTool('turn', { what: 'tool', how: 'enable' })
  await one.callTool('turn', { what: 'tool', how: 'disable' })
  await two.next('notifications/tools/list_changed')
  expect(two.notifications).toHaveLength(heard + 1)
})

behaviour(
  'a subscription to a template matches all of its resources that the caller may read',
  async ({ connect, kind }) => {
    const client = await connect()
    await client.subscribe({ resourceSubscriptions: ['note://{id}'] })
    for (const id of ['7', '8']) {
      await client.callTool('touch', { id })
      expect((await client.next('notifications/resources/updated')).params).toMatchObject({ uri: `note://${id}` })
    }
    for (const uri of ['diary://{owner}', 'diary://ada']) {
      if (kind.revision >= '2026-07-28') {
        const listener = await connect()
        await listener.subscribe({ resourceSubscriptions: [uri, 'diary://everybody'] })
        const { params } = await listener.next('notifications/subscriptions/acknowledged')
        expect(params?.notifications).toEqual({ resourceSubscriptions: ['diary://everybody'] })
      } else {
        const refused = await client.request('resources/subscribe', { uri }).catch((problem) => problem)
        expect(refused).toMatchObject({ code: -32002 })
      }
    }
    expect(await client.request('resources/read', { uri: 'diary://everybody' })).toMatchObject({
      contents: [{ text: 'A diary of everybody' }],
    })
    const code = kind.revision >= '2026-07-28' ? -32602 : -32002
    await expect(client.request('resources/read', { uri: 'diary://ada' })).rejects.toMatchObject({ code })
  },
)
