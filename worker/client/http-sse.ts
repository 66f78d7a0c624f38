/** A client over the HTTP+SSE transport: everything the server says comes on one stream. */
import type { Message, NotificationMessage, RequestMessage } from '../protocol/jsonrpc.ts'
import { isResponse } from '../protocol/jsonrpc.ts'
import type { Params, RequestId } from '../protocol/types.ts'
import { aborted, type Connection, capabilitiesOf, clientInfoOf, type Hub, resultOf } from './connection.ts'
import { RpcError } from './rpc-error.ts'
import { bodyMessages, events, parseMessage } from './wire.ts'

export async function sseConnection(hub: Hub): Promise<Connection> {
  const { options, wire } = hub
  const stop = new AbortController()
  const answers = new Map<RequestId, (message: Message) => void>()
  const opened = await wire.send('/sse', {
    headers: { ...hub.headers, Accept: 'text/event-stream' },
    signal: stop.signal,
  })
  if (opened.status !== 200) throw new RpcError('No stream', { code: 0, status: opened.status })
  const stream = events(opened)
  const first = await stream.next()
  if (first.value?.event !== 'endpoint') throw new RpcError('No endpoint event', { code: 0, status: 200 })
  const endpoint = first.value.data

  const deadline = (async (): Promise<never> => {
    try {
      for await (const { data } of stream) {
        const message = parseMessage(data)
        hub.take(message, deliver)
        if (isResponse(message) && message.id !== undefined) answers.get(message.id)?.(message)
      }
    } catch (problem) {
      if (!stop.signal.aborted) throw problem
    }
    throw new RpcError('The stream has ended', { code: 0, status: 200 })
  })()
  deadline.catch(() => {})

  async function deliver(message: Message): Promise<void> {
    const response = await wire.send(endpoint, {
      method: 'POST',
      headers: { ...hub.headers, 'Content-Type': 'application/json' },
      body: JSON.stringify(message),
    })
    if (response.status < 400) return response.body?.cancel()
    const [answer] = await bodyMessages(response)
    resultOf(answer, response.status)
  }

  async function send(message: RequestMessage, signal?: AbortSignal): Promise<Params> {
    const answered = new Promise<Message>((resolve) => answers.set(message.id, resolve))
    const disconnected = aborted(signal)
    disconnected.catch(() =>
      notify({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: message.id } }),
    )
    wire.onMessage('sent', message)
    try {
      await deliver(message)
      return resultOf(await Promise.race([answered, disconnected, deadline]), 200)
    } finally {
      answers.delete(message.id)
    }
  }

  async function notify(message: NotificationMessage): Promise<void> {
    wire.onMessage('sent', message)
    await deliver(message)
  }

  const initializeResult = await send({
    jsonrpc: '2.0',
    id: hub.nextId(),
    method: 'initialize',
    params: {
      protocolVersion: options.revision,
      capabilities: capabilitiesOf(options),
      clientInfo: clientInfoOf(options),
    },
  })
  await notify({ jsonrpc: '2.0', method: 'notifications/initialized' })
  if (options.logLevel) {
    const params = { level: options.logLevel }
    await send({ jsonrpc: '2.0', id: hub.nextId(), method: 'logging/setLevel', params })
  }
  return {
    session: new URL(endpoint, 'http://localhost').searchParams.get('session') ?? undefined,
    initializeResult,
    send,
    notify,
    async subscribe({ resourceSubscriptions = [] }) {
      const change = async (method: string) => {
        for (const uri of resourceSubscriptions) {
          await send({ jsonrpc: '2.0', id: hub.nextId(), method, params: { uri } })
        }
      }
      await change('resources/subscribe')
      return { close: () => change('resources/unsubscribe') }
    },
    async close() {
      stop.abort()
      await deadline.catch(() => {})
    },
  }
}
