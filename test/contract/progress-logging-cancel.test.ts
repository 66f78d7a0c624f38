import { expect, vi } from 'vitest'
import { behaviour, withServer } from '../support/behaviour.ts'

withServer()

behaviour(
  'progress notifications arrive in order, before the result, and only when requested',
  async ({ connect, kind }) => {
    const client = await connect()
    const steps: unknown[] = []
    const result = await client.callTool('progress', { steps: 3 }, { onProgress: (params) => steps.push(params) })
    expect(result.content).toEqual([{ type: 'text', text: '3 steps' }])
    expect(steps).toEqual(
      [1, 2, 3].map((progress) => ({
        progressToken: expect.any(Number),
        progress,
        total: 3,
        ...(kind.revision >= '2025-03-26' && { message: `step ${progress}` }),
      })),
    )
    const heard = client.notifications.length
    await client.callTool('progress', { steps: 3 })
    expect(client.notifications).toHaveLength(heard)
  },
)

behaviour('log messages are sent from the requested level', async ({ connect }) => {
  const client = await connect({ logLevel: 'warning' })
  await client.callTool('logs')
  expect(client.notifications.map(({ params }) => params)).toEqual([
    { level: 'warning', logger: 'test', data: { level: 'warning' } },
    { level: 'error', logger: 'test', data: { level: 'error' } },
  ])
})

behaviour(
  'without a level a session gets log messages from "info", and a stateless client none',
  async ({ connect, kind }) => {
    const client = await connect()
    await client.callTool('logs')
    const levels = client.notifications.map(({ params }) => params?.level)
    expect(levels).toEqual(kind.revision >= '2026-07-28' ? [] : ['info', 'warning', 'error'])
  },
)

behaviour('a cancelled call is aborted, and has no response', async ({ connect, kind }) => {
  const client = await connect()
  const key = `${kind.name} ${crypto.randomUUID()}`
  const stop = new AbortController()
  const started = Promise.withResolvers<void>()
  const call = client.callTool('wait', { key }, { signal: stop.signal, onProgress: () => started.resolve() })
  call.catch(() => {})
  await started.promise
  stop.abort(new Error('enough'))
  await expect(call).rejects.toThrow()
  await vi.waitFor(
    async () => {
      const { content } = await client.callTool('waited', { key })
      expect(content).toEqual([{ type: 'text', text: 'cancelled' }])
    },
    { interval: 20 },
  )
})

behaviour('cancelling an unknown request does nothing', async ({ connect }) => {
  const client = await connect()
  await client.notify('notifications/cancelled', { requestId: 12345 })
  await client.notify('notifications/cancelled', {})
  expect((await client.callTool('echo', { text: 'still here' })).content).toMatchObject([{ text: 'still here' }])
})

behaviour(
  'a client that reads gets its result, however many log messages are sent at once',
  async ({ connect, kind }) => {
    const client = await connect({ logLevel: 'error' })
    const { content } = await client.callTool('pour', { lines: 48, characters: 65_536 })
    expect(content).toEqual([{ type: 'text', text: '48 lines' }])
    const heard = client.notifications.map(({ params }) => Number.parseInt(String(params?.data), 10))
    const all = Array.from({ length: 48 }, (_, index) => index + 1)
    // Without a log to go back to, what does not fit is left out.
    if (kind.revision >= '2026-07-28') expect(heard).toEqual(all.slice(0, heard.length))
    else expect(heard).toEqual(all)
    expect((await client.callTool('echo', { text: 'still here' })).content).toMatchObject([{ text: 'still here' }])
  },
)
