/** Streams whose token expires or is revoked, and clients that continue with another one. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { Event } from '../../worker/client/event-stream-reader.ts'
import { events } from '../../worker/client/wire.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { postMessage } from '../support/session-http.ts'
import { statelessHeaders } from '../support/stateless.ts'

let server: TestServer
beforeAll(async () => {
  server = await startServer('test/serve/expiring')
})
afterAll(() => server[Symbol.asyncDispose]())

/** A token of the same user that does not expire. */
const lasting = 'ada.never'

/** Sends a request with a token that expires soon after. A machine that is too slow gets a token with more time. */
async function sendExpiring(send: (token: string) => Promise<Response>): Promise<Response> {
  for (let lifeMs = 300; ; lifeMs *= 2) {
    const response = await send(`ada.${Date.now() + lifeMs}`)
    if (response.status !== 401) return response
  }
}

const bearer = (token: string) => ({ Authorization: `Bearer ${token}` })

const open = (session: string, token: string, after?: string) =>
  fetch(server.url, {
    headers: {
      ...bearer(token),
      Accept: 'text/event-stream',
      'Mcp-Session-Id': session,
      ...(after !== undefined && { 'Last-Event-ID': after }),
    },
  })

let calls = 0
const call = (session: string, token: string, name: string, args: object = {}) =>
  postMessage(
    server.url,
    { id: `call-${++calls}`, method: 'tools/call', params: { name, arguments: args, _meta: { progressToken: 'p' } } },
    session,
    token,
  )

type Received = { method?: string; params?: { uri?: string; progress?: number }; result?: object }
const messageOf = ({ data }: Event): Received => JSON.parse(data)

/** Reads a stream to its end. */
async function readAll(response: Response) {
  expect(response.status).toBe(200)
  const messages: Received[] = []
  let lastId: string | undefined
  for await (const event of events(response)) {
    lastId = event.id ?? lastId
    if (event.data !== '') messages.push(messageOf(event))
  }
  return { messages, lastId, uris: messages.map(({ params }) => params?.uri) }
}

/** Reads messages until the first that `isLast` accepts, then leaves. */
async function readUntil(response: Response, isLast: (message: Received) => boolean): Promise<Received[]> {
  expect(response.status).toBe(200)
  const messages: Received[] = []
  for await (const event of events(response)) {
    if (event.data === '') continue
    messages.push(messageOf(event))
    if (isLast(messageOf(event))) return messages
  }
  throw new Error('The stream ended too soon')
}

async function startSession(revision: string): Promise<string> {
  const params = { protocolVersion: revision, capabilities: {}, clientInfo: { name: 'test', version: '1' } }
  const response = await postMessage(server.url, { id: 0, method: 'initialize', params }, undefined, lasting)
  return response.headers.get('Mcp-Session-Id') as string
}

async function subscribe(session: string, ids: string[]) {
  for (const id of ids) {
    const subscribed = { id, method: 'resources/subscribe', params: { uri: `note://${id}` } }
    expect((await postMessage(server.url, subscribed, session, lasting)).status).toBe(200)
  }
}

let listening = 0
const listen = (token: string, uris: string[], at: string | URL = server.url) => {
  const id = `listen-${++listening}`
  return fetch(at, {
    method: 'POST',
    headers: { ...statelessHeaders('subscriptions/listen'), ...bearer(token) },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id,
      method: 'subscriptions/listen',
      params: { notifications: { resourceSubscriptions: uris }, _meta: envelope },
    }),
  })
}

const envelope = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
  progressToken: 'p',
}

const walkAlone = (token: string) =>
  fetch(server.url, {
    method: 'POST',
    headers: { ...statelessHeaders('tools/call', 'walk'), ...bearer(token) },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'walk', arguments: {}, _meta: envelope },
    }),
  })

/** Waits for the end of a stream whose token expires after those of all streams before it. */
const untilExpired = async () => readAll(await sendExpiring((token) => listen(token, ['note://never'])))

/** Versions whose clients have no event id before the first event. */
const older = ['2025-03-26', '2025-06-18']

describe('when its token expires', () => {
  test.each(['2025-03-26', '2025-06-18', '2025-11-25'])('a GET stream of %s ends, and continues', async (revision) => {
    const session = await startSession(revision)
    const ids = [1, 2, 3].map((index) => `get-${revision}-${index}`)
    await subscribe(session, ids)
    const response = await sendExpiring((token) => open(session, token))
    await call(session, lasting, 'change', { ids: [ids[0]] })
    const { uris, lastId } = await readAll(response)
    expect(uris).toEqual([`note://${ids[0]}`])
    await call(session, lasting, 'change', { ids: [ids[1]] })
    expect((await open(session, `ada.${Date.now() - 1}`, lastId)).status).toBe(401)
    const continued = readUntil(
      await open(session, lasting, lastId),
      ({ params }) => params?.uri === `note://${ids[2]}`,
    )
    await call(session, lasting, 'change', { ids: [ids[2]] })
    expect((await continued).map(({ params }) => params?.uri)).toEqual([`note://${ids[1]}`, `note://${ids[2]}`])
  })

  test.each(older)('a GET stream of %s without an event ends after its first one, and continues', async (revision) => {
    const session = await startSession(revision)
    const ids = [1, 2].map((index) => `quiet-${revision}-${index}`)
    await subscribe(session, ids)
    const stream = readAll(await sendExpiring((token) => open(session, token)))
    await untilExpired()
    await call(session, lasting, 'change', { ids: [ids[0]] })
    const { uris, lastId } = await stream
    expect(uris).toEqual([`note://${ids[0]}`])
    await call(session, lasting, 'change', { ids: [ids[1]] })
    await readUntil(await open(session, lasting, lastId), ({ params }) => params?.uri === `note://${ids[1]}`)
  })

  test('the stream of a call of 2025-11-25 ends, the call goes on, and its result waits for the client', async () => {
    const session = await startSession('2025-11-25')
    const { messages, lastId } = await readAll(await sendExpiring((token) => call(session, token, 'walk')))
    expect(messages.map(({ params }) => params?.progress)).toEqual([1])
    await call(session, lasting, 'arrive')
    const rest = await readAll(await open(session, lasting, lastId))
    expect(rest.messages).toMatchObject([{ params: { progress: 2 } }, { result: { content: [{ text: 'arrived' }] } }])
  })

  test.each(older.flatMap((revision) => ['walk', 'wait'].map((tool) => [revision, tool] as const)))(
    'the stream of a call of %s goes on to its result: %s',
    async (revision, tool) => {
      const session = await startSession(revision)
      const stream = readAll(await sendExpiring((token) => call(session, token, tool)))
      await untilExpired()
      await call(session, lasting, 'arrive')
      expect((await stream).messages.at(-1)).toMatchObject({ result: { content: [{ text: 'arrived' }] } })
    },
  )

  test('the stream of a call of 2025-11-25 that sends nothing ends with an event id, and its result waits', async () => {
    const session = await startSession('2025-11-25')
    const { messages, lastId } = await readAll(await sendExpiring((token) => call(session, token, 'wait')))
    expect(messages).toEqual([])
    await call(session, lasting, 'arrive')
    const rest = await readAll(await open(session, lasting, lastId))
    expect(rest.messages).toMatchObject([{ result: { content: [{ text: 'arrived' }] } }])
  })

  test('a stream of HTTP+SSE ends, and its session with it', async () => {
    const sse = new URL('/sse', server.url)
    const response = await sendExpiring((token) =>
      fetch(sse, { headers: { ...bearer(token), Accept: 'text/event-stream' } }),
    )
    const all: Event[] = []
    for await (const event of events(response)) all.push(event)
    expect(all.map(({ event }) => event)).toEqual(['endpoint'])
    const posted = await postMessage(new URL(String(all[0]?.data), sse), { id: 1, method: 'ping' }, undefined, lasting)
    expect(posted.status).toBe(404)
  })

  test('a stream of subscriptions/listen ends with its result, and the next one has what came between', async () => {
    const session = await startSession('2025-11-25')
    const uris = ['note://listen-1', 'note://listen-2']
    const ended = await readAll(await sendExpiring((token) => listen(token, uris)))
    expect(ended.messages.at(-1)).toMatchObject({ result: { resultType: 'complete' } })
    await call(session, lasting, 'change', { ids: ['listen-1'] })
    const next = await listen(lasting, uris)
    await readUntil(next, ({ params }) => params?.uri === 'note://listen-1')
  })

  test('a stream that oauthProvider() admitted ends', async () => {
    const at = new URL('/provided/mcp', server.url)
    const ended = await readAll(await sendExpiring((token) => listen(token, ['note://provided'], at)))
    expect(ended.messages.at(-1)).toMatchObject({ result: { resultType: 'complete' } })
  })

  test('the response of a stateless call goes on to its result', async () => {
    const session = await startSession('2025-11-25')
    const response = await sendExpiring(walkAlone)
    await untilExpired()
    await call(session, lasting, 'arrive')
    expect((await readAll(response)).messages.at(-1)).toMatchObject({ result: { content: [{ text: 'arrived' }] } })
  })
})

describe('when its token is revoked', () => {
  const setAhead = (ms?: number) => fetch(new URL(ms === undefined ? '/clock' : `/clock?ahead=${ms}`, server.url))
  const revoke = (token: string) => fetch(new URL(`/?revoke=${token}`, server.url))
  afterEach(() => setAhead(0))

  test('a GET stream ends before the next event, which its client receives with another token', async () => {
    await setAhead()
    const session = await startSession('2025-11-25')
    const ids = ['revoked-1', 'revoked-2']
    await subscribe(session, ids)
    const stream = readAll(await open(session, 'ada.never.revoked'))
    await call(session, lasting, 'change', { ids: ['revoked-1'] })
    await revoke('ada.never.revoked')
    await setAhead(61_000)
    await call(session, lasting, 'change', { ids: ['revoked-2'] })
    const { uris, lastId } = await stream
    expect(uris).toEqual(['note://revoked-1'])
    await readUntil(await open(session, lasting, lastId), ({ params }) => params?.uri === 'note://revoked-2')
  })

  test.each(older)('a GET stream of %s without an event ends after its first one, and continues', async (revision) => {
    await setAhead()
    const session = await startSession(revision)
    const ids = [1, 2].map((index) => `first-${revision}-${index}`)
    await subscribe(session, ids)
    const token = `ada.never.${revision}`
    const stream = readAll(await open(session, token))
    await revoke(token)
    await setAhead(61_000)
    await call(session, lasting, 'change', { ids: [ids[0]] })
    await call(session, lasting, 'change', { ids: [ids[1]] })
    const { uris, lastId } = await stream
    expect(uris).toEqual([`note://${ids[0]}`])
    await readUntil(await open(session, lasting, lastId), ({ params }) => params?.uri === `note://${ids[1]}`)
  })

  test('a stream of subscriptions/listen ends before the next event', async () => {
    await setAhead()
    const session = await startSession('2025-11-25')
    const stream = readAll(await listen('ada.never.unheard', ['note://unheard']))
    await revoke('ada.never.unheard')
    await setAhead(61_000)
    await call(session, lasting, 'change', { ids: ['unheard'] })
    const { messages } = await stream
    expect(messages.map(({ method }) => method)).toEqual(['notifications/subscriptions/acknowledged', undefined])
  })

  test('the stream of a call ends before the next event, and its client resumes it with another token', async () => {
    await setAhead()
    const session = await startSession('2025-11-25')
    const stream = readAll(await call(session, 'ada.never.walker', 'walk'))
    await revoke('ada.never.walker')
    await setAhead(61_000)
    await call(session, lasting, 'arrive')
    const { messages, lastId } = await stream
    expect(messages.map(({ params }) => params?.progress)).toEqual([1])
    const rest = await readAll(await open(session, lasting, lastId))
    expect(rest.messages.at(-1)).toMatchObject({ result: { content: [{ text: 'arrived' }] } })
  })

  test('a stream whose token is still accepted receives all events in their order', async () => {
    await setAhead()
    const session = await startSession('2025-11-25')
    const ids = Array.from({ length: 10 }, (_, index) => `kept-${index}`)
    await subscribe(session, ids)
    const stream = readUntil(await open(session, lasting), ({ params }) => params?.uri === 'note://kept-9')
    await setAhead(61_000)
    for (const id of ids) await call(session, lasting, 'change', { ids: [id] })
    expect((await stream).map(({ params }) => params?.uri)).toEqual(ids.map((id) => `note://${id}`))
  })
})
