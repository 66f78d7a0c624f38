/** A client without sessions: each request carries its envelope, questions come back as results. */
import type { RequestMessage } from '../protocol/jsonrpc.ts'
import { enveloped, requestHeaders } from '../protocol/stateless-request.ts'
import type { InputRequest, Params } from '../protocol/types.ts'
import { type Connection, capabilitiesOf, clientInfoOf, type Hub, resultOf } from './connection.ts'
import { RpcError } from './rpc-error.ts'
import { bodyMessages, events, isEventStream, parseMessage } from './wire.ts'

export async function statelessConnection(hub: Hub): Promise<Connection> {
  const { options, wire } = hub

  async function post(message: RequestMessage, signal: AbortSignal | undefined): Promise<Response> {
    const { method, params = {} } = message
    wire.onMessage('sent', message)
    return wire.send(undefined, {
      method: 'POST',
      signal: signal ?? null,
      headers: {
        ...hub.headers,
        'Content-Type': 'application/json',
        Accept: 'application/json, text/event-stream',
        ...requestHeaders(options.revision, method, params),
      },
      body: JSON.stringify(message),
    })
  }

  async function exchange(message: RequestMessage, signal: AbortSignal | undefined): Promise<Params> {
    const response = await post(message, signal)
    if (!isEventStream(response)) {
      const [answer] = await bodyMessages(response)
      if (answer) hub.take(answer)
      return resultOf(answer, response.status)
    }
    for await (const { data } of events(response)) {
      const received = parseMessage(data)
      hub.take(received)
      if (!('method' in received)) return resultOf(received, response.status)
    }
    throw new RpcError('The stream ended without an answer', { code: 0, status: response.status })
  }

  const withEnvelope = (message: RequestMessage): RequestMessage => ({
    ...message,
    params: enveloped(message.params ?? {}, options.revision, {
      capabilities: capabilitiesOf(options),
      client: clientInfoOf(options),
      ...(options.logLevel && { logLevel: options.logLevel }),
    }),
  })

  async function send(message: RequestMessage, signal: AbortSignal | undefined): Promise<Params> {
    const first = withEnvelope(message)
    let result = await exchange(first, signal)
    while (result.resultType === 'input_required') {
      // An input_required result has input requests by their keys.
      const inputRequests = Object.entries((result.inputRequests ?? {}) as Record<string, InputRequest>)
      const answers = await Promise.all(inputRequests.map(async ([key, ask]) => [key, await hub.ask(ask, key)]))
      const { requestState } = result
      const params = { ...first.params, inputResponses: Object.fromEntries(answers), requestState }
      result = await exchange({ ...first, id: hub.nextId(), params }, signal)
    }
    return result
  }

  const initializeResult = await send({ jsonrpc: '2.0', id: hub.nextId(), method: 'server/discover' }, undefined)
  const streams = new Set<AbortController>()
  return {
    session: undefined,
    initializeResult,
    send,
    async notify(message) {
      wire.onMessage('sent', message)
      await wire.send(undefined, {
        method: 'POST',
        headers: { ...hub.headers, 'Content-Type': 'application/json', 'MCP-Protocol-Version': options.revision },
        body: JSON.stringify(message),
      })
    },
    async subscribe(filter) {
      const stop = new AbortController()
      const message = { jsonrpc: '2.0' as const, id: hub.nextId(), method: 'subscriptions/listen' }
      const response = await post(withEnvelope({ ...message, params: { notifications: filter } }), stop.signal)
      if (!isEventStream(response)) {
        const [answer] = await bodyMessages(response)
        resultOf(answer, response.status)
      }
      streams.add(stop)
      const stream = events(response)
      const acknowledged = await stream.next()
      hub.take(parseMessage(acknowledged.value?.data ?? 'null'))
      const reading = (async () => {
        try {
          for await (const { data } of stream) hub.take(parseMessage(data))
        } catch (problem) {
          if (!stop.signal.aborted) throw problem
        }
      })()
      return {
        async close() {
          stop.abort()
          streams.delete(stop)
          await reading
        },
      }
    },
    async close() {
      for (const stop of streams) stop.abort()
    },
  }
}
