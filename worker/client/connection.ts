/** What a test client and its three ways to talk to a server share. */
import type { Message, NotificationMessage, RequestMessage } from '../protocol/jsonrpc.ts'
import type { ClientCapabilities, InputRequest, LogLevel, Params, SubscriptionFilter } from '../protocol/types.ts'
import { RpcError } from './rpc-error.ts'
import type { Answers } from './script.ts'
import type { InProcessOptions, Wire } from './wire.ts'

export type ConnectOptions = InProcessOptions & {
  /** The date of a revision. */
  revision: string
  /** Defaults to what the answers say. */
  capabilities?: ClientCapabilities
  answers?: Answers
  /** What the client calls itself. */
  name?: string
  /** Sent as a bearer token: a text, or what `tokenFor(…)` returns. */
  token?: string | Token
  /** The least severe log line to ask for. */
  logLevel?: LogLevel
  /** Use the HTTP+SSE transport: only session revisions have it. */
  sse?: boolean
  /** Sees every message, in the order it went by. */
  onMessage?: Wire['onMessage']
}

/** Makes a token for a server, by the address of its endpoint. */
export type Token = (resource: string) => string | Promise<string>

/** What a client hears of changes. `close` ends it. */
export type Subscription = { close(): Promise<void> }

/** What the transports need from the client, and the other way round. */
export type Hub = {
  readonly wire: Wire
  readonly options: ConnectOptions
  readonly headers: Record<string, string>
  nextId(): number
  /** Takes in a message of the server. A question is answered; the answer is handed to `respond`. */
  take(message: Message, respond?: (answer: Message) => Promise<void>): void
  ask(request: InputRequest, key: string): Promise<Params>
}

export type Connection = {
  readonly session: string | undefined
  readonly initializeResult: Params
  /** Sends a request; its answer comes to `hub.take`, or as a thrown RpcError. */
  send(message: RequestMessage, signal: AbortSignal | undefined): Promise<Params>
  notify(message: NotificationMessage): Promise<void>
  subscribe(filter: SubscriptionFilter): Promise<Subscription>
  /** Loses the connections of streams that can be resumed. Left out: there are none. */
  drop?(): Promise<void>
  close(): Promise<void>
}

/** Who the client says it is. */
export const clientInfoOf = ({ name = 'edgemcp-testing' }: ConnectOptions) => ({ name, version: '1.0.0' })

/** What a client can do, as its answers say. */
export function capabilitiesOf({ capabilities, answers = {} }: ConnectOptions): ClientCapabilities {
  return (
    capabilities ?? {
      ...(answers.elicit && { elicitation: {} }),
      ...(answers.sample && { sampling: {} }),
      ...(answers.roots && { roots: {} }),
    }
  )
}

/** A request with an id of its own. */
export const newRequest = (hub: Hub, method: string, params?: Params): RequestMessage => ({
  jsonrpc: '2.0',
  id: hub.nextId(),
  method,
  ...(params && { params }),
})

/** Opens a session: the handshake, and the log level that the client asks for. @returns the result of `initialize` */
export async function initialize(hub: Hub, connection: Pick<Connection, 'send' | 'notify'>): Promise<Params> {
  const { options } = hub
  const params = {
    protocolVersion: options.revision,
    capabilities: capabilitiesOf(options),
    clientInfo: clientInfoOf(options),
  }
  const result = await connection.send(newRequest(hub, 'initialize', params), undefined)
  await connection.notify({ jsonrpc: '2.0', method: 'notifications/initialized' })
  if (options.logLevel) {
    await connection.send(newRequest(hub, 'logging/setLevel', { level: options.logLevel }), undefined)
  }
  return result
}

/** The result of a response, or its error, thrown. */
export function resultOf(message: Message | undefined, status: number): Params {
  if (message && 'result' in message) return message.result
  if (!message || !('error' in message)) throw new RpcError('The server did not answer', { code: 0, status })
  const { code, message: text, data } = message.error
  throw new RpcError(text, { code, status, data })
}

/** Settles when the signal aborts. */
export const aborted = (signal: AbortSignal | undefined): Promise<never> =>
  new Promise((_, reject) => {
    if (signal?.aborted) reject(signal.reason)
    signal?.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
