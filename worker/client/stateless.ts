/** A client without sessions: each request contains its envelope, and input requests arrive as results. */
import type { Message, NotificationMessage, RequestMessage } from '../protocol/jsonrpc.ts'
import { enveloped, requestHeaders } from '../protocol/stateless-request.ts'
import type { InputRequest, Params, SubscriptionFilter } from '../protocol/types.ts'
import {
  type Connection,
  capabilitiesOf,
  clientInfoOf,
  type Hub,
  newRequest,
  resultOf,
  type Subscription,
} from './connection.ts'
import { RpcError } from './rpc-error.ts'
import { bodyMessages, isEventStream, messages } from './wire.ts'

export async function statelessConnection(hub: Hub): Promise<Connection> {
  const connection = new StatelessConnection(hub)
  connection.initializeResult = await connection.send(newRequest(hub, 'server/discover'), undefined)
  return connection
}

class StatelessConnection implements Connection {
  readonly session = undefined
  initializeResult: Params = {}
  readonly #hub: Hub
  /** Abort controllers of the streams of subscriptions. */
  readonly #streams = new Set<AbortController>()

  constructor(hub: Hub) {
    this.#hub = hub
  }

  async send(message: RequestMessage, signal: AbortSignal | undefined): Promise<Params> {
    const first = this.#withEnvelope(message)
    let result = await this.#exchange(first, signal)
    while (result.resultType === 'input_required') {
      // An input_required result has input requests by their keys.
      const inputRequests = Object.entries((result.inputRequests ?? {}) as Record<string, InputRequest>)
      const answers = await Promise.all(inputRequests.map(async ([key, ask]) => [key, await this.#hub.ask(ask, key)]))
      const { requestState } = result
      const params = { ...first.params, inputResponses: Object.fromEntries(answers), requestState }
      result = await this.#exchange({ ...first, id: this.#hub.nextId(), params }, signal)
    }
    return result
  }

  async notify(message: NotificationMessage): Promise<void> {
    const { headers, options, wire } = this.#hub
    wire.onMessage('sent', message)
    await wire.send(undefined, {
      method: 'POST',
      headers: { ...headers, 'Content-Type': 'application/json', 'MCP-Protocol-Version': options.revision },
      body: JSON.stringify(message),
    })
  }

  async subscribe(filter: SubscriptionFilter): Promise<Subscription> {
    const stop = new AbortController()
    const message = newRequest(this.#hub, 'subscriptions/listen', { notifications: filter })
    const response = await this.#post(this.#withEnvelope(message), stop.signal)
    if (!isEventStream(response)) {
      const [answer] = await bodyMessages(response)
      resultOf(answer, response.status)
    }
    this.#streams.add(stop)
    const stream = messages(response, stop.signal)
    const { value: acknowledged } = await stream.next()
    if (!acknowledged) throw endedEarly(response)
    this.#hub.take(acknowledged)
    const ended = this.#takeAll(stream, stop.signal)
    return {
      close: async () => {
        stop.abort()
        this.#streams.delete(stop)
        await ended
      },
    }
  }

  async close(): Promise<void> {
    for (const stop of this.#streams) stop.abort()
  }

  async #takeAll(stream: AsyncIterable<Message>, signal: AbortSignal): Promise<void> {
    try {
      for await (const message of stream) this.#hub.take(message)
    } catch (problem) {
      if (!signal.aborted) throw problem
    }
  }

  async #exchange(message: RequestMessage, signal: AbortSignal | undefined): Promise<Params> {
    const response = await this.#post(message, signal)
    if (!isEventStream(response)) {
      const [answer] = await bodyMessages(response)
      if (answer) this.#hub.take(answer)
      return resultOf(answer, response.status)
    }
    for await (const received of messages(response, signal)) {
      this.#hub.take(received)
      if (!('method' in received)) return resultOf(received, response.status)
    }
    signal?.throwIfAborted()
    throw endedEarly(response)
  }

  async #post(message: RequestMessage, signal: AbortSignal | undefined): Promise<Response> {
    const { headers, options, wire } = this.#hub
    const { method, params = {} } = message
    wire.onMessage('sent', message)
    return wire.send(undefined, {
      method: 'POST',
      signal: signal ?? null,
      headers: {
        ...headers,
        'Content-Type': 'application/json',
        Accept: 'application/json, text/event-stream',
        ...requestHeaders(options.revision, method, params),
      },
      body: JSON.stringify(message),
    })
  }

  #withEnvelope(message: RequestMessage): RequestMessage {
    const { options } = this.#hub
    return {
      ...message,
      params: enveloped(message.params ?? {}, options.revision, {
        capabilities: capabilitiesOf(options),
        client: clientInfoOf(options),
        ...(options.logLevel && { logLevel: options.logLevel }),
      }),
    }
  }
}

const endedEarly = ({ status }: Response) => new RpcError('The stream ended without a response', { code: 0, status })
