/** The types that a test client and its three transports share. */
import type { Message, NotificationMessage, RequestMessage } from '../protocol/jsonrpc.ts'
import type { ClientCapabilities, InputRequest, LogLevel, Params, SubscriptionFilter } from '../protocol/types.ts'
import { RpcError } from './rpc-error.ts'
import type { Answers } from './script.ts'
import type { InProcessOptions, Wire } from './wire.ts'

/** Configures a test client. */
export type ConnectOptions = InProcessOptions & {
  /** Date of the protocol version, such as `2025-11-25`. */
  revision: string
  /** Capabilities that the client declares. Default: those of `answers`. */
  capabilities?: ClientCapabilities
  /** Answers to input requests. Default: none; input requests are rejected. */
  answers?: Answers
  /** Name of the client. Default: `edgemcp-testing`. */
  name?: string
  /** Bearer token, or a function that makes one, such as `tokenFor(…)` returns. Default: none. */
  token?: string | Token
  /**
   * Headers of every request, such as those that `requestContext` reads. They are read for each request, so a test can change them. The
   * headers of the protocol, and of `token`, replace them. Default: none.
   */
  headers?: Readonly<Record<string, string>>
  /** Least severe level of the log messages that the client requests. Default: none are requested. */
  logLevel?: LogLevel
  /** Uses the HTTP+SSE transport, in protocol versions with sessions: `/api/sse` for the URL `/api/mcp`. Default: false. */
  sse?: boolean
  /** Called for every message, in the order in which they were sent and received. Default: none. */
  onMessage?: Wire['onMessage']
}

/** Makes a token for the server with this URL. */
export type Token = (resource: string) => string | Promise<string>

/** Holds a subscription to change notifications. `close()` ends it. */
export type Subscription = {
  /** Ends the subscription. */
  close(): Promise<void>
}

/** What a transport needs of its client, and the reverse. */
export type Hub = {
  readonly wire: Wire
  readonly options: ConnectOptions
  readonly headers: Record<string, string>
  nextId(): number
  /** Receives a message of the server. An input request is answered through `respond`. */
  take(message: Message, respond?: (answer: Message) => Promise<void>): void
  ask(request: InputRequest, key: string): Promise<Params>
}

export type Connection = {
  readonly session: string | undefined
  readonly initializeResult: Params
  /** Sends a request. Its response goes to `hub.take`; an error is thrown as RpcError. */
  send(message: RequestMessage, signal: AbortSignal | undefined): Promise<Params>
  notify(message: NotificationMessage): Promise<void>
  subscribe(filter: SubscriptionFilter): Promise<Subscription>
  /** Closes the connections of streams that can be resumed. Absent without such streams. */
  drop?(): Promise<void>
  close(): Promise<void>
}

/** Returns the name and version of the client. */
export const clientInfoOf = ({ name = 'edgemcp-testing' }: ConnectOptions) => ({ name, version: '1.0.0' })

/** Returns the capabilities of the client: by default those of its answers. */
export function capabilitiesOf({ capabilities, answers = {} }: ConnectOptions): ClientCapabilities {
  return (
    capabilities ?? {
      ...(answers.elicit && { elicitation: {} }),
      ...(answers.sample && { sampling: {} }),
      ...(answers.roots && { roots: {} }),
    }
  )
}

/** Creates a request with a new id. */
export const newRequest = (hub: Hub, method: string, params?: Params): RequestMessage => ({
  jsonrpc: '2.0',
  id: hub.nextId(),
  method,
  ...(params && { params }),
})

/** Initializes a session, and sets the log level of the client. @returns the result of `initialize` */
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

/** Returns the result of a response. @throws RpcError for an error response */
export function resultOf(message: Message | undefined, status: number): Params {
  if (message && 'result' in message) return message.result
  if (!message || !('error' in message)) throw new RpcError('The server sent no response', { code: 0, status })
  const { code, message: text, data } = message.error
  throw new RpcError(text, { code, status, data })
}

/** Rejects when the signal aborts. */
export const aborted = (signal: AbortSignal | undefined): Promise<never> =>
  new Promise((_, reject) => {
    if (signal?.aborted) reject(signal.reason)
    signal?.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
