import { expect } from 'vitest'
import { behaviour, withServer } from '../support/behaviour.ts'

withServer()

behaviour('a changed resource is heard by those who subscribed to it', async ({ connect }) => {
  const [listener, other] = [await connect(), await connect()]
  await listener.watch({ resourceSubscriptions: ['note://1'] })
  await other.watch({ resourceSubscriptions: ['note://2'] })
  await other.callTool('touch', { id: '1' })
  await other.callTool('touch', { id: '2' })
  expect((await listener.next('notifications/resources/updated')).params).toMatchObject({ uri: 'note://1' })
  expect((await other.next('notifications/resources/updated')).params).toMatchObject({ uri: 'note://2' })
  await other.callTool('touch', { id: '1' })
  await listener.next('notifications/resources/updated')
  const heard = listener.notifications.map(({ params }) => params?.uri).filter((uri) => uri !== undefined)
  expect(heard).toEqual(['note://1', 'note://1'])
})

behaviour('after unsubscribing nothing is heard', async ({ connect }) => {
  const client = await connect()
  const first = await client.watch({ resourceSubscriptions: ['note://1'] })
  await client.callTool('touch', { id: '1' })
  await client.next('notifications/resources/updated')
  await first.close()
  await client.watch({ resourceSubscriptions: ['note://2'] })
  await client.callTool('touch', { id: '1' })
  await client.callTool('touch', { id: '2' })
  expect((await client.next('notifications/resources/updated')).params).toMatchObject({ uri: 'note://2' })
})

behaviour('changed lists are heard by everyone who listens', async ({ connect }) => {
  const [one, two] = [await connect(), await connect()]
  const filter = { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true }
  for (const client of [one, two]) await client.watch(filter)
  await one.callTool('change_lists')
  for (const client of [one, two]) {
    for (const list of ['tools', 'prompts', 'resources']) await client.next(`notifications/${list}/list_changed`)
  }
})

behaviour(
  'a stateless listener hears only what it asked for, with the id of its request',
  async ({ connect }) => {
    const client = await connect()
    await client.watch({ promptsListChanged: true, resourceSubscriptions: ['note://3', 'secret://1'] })
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
    revisions: ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'],
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
  'subscribing to what is not there is refused',
  async ({ connect }) => {
    const client = await connect()
    for (const method of ['resources/subscribe', 'resources/unsubscribe']) {
      await expect(client.request(method, {})).rejects.toMatchObject({ code: -32602 })
    }
    await expect(client.request('resources/subscribe', { uri: 'other://1' })).rejects.toMatchObject({ code: -32002 })
  },
  {
    revisions: ['2026-07-28'],
    because: 'subscriptions are streams of their own',
    async instead({ connect }) {
      const client = await connect()
      const subscribe = client.request('resources/subscribe', { uri: 'note://1' })
      await expect(subscribe).rejects.toMatchObject({ code: -32601, status: 404 })
    },
  },
)
