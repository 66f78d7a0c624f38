/** Streams that a Worker follows without a relay, because they are likely to end soon. */
import { evictDurableObject } from 'cloudflare:test'
import { exports } from 'cloudflare:workers'
import { describe, expect, test, vi } from 'vitest'
import { FollowedStreams } from '../../durable-objects/session/followed-streams.ts'
import type { Following, SessionRpc } from '../../durable-objects/session/rpc.ts'
import { followStream } from '../../worker/http/relay.ts'
import { relayRequest } from '../../worker/plugins/sessions/session-object.ts'
import * as closeCode from '../../worker/protocol/close-code.ts'
import { readRelayMessage, relayMessage } from '../../worker/protocol/relay-messages.ts'
import { post, postAndFollow, postOf, postTo, week } from './session-post.ts'

type Stub = DurableObjectStub & SessionRpc
const namespace = (exports as unknown as { McpSession: { getByName(name: string): Stub } }).McpSession
const session = () => namespace.getByName(crypto.randomUUID())

/** Calls a tool as a Worker that can follow its stream. */
async function follow(stub: Stub, name: string): Promise<Following> {
  const posted = await postAndFollow(stub, post('tools/call', { name, arguments: {} }))
  if (!('stream' in posted) || !posted.following) throw new Error(`Not followed: ${JSON.stringify(posted)}`)
  return posted.following
}

const accepted = (id: string, content: object) =>
  postOf([{ jsonrpc: '2.0', id, result: { action: 'accept', content } }])
const ada = (stub: Stub) => postTo(stub, accepted('ask-1', { name: 'Ada' }))

/** The dials of the relay that continues a stream. */
function dialing(stub: Stub, relay: string) {
  const dialed: (string | undefined)[] = []
  const dial = (after: string | undefined, again: boolean) => {
    dialed.push(after)
    return stub.fetch(relayRequest({ relay, expires: String(Date.now() + week) }, after, again))
  }
  return { dialed, dial }
}

const payloads = (messages: readonly string[]) => messages.map((message) => readRelayMessage(message)?.payload).join('')
const idsIn = (text: string) => text.match(/^id: .*$/gm)?.map((line) => line.slice(4))
const limits = { keepAliveMs: 15_000, maxBufferedBytes: 1_000_000 }

describe('a stream that a Worker follows', () => {
  test('ends without a relay when the client answers at once, and can be resumed', async () => {
    const stub = session()
    const following = await follow(stub, 'ask_name')
    expect(idsIn(payloads(following.messages))).toEqual(['1.0', '1.1'])
    const next = following.next('relay')
    expect(await ada(stub)).toEqual({ status: 202 })
    const { messages, code } = await next
    expect(payloads(messages)).toMatch(/^id: 1\.2\ndata: .*Hello, Ada!.*\n\n$/)
    expect(code).toBe(closeCode.complete)
    const { dial } = dialing(stub, 'another')
    const resumed = await dial('1.1', false)
    const resent = Promise.withResolvers<unknown>()
    resumed.webSocket?.addEventListener('message', ({ data }) => {
      if (String(data).includes('Ada')) resent.resolve(data)
    })
    resumed.webSocket?.accept()
    expect([await resent.promise]).toEqual(messages)
  })

  test('contains what was sent before the Worker waits', async () => {
    const stub = session()
    const following = await follow(stub, 'ask_name')
    await ada(stub)
    const { messages, code } = await following.next('relay')
    expect([idsIn(payloads(messages)), code]).toEqual([['1.2'], closeCode.complete])
  })

  test('gets each question of a call, in turn', async () => {
    const stub = session()
    const response = followStream({ ...limits, ...dialing(stub, 'relay') }, await follow(stub, 'ask_twice'), 'relay')
    const text = response.text()
    await postTo(stub, accepted('ask-1', { value: 'one' }))
    await postTo(stub, accepted('ask-2', { value: 'two' }))
    expect(idsIn(await text)).toEqual(['1.0', '1.1', '1.2', '1.3'])
  })

  test('moves to a relay when the client takes longer, so that the object can sleep', async () => {
    const stub = session()
    const { dialed, dial } = dialing(stub, 'relay')
    const response = followStream({ ...limits, dial }, await follow(stub, 'ask_name'), 'relay')
    await vi.waitFor(() => expect(dialed).toEqual(['1.1']))
    await evictDurableObject(stub, { webSockets: 'hibernate' })
    await ada(stub)
    expect(idsIn(await response.text())).toEqual(['1.0', '1.1', '1.2'])
    expect(dialed).toEqual(['1.1'])
  })

  test.each(['before', 'after'])('continues when the object is lost %s the answer', async (when) => {
    const stub = session()
    const following = await follow(stub, 'ask_name')
    const next = async () => {
      if (when === 'after') await ada(stub)
      throw new Error('Durable Object reset because its code was updated.')
    }
    const { dialed, dial } = dialing(stub, 'relay')
    const response = followStream({ ...limits, dial }, { ...following, next }, 'relay')
    if (when === 'before') {
      await vi.waitFor(() => expect(dialed).toEqual(['1.1']))
      await ada(stub)
    }
    expect(idsIn(await response.text())).toEqual(['1.0', '1.1', '1.2'])
    expect(dialed).toEqual(['1.1'])
  })

  test('ends when its client resumes it elsewhere', async () => {
    const stub = session()
    const { next } = await follow(stub, 'ask_name')
    const waiting = next('relay')
    const elsewhere = await dialing(stub, 'elsewhere').dial('1.1', false)
    expect(await waiting).toEqual({ messages: [], code: closeCode.replaced })
    expect(elsewhere.status).toBe(101)
    elsewhere.webSocket?.accept()
  })

  test('is not taken over by a lost relay of its client', async () => {
    const stub = session()
    const { next } = await follow(stub, 'ask_name')
    const waiting = next('relay')
    expect((await dialing(stub, 'lost').dial('1.1', true)).status).toBe(409)
    await ada(stub)
    expect(idsIn(payloads((await waiting).messages))).toEqual(['1.2'])
  })

  test('continues on a relay when its client reads slowly', async () => {
    const stub = session()
    const { dialed, dial } = dialing(stub, 'relay')
    const options = { ...limits, maxBufferedBytes: 10, dial }
    const response = followStream(options, await follow(stub, 'ask_name'), 'relay')
    await ada(stub)
    expect(dialed).toEqual([])
    expect(idsIn(await response.text())).toEqual(['1.0', '1.1', '1.2'])
    expect(dialed).toEqual(['1.1'])
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
  [[256 * 1024, 1], true],
  [[256 * 1024, 1, 1], false],
  [[1, 256 * 1024], true],
  [[1, 256 * 1024 + 1], false],
])('a new stream with events of %j characters is kept for its Worker: %s', (lengths, isKept) => {
  const streams = new FollowedStreams()
  const frames = lengths.map((length) => 'x'.repeat(length))
  streams.begin(1)
  for (const [index, frame] of frames.entries()) streams.append(1, frame, { stream: 1, seq: index + 1 })
  streams.end(1)
  expect(streams.respond(1, false)).toEqual(isKept ? { frames: frames.join('') } : {})
})
