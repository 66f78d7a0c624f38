/** A client with a session over Streamable HTTP. Broken and polled streams are resumed, as a good client does. */
import type { Message, NotificationMessage, RequestMessage } from '../protocol/jsonrpc.ts'
import { isResponse } from '../protocol/jsonrpc.ts'
import type { Params } from '../protocol/types.ts'
import { aborted, type Connection, capabilitiesOf, type Hub, resultOf } from './connection.ts'
import { RpcError } from './rpc-error.ts'
import { bodyMessages, events, isEventStream } from './wire.ts'

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
    const gone = aborted(signal)
    gone.catch(() => {
      if (session) notify({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: message.id } })
    })
    wire.onMessage('sent', message)
    return Promise.race([exchange(message), gone])
  }

  async function exchange(message: RequestMessage): Promise<Params> {
    const stop = new AbortController()
    let response = await post(message, stop.signal)
    if (message.method === 'initialize') session = response.headers.get('Mcp-Session-Id') ?? undefined
    if (!isEventStream(response)) {
      const answers = await bodyMessages(response)
      for (const answer of answers) hub.take(answer)
      const answer = answers.find((candidate) => isResponse(candidate) && candidate.id === message.id) ?? answers[0]
      return resultOf(answer ?? ({} as Message), response.status)
    }
    let lastId: string | undefined
    for (;;) {
      let wait = 0
      for await (const { id, data, retry } of events(response)) {
        lastId = id ?? lastId
        wait = retry ?? wait
        if (data === '') continue
        const received = JSON.parse(data) as Message
        hub.take(received, respond)
        if (isResponse(received) && received.id === message.id) {
          stop.abort()
          return resultOf(received, response.status)
        }
      }
      if (lastId === undefined) {
        throw new RpcError('The stream ended without an answer', { code: 0, status: response.status })
      }
      await new Promise((resolve) => setTimeout(resolve, wait))
      response = await stream(lastId, stop.signal)
      if (!isEventStream(response)) {
        throw new RpcError('The stream could not be resumed', { code: 0, status: response.status })
      }
    }
  }

  async function notify(message: NotificationMessage): Promise<void> {
    wire.onMessage('sent', message)
    const response = await post(message)
    if (response.status >= 400) {
      const [answer] = await bodyMessages(response)
      resultOf(answer ?? ({} as Message), response.status)
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
      clientInfo: { name: 'edgemcp-testing', version: '1.0.0' },
    },
  }
  const welcome = await send(initialize)
  await notify({ jsonrpc: '2.0', method: 'notifications/initialized' })
  if (options.logLevel) {
    const params = { level: options.logLevel }
    await send({ jsonrpc: '2.0', id: hub.nextId(), method: 'logging/setLevel', params })
  }
  const standing = new Set<AbortController>()
  return {
    session,
    welcome,
    send,
    notify,
    async watch({ resourceSubscriptions = [] }) {
      const stop = new AbortController()
      const response = await stream(undefined, stop.signal)
      if (!isEventStream(response)) throw new RpcError('No stream', { code: 0, status: response.status })
      standing.add(stop)
      const reading = (async () => {
        try {
          for await (const { data } of events(response)) if (data !== '') hub.take(JSON.parse(data), respond)
        } catch (problem) {
          if (!stop.signal.aborted) throw problem
        }
      })()
      for (const uri of resourceSubscriptions) {
        await send({ jsonrpc: '2.0', id: hub.nextId(), method: 'resources/subscribe', params: { uri } })
      }
      return {
        async close() {
          for (const uri of resourceSubscriptions) {
            await send({ jsonrpc: '2.0', id: hub.nextId(), method: 'resources/unsubscribe', params: { uri } })
          }
          stop.abort()
          standing.delete(stop)
          await reading
        },
      }
    },
    async close() {
      for (const stop of standing) stop.abort()
      if (session) await wire.send(undefined, { method: 'DELETE', headers: headers() })
    },
  }
}
