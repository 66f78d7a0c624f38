/** Event streams of an upstream with sessions that carry more than the response: requests, and ends to resume after. */
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import type { Server } from '../../worker/declarations/server.ts'
import type { ProxiedOptions } from '../../worker/plugins/compose/proxy/proxied.ts'
import { newServer, refusal, result, textOf } from '../engine/stage.ts'
import { nodeProxy } from './node-proxy.ts'
import { described } from './scripted.ts'
import { type Stub, type StubRequest, sendJson, startStub, textResult } from './stub.ts'

let stub: Stub
beforeEach(async () => {
  stub = await startStub()
})
afterEach(() => stub.close())

const call = { name: 'secret_of', arguments: { who: 'ada' } }
const behind = (options: Partial<ProxiedOptions> = {}) => newServer().use(nodeProxy(stub.url, undefined, options))
const refusedBy = (server: Server, signal: AbortSignal) =>
  result(server, 'tools/call', call, { signal }).then(
    () => expect.unreachable('The call ends without a result'),
    (thrown: unknown) => thrown,
  )

/** A timeout that is over when the test calls `expire`, however fast the machine is. Other timeouts stay as they are. */
function drivenTimeout() {
  const timeout = 3_599_999
  const over = new AbortController()
  const realTimeout = AbortSignal.timeout.bind(AbortSignal)
  const spy = vi
    .spyOn(AbortSignal, 'timeout')
    .mockImplementation((ms) => (ms === timeout ? over.signal : realTimeout(ms)))
  onTestFinished(() => spy.mockRestore())
  return { timeout, expire: () => over.abort(new DOMException('The operation timed out', 'TimeoutError')) }
}

const sent = (isSent: (request: StubRequest) => boolean) => stub.requests.filter(isSent)
const gets = () => sent(({ http }) => http === 'GET')

const stream = (response: ServerResponse, text: string) =>
  void response.writeHead(200, { 'Content-Type': 'text/event-stream' }).write(text)
const event = (message: object, id?: string) =>
  `${id === undefined ? '' : `id: ${id}\n`}data: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`
const answered = (id: unknown, said: string) => event({ id, result: textResult(said) }, 'last')

describe('a stream that ends before its response', () => {
  /** Answers the call with a stream that ends, and each GET as the test says. */
  function polled(first: string, resumed: (id: unknown, response: ServerResponse, count: number) => void) {
    let id: unknown
    let count = 0
    stub.call = (request, response) => {
      if (request.http === 'GET') return resumed(id, response, ++count)
      id = request.id
      stream(response, first)
      response.end()
    }
  }

  test('is resumed after its last event, each time it ends, after its retry time', async () => {
    polled('retry: 300\nid: one\ndata:\n\n', (id, response, count) => {
      stream(
        response,
        count === 1 ? event({ method: 'notifications/message', params: {} }, 'two') : answered(id, 'late'),
      )
      response.end()
    })
    const startMs = performance.now()
    expect(textOf(await result(behind(), 'tools/call', call))).toBe('late')
    expect(performance.now() - startMs).toBeGreaterThanOrEqual(590)
    expect(gets().map(({ headers }) => headers['last-event-id'])).toEqual(['one', 'two'])
    const posted = sent(({ method }) => method === 'tools/call')
    expect(posted).toHaveLength(1)
    for (const { headers, session } of gets()) {
      expect(session).toBe(posted[0]?.session)
      expect(headers).toMatchObject({ accept: 'text/event-stream', 'mcp-protocol-version': '2025-06-18' })
    }
  })

  test('is resumed after an event that has an id only', async () => {
    polled('retry: 10\nid: one\n\n', (id, response) => {
      stream(response, answered(id, 'late'))
      response.end()
    })
    expect(textOf(await result(behind(), 'tools/call', call))).toBe('late')
    expect(gets().map(({ headers }) => headers['last-event-id'])).toEqual(['one'])
  })

  test('is resumed after the retry time that was sent last, also without an event', async () => {
    polled('id: one\ndata:\n\nretry: 300\n\n', (id, response) => {
      stream(response, answered(id, 'late'))
      response.end()
    })
    const startMs = performance.now()
    expect(textOf(await result(behind(), 'tools/call', call))).toBe('late')
    const tookMs = performance.now() - startMs
    expect(tookMs).toBeGreaterThanOrEqual(295)
  })

  test('is resumed when its connection is lost', async () => {
    let id: unknown
    stub.call = (request, response) => {
      if (request.http === 'GET') {
        stream(response, answered(id, 'late'))
        return response.end()
      }
      id = request.id
      stream(response, 'retry: 10\nid: one\ndata:\n\n')
      setImmediate(() => response.destroy())
    }
    expect(textOf(await result(behind(), 'tools/call', call))).toBe('late')
  })

  test('is resumed again when the upstream was unavailable for a moment', async () => {
    polled('retry: 10\nid: one\ndata:\n\n', (id, response, count) => {
      if (count < 3) return void response.writeHead(503).end()
      stream(response, answered(id, 'late'))
      response.end()
    })
    expect(textOf(await result(behind(), 'tools/call', call))).toBe('late')
    expect(gets()).toHaveLength(3)
  })

  test('is resumed until the timeout of the call', async () => {
    const { timeout, expire } = drivenTimeout()
    polled('retry: 10\nid: one\ndata:\n\n', (_, response, count) => {
      stream(response, ': nothing yet\n\n')
      response.end()
      if (count === 3) expire()
    })
    expect(await refusal(behind({ timeoutMs: timeout }), 'tools/call', call)).toMatchObject({ kind: 'unavailable' })
    const before = gets().length
    expect(before).toBeGreaterThanOrEqual(3)
    await result(behind(), 'tools/list')
    expect(gets()).toHaveLength(before)
  })

  test('is not resumed after the timeout, whatever its retry time is', async () => {
    polled('retry: 86400000\nid: one\ndata:\n\n', (_, response) => response.end())
    expect(await refusal(behind({ timeoutMs: 500 }), 'tools/call', call)).toMatchObject({ kind: 'unavailable' })
    expect(gets()).toEqual([])
  })

  test.each([
    ['without event ids', ': nothing\n\n', 0],
    ['when the upstream refuses GET', 'retry: 10\nid: one\ndata:\n\n', 1],
  ])('is an error %s', async (_, first, count) => {
    polled(first, (_id, response) => void response.writeHead(405).end())
    expect(await refusal(behind(), 'tools/call', call)).toMatchObject({ message: /gave no answer$/ })
    expect(gets()).toHaveLength(count)
  })

  test('is limited to 8 MiB, together with the streams that resume it', async () => {
    const text = ' '.repeat(2.5 * 1024 * 1024)
    polled('retry: 10\nid: one\ndata:\n\n', (_, response) => {
      stream(response, `: ${text}\n\nid: more\ndata:\n\n`)
      response.end()
    })
    expect(await refusal(behind(), 'tools/call', call)).toMatchObject({ message: /more than 8388608 bytes/ })
    expect(gets()).toHaveLength(4)
  })
})

describe('a request of an upstream', () => {
  /** Sends a request on the stream of a call, and answers the call when it has got the response. */
  function asking(request: { id: unknown; method: string; params?: object }) {
    let finish = () => {}
    stub.call = ({ id, method }, response) => {
      if (method !== 'tools/call') {
        response.writeHead(202).end()
        return finish()
      }
      finish = () => response.end(answered(id, 'done'))
      stream(response, event(request))
    }
  }
  const replies = () => sent(({ method, http }) => http === 'POST' && method === undefined)

  test.each([1, 'text'])('that is a ping with the id %j is answered', async (id) => {
    asking({ id, method: 'ping' })
    expect(textOf(await result(behind(), 'tools/call', call))).toBe('done')
    expect(replies().map(({ body }) => body)).toEqual([{ jsonrpc: '2.0', id, result: {} }])
    expect(replies()[0]?.session).toBe(sent(({ method }) => method === 'tools/call')[0]?.session)
    expect(replies()[0]?.headers).toMatchObject({ 'mcp-protocol-version': '2025-06-18' })
  })

  test.each(['roots/list', 'sampling/createMessage', 'made/up'])(
    'for %s is answered with "Method not found"',
    async (method) => {
      asking({ id: 7, method, params: {} })
      expect(textOf(await result(behind(), 'tools/call', call))).toBe('done')
      const error = { code: -32601, message: `Method not found: ${method}` }
      expect(replies().map(({ body }) => body)).toEqual([{ jsonrpc: '2.0', id: 7, error }])
    },
  )

  test('is answered on the stream of the handshake as well', async () => {
    stub.beforeInitialized = event({ id: 'early', method: 'ping' })
    expect(textOf(await result(behind(), 'tools/call', call))).toBe('the secret of ada')
    expect(replies().map(({ body }) => body)).toEqual([{ jsonrpc: '2.0', id: 'early', result: {} }])
  })

  test('is ignored after the hundredth of one call', async () => {
    stub.call = ({ id, method }, response) => {
      if (method !== 'tools/call') return response.writeHead(202).end()
      stream(response, Array.from({ length: 150 }, (_, index) => event({ id: index, method: 'ping' })).join(''))
      response.end(answered(id, 'done'))
    }
    expect(textOf(await result(behind(), 'tools/call', call))).toBe('done')
    await expect.poll(() => replies().length).toBe(100)
  })
})

describe('a call that ends before its response', () => {
  /** Resolves when the upstream has a call that it does not answer. */
  const hanging = (asStream: boolean) =>
    new Promise<StubRequest>((resolve) => {
      stub.call = (request, response) => {
        if (asStream) stream(response, ': waiting\n\n')
        resolve(request)
      }
    })
  const cancelled = () => sent(({ method }) => method === 'notifications/cancelled')

  test.each([
    ['the upstream has not answered', false],
    ['the upstream streams', true],
  ])('because its caller cancels it is cancelled in the upstream session: %s', async (_, asStream) => {
    const stop = new AbortController()
    const arrived = hanging(asStream)
    const called = refusedBy(behind(), stop.signal)
    const { id, session } = await arrived
    stop.abort()
    await called
    await expect.poll(() => cancelled()).toMatchObject([{ session, params: { requestId: id } }])
    // Nobody else uses the session of an anonymous call: it ends, after the notification.
    await expect.poll(() => stub.requests.at(-1)).toMatchObject({ http: 'DELETE', session })
  })

  test('because it times out is cancelled in the upstream session', async () => {
    const { timeout, expire } = drivenTimeout()
    const arrived = hanging(true)
    const refused = refusal(behind({ timeoutMs: timeout }), 'tools/call', call)
    const { id } = await arrived
    expire()
    expect(await refused).toMatchObject({ kind: 'unavailable' })
    await expect.poll(() => cancelled()).toMatchObject([{ params: { requestId: id } }])
  })

  test('closes its connection to an upstream without sessions', async () => {
    const closed = Promise.withResolvers<void>()
    const arrived = Promise.withResolvers<void>()
    const upstream = createServer(async (incoming, response) => {
      const { id, method } = (await json(incoming)) as { id: unknown; method: string }
      if (method === 'server/discover') return sendJson(response, { jsonrpc: '2.0', id, result: described() })
      response.on('close', () => closed.resolve())
      stream(response, ': waiting\n\n')
      arrived.resolve()
    }).listen(0, '127.0.0.1')
    await once(upstream, 'listening')
    const url = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}/mcp`
    const stop = new AbortController()
    const called = refusedBy(newServer().use(nodeProxy(url)), stop.signal)
    await arrived.promise
    stop.abort()
    await Promise.all([called, closed.promise])
    upstream.close()
  })

  test('with its result is not cancelled', async () => {
    const stop = new AbortController()
    expect(textOf(await result(behind(), 'tools/call', call, { signal: stop.signal }))).toBe('the secret of ada')
    stop.abort()
    await expect.poll(() => stub.requests.at(-1)).toMatchObject({ http: 'DELETE' })
    expect(cancelled()).toEqual([])
  })
})
