/** Several endpoints of one server: each has its own options. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { connect } from '../../worker/testing/index.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { initializeSession, postMessage } from '../support/session-http.ts'

let server: TestServer
beforeAll(async () => {
  server = await startServer('test/serve/endpoint-options')
})
afterAll(() => server[Symbol.asyncDispose]())

const at = (name: string) => new URL(`/${name}/mcp`, server.url)
const revision = '2025-11-25'

/** A session, to post to as it is: what matters is whether an answer is a stream. */
async function openSession(name: string) {
  type Initialized = { capabilities: { resources?: { subscribe?: boolean } } }
  const { session, result } = await initializeSession<Initialized>(at(name), revision)
  const post = (message: object) => postMessage(at(name), message, session)
  let id = 0
  return {
    capabilities: result.capabilities,
    request: (method: string, params: object) => post({ id: ++id, method, params }),
    call: (name: string, args: object = {}) =>
      post({ id: ++id, method: 'tools/call', params: { name, arguments: args, _meta: { progressToken: id } } }),
    get: (after: string) =>
      fetch(at(name), {
        headers: { Accept: 'text/event-stream', 'Mcp-Session-Id': session, 'Last-Event-ID': after },
      }),
  }
}

describe('limits.streamAfterMs of the endpoint applies', () => {
  const typeOf = (response: Response) => response.headers.get('Content-Type')?.split(';')[0]

  test('when it is shorter than the call', async () => {
    const session = await openSession('quick')
    const waiting = await session.call('wait', { key: 'quick' })
    expect(typeOf(waiting)).toBe('text/event-stream')
    await (await session.call('release', { key: 'quick' })).text()
    expect(await waiting.text()).toContain('waited')
  })

  test('when it is longer than the call', async () => {
    const session = await openSession('slow')
    const waiting = session.call('wait', { key: 'slow' })
    // Its response would have begun, if it were a stream.
    const first = await Promise.race([waiting, session.call('pause').then((response) => response.text())])
    expect(first).toContain('paused')
    await (await session.call('release', { key: 'slow' })).text()
    expect(typeOf(await waiting)).toBe('application/json')
  })
})

test('sessions.ttl of the endpoint applies', async () => {
  await using session = await connect(at('quick'), { revision })
  await session.request('logging/setLevel', { level: 'error' })
  const [said] = (await session.callTool('alarm')).content
  const alarmInMs = Number(said?.type === 'text' ? said.text : undefined)
  const hour = 60 * 60_000
  expect(alarmInMs).toBeGreaterThan(hour / 2)
  // The last request may be later than the stored one.
  expect(alarmInMs).toBeLessThanOrEqual(hour * (25 / 24))
})

test('sessions.log of the endpoint applies', async () => {
  const replayOf = async (name: string) => {
    const session = await openSession(name)
    const events = await (await session.call('count')).text()
    const stream = /^id: (\d+)\./m.exec(events)?.[1]
    return session.get(`${stream}.0`)
  }
  const whole = await replayOf('unlimited')
  expect((await whole.text()).split('notifications/progress')).toHaveLength(11)
  // The first events of this stream are not kept any more.
  expect((await replayOf('quick')).status).toBe(400)
})

test('a batch whose responses exceed sessions.log before its stream opens gets an internal error', async () => {
  const batching = '2025-03-26'
  const { session } = await initializeSession(at('quick'), batching)
  const call = (id: number, name: string) => ({ jsonrpc: '2.0', id, method: 'tools/call', params: { name } })
  // The log message turns the response into a stream, which begins with what the log has of the responses before it.
  const response = await fetch(at('quick'), {
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream',
      'Mcp-Session-Id': session,
      'MCP-Protocol-Version': batching,
    },
    body: JSON.stringify([call(1, 'fill'), call(2, 'fill'), call(3, 'record')]),
  })
  expect(await response.json()).toMatchObject({
    error: {
      code: -32603,
      message: expect.stringContaining('The responses to this POST exceed the log of its stream'),
    },
  })
})

describe('subscriptions() of the endpoint applies', () => {
  test('when another endpoint has none', async () => {
    await using session = await connect(at('telling'), { revision })
    await session.subscribe({ resourceSubscriptions: ['note://1'] })
    await session.callTool('touch')
    expect((await session.next('notifications/resources/updated')).params).toEqual({ uri: 'note://1' })
  })

  test('when another endpoint has it', async () => {
    const session = await openSession('silent')
    expect(session.capabilities.resources?.subscribe).not.toBe(true)
    expect(await (await session.request('resources/subscribe', { uri: 'note://1' })).json()).toMatchObject({
      error: { code: -32601 },
    })
  })

  test.each(['2025-11-25', '2025-03-26', '2024-11-05'])(
    'when the endpoint has none: it declares logging to a client of %s, and log levels work',
    async (revision) => {
      await using client = await connect(at('silent'), { revision })
      expect(client.initializeResult.capabilities).toHaveProperty('logging', {})
      await client.callTool('record')
      expect((await client.next('notifications/message')).params).toMatchObject({ level: 'info', data: 'recorded' })
      expect(await client.request('logging/setLevel', { level: 'error' })).toEqual({})
    },
  )

  test('with its limit of streams', async () => {
    await using one = await connect(at('telling'), { revision: '2026-07-28' })
    await one.subscribe({ toolsListChanged: true })
    await using two = await connect(at('telling'), { revision: '2026-07-28' })
    await expect(two.subscribe({ toolsListChanged: true })).rejects.toMatchObject({ status: 429 })
    await using three = await connect(at('crowded'), { revision: '2026-07-28' })
    await three.subscribe({ toolsListChanged: true })
  })
})

describe.each(['2026-07-28', revision])(
  'the time limit of rateLimit() of the endpoint applies, for a client of %s',
  (revision) => {
    const pauseAt = async (name: string) => {
      await using client = await connect(at(name), { revision })
      return await client.callTool('pause')
    }
    const paused = { content: [{ text: 'paused' }] }

    test('when it is shorter than that of another endpoint', async () => {
      await expect(pauseAt('short')).rejects.toThrow('The call took longer than 0.05 seconds')
    })

    test('when it is longer or absent', async () => {
      expect(await pauseAt('long')).toMatchObject(paused)
      expect(await pauseAt('unlimited')).toMatchObject(paused)
    })
  },
)
