/** A client of the HTTP+SSE transport: all messages of the server arrive on one stream. */
import type { Message, NotificationMessage, RequestMessage } from '../protocol/jsonrpc.ts'
import { isResponse } from '../protocol/jsonrpc.ts'
import type { Params, RequestId, SubscriptionFilter } from '../protocol/types.ts'
import {
  aborted,
  type Connection,
  type Hub,
  initialize,
  newRequest,
  resultOf,
  type Subscription,
} from './connection.ts'
import type { Event } from './event-stream-reader.ts'
import { RpcError } from './rpc-error.ts'
import { bodyMessages, events, isMessage, parseMessage } from './wire.ts'

export async function sseConnection(hub: Hub): Promise<Connection> {
  const stop = new AbortController()
  const opened = await hub.wire.send('sse', {
    headers: { ...hub.headers, Accept: 'text/event-stream' },
    signal: stop.signal,
  })
  if (opened.status !== 200) throw new RpcError('No stream', { code: 0, status: opened.status })
  const stream = events(opened, stop.signal)
  const first = await stream.next()
  if (first.value?.event !== 'endpoint') throw new RpcError('No endpoint event', { code: 0, status: 200 })
  const connection = new SseConnection(hub, first.value.data, stream, stop)
  connection.initializeResult = await initialize(hub, connection)
  return connection
}

class SseConnection implements Connection {
  readonly session: string | undefined
  initializeResult: Params = {}
  readonly #hub: Hub
  /** URL that messages are posted to. */
  readonly #endpoint: string
  /** Ends the stream. */
  readonly #stop: AbortController
  /** Rejects when the stream has ended. */
  readonly #ended: Promise<never>
  readonly #answers = new Map<RequestId, (message: Message) => void>()

  /** @param stream after its event that names the endpoint */
  constructor(hub: Hub, endpoint: string, stream: AsyncIterable<Event>, stop: AbortController) {
    this.#hub = hub
    this.#endpoint = endpoint
    this.session = new URL(endpoint, 'http://localhost').searchParams.get('session') ?? undefined
    this.#stop = stop
    this.#ended = this.#takeAll(stream)
    this.#ended.catch(() => {})
  }

  async send(message: RequestMessage, signal: AbortSignal | undefined): Promise<Params> {
    const answered = new Promise<Message>((resolve) => this.#answers.set(message.id, resolve))
    const disconnected = aborted(signal)
    disconnected.catch(() =>
      this.notify({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: message.id } }),
    )
    this.#hub.wire.onMessage('sent', message)
    try {
      await this.#deliver(message)
      return resultOf(await Promise.race([answered, disconnected, this.#ended]), 200)
    } finally {
      this.#answers.delete(message.id)
    }
  }

  async notify(message: NotificationMessage): Promise<void> {
    this.#hub.wire.onMessage('sent', message)
    await this.#deliver(message)
  }

  async subscribe({ resourceSubscriptions = [] }: SubscriptionFilter): Promise<Subscription> {
    const sendForEach = async (method: string) => {
      for (const uri of resourceSubscriptions) await this.send(newRequest(this.#hub, method, { uri }), undefined)
    }
    await sendForEach('resources/subscribe')
    return { close: () => sendForEach('resources/unsubscribe') }
  }

  async close(): Promise<void> {
    this.#stop.abort()
    await this.#ended.catch(() => {})
  }

  async #takeAll(stream: AsyncIterable<Event>): Promise<never> {
    try {
      for await (const event of stream) {
        if (!isMessage(event)) continue
        const message = parseMessage(event.data)
        this.#hub.take(message, (answer) => this.#deliver(answer))
        if (isResponse(message) && message.id !== undefined) this.#answers.get(message.id)?.(message)
      }
    } catch (problem) {
      if (!this.#stop.signal.aborted) throw problem
    }
    throw new RpcError('The stream has ended', { code: 0, status: 200 })
  }

  async #deliver(message: Message): Promise<void> {
    const response = await this.#hub.wire.send(this.#endpoint, {
      method: 'POST',
      headers: { ...this.#hub.headers, 'Content-Type': 'application/json' },
      body: JSON.stringify(message),
    })
    if (response.status < 400) return response.body?.cancel()
    const [answer] = await bodyMessages(response)
    resultOf(answer, response.status)
  }
}
