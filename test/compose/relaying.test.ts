/** Progress, log messages and cancellation, through a gateway to upstreams of both eras. */
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { LogLevel } from '../../worker/protocol/types.ts'
import { connect, type TestClient } from '../../worker/testing/index.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { type Sdk, startSdk } from './behind.ts'

type Json = Record<string, unknown>

/** Resolves when an upstream knows that the call of its tool `wait` is cancelled. */
let cancelled = Promise.withResolvers<void>()

/** The tools of the upstream `chatty`, in sessions. */
function chattyServer(): McpServer {
  const server = new McpServer({ name: 'chatty', version: '1.0.0' }, { capabilities: { logging: {} } })
  type Extra = { _meta?: Json; sendNotification(message: unknown): Promise<void>; signal: AbortSignal }
  const speaker = ({ _meta, sendNotification }: Extra) => ({
    progress: (progress: number, total: number, message?: string) =>
      sendNotification({
        method: 'notifications/progress',
        params: { progressToken: _meta?.progressToken, progress, total, ...(message && { message }) },
      }),
    log: (level: string, data: unknown, logger?: string) =>
      sendNotification({ method: 'notifications/message', params: { level, data, ...(logger && { logger }) } }),
  })
  server.registerTool('work', { description: 'Reports progress and logs' }, async (extra) => {
    const { progress, log } = speaker(extra as Extra)
    await log('debug', 'step 1')
    if (extra._meta?.progressToken !== undefined) await progress(1, 2, 'half')
    await log('warning', { step: 2 }, 'db')
    if (extra._meta?.progressToken !== undefined) await progress(2, 2)
    return { content: [{ type: 'text', text: 'done' }] }
  })
  server.registerTool('wait', { description: 'Waits until it is cancelled' }, async (extra) => {
    await speaker(extra as Extra).log('info', 'waiting')
    await new Promise((resolve) => extra.signal.addEventListener('abort', resolve))
    cancelled.resolve()
    return { content: [] }
  })
  return server
}

let older: Sdk
let newer: TestServer
let gateway: TestServer
beforeAll(async () => {
  older = await startSdk(chattyServer)
  newer = await startServer('test/compose/chatty')
  gateway = await startServer('test/compose/relaying', { NEWER: newer.url.href, OLDER: older.url })
})
afterAll(async () => {
  await Promise.all([gateway, newer].map((server) => server?.[Symbol.asyncDispose]()))
  older?.close()
})

const client = (revision: string, logLevel?: LogLevel) =>
  connect(gateway.url, { revision, ...(logLevel && { logLevel }) })
const logsOf = ({ notifications }: TestClient) =>
  notifications.flatMap(({ method, params }) => (method === 'notifications/message' ? [params] : []))
const hostOf = (prefix: string) => (prefix === 'newer_' ? newer.url.host : new URL(older.url).host)
const textOf = (result: Json) => (result.content as { text: string }[])[0]?.text

describe.each(['2026-07-28', '2025-11-25', '2024-11-05'])('a client of %s', (revision) => {
  describe.each(['newer_', 'older_'])('of an upstream %s', (prefix) => {
    test('receives progress under its own token', async () => {
      await using caller = await client(revision)
      const progress: Json[] = []
      const result = await caller.callTool(`${prefix}work`, {}, { onProgress: (params) => progress.push(params) })
      expect(textOf(result)).toBe('done')
      const common = { progressToken: progress[0]?.progressToken, total: 2 }
      expect(progress).toEqual([
        { ...common, progress: 1, ...(revision > '2025' && { message: 'half' }) },
        { ...common, progress: 2 },
      ])
    })

    test('receives log messages at its level, with the name of the upstream', async () => {
      await using all = await client(revision, 'debug')
      await using some = await client(revision, 'warning')
      await all.callTool(`${prefix}work`)
      await some.callTool(`${prefix}work`)
      const warning = { level: 'warning', logger: `${prefix}db`, data: { step: 2 } }
      expect(logsOf(all)).toEqual([{ level: 'debug', logger: prefix + hostOf(prefix), data: 'step 1' }, warning])
      expect(logsOf(some)).toEqual([warning])
    })
  })

  // `streams.test.ts` has the same for an upstream without sessions.
  test('cancels the call in a session of an upstream with its own', async () => {
    cancelled = Promise.withResolvers()
    await using caller = await client(revision, 'info')
    const stop = new AbortController()
    const call = caller.callTool('older_wait', {}, { signal: stop.signal })
    await caller.next('notifications/message')
    stop.abort()
    await expect(call).rejects.toThrow()
    await cancelled.promise
  })
})

test('a client that wants neither progress nor logs receives none, and the upstream sends none', async () => {
  await using caller = await client('2026-07-28')
  await caller.callTool('newer_work')
  await caller.callTool('older_work')
  expect(caller.notifications).toEqual([])
})

describe.each(['2026-07-28', '2025-11-25'])('of an upstream that requests input, a client of %s', (revision) => {
  test('receives each notification once, in order', async () => {
    const answers = { elicit: () => ({ action: 'accept', content: { name: 'Ada' } }) }
    await using caller = await connect(gateway.url, { revision, answers, logLevel: 'info' })
    const progress: unknown[] = []
    const onProgress = (params: Json) => void progress.push(params.progress)
    expect(textOf(await caller.callTool('newer_ask', {}, { onProgress }))).toBe('Hello, Ada')
    expect(progress).toEqual([1, 2])
    expect(logsOf(caller).map(({ data }: Json = {}) => data)).toEqual(['before', 'after'])
  })
})
