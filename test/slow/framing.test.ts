/** What a client reads is what was sent, whatever text passes through a stream and however often its connection is lost. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import * as closeCode from '../../worker/protocol/close-code.ts'
import { notificationText, resultText } from '../../worker/protocol/jsonrpc.ts'
import { readRelayMessage, relayMessage } from '../../worker/protocol/relay-messages.ts'
import { eventFrame, primingFrame, retryFrame } from '../../worker/protocol/server-sent-events.ts'
import { eventsIn } from '../support/events-in.ts'
import { hostileText } from '../support/hostile-text.ts'
import type { Chance } from '../support/random.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { casesOf, property } from './cases.ts'

// Its types are those of workerd, not of Node.
const { openRelay } = (await import(new URL('../../worker/http/relay.ts', import.meta.url).href)) as {
  openRelay(options: {
    keepAliveMs: number
    maxBufferedBytes: number
    dial(after: string | undefined): Promise<Response>
  }): Promise<Response>
}

type Received = { id: string | undefined; data: string }

function parsed(text: string): Received[] {
  const events = eventsIn(text).map(({ id, data, event }) => ({ id: event ?? id, data }))
  return events.filter(({ data }) => data !== '')
}

describe('relay messages', () => {
  property('keep id and payload apart', 10_000, (random) => {
    const id = random.rarely(4)
      ? undefined
      : `${random.below(10 ** random.below(15))}.${random.below(10 ** random.below(15))}`
    const payload = hostileText(random)
    expect(readRelayMessage(relayMessage(payload, id))).toEqual({ id, payload })
  })

  property('of an unknown format are ignored', 1000, (random) => {
    const text = hostileText(random)
    if (text[0] !== '1') expect(readRelayMessage(text)).toBeUndefined()
  })
})

/** Stands for a Session object: sends a log, and loses its connections at random. */
class Sender {
  readonly log: string[]
  readonly dialledAfter: (string | undefined)[] = []
  readonly #random: Chance

  constructor(random: Chance, log: string[]) {
    this.#random = random
    this.log = log
  }

  dial = async (after: string | undefined): Promise<Response> => {
    this.dialledAfter.push(after)
    if (this.dialledAfter.length > 1 && this.#random.rarely(5)) return socketResponse(() => closeCode.paused)
    const start = Number(after?.split('.')[1] ?? 0)
    return socketResponse((send) => {
      if (start === 0) send(relayMessage(primingFrame('7.0', 1000), '7.0'))
      for (let next = start; next < this.log.length; ) {
        if (this.#random.rarely(3)) return this.#random.one([1006, closeCode.paused])
        if (this.#random.rarely(4)) send(relayMessage(retryFrame(1000)))
        const page = this.log.slice(next, next + this.#random.whole(1, 3))
        const events = page.map((data, index) => eventFrame(data, `7.${next + index + 1}`))
        next += page.length
        send(relayMessage(events.join(''), `7.${next}`))
      }
      return closeCode.complete
    })
  }
}

function socketResponse(run: (send: (message: string) => void) => number): Response {
  const socket = Object.assign(new EventTarget(), {
    isClosed: false,
    accept() {
      queueMicrotask(() => {
        const code = run((data) => {
          if (!socket.isClosed) socket.dispatchEvent(new MessageEvent('message', { data }))
        })
        if (!socket.isClosed) socket.dispatchEvent(Object.assign(new Event('close'), { code }))
      })
    },
    close(code: number) {
      if (socket.isClosed) return
      socket.isClosed = true
      socket.dispatchEvent(Object.assign(new Event('close'), { code }))
    },
  })
  // Node has no response with a socket: the relay reads these three members.
  return { status: 101, webSocket: socket, headers: new Headers() } as unknown as Response
}

const hostileMessages = (random: Chance): string[] => [
  ...random.some(0, 12, () => {
    const text = hostileText(random)
    return random.one([
      notificationText({ method: 'notifications/message', params: { level: 'info', data: text } }),
      notificationText({
        method: 'notifications/progress',
        params: { progressToken: text, progress: 1, message: text },
      }),
      notificationText({ method: 'notifications/resources/updated', params: { uri: `note://${text}` } }),
    ])
  }),
  resultText(random.one([hostileText(random), 1]), { content: [{ type: 'text', text: hostileText(random) }] }),
]

describe('a relay', () => {
  property('delivers each event once, in order and on the right stream', 10_000, async (random) => {
    const log = hostileMessages(random)
    const sender = new Sender(random, log)
    const response = await openRelay({
      keepAliveMs: 60_000,
      maxBufferedBytes: random.one([10, 500, 1_000_000]),
      dial: sender.dial,
    })
    const events = parsed(await new Response(response.body).text())
    expect(events).toEqual(log.map((data, index) => ({ id: `7.${index + 1}`, data })))
    expect(sender.dialledAfter.slice(1).every((after) => after === undefined || /^7\.\d+$/.test(after))).toBe(true)
  })
})

describe('workerd', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer('test/slow/framing')
    const clientInfo = { name: 'framing', version: '1' }
    const opened = await post(0, 'initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo })
    session = opened.headers.get('Mcp-Session-Id') as string
    await (await post('level', 'logging/setLevel', { level: 'info' })).text()
  })
  afterAll(() => server[Symbol.asyncDispose]())

  let session: string
  const headers = () => ({
    'Content-Type': 'application/json',
    Accept: 'application/json, text/event-stream',
    ...(session && { 'Mcp-Session-Id': session }),
  })
  const post = (id: unknown, method: string, params: object) =>
    fetch(server.url, {
      method: 'POST',
      headers: headers(),
      body: JSON.stringify({ jsonrpc: '2.0', id, method, params }),
    })

  const count = 300

  property(
    'delivers what a handler sends, over lost connections and to clients that resume',
    count,
    async (random, index) => {
      const notifications = random.some(1, 12, () => ({
        kind: random.one(['log', 'progress'] as const),
        text: hostileText(random) + 'x'.repeat(random.one([0, 600])),
      }))
      const result = hostileText(random)
      const params = { name: 'send', arguments: { notifications, result }, _meta: { progressToken: 'token' } }
      const response = await post(`call ${index}`, 'tools/call', params)
      expect(response.headers.get('Content-Type')).toBe('text/event-stream')
      const events = parsed(await response.text())
      // As JSON writes it: half a surrogate pair cannot travel as text.
      const received = events.map(({ data }) => JSON.parse(data))
      expect(received.slice(0, -1).map(({ params }) => params.data ?? params.message)).toEqual(
        notifications.map(({ text }) => text),
      )
      expect(received.at(-1)).toMatchObject({
        id: `call ${index}`,
        result: { content: [{ text: result }, { uri: `note://${result}` }] },
      })
      const [stream] = (events[0]?.id ?? '').split('.')
      expect(events.map(({ id }) => id)).toEqual(events.map((_, index) => `${stream}.${index + 1}`))

      const from = random.below(events.length - 1)
      const resumed = await fetch(server.url, {
        headers: { ...headers(), 'Last-Event-ID': events[from]?.id as string },
      })
      expect(parsed(await resumed.text())).toEqual(events.slice(from + 1))
    },
  )

  test('connections were lost during the tests', async () => {
    const response = await post('count', 'tools/call', { name: 'connections', arguments: {} })
    const { result } = (await response.json()) as { result: { content: [{ text: string }] } }
    // Each case opens one at least, the one that resumes its stream, and more when a body or a connection was lost.
    expect(Number(result.content[0].text)).toBeGreaterThan(casesOf(count))
  })
})
