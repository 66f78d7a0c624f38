/** A client with a session over Streamable HTTP. Broken and polled streams are resumed, as a good client does. */
import type { Message, NotificationMessage, RequestMessage } from '../protocol/jsonrpc.ts'
import { isResponse } from '../protocol/jsonrpc.ts'
import type { Params } from '../protocol/types.ts'
import { aborted, type Connection, capabilitiesOf, clientInfoOf, type Hub, resultOf } from './connection.ts'
import { RpcError } from './rpc-error.ts'
import { type Reading, Streams } from './streams.ts'
import { bodyMessages, isEventStream } from './wire.ts'

export async function sessionConnection(hub: Hub): Promise<Connection> {
  const { options, wire } = hub
  let session: string | undefined

  const headers = (): Record<string, string> => ({
    ...hub.headers,
    ...(session && { 'Mcp-Session-Id': session, 'MCP-Protocol-Version': options.revision }),
  })

  const post = (message: Message, signal?: AbortSignal): Promise<Response> =>
    wire.send(undefined, {
      method: 'POST',
      signal: signal ?? null,
      headers: {
        ...headers(),
        'Content-Type': 'application/json',
        Accept: 'application/json, text/event-stream',
      },
      body: JSON.stringify(message),
    })

  const respond = async (answer: Message): Promise<void> => {
    await (await post(answer)).body?.cancel()
  }

  const stream = (after: string | undefined, signal: AbortSignal): Promise<Response> =>
    wire.send(undefined, {
      method: 'GET',
      signal,
      headers: { ...headers(), Accept: 'text/event-stream', ...(after && { 'Last-Event-ID': after }) },
    })

  async function send(message: RequestMessage, signal?: AbortSignal): Promise<Params> {
    const disconnected = aborted(signal)
    disconnected.catch(() => {
      if (session) notify({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: message.id } })
    })
    wire.onMessage('sent', message)
    return Promise.race([exchange(message, signal), disconnected])
  }

  const streams = new Streams(stream)

  async function exchange(message: RequestMessage, signal?: AbortSignal): Promise<Params> {
    const connection = new AbortController()
    const response = await post(message, connection.signal)
    if (message.method === 'initialize') session = response.headers.get('Mcp-Session-Id') ?? undefined
    if (!isEventStream(response)) {
      const answers = await bodyMessages(response)
      for (const answer of answers) hub.take(answer)
      const answer = answers.find((candidate) => isResponse(candidate) && candidate.id === message.id) ?? answers[0]
      return resultOf(answer, response.status)
    }
    const { messages, close } = streams.read(response, connection)
    // There is no more to hear of what was cancelled.
    signal?.addEventListener('abort', close, { once: true })
    for await (const received of messages) {
      hub.take(received, respond)
      if (isResponse(received) && received.id === message.id) return resultOf(received, response.status)
    }
    throw new RpcError('The stream ended without an answer', { code: 0, status: response.status })
  }

  async function notify(message: NotificationMessage): Promise<void> {
    wire.onMessage('sent', message)
    const response = await post(message)
    if (response.status >= 400) {
      const [answer] = await bodyMessages(response)
      resultOf(answer, response.status)
    }
    await response.body?.cancel()
  }

  const initialize: RequestMessage = {
    jsonrpc: '2.0',
    id: hub.nextId(),
    method: 'initialize',
    params: {
      protocolVersion: options.revision,
      capabilities: capabilitiesOf(options),
      clientInfo: clientInfoOf(options),
    },
  }
  const initializeResult = await send(initialize)
  await notify({ jsonrpc: '2.0', method: 'notifications/initialized' })
  if (options.logLevel) {
    const params = { level: options.logLevel }
    await send({ jsonrpc: '2.0', id: hub.nextId(), method: 'logging/setLevel', params })
  }
  const standing = new Set<Reading>()
  return {
    session,
    initializeResult,
    send,
    notify,
    drop: () => streams.drop(),
    async subscribe({ resourceSubscriptions = [] }) {
      const connection = new AbortController()
      const response = await stream(undefined, connection.signal)
      if (!isEventStream(response)) throw new RpcError('No stream', { code: 0, status: response.status })
      const reading = streams.read(response, connection, true)
      standing.add(reading)
      const ended = (async () => {
        for await (const message of reading.messages) hub.take(message, respond)
      })()
      for (const uri of resourceSubscriptions) {
        await send({ jsonrpc: '2.0', id: hub.nextId(), method: 'resources/subscribe', params: { uri } })
      }
      return {
        async close() {
          for (const uri of resourceSubscriptions) {
            await send({ jsonrpc: '2.0', id: hub.nextId(), method: 'resources/unsubscribe', params: { uri } })
          }
          reading.close()
          standing.delete(reading)
          await ended
        },
      }
    },
    async close() {
      for (const reading of standing) reading.close()
      if (session) await wire.send(undefined, { method: 'DELETE', headers: headers() })
    },
  }
}
