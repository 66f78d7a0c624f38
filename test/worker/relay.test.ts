import {
  createExecutionContext,
  env,
  evictDurableObject,
  runDurableObjectAlarm,
  runInDurableObject,
} from 'cloudflare:test'
import { exports } from 'cloudflare:workers'
import { describe, expect, test, vi } from 'vitest'
import type { SessionRpc } from '../../durable-objects/session/rpc.ts'
import type { SubscriptionsRpc } from '../../durable-objects/subscriptions/rpc.ts'
import { openRelay } from '../../worker/http/relay.ts'
import { relayRequest } from '../../worker/plugins/sessions/session-object.ts'
import { type Change, topicOf } from '../../worker/protocol/changes.ts'
import * as closeCode from '../../worker/protocol/close-code.ts'
import type { RequestMessage } from '../../worker/protocol/jsonrpc.ts'
import { relayMessage } from '../../worker/protocol/relay-messages.ts'
import { readNonce } from '../../worker/sealing/seal.ts'
import { eventsIn } from '../support/events-in.ts'
import worker from '../support/everything/index.ts'
import { separators } from '../support/hostile-text.ts'
import { statelessHeaders } from '../support/stateless.ts'
import { post, postOf, postTo } from './session-post.ts'

type Stub = DurableObjectStub & SessionRpc
const { McpSession: namespace, McpSubscriptions: subscriptions } = exports as unknown as {
  McpSession: { getByName(name: string): Stub }
  McpSubscriptions: { getByName(name: string): DurableObjectStub & SubscriptionsRpc }
}
const session = () => namespace.getByName(crypto.randomUUID())
const week = 7 * 24 * 60 * 60_000
const limits = { keepAliveMs: 15_000, maxBufferedBytes: 1_000_000 }

/** The ways of one client's connection to the object, as the Worker dials them. */
function connection(stub: Stub) {
  const settings = { relay: crypto.randomUUID(), expires: String(Date.now() + week) }
  return (after: string | undefined, again: boolean) => stub.fetch(relayRequest(settings, after, again))
}

/** Reads to the end; `text` is what has come so far. */
function reading(response: Response) {
  const read = { text: '', ended: false }
  const decoder = new TextDecoder()
  const pump = async () => {
    for await (const chunk of response.body as ReadableStream<Uint8Array>) read.text += decoder.decode(chunk)
    read.ended = true
  }
  pump()
  return read
}

const note = (id: string) => ({ resource: `note://${id}` })
const change = (index: number) => ({ resource: `note://${'x'.repeat(1000)}/${index}` })

test('a connection to an object that is lost while it opens is retried', async () => {
  const dial = connection(session())
  let dials = 0
  const response = await openRelay({
    ...limits,
    dial(after, again) {
      if (++dials < 3) throw new Error('Durable Object reset because its code was updated.')
      return dial(after, again)
    },
  })
  expect([response.status, dials]).toEqual([200, 3])
  await response.body?.cancel()
})

test('a stream whose object stays lost ends after six attempts, within about three seconds', async () => {
  const { 0: client, 1: socket } = new WebSocketPair()
  socket.accept()
  const attempts: number[] = []
  let isLost = false
  const dial = async () => {
    if (!isLost) return new Response(null, { status: 101, webSocket: client })
    attempts.push(Date.now())
    throw new Error('Durable Object reset because its code was updated.')
  }
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] })
  try {
    const read = reading(await openRelay({ ...limits, dial }))
    isLost = true
    socket.close(1011)
    await vi.waitFor(() => expect(attempts).not.toEqual([]))
    await vi.runAllTimersAsync()
    expect(attempts.map((at) => at - (attempts[0] ?? 0))).toEqual([0, 100, 300, 700, 1500, 3100])
    vi.useRealTimers()
    await vi.waitFor(() => expect(read.ended).toBe(true))
  } finally {
    vi.useRealTimers()
  }
})

describe('a stream whose first connection to its object is lost before anything arrived on it', () => {
  const url = 'https://mcp.example.com/mcp'
  const send = (headers: HeadersInit, message?: object) =>
    worker.fetch(
      new Request(url, {
        method: message ? 'POST' : 'GET',
        headers: { Accept: 'application/json, text/event-stream', 'Content-Type': 'application/json', ...headers },
        ...(message && { body: JSON.stringify({ jsonrpc: '2.0', id: 1, ...message }) }),
      }),
      env,
      createExecutionContext(),
    )

  /** Opens a session whose object loses the first socket that it opens. */
  async function openSession() {
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } }
    const id = String((await send({}, { method: 'initialize', params })).headers.get('Mcp-Session-Id'))
    await runInDurableObject(namespace.getByName(String(readNonce(id))), (object: Pick<SessionRpc, 'fetch'>) => {
      const open = object.fetch
      object.fetch = async (request) => {
        object.fetch = open
        const { headers } = await object.fetch(request)
        const { 0: socket, 1: lost } = new WebSocketPair()
        lost.accept()
        lost.close(1011)
        return new Response(null, { status: 101, webSocket: socket, headers })
      }
    })
    return { 'Mcp-Session-Id': id, 'MCP-Protocol-Version': '2025-11-25' }
  }

  test.each([
    ['of a GET', undefined, 'id: 0.0\n'],
    [
      'of a call',
      {
        method: 'tools/call',
        params: { name: 'stubborn', arguments: { key: crypto.randomUUID(), steps: 0, away: true } },
      },
      'id: 1.0\n',
    ],
  ])('gives its client an event id to resume with: that %s', async (_, message, id) => {
    const response = await send(await openSession(), message)
    const read = reading(response)
    await vi.waitFor(() => expect(read.text).toContain(id))
    expect(read.ended).toBe(false)
  })
})

test('a paused connection does not replace the one that its client opened later', async () => {
  const stub = session()
  const dead = await openRelay({ keepAliveMs: 100, maxBufferedBytes: 20_000, dial: connection(stub) })
  for (let index = 1; index <= 60; index++) await stub.changed(change(index))
  const live = reading(await openRelay({ ...limits, dial: connection(stub) }, '0.5'))
  await vi.waitFor(() => expect(live.text).toContain('id: 0.60\n'))
  // What nobody reads is noticed, and what waited for it is read after all.
  await scheduler.wait(300)
  const late = reading(dead)
  await vi.waitFor(() => expect(late.ended).toBe(true))
  await stub.changed(change(61))
  await vi.waitFor(() => expect(live.text).toContain('id: 0.61\n'))
  expect(live.ended).toBe(false)
  expect(live.text.match(/^id: 0\.\d+$/gm)).toEqual(Array.from({ length: 56 }, (_, index) => `id: 0.${index + 6}`))
})

test('a reader that pauses gets every event once it continues', async () => {
  const stub = session()
  const response = await openRelay({ keepAliveMs: 15_000, maxBufferedBytes: 20_000, dial: connection(stub) })
  for (let index = 1; index <= 200; index++) await stub.changed(change(index))
  const read = reading(response)
  await vi.waitFor(() => expect(read.text).toContain('id: 0.200\n'))
  expect(read.text.match(/^id: 0\.\d+$/gm)).toEqual(Array.from({ length: 200 }, (_, index) => `id: 0.${index + 1}`))
})

test('a stream without event ids ends when its client reads too slowly, and does not connect again when its credential expires', async () => {
  const { 0: relay, 1: object } = new WebSocketPair()
  object.accept()
  let dials = 0
  const dial = async () => {
    dials += 1
    return new Response(null, { status: 101, webSocket: relay })
  }
  const credential = { expires: Date.now() + 60_000 }
  const options = { keepAliveMs: 15_000, maxBufferedBytes: 50, lastFrame: 'data: complete\n\n', credential }
  const response = await openRelay({ ...options, dial })
  const codes: number[] = []
  object.addEventListener('close', ({ code }) => {
    codes.push(code)
    // Before the relay learns that its socket is closed.
    vi.useFakeTimers({ toFake: ['Date'], now: credential.expires })
  })
  const { promise: closed, resolve: onClosed } = Promise.withResolvers<unknown>()
  relay.addEventListener('close', onClosed)
  object.send(relayMessage('x'.repeat(200)))
  await closed
  vi.useRealTimers()
  expect(await response.text()).toBe('x'.repeat(200))
  expect([dials, codes]).toEqual([1, [closeCode.clientGone]])
})

test.each(['id: 999.1', 'id: 0.0', 'id: 1.0', 'retry: 0', 'data: {}'])(
  'a line "%s" in a URI does not change the event id from which a slow reader continues',
  async (line) => {
    const stub = session()
    const hostile = separators
      .filter((separator) => separator.isWellFormed())
      .map((separator) => `${separator}${line}${separator}`)
      .join('')
    let dials = 0
    const dial = connection(stub)
    const response = await openRelay({
      keepAliveMs: 15_000,
      maxBufferedBytes: 5_000,
      dial(after, again) {
        dials += 1
        return dial(after, again)
      },
    })
    const uris = Array.from({ length: 60 }, (_, index) => `note://${index}/${hostile}${'x'.repeat(1000)}${hostile}`)
    for (const uri of uris) await stub.changed({ resource: uri })
    const read = reading(response)
    await vi.waitFor(() => expect(read.text).toContain('id: 0.60\n'))
    const received = eventsIn(read.text).map(({ id, data }) => ({ id, uri: JSON.parse(data).params.uri }))
    expect(received).toEqual(uris.map((uri, index) => ({ id: `0.${index + 1}`, uri })))
    expect(dials).toBeGreaterThan(1)
    expect(dials).toBeLessThanOrEqual(61)
  },
)

describe('responses of calls on one stream whose client reads late', () => {
  const toolCall = (id: string, name: string, args: object): RequestMessage => ({
    jsonrpc: '2.0',
    id,
    method: 'tools/call',
    params: { name, arguments: args },
  })
  /** Logs more than its share of what a stream keeps of notifications. */
  const pour = (index: number) => toolCall(`pour ${index}`, 'pour', { lines: 300, characters: 10 })
  /** More than sixteen of these responses are more than a stream keeps of responses. */
  const large = 'x'.repeat(1_900_000)
  const echo = (index: number) => toolCall(`echo ${index}`, 'echo', { text: large })
  const ping = (id: string): RequestMessage => ({ jsonrpc: '2.0', id, method: 'ping' })

  const handshake = undefined

  /** A session over HTTP+SSE. Nothing is read of its stream yet. */
  async function openSse() {
    const stub = session()
    const settings = { sse: '1', relay: crypto.randomUUID(), expires: String(Date.now() + week) }
    const dial = (after: string | undefined, again: boolean) => stub.fetch(relayRequest(settings, after, again))
    const response = await openRelay({ keepAliveMs: 15_000, maxBufferedBytes: 5_000, dial })
    const hello = { protocolVersion: '2024-11-05', capabilities: {}, clientInfo: { name: 'test', version: '1' } }
    await postTo(stub, post('initialize', hello, { handshake }))
    return { stub, response }
  }

  const answered = (stub: Stub) => vi.waitFor(async () => expect(await openCalls(stub)).toBe(0))

  /** The ids of the results that were read, in order, without that of `initialize`. */
  function answeredIn(text: string): string[] {
    const messages = eventsIn(text).map(({ data }) => JSON.parse(data))
    return messages.filter((message) => 'result' in message && message.id !== 1).map(({ id }) => id)
  }

  test('arrive, however many notifications between them were deleted', async () => {
    const { stub, response } = await openSse()
    const indices = Array.from({ length: 18 }, (_, index) => index + 1)
    for (const index of indices) {
      await postTo(stub, postOf([pour(index)], { handshake }))
      await answered(stub)
    }
    await postTo(stub, postOf([ping('last')], { handshake }))
    const read = reading(response)
    await vi.waitFor(() => expect(read.text).toContain('"id":"last"'))
    expect(answeredIn(read.text)).toEqual([...indices.map((index) => `pour ${index}`), 'last'])
  })

  test('end the session over HTTP+SSE when the stream stores no more of them', async () => {
    const { stub, response } = await openSse()
    for (let index = 1; index <= 18; index += 1) {
      await postTo(stub, postOf([echo(index)], { handshake }))
      await answered(stub)
    }
    const read = reading(response)
    await vi.waitFor(() => expect(read.ended).toBe(true))
    const ids = answeredIn(read.text)
    expect(ids).toEqual(Array.from({ length: ids.length }, (_, index) => `echo ${index + 1}`))
    expect(ids.length).toBeLessThan(18)
    expect(await postTo(stub, postOf([ping('late')], { handshake }))).toEqual({ gone: true })
  })

  test('of a batch are errors beyond what they may have together', async () => {
    const stub = session()
    const messages = [pour(1), ...Array.from({ length: 17 }, (_, index) => echo(index + 1))]
    const since20250326 = { version: '2025-03-26', capabilities: {}, client: { name: 'test', version: '1' } }
    expect(await postTo(stub, postOf(messages, { batch: true, handshake: since20250326 }))).toEqual({ stream: 1 })
    await answered(stub)
    const settings = { stream: '1', relay: crypto.randomUUID(), expires: String(Date.now() + week) }
    const dial = (after: string | undefined, again: boolean) => stub.fetch(relayRequest(settings, after, again))
    const read = reading(await openRelay({ keepAliveMs: 15_000, maxBufferedBytes: 5_000, dial }))
    await vi.waitFor(() => expect(read.ended).toBe(true))
    expect(answeredIn(read.text)).toHaveLength(5)
    expect(read.text.match(/The responses to the batch exceed/g)).toHaveLength(13)
  })
})

/** Calls of a session that have no answer yet. */
const openCalls = (stub: Stub) =>
  runInDurableObject(stub, (_, { storage }) => {
    const tables = storage.sql.exec("SELECT 1 FROM sqlite_master WHERE name = 'calls'").toArray()
    return tables.length === 0 ? 0 : storage.sql.exec('SELECT 1 FROM calls').toArray().length
  })

describe('a stream with a maximum age', () => {
  function silentSocket() {
    const { 0: client, 1: socket } = new WebSocketPair()
    socket.accept()
    return { socket, dial: async () => new Response(null, { status: 101, webSocket: client }) }
  }

  /** Opens a stream whose object sends nothing, and lets time pass until it ends. Returns its age in milliseconds. */
  async function ageAtEnd(random: number, maxStreamAgeMs: number): Promise<number> {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const jitter = vi.spyOn(Math, 'random').mockReturnValue(random)
    try {
      const response = await openRelay({ ...limits, maxStreamAgeMs, dial: silentSocket().dial }, '0.1')
      const read = reading(response)
      let ageMs = 0
      for (; vi.getTimerCount() > 0; ageMs += 10) await vi.advanceTimersByTimeAsync(10)
      await vi.waitUntil(() => read.ended)
      expect(read.text).toBe('retry: 1000\n\n')
      return ageMs
    } finally {
      jitter.mockRestore()
      vi.useRealTimers()
    }
  }

  test('ends after 80 to 100 % of it, so that streams that were opened together do not end together', async () => {
    expect(await ageAtEnd(0, 1000)).toBe(1000)
    expect(await ageAtEnd(0.5, 1000)).toBe(900)
    expect(await ageAtEnd(1, 1000)).toBe(800)
  })

  test('stays open without an event id until its first event', async () => {
    const { socket, dial } = silentSocket()
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] })
    try {
      const read = reading(await openRelay({ ...limits, maxStreamAgeMs: 1000, dial }))
      await vi.advanceTimersByTimeAsync(10_000)
      expect(read).toEqual({ text: '', ended: false })
      vi.useRealTimers()
      socket.send(relayMessage('id: 1\ndata: {}\n\n', '1'))
      await vi.waitUntil(() => read.ended)
      expect(read.text).toBe('id: 1\ndata: {}\n\nretry: 1000\n\n')
    } finally {
      vi.useRealTimers()
    }
  })

  test('of more milliseconds than a timer takes ends as late', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] })
    const jitter = vi.spyOn(Math, 'random').mockReturnValue(0)
    try {
      const maxStreamAgeMs = 2 ** 32
      const read = reading(await openRelay({ ...limits, maxStreamAgeMs, dial: silentSocket().dial }, '0.1'))
      await vi.advanceTimersByTimeAsync(maxStreamAgeMs - 1)
      expect(read.ended).toBe(false)
      expect(vi.getTimerCount()).toBe(1)
      await vi.advanceTimersByTimeAsync(1)
      vi.useRealTimers()
      await vi.waitUntil(() => read.ended)
    } finally {
      jitter.mockRestore()
      vi.useRealTimers()
    }
  })

  test.each([Number.POSITIVE_INFINITY, undefined])('of %s milliseconds needs no timer', async (maxStreamAgeMs) => {
    const timer = vi.spyOn(globalThis, 'setTimeout')
    try {
      const response = await openRelay({
        ...limits,
        ...(maxStreamAgeMs && { maxStreamAgeMs }),
        dial: connection(session()),
      })
      expect(timer).not.toHaveBeenCalled()
      await response.body?.cancel()
    } finally {
      timer.mockRestore()
    }
  })

  test('leaves no timer when its client disconnects first', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    try {
      const response = await openRelay({ ...limits, maxStreamAgeMs: 1000, dial: connection(session()) })
      expect(vi.getTimerCount()).toBe(1)
      await response.body?.cancel()
      expect(vi.getTimerCount()).toBe(0)
    } finally {
      vi.useRealTimers()
    }
  })

  describe('and without event ids for its client reports its position', () => {
    /** An object whose sockets report how they were closed. `loseUntil` loses the socket, and the object until it returns. */
    function fakeObject() {
      const sockets: WebSocket[] = []
      const closes: string[] = []
      let reachable = Promise.resolve()
      const dial = async () => {
        await reachable
        const { 0: client, 1: socket } = new WebSocketPair()
        socket.accept()
        socket.addEventListener('close', ({ code, reason }) => closes.push(`${code} ${reason}`))
        sockets.push(socket)
        return new Response(null, { status: 101, webSocket: client, headers: { 'Last-Event-ID': '7' } })
      }
      return {
        dial,
        sockets,
        closes,
        loseUntil(returns: Promise<void>) {
          reachable = returns
          sockets.at(-1)?.close(1011)
        },
      }
    }

    const aged = { keepAliveMs: 15_000, maxStreamAgeMs: 200, lastFrame: 'data: complete\n\n' }

    test('while its client reads slowly', async () => {
      const { dial, sockets, closes } = fakeObject()
      const response = await openRelay({ ...aged, maxBufferedBytes: 50, dial })
      sockets[0]?.send(relayMessage('x'.repeat(200), '8'))
      await vi.waitFor(() => expect(closes).toEqual([`${closeCode.paused} `, `${closeCode.aged} 8`]))
      expect(await response.text()).toBe(`${'x'.repeat(200)}data: complete\n\n`)
    })

    test('while the Worker connects to its object again, before the client can listen again', async () => {
      const { dial, closes, loseUntil } = fakeObject()
      const back = Promise.withResolvers<void>()
      const read = reading(await openRelay({ ...aged, maxBufferedBytes: 1_000_000, dial }))
      loseUntil(back.promise)
      await scheduler.wait(250)
      expect(read.text).toBe('')
      back.resolve()
      await vi.waitFor(() => expect(read.ended).toBe(true))
      expect(read.text).toBe('data: complete\n\n')
      expect(closes.at(-1)).toBe(`${closeCode.aged} 7`)
    })

    test('unless its client has left meanwhile', async () => {
      const { dial, closes, loseUntil } = fakeObject()
      const back = Promise.withResolvers<void>()
      const { body } = await openRelay({ ...aged, maxBufferedBytes: 1_000_000, dial })
      loseUntil(back.promise)
      await scheduler.wait(250)
      await body?.cancel()
      back.resolve()
      await vi.waitFor(() => expect(closes.at(-1)).toBe(`${closeCode.clientGone} `))
    })
  })
})

test('a stream that has received nothing for longer than changes are stored continues when its object is lost', async () => {
  const shard = subscriptions.getByName('subscriptions 0')
  const publish = (change: Change) => shard.publish(change, [topicOf(change)])
  const [own, other] = [note(crypto.randomUUID()), note(crypto.randomUUID())]
  const listen = async ({ resource }: { resource: string }) => {
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': {},
    }
    const params = { notifications: { resourceSubscriptions: [resource] }, _meta }
    const request = new Request('https://mcp.example.com/mcp', {
      method: 'POST',
      headers: statelessHeaders('subscriptions/listen'),
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'subscriptions/listen', params }),
    })
    return reading(await worker.fetch(request, env, createExecutionContext()))
  }
  const [quiet, busy] = [await listen(own), await listen(other)]
  await publish(other)
  await vi.waitFor(() => expect(busy.text).toContain('resources/updated'))
  await publish({ list: 'tools' })
  await runInDurableObject(shard, (_, { storage: { sql } }) => void sql.exec('UPDATE changes SET at = at - 3600000'))
  await runDurableObjectAlarm(shard)
  await evictDurableObject(shard, { webSockets: 'close' })
  await publish(own)
  await vi.waitFor(() => expect(quiet.text).toContain('resources/updated'))
  expect(quiet).toMatchObject({ text: expect.not.stringContaining('complete'), ended: false })
})
