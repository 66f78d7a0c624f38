/** A client with a session over Streamable HTTP. It resumes broken and polled streams. */
import type { Message, NotificationMessage, RequestMessage } from '../protocol/jsonrpc.ts'
import { isResponse } from '../protocol/jsonrpc.ts'
import type { Params, SubscriptionFilter } from '../protocol/types.ts'
import {
  aborted,
  type Connection,
  type Hub,
  initialize,
  newRequest,
  resultOf,
  type Subscription,
} from './connection.ts'
import { RpcError } from './rpc-error.ts'
import { type Reading, Streams } from './streams.ts'
import { bodyMessages, isEventStream } from './wire.ts'

export async function sessionConnection(hub: Hub): Promise<Connection> {
  const connection = new SessionConnection(hub)
  connection.initializeResult = await initialize(hub, connection)
  return connection
}

class SessionConnection implements Connection {
  session: string | undefined
  initializeResult: Params = {}
  /** Headers of every request after `initialize`. */
  #afterHandshake: Record<string, string> = {}
  readonly #hub: Hub
  readonly #streams: Streams
  /** Streams of subscriptions. */
  readonly #standing = new Set<Reading>()
  readonly #respond = async (answer: Message): Promise<void> => {
    await (await this.#post(answer)).body?.cancel()
  }

  constructor(hub: Hub) {
    this.#hub = hub
    this.#streams = new Streams((after, signal) => this.#openStream(after, signal))
  }

  async send(message: RequestMessage, signal: AbortSignal | undefined): Promise<Params> {
    const disconnected = aborted(signal)
    disconnected.catch(() => {
      if (this.session)
        this.notify({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: message.id } })
    })
    this.#hub.wire.onMessage('sent', message)
    return Promise.race([this.#exchange(message, signal), disconnected])
  }

  async notify(message: NotificationMessage): Promise<void> {
    this.#hub.wire.onMessage('sent', message)
    const response = await this.#post(message)
    if (response.status >= 400) {
      const [answer] = await bodyMessages(response)
      resultOf(answer, response.status)
    }
    await response.body?.cancel()
  }

  async subscribe({ resourceSubscriptions = [] }: SubscriptionFilter): Promise<Subscription> {
    const connection = new AbortController()
    const response = await this.#openStream(undefined, connection.signal)
    if (!isEventStream(response)) throw new RpcError('No stream', { code: 0, status: response.status })
    const reading = this.#streams.read(response, connection, true)
    this.#standing.add(reading)
    const ended = this.#takeAll(reading)
    await this.#sendForEach('resources/subscribe', resourceSubscriptions)
    return {
      close: async () => {
        await this.#sendForEach('resources/unsubscribe', resourceSubscriptions)
        reading.close()
        this.#standing.delete(reading)
        await ended
      },
    }
  }

  drop(): Promise<void> {
    return this.#streams.drop()
  }

  async close(): Promise<void> {
    for (const reading of this.#standing) reading.close()
    if (this.session) await this.#hub.wire.send(undefined, { method: 'DELETE', headers: this.#headers() })
  }

  async #exchange(message: RequestMessage, signal: AbortSignal | undefined): Promise<Params> {
    const connection = new AbortController()
    const response = await this.#post(message, connection.signal)
    if (message.method === 'initialize') {
      this.session = response.headers.get('Mcp-Session-Id') ?? undefined
      this.#afterHandshake = {
        'MCP-Protocol-Version': this.#hub.options.revision,
        ...(this.session && { 'Mcp-Session-Id': this.session }),
      }
    }
    if (!isEventStream(response)) {
      const answers = await bodyMessages(response)
      for (const answer of answers) this.#hub.take(answer)
      const answer = answers.find((candidate) => isResponse(candidate) && candidate.id === message.id) ?? answers[0]
      return resultOf(answer, response.status)
    }
    const { messages, close } = this.#streams.read(response, connection)
    // A cancelled request gets no response.
    signal?.addEventListener('abort', close, { once: true })
    for await (const received of messages) {
      this.#hub.take(received, this.#respond)
      if (isResponse(received) && received.id === message.id) return resultOf(received, response.status)
    }
    throw new RpcError('The stream ended without a response', { code: 0, status: response.status })
  }

  async #takeAll({ messages }: Reading): Promise<void> {
    for await (const message of messages) this.#hub.take(message, this.#respond)
  }

  async #sendForEach(method: string, uris: readonly string[]): Promise<void> {
    for (const uri of uris) await this.send(newRequest(this.#hub, method, { uri }), undefined)
  }

  #post(message: Message, signal?: AbortSignal): Promise<Response> {
    return this.#hub.wire.send(undefined, {
      method: 'POST',
      signal: signal ?? null,
      headers: {
        ...this.#headers(),
        'Content-Type': 'application/json',
        Accept: 'application/json, text/event-stream',
      },
      body: JSON.stringify(message),
    })
  }

  #openStream(after: string | undefined, signal: AbortSignal): Promise<Response> {
    return this.#hub.wire.send(undefined, {
      method: 'GET',
      signal,
      headers: { ...this.#headers(), Accept: 'text/event-stream', ...(after && { 'Last-Event-ID': after }) },
    })
  }

  #headers(): Record<string, string> {
    return { ...this.#hub.headers, ...this.#afterHandshake }
  }
}
