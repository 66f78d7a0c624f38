/** Clients that go on with the id of an idle session, and never send `initialize` again. */
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { events } from '../../worker/client/wire.ts'
import { type ServerWithObjects, startWithObjects } from '../support/objects.ts'
import { initializeSession, postMessage } from '../support/session-http.ts'

let server: ServerWithObjects
beforeAll(async () => {
  server = await startWithObjects('test/serve/revived')
})
afterAll(() => server[Symbol.asyncDispose]())

const at = (path: string) => new URL(path, server.url)

const request = (method: 'GET' | 'DELETE', session: string, headers: Record<string, string> = {}) =>
  fetch(at('/mcp'), { method, headers: { Accept: 'text/event-stream', 'Mcp-Session-Id': session, ...headers } })

const call = (session: string, name: string, args: object = {}, path = '/mcp') =>
  postMessage(at(path), { id: 1, method: 'tools/call', params: { name, arguments: args } }, session)

async function textOf(response: Response): Promise<string> {
  expect(response.status).toBe(200)
  const { result } = (await response.json()) as { result: { content: { text: string }[] } }
  return String(result.content[0]?.text)
}

/** Starts a session with a subscription, a log level and state, and lets it expire: what remains is `left`. */
async function startAndExpire(revision: string, left: string[], path = '/mcp'): Promise<string> {
  const { session } = await initializeSession(at(path), revision)
  const name = await server.objectOf(session)
  const stored = async () => (await (await fetch(new URL(`stored?name=${name}`, at(path)))).json()) as string[]
  const settings = [
    { id: 1, method: 'resources/subscribe', params: { uri: 'note://1' } },
    { id: 2, method: 'logging/setLevel', params: { level: 'debug' } },
  ]
  for (const message of settings) expect((await postMessage(at(path), message, session)).status).toBe(200)
  expect((await call(session, 'add', { item: 'bread' }, path)).status).toBe(200)
  await vi.waitFor(async () => expect(await stored()).toEqual(left), { timeout: 60_000, interval: 100 })
  return session
}

describe.each(['2025-03-26', '2025-06-18', '2025-11-25'])('an idle session of %s', (revision) => {
  test('continues with its id, and without its state', async () => {
    const session = await startAndExpire(revision, [])
    expect(await textOf(await call(session, 'all'))).toBe('')
    expect((await call(session, 'add', { item: 'milk' })).status).toBe(200)
    expect(await textOf(await call(session, 'all'))).toBe('milk')
  })

  test('sends the changes of its lists on the next GET stream', async () => {
    const session = await startAndExpire(revision, [])
    const received: string[] = []
    for await (const { data } of events(await request('GET', session))) {
      if (data === '') continue
      received.push(JSON.parse(data).method)
      if (received.length === 2) break
    }
    expect(received).toEqual(['notifications/tools/list_changed', 'notifications/resources/list_changed'])
  })

  test('refuses a Last-Event-ID from before its expiry with an error that asks for a new stream', async () => {
    const session = await startAndExpire(revision, [])
    const refused = await request('GET', session, { 'Last-Event-ID': '0.1' })
    expect([refused.status, await refused.json()]).toMatchObject([
      400,
      { error: { message: 'Last-Event-ID 0.1 is no longer in the log of this session: open a new stream' } },
    ])
  })

  test('stays ended after a DELETE', async () => {
    const session = await startAndExpire(revision, [])
    expect((await request('DELETE', session)).status).toBe(204)
    expect((await call(session, 'all')).status).toBe(404)
    expect((await request('GET', session)).status).toBe(404)
    expect((await request('DELETE', session)).status).toBe(404)
  })

  test('ends if revive is false', async () => {
    const session = await startAndExpire(revision, ['ended'], '/strict/mcp')
    const refused = await call(session, 'all', {}, '/strict/mcp')
    expect([refused.status, await refused.json()]).toMatchObject([
      404,
      { error: { message: 'Session not found: send initialize again' } },
    ])
  })
})

test('a session over HTTP+SSE ends with its stream, and is not revived', async () => {
  const leaving = new AbortController()
  const response = await fetch(at('/sse'), { headers: { Accept: 'text/event-stream' }, signal: leaving.signal })
  const { value } = await events(response, leaving.signal).next()
  const messages = at(value?.data)
  expect((await postMessage(messages, { id: 1, method: 'ping' })).status).toBe(202)
  leaving.abort()
  await vi.waitFor(async () => expect((await postMessage(messages, { id: 2, method: 'ping' })).status).toBe(404), {
    timeout: 30_000,
  })
})
