/** The response to a POST whose calls run: the body of its stream, and the relay that continues it. */
import { evictDurableObject, runInDurableObject } from 'cloudflare:test'
import { exports } from 'cloudflare:workers'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { NewStreams } from '../../durable-objects/session/new-streams.ts'
import type { Post, SessionRpc } from '../../durable-objects/session/rpc.ts'
import { StreamBody } from '../../durable-objects/session/stream-body.ts'
import { EventStreamReader } from '../../worker/client/event-stream-reader.ts'
import { emptyContext } from '../../worker/declarations/request-context.ts'
import { passOnBody } from '../../worker/http/pass-on-body.ts'
import { continueStream, openRelay } from '../../worker/http/relay.ts'
import { postToSession, relayRequest } from '../../worker/plugins/sessions/session-object.ts'
import * as closeCode from '../../worker/protocol/close-code.ts'
import { firstRelay, readRelayMessage, relayMessage } from '../../worker/protocol/relay-messages.ts'
import { eventFrame, primingFrame } from '../../worker/protocol/server-sent-events.ts'
import { utf8 } from '../../worker/protocol/utf8.ts'
import { post, postAndRead, postOf, postTo, week } from './session-post.ts'

type Stub = DurableObjectStub & SessionRpc
const namespace = (exports as unknown as { McpSession: { getByName(name: string): Stub } }).McpSession
const session = () => namespace.getByName(crypto.randomUUID())

afterEach(() => void vi.useRealTimers())

/** Stops the clock of the object too: it would leave a stream to a relay when a slow machine answers late. */
const stopClock = () => vi.useFakeTimers({ toFake: ['Date', 'setTimeout', 'clearTimeout'] })

/** Calls a tool, and returns the body of its stream. */
async function bodyOf(stub: Stub, name: string, more: Partial<Post> = {}): Promise<ReadableStream<Uint8Array>> {
  const posted = await postAndRead(stub, post('tools/call', { name, arguments: {} }, more))
  if (!('stream' in posted) || !posted.body) throw new Error(`No body: ${JSON.stringify(posted)}`)
  return posted.body
}

const accepted = (id: string, content: object) =>
  postOf([{ jsonrpc: '2.0', id, result: { action: 'accept', content } }])
const ada = (stub: Stub) => postTo(stub, accepted('ask-1', { name: 'Ada' }))

/** The dials of the relay that continues a stream. */
function dialing(stub: Stub, relay: string = firstRelay) {
  const dialed: (string | undefined)[] = []
  const dial = (after: string | undefined, again: boolean) => {
    dialed.push(after)
    return stub.fetch(relayRequest({ relay, expires: String(Date.now() + week) }, after, again))
  }
  return { dialed, dial }
}

/** A body that an object writes, and its Worker receives. */
async function bodyBy(write: (writer: WritableStreamDefaultWriter<Uint8Array>) => void) {
  const stub = session()
  await runInDurableObject(stub, (instance) => {
    vi.spyOn(Object.getPrototypeOf(instance), 'post').mockImplementationOnce(async () => {
      const { readable, writable } = new IdentityTransformStream()
      write(writable.getWriter())
      return { stream: 1, body: readable }
    })
  })
  return bodyOf(stub, 'any')
}

/** A body that breaks after some parts, as when its object is lost. */
const brokenAfter = (...parts: readonly (Uint8Array | string)[]) =>
  bodyBy(async (writer) => {
    for (const part of parts) {
      if (part.length > 0) await writer.write(typeof part === 'string' ? utf8(part) : part)
    }
    await writer.abort(new Error('The object is lost')).catch(() => {})
  })

const textOf = (body: ReadableStream<Uint8Array>) => new Response(body).text()
const idsIn = (text: string) => text.match(/^id: .*$/gm)?.map((line) => line.slice(4))
const limits = { keepAliveMs: 15_000, maxBufferedBytes: 1_000_000 }

describe('the body of a running stream', () => {
  test('ends with the answer, and can be resumed', async () => {
    stopClock()
    const stub = session()
    const body = textOf(await bodyOf(stub, 'ask_name'))
    expect(await ada(stub)).toEqual({ status: 202 })
    const text = await body
    expect(idsIn(text)).toEqual(['1.0', '1.1', '1.2'])
    const resumed = await dialing(stub, 'another').dial('1.1', false)
    const resent = Promise.withResolvers<unknown>()
    resumed.webSocket?.addEventListener('message', ({ data }) => {
      if (String(data).includes('Ada')) resent.resolve(data)
    })
    resumed.webSocket?.accept()
    const { payload = 'none' } = readRelayMessage(await resent.promise) ?? {}
    expect(text).toContain(payload)
  })

  test('reaches the client as the object wrote it', async () => {
    stopClock()
    const stub = session()
    const response = passOnBody({ ...limits, ...dialing(stub) }, await bodyOf(stub, 'ask_name'))
    await ada(stub)
    expect(await response.text()).toMatch(
      /^id: 1\.0\n[^:]*: \d+\ndata: \n\nid: 1\.1\ndata: .*\n\nid: 1\.2\ndata: .*Hello, Ada!.*\n\n$/,
    )
  })

  test('has each question of a call, in turn', async () => {
    stopClock()
    const stub = session()
    const { dialed, dial } = dialing(stub)
    const text = passOnBody({ ...limits, dial }, await bodyOf(stub, 'ask_twice')).text()
    await postTo(stub, accepted('ask-1', { value: 'one' }))
    await postTo(stub, accepted('ask-2', { value: 'two' }))
    expect(idsIn(await text)).toEqual(['1.0', '1.1', '1.2', '1.3'])
    expect(dialed).toEqual([])
  })

  test('moves to a relay when the client takes longer to answer, so that the object can sleep', async () => {
    const stub = session()
    const { dialed, dial } = dialing(stub)
    const text = passOnBody({ ...limits, dial }, await bodyOf(stub, 'ask_name')).text()
    await vi.waitFor(() => expect(dialed).toEqual(['1.1']))
    await evictDurableObject(stub, { webSockets: 'hibernate' })
    await ada(stub)
    expect(idsIn(await text)).toEqual(['1.0', '1.1', '1.2'])
    expect(dialed).toEqual(['1.1'])
  })

  test.each([
    ['before the answer', ''],
    ['after the answer', ''],
    ['before the answer', 'id: 1.2\ndata: {"jsonrpc"'],
    ['after the answer', 'id: 1.2\ndata: {"jsonrpc"'],
    ['after the answer', 'id: 1.2'],
    ['after the answer', 'i'],
    ['after the answer', ': keep'],
  ])('continues on a relay when the object is lost %s, and %j has arrived of the next event', async (when, part) => {
    const stub = session()
    const own = (await bodyOf(stub, 'ask_name')).getReader()
    const { value: first = new Uint8Array() } = await own.read()
    if (when === 'after the answer') await ada(stub)
    const { dialed, dial } = dialing(stub)
    const response = passOnBody({ ...limits, dial }, await brokenAfter(first, part))
    const text = response.text()
    await vi.waitFor(() => expect(dialed).toEqual(['1.1']))
    if (when === 'before the answer') await ada(stub)
    expect((await text).replace(/^: keep.*\n\n/m, '')).toMatch(
      /^id: 1\.0\n[^:]*: \d+\ndata: \n\nid: 1\.1\ndata: .*\n\nid: 1\.2\ndata: {"jsonrpc".*Hello, Ada!.*\n\n$/,
    )
    expect(dialed).toEqual(['1.1'])
  })

  test.each([
    ['', /\n\nretry: \d+\n\n$/],
    ['id: 1.2\ndata: {"part', /\n\nid: 1\.2\ndata: \{"part$/],
  ])(
    'ends at the maximum age of streams for a client that has read nothing until then, after %j',
    async (part, end) => {
      const own = (await bodyOf(session(), 'ask_name')).getReader()
      const { value: first = new Uint8Array() } = await own.read()
      const dial = () => Promise.reject(new Error('No relay is expected'))
      const response = passOnBody({ ...limits, maxStreamAgeMs: 0, dial }, await brokenAfter(first, part))
      const text = await response.text()
      expect(text).toMatch(/^id: 1\.0\n[\s\S]*id: 1\.1\n/)
      expect(text).toMatch(end)
    },
  )

  test('goes on for a client that has the start of an event that does not exist any more', async () => {
    const stub = session()
    const own = (await bodyOf(stub, 'ask_name')).getReader()
    const { value: first = new Uint8Array() } = await own.read()
    await ada(stub)
    const { dial } = dialing(stub)
    const response = passOnBody({ ...limits, dial }, await brokenAfter(first, 'id: 1.9\ndata: {"part'))
    expect(await response.text()).toMatch(
      /\n\nid: 1\.9\ndata: \{"part\nevent: -\n\nid: 1\.2\ndata: .*Hello, Ada!.*\n\n$/,
    )
  })

  /** A body that breaks after so many bytes of its second event. Its relay sends these frames. */
  async function cutAt(end: number, large: string, frames = large) {
    const start = utf8(primingFrame('1.0') + eventFrame('{}', '1.1'))
    const dialed: (string | undefined)[] = []
    const dial = async (after: string | undefined) => {
      dialed.push(after)
      const { 0: relay, 1: object } = new WebSocketPair()
      object.accept()
      object.send(relayMessage(frames, '1.2'))
      object.close(closeCode.complete)
      return new Response(null, { status: 101, webSocket: relay })
    }
    const response = passOnBody({ ...limits, dial }, await brokenAfter(start, utf8(large).subarray(0, end)))
    const text = await response.text()
    expect(dialed).toEqual(['1.1'])
    const reader = new EventStreamReader()
    const events = [...reader.read(utf8(text))].map(({ id, event, data }) => ({ id, event, data }))
    return { text, events: events.slice(2), lastId: reader.lastEventId }
  }

  const large = JSON.stringify({ text: 'äx'.repeat(30_000) })

  test.each([
    ['in its first 16 KiB', 9000],
    ['after 16 KiB', 16_384],
    ['after 50 KiB', 50_000],
    ['within a character', 30_004],
    ['before its last line break', -1],
  ])('continues a large event that was cut %s', async (_, end) => {
    const { text, events } = await cutAt(end, eventFrame(large, '1.2'))
    expect(events).toEqual([{ id: '1.2', event: undefined, data: large }])
    expect(text.match(/^id: 1\.2$/gm)).toHaveLength(1)
  })

  const next = { id: '1.7', event: undefined, data: '{}' }
  test.each([
    ['within its id', 4, []],
    ['after its id', 8, []],
    ['within its data', 50_000, [{ id: '1.2', event: '-', data: expect.stringMatching(/^{"text":"ä/) }]],
    ['before its last line break', -1, [{ id: '1.2', event: undefined, data: large }]],
  ])('continues after a deleted event that was cut %s, and only what is whole is a message', async (_, end, seen) => {
    const { events, lastId } = await cutAt(end, eventFrame(large, '1.2'), eventFrame('{}', '1.7'))
    expect(events).toEqual([...seen, next])
    expect(lastId).toBe('1.7')
  })

  test.each(['before', 'after'])('has no event from a time on, %s its first event', async (when) => {
    stopClock()
    const stub = session()
    const bodyUntil = when === 'before' ? Date.now() : Date.now() + 100
    const posted = await postAndRead(stub, post('tools/call', { name: 'ask_name', arguments: {} }, { bodyUntil }))
    if (when === 'before') return expect(posted).toEqual({ stream: 1 })
    if (!('stream' in posted) || !posted.body) throw new Error('There is no body')
    const text = textOf(posted.body).catch(() => 'broken')
    vi.setSystemTime(bodyUntil)
    await ada(stub)
    expect(await text).toBe('broken')
  })

  test('has a relay for a client that has left only until the next comment', async () => {
    const stub = session()
    const { 0: relay, 1: object } = new WebSocketPair()
    const closed = Promise.withResolvers<number>()
    object.addEventListener('close', ({ code }) => closed.resolve(code))
    object.accept()
    const dial = async () => new Response(null, { status: 101, webSocket: relay })
    await passOnBody({ ...limits, keepAliveMs: 20, dial }, await bodyOf(stub, 'ask_name')).body?.cancel()
    expect(await closed.promise).toBe(closeCode.clientGone)
  })

  test('ends when its client resumes the stream elsewhere', async () => {
    stopClock()
    const stub = session()
    const body = textOf(await bodyOf(stub, 'ask_name'))
    const elsewhere = await dialing(stub, 'elsewhere').dial('1.1', false)
    expect(idsIn(await body)).toEqual(['1.0', '1.1'])
    expect(elsewhere.status).toBe(101)
    elsewhere.webSocket?.accept()
  })

  test('is not taken over by a lost relay of its client', async () => {
    stopClock()
    const stub = session()
    const body = textOf(await bodyOf(stub, 'ask_name'))
    expect((await dialing(stub, 'lost').dial('1.1', true)).status).toBe(409)
    await ada(stub)
    expect(idsIn(await body)).toEqual(['1.0', '1.1', '1.2'])
  })

  test('is left to a relay when the server sends its client away', async () => {
    const stub = session()
    const posted = await postTo(stub, post('tools/call', { name: 'disconnect', arguments: {} }))
    expect(posted).toEqual({ stream: 1 })
  })

  test('sends its client away also while it moves to a relay, after the events before the first request for that', async () => {
    const stub = session()
    await postTo(stub, post('tools/call', { name: 'disconnect', arguments: {}, _meta: { progressToken: 'p' } }))
    const { webSocket: socket } = await dialing(stub, 'relay').dial('1.0', true)
    const messages: unknown[] = []
    const closed = Promise.withResolvers<number>()
    socket?.addEventListener('message', ({ data }) => messages.push(data))
    socket?.addEventListener('close', ({ code }) => closed.resolve(code))
    socket?.accept()
    expect(await closed.promise).toBe(closeCode.released)
    const [before, last] = messages
    expect(readRelayMessage(before)).toEqual({
      id: '1.1',
      payload: expect.stringMatching(/^id: 1\.1\ndata: .*"progress":1/),
    })
    expect([messages.length, last]).toEqual([2, relayMessage('retry: 20\n\n')])
  })
})

test.each([
  ['its access token expires', { expires: 5_000 }, 5_000],
  ['its credential is verified again', { recheck: { at: 4_000, verify: () => Promise.reject() } }, 4_000],
  ['half of the maximum age of streams', undefined, 1_000_000],
])('the body of a stream of 2025-11-25 ends when %s', async (_, credential, until) => {
  vi.useFakeTimers({ toFake: ['Date'], now: 0 })
  const { handshake, expires } = post('ping')
  const posted = Promise.withResolvers<string>()
  const host = {
    limits: { maxStreamAgeMs: 2_000_000 },
    object: () => ({ post: async (request: string) => posted.resolve(request) ?? '' }),
  }
  const access = {
    credential,
    requestContext: emptyContext,
    request: new Request('https://a/'),
    scopesOfMessages: () => [],
  }
  const sent = { session: { name: 'a', expires, handshake }, messages: [], batch: false, streams: true }
  // Only what is used of them.
  await postToSession(sent as never, access as never, host as never)
  expect(JSON.parse(await posted.promise).bodyUntil).toBe(until)
})

test('what is too large to wait for a credential is left, and no relay opens before the credential is verified', async () => {
  const stub = session()
  await postTo(stub, post('tools/call', { name: 'ask_name', arguments: {} }))
  const dialed: (string | undefined)[] = []
  const dial = (after: string | undefined, again: boolean) => {
    dialed.push(after)
    return stub.fetch(relayRequest({ relay: firstRelay, stream: '1' }, after, again))
  }
  const { promise: verified, resolve } = Promise.withResolvers<Record<never, never>>()
  const credential = { recheck: { at: 0, verify: () => verified } }
  const { body } = await openRelay({ keepAliveMs: 20, maxBufferedBytes: 10, dial, credential })
  const reader = body?.getReader()
  // Each comment that is read makes room.
  for (let read = 0; read < 3; read += 1) await reader?.read()
  expect(dialed).toEqual([undefined])
  resolve({})
  await vi.waitFor(() => expect(dialed).toHaveLength(2))
  await reader?.cancel()
})

const bodyUntil = Number.POSITIVE_INFINITY

/** An open stream, and its body. */
function opened(until: number = bodyUntil) {
  const streams = new NewStreams(15_000)
  streams.begin(1)
  const { body } = streams.respond(1, { polling: false, bodyUntil: until })
  const open = streams.bodyOf(1)
  if (!body || !open) throw new Error('There is no body')
  return { streams, open, text: () => textOf(body).catch(() => 'broken'), reader: () => body.getReader() }
}

test.each([
  ['a running stream has', (open: StreamBody) => open.send('x'.repeat(65_537))],
  ['the last events of a stream have', (open: StreamBody) => open.end('x'.repeat(262_145))],
  ['bytes, not characters', (open: StreamBody) => open.send('✓'.repeat(21_846))],
])('more than fits into a body is left to a relay: %s', async (_, write) => {
  const { open, text } = opened()
  write(open)
  expect(await text()).toBe('broken')
})

test.each([
  ['events of a running stream', (open: StreamBody) => open.send('x'.repeat(65_536)), 65_536],
  ['the last events of a stream', (open: StreamBody) => open.end('x'.repeat(262_144)), 262_144],
])('what fits into a body is in it: %s', async (_, write, length) => {
  const { open, text } = opened()
  write(open)
  open.end()
  expect((await text()).length).toBe(length)
})

test('a client that is sent away leaves, although the Worker has not read the event before', async () => {
  const { open, text } = opened()
  open.send('data: 1\n\n')
  open.end('retry: 20\n\n')
  expect(await text()).toBe('data: 1\n\nretry: 20\n\n')
})

test('what was written before a body broke off is read, also by a slow reader', async () => {
  const { open, reader } = opened()
  for (const event of ['one', 'two', 'three']) open.send(event)
  open.breakOff()
  const reads = reader()
  const read: string[] = []
  await expect(
    (async () => {
      for (;;) {
        const { value } = await reads.read()
        read.push(new TextDecoder().decode(value))
      }
    })(),
  ).rejects.toThrow()
  expect(read).toEqual(['one', 'two', 'three'])
})

test('a body breaks off in time, although nothing is sent', async () => {
  vi.useFakeTimers()
  const { streams } = opened(Date.now() + 5000)
  await vi.advanceTimersByTimeAsync(4999)
  expect(streams.bodyOf(1)).toBeDefined()
  await vi.advanceTimersByTimeAsync(1)
  expect(streams.bodyOf(1)).toBeUndefined()
})

test('a relay that a late dial of its own has replaced dials again, and ends for another one', async () => {
  const sockets: WebSocket[] = []
  const dialed: unknown[] = []
  const dial = async (after: string | undefined, again: boolean) => {
    dialed.push([after, again])
    if (dialed.length === 3) return new Response(null, { status: 409 })
    const { 0: relay, 1: object } = new WebSocketPair()
    object.accept()
    sockets.push(object)
    return new Response(null, { status: 101, webSocket: relay })
  }
  const text = textOf(continueStream({ ...limits, dial }, '1.1'))
  await vi.waitFor(() => expect(sockets).toHaveLength(1))
  sockets[0]?.send(relayMessage('id: 1.2\ndata: {}\n\n', '1.2'))
  sockets[0]?.close(closeCode.replaced)
  await vi.waitFor(() => expect(sockets).toHaveLength(2))
  sockets[1]?.send(relayMessage('id: 1.3\ndata: {}\n\n', '1.3'))
  sockets[1]?.close(closeCode.replaced)
  expect(idsIn(await text)).toEqual(['1.2', '1.3'])
  expect(dialed).toEqual([
    ['1.1', true],
    ['1.2', true],
    ['1.3', true],
  ])
})

test('a relay sends nothing with a credential that has expired, before its timer comes', async () => {
  const { 0: relay, 1: object } = new WebSocketPair()
  object.accept()
  const dial = async () => new Response(null, { status: 101, webSocket: relay })
  const credential = { expires: Date.now() + 60_000 }
  const { body } = await openRelay({ ...limits, dial, credential }, '1.1')
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 60_000 })
  object.send(relayMessage('id: 1.2\ndata: {}\n\n', '1.2'))
  expect(await textOf(body as ReadableStream<Uint8Array>)).toMatch(/^retry: \d+\n\n$/)
})

test('a body that nobody reads is given up', async () => {
  vi.useFakeTimers()
  const streams = new NewStreams(15_000)
  streams.begin(1)
  streams.respond(1, { polling: false, bodyUntil })
  streams.bodyOf(1)?.send('data: 1\n\n')
  expect(streams.bodyOf(1)?.isRead).toBe(true)
  vi.advanceTimersByTime(29_999)
  expect(streams.bodyOf(1)?.isRead).toBe(true)
  await vi.advanceTimersByTimeAsync(15_001)
  expect(streams.bodyOf(1)).toBeUndefined()
})

test('a body is not given up while its last event is read slowly', async () => {
  vi.useFakeTimers()
  const body = new StreamBody(15_000, bodyUntil, () => {})
  body.end('x'.repeat(250_000))
  const reader = body.readable.getReader({ mode: 'byob' })
  let bytes = 0
  for (;;) {
    const { done, value } = await reader.read(new Uint8Array(8000))
    if (done) break
    bytes += value.length
    await vi.advanceTimersByTimeAsync(3000)
  }
  expect(bytes).toBe(250_000)
})

test('a stream that needs a relay is not kept', () => {
  const streams = new NewStreams(15_000)
  for (let stream = 1; stream <= 101; stream += 1) {
    streams.begin(stream)
    streams.respond(stream, { polling: false, bodyUntil })
  }
  expect(streams.take(101)).toBeUndefined()
})

test.each([
  [[256 * 1024 - 1, 1], true],
  [[256 * 1024, 1], false],
  [[1, 256 * 1024], false],
])('a new stream with events of %j characters is kept for its response: %s', (lengths, isKept) => {
  const streams = new NewStreams(15_000)
  const frames = lengths.map((length) => 'x'.repeat(length))
  streams.begin(1)
  for (const [index, frame] of frames.entries()) streams.append(1, frame, { stream: 1, seq: index + 1 })
  streams.end(1)
  expect(streams.respond(1, { polling: false, bodyUntil })).toEqual(isKept ? { frames: frames.join('') } : {})
})
