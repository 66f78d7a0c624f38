/** The response to a POST whose calls run: the body of its stream, and the relay that continues it. */
import { evictDurableObject } from 'cloudflare:test'
import { exports } from 'cloudflare:workers'
import { describe, expect, test, vi } from 'vitest'
import { NewStreams } from '../../durable-objects/session/new-streams.ts'
import type { SessionRpc } from '../../durable-objects/session/rpc.ts'
import { passOnBody } from '../../worker/http/relay.ts'
import { relayRequest } from '../../worker/plugins/sessions/session-object.ts'
import * as closeCode from '../../worker/protocol/close-code.ts'
import { endOfBody, firstRelay, readRelayMessage, relayMessage } from '../../worker/protocol/relay-messages.ts'
import { eventFrame, primingFrame } from '../../worker/protocol/server-sent-events.ts'
import { post, postAndRead, postOf, postTo, week } from './session-post.ts'

type Stub = DurableObjectStub & SessionRpc
const namespace = (exports as unknown as { McpSession: { getByName(name: string): Stub } }).McpSession
const session = () => namespace.getByName(crypto.randomUUID())

/** Calls a tool, and returns the body of its stream. */
async function bodyOf(stub: Stub, name: string): Promise<ReadableStream<Uint8Array>> {
  const posted = await postAndRead(stub, post('tools/call', { name, arguments: {} }))
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

const textOf = (body: ReadableStream<Uint8Array>) => new Response(body).text()
const idsIn = (text: string) => text.match(/^id: .*$/gm)?.map((line) => line.slice(4))
const limits = { keepAliveMs: 15_000, maxBufferedBytes: 1_000_000 }

describe('the body of a running stream', () => {
  test('ends with the answer, and can be resumed', async () => {
    const stub = session()
    const body = textOf(await bodyOf(stub, 'ask_name'))
    expect(await ada(stub)).toEqual({ status: 202 })
    const text = await body
    expect(idsIn(text)).toEqual(['1.0', '1.1', '1.2'])
    expect(text.endsWith(endOfBody(closeCode.complete))).toBe(true)
    const resumed = await dialing(stub, 'another').dial('1.1', false)
    const resent = Promise.withResolvers<unknown>()
    resumed.webSocket?.addEventListener('message', ({ data }) => {
      if (String(data).includes('Ada')) resent.resolve(data)
    })
    resumed.webSocket?.accept()
    const { payload = 'none' } = readRelayMessage(await resent.promise) ?? {}
    expect(text).toContain(payload)
  })

  test('reaches the client without the end that the object wrote', async () => {
    const stub = session()
    const response = passOnBody({ ...limits, ...dialing(stub) }, await bodyOf(stub, 'ask_name'))
    await ada(stub)
    expect(await response.text()).toMatch(
      /^id: 1\.0\n[^:]*: \d+\ndata: \n\nid: 1\.1\ndata: .*\n\nid: 1\.2\ndata: .*Hello, Ada!.*\n\n$/,
    )
  })

  test('has each question of a call, in turn', async () => {
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
    const response = passOnBody({ ...limits, dial }, await bodyOf(stub, 'ask_name'))
    await vi.waitFor(() => expect(dialed).toEqual(['1.1']))
    await evictDurableObject(stub, { webSockets: 'hibernate' })
    await ada(stub)
    expect(idsIn(await response.text())).toEqual(['1.0', '1.1', '1.2'])
    expect(dialed).toEqual(['1.1'])
  })

  test.each(['before', 'after'])('continues on a relay when the object is lost %s the answer', async (when) => {
    const stub = session()
    const own = (await bodyOf(stub, 'ask_name')).getReader()
    const { value: first = new Uint8Array() } = await own.read()
    if (when === 'after') await ada(stub)
    // A part of the answer has arrived.
    const lost = new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(first)
        controller.enqueue(new TextEncoder().encode('id: 1.2\ndata: {"part'))
      },
      pull(controller) {
        controller.error(new Error('Durable Object reset because its code was updated.'))
      },
    })
    const { dialed, dial } = dialing(stub)
    const response = passOnBody({ ...limits, dial }, lost)
    if (when === 'before') {
      await vi.waitFor(() => expect(dialed).toEqual(['1.1']))
      await ada(stub)
    }
    const text = await response.text()
    expect(idsIn(text)).toEqual(['1.0', '1.1', '1.2'])
    expect(text).not.toContain('part')
    expect(dialed).toEqual(['1.1'])
  })

  test('ends when its client resumes the stream elsewhere', async () => {
    const stub = session()
    const body = textOf(await bodyOf(stub, 'ask_name'))
    const elsewhere = await dialing(stub, 'elsewhere').dial('1.1', false)
    expect((await body).endsWith(endOfBody(closeCode.replaced))).toBe(true)
    expect(elsewhere.status).toBe(101)
    elsewhere.webSocket?.accept()
  })

  test('is not taken over by a lost relay of its client', async () => {
    const stub = session()
    const body = textOf(await bodyOf(stub, 'ask_name'))
    expect((await dialing(stub, 'lost').dial('1.1', true)).status).toBe(409)
    await ada(stub)
    expect(idsIn(await body)).toEqual(['1.0', '1.1', '1.2'])
  })

  test('continues on a relay when its client reads slowly', async () => {
    const stub = session()
    const { dialed, dial } = dialing(stub)
    const response = passOnBody({ ...limits, maxBufferedBytes: 10, dial }, await bodyOf(stub, 'ask_name'))
    await ada(stub)
    expect(dialed).toEqual([])
    expect(idsIn(await response.text())).toEqual(['1.0', '1.1', '1.2'])
    expect(dialed).toEqual(['1.0'])
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

describe('a body whose credential is verified again', () => {
  const large = 'x'.repeat(400_000)
  const frames = Array.from({ length: 20 }, (_, index) => eventFrame(`{"${large}":0}`, `1.${index + 1}`))
  /** A body that counts what was read. The first part has several events. */
  function bodyWith(parts: readonly string[]) {
    const counts = { read: 0 }
    const body = new ReadableStream<Uint8Array>(
      {
        pull(controller) {
          const part = parts[counts.read]
          if (part === undefined) return controller.close()
          counts.read += 1
          controller.enqueue(new TextEncoder().encode(part))
        },
      },
      { highWaterMark: 0 },
    )
    return { body, counts }
  }
  const options = {
    keepAliveMs: 15_000,
    maxBufferedBytes: 100_000_000,
    dial: () => Promise.reject(new Error('No relay is expected')),
  }

  test('brings a client whose token was revoked an event id, and no event', async () => {
    const { body } = bodyWith([primingFrame('1.0') + frames.slice(0, 3).join(''), ...frames.slice(3)])
    const verify = async () => Promise.reject(new Error('revoked'))
    const text = await passOnBody({ ...options, credential: { recheck: { at: 0, verify } } }, body).text()
    expect(idsIn(text)).toEqual(['1.0'])
    expect(text).not.toContain(large)
  })

  test('is not read further meanwhile', async () => {
    const { body, counts } = bodyWith([
      primingFrame('1.0') + frames[0],
      ...frames.slice(1),
      endOfBody(closeCode.complete),
    ])
    const { promise: verified, resolve } = Promise.withResolvers<Record<never, never>>()
    const response = passOnBody({ ...options, credential: { recheck: { at: 0, verify: () => verified } } }, body)
    await new Promise((resolve) => setTimeout(resolve, 0))
    expect(counts.read).toBe(1)
    resolve({})
    expect(idsIn(await response.text())).toHaveLength(21)
  })
})

test('a body that is too large to wait for a credential is left, and no relay opens before the credential is verified', async () => {
  const stub = session()
  const { dialed, dial } = dialing(stub)
  const { promise: verified, resolve } = Promise.withResolvers<Record<never, never>>()
  const credential = { recheck: { at: 0, verify: () => verified } }
  const options = { keepAliveMs: 20, maxBufferedBytes: 10, dial, credential }
  const reader = passOnBody(options, await bodyOf(stub, 'ask_name')).body?.getReader()
  // Each comment that is read makes room.
  for (let read = 0; read < 3; read += 1) await reader?.read()
  expect(dialed).toEqual([])
  resolve({})
  await vi.waitFor(() => expect(dialed).toEqual([undefined]))
  await reader?.cancel()
})

test('a client that is sent away after a large event leaves, although the Worker has not read the event', async () => {
  const streams = new NewStreams()
  streams.begin(1)
  const { body } = streams.respond(1, false)
  const text = textOf(body as ReadableStream<Uint8Array>)
  const open = streams.bodyOf(1)
  open?.send('x'.repeat(400_000))
  open?.close(closeCode.released, 'retry: 20\n\n')
  expect((await text).slice(400_000)).toBe(`retry: 20\n\n${endOfBody(closeCode.released)}`)
})

test('a stream that needs a relay is not kept', () => {
  const streams = new NewStreams()
  for (let stream = 1; stream <= 101; stream += 1) {
    streams.begin(stream)
    streams.respond(stream, false)
  }
  expect(streams.take(101)).toBeUndefined()
})

test.each([
  [[256 * 1024 - 1, 1], true],
  [[256 * 1024, 1], false],
  [[1, 256 * 1024], false],
])('a new stream with events of %j characters is kept for its response: %s', (lengths, isKept) => {
  const streams = new NewStreams()
  const frames = lengths.map((length) => 'x'.repeat(length))
  streams.begin(1)
  for (const [index, frame] of frames.entries()) streams.append(1, frame, { stream: 1, seq: index + 1 })
  streams.end(1)
  expect(streams.respond(1, false)).toEqual(isKept ? { frames: frames.join('') } : {})
})
