import { messageOf } from '../protocol/errors.ts'
import type { Message, NotificationMessage, RequestMessage } from '../protocol/jsonrpc.ts'
import { isNotification, isObject, isRequest, isRequestId, isResponse } from '../protocol/jsonrpc.ts'
import { revisionOf } from '../protocol/revisions/index.ts'
import type { CallToolResult, InputRequest, Params, RequestId, SubscriptionFilter } from '../protocol/types.ts'
import type { ConnectOptions, Hub, Subscription } from './connection.ts'
import { sseConnection } from './http-sse.ts'
import { Script, type UnusedAnswer } from './script.ts'
import { sessionConnection } from './session.ts'
import { statelessConnection } from './stateless.ts'
import { type Target, wireTo } from './wire.ts'

const withoutStreams =
  'This client has no stream to resume: only sessions over Streamable HTTP have one. Over HTTP+SSE the stream is the session, which close() ends; without sessions a lost connection cancels its call, as a signal does'

/** Configures one request of a `TestClient`. */
export type RequestOptions = {
  /** Cancels the request when it is aborted. Default: none. */
  signal?: AbortSignal
  /** Called for each progress notification of the request. Default: no progress token is sent. */
  onProgress?: (params: Params) => void
}

/** Speaks one protocol version with a server, as a client. `connect()` returns it. */
export interface TestClient extends AsyncDisposable {
  /** The protocol version, such as `2025-11-25`. */
  readonly revision: string
  /** The session id; `undefined` in protocol versions without sessions. */
  readonly session: string | undefined
  /** The result of `initialize` or `server/discover`. */
  readonly initializeResult: Params
  /** All notifications so far, in their order. */
  readonly notifications: readonly NotificationMessage[]
  /** Sends a request and returns its result. @throws RpcError for a JSON-RPC error or an HTTP error */
  request(method: string, params?: Params, options?: RequestOptions): Promise<Params>
  /** Calls a tool. @throws RpcError for a JSON-RPC error or an HTTP error */
  callTool(name: string, args?: Params, options?: RequestOptions): Promise<CallToolResult>
  /** Sends a notification. */
  notify(method: string, params?: Params): Promise<void>
  /** Subscribes to change notifications, in the way of the protocol version. Resolves once the server has accepted the subscription. */
  subscribe(filter: SubscriptionFilter): Promise<Subscription>
  /** Waits for the next notification of a method that no earlier call has returned. */
  next(method: string): Promise<NotificationMessage>
  /**
   * Closes the connections of all streams. Resolves when each has been resumed after its last event.
   *
   * @throws Error without a stream that can be resumed
   */
  dropStream(): Promise<void>
  /** Scripted answers that no input request has used. */
  readonly unusedAnswers: readonly UnusedAnswer[]
  /** Closes the session and all connections. */
  close(): Promise<void>
}

/**
 * Connects a client of one protocol version to a server.
 *
 * @param target the URL of a running server, a server that `startServer()` returns, or a Worker in this process
 * @throws Error for an unknown protocol version; RpcError when the server rejects the connection
 *
 * @example
 * const client = await connect('http://127.0.0.1:8787/mcp', { revision: '2025-11-25' })
 * await client.callTool('greet', { name: 'Ada' })
 * await client.close()
 */
export async function connect(target: Target, options: ConnectOptions): Promise<TestClient> {
  const revision = revisionOf(options.revision)
  if (!revision) throw new Error(`Unknown protocol version ${options.revision}`)
  const inbox = new Inbox()
  const script = new Script(options.answers ?? {})
  const hub = await hubOf(target, options, inbox, script)
  const open = revision.stateless ? statelessConnection : options.sse ? sseConnection : sessionConnection
  const connection = await open(hub)

  const client: TestClient = {
    revision: revision.date,
    session: connection.session,
    initializeResult: connection.initializeResult,
    notifications: inbox.notifications,
    async request(method, params = {}, { signal, onProgress } = {}) {
      const id = hub.nextId()
      const withToken = onProgress
        ? { ...params, _meta: { ...(isObject(params._meta) && params._meta), progressToken: id } }
        : params
      const request = { jsonrpc: '2.0' as const, id, method, params: withToken }
      return inbox.withProgress(id, onProgress, () => script.holds(connection.send(request, signal)))
    },
    async callTool(name, args = {}, requestOptions) {
      // A tool's result, as its server says: a test looks at what it expects.
      return (await client.request('tools/call', { name, arguments: args }, requestOptions)) as CallToolResult
    },
    notify: (method, params) => connection.notify({ jsonrpc: '2.0', method, ...(params && { params }) }),
    subscribe: (filter) => connection.subscribe(filter),
    next: (method) => inbox.next(method),
    async dropStream() {
      if (!connection.drop) throw new Error(withoutStreams)
      await connection.drop()
    },
    get unusedAnswers() {
      return script.unused
    },
    close: () => connection.close(),
    [Symbol.asyncDispose]: () => connection.close(),
  }
  return client
}

async function hubOf(target: Target, options: ConnectOptions, inbox: Inbox, script: Script): Promise<Hub> {
  const wire = wireTo(target, options, options.onMessage ?? (() => {}))
  const token = typeof options.token === 'function' ? await options.token(wire.url.href) : options.token
  let lastId = 0
  return {
    wire,
    options,
    headers: token ? { Authorization: `Bearer ${token}` } : {},
    nextId: () => ++lastId,
    take(message, respond) {
      wire.onMessage('received', message)
      if (isResponse(message)) return
      if (isRequest(message)) {
        answerTo(message, script).then((answer) => {
          wire.onMessage('sent', answer)
          return respond?.(answer)
        })
        return
      }
      if (isNotification(message)) inbox.add(message)
    },
    ask: (request, key) => script.answer(request, key),
  }
}

async function answerTo({ id, method, params = {} }: RequestMessage, script: Script): Promise<Message> {
  if (method === 'ping') return { jsonrpc: '2.0', id, result: {} }
  try {
    // The script refuses a method that is no input request.
    return { jsonrpc: '2.0', id, result: await script.answer({ method, params } as InputRequest, String(id)) }
  } catch (problem) {
    return { jsonrpc: '2.0', id, error: { code: -32601, message: messageOf(problem) } }
  }
}

/** The notifications of a server. */
class Inbox {
  /** All of them. */
  readonly notifications: NotificationMessage[] = []
  readonly #untaken: NotificationMessage[] = []
  readonly #waiting: { method: string; resolve(notification: NotificationMessage): void }[] = []
  readonly #progress = new Map<RequestId, (params: Params) => void>()

  add(notification: NotificationMessage): void {
    const { method, params = {} } = notification
    this.notifications.push(notification)
    if (method === 'notifications/progress' && isRequestId(params.progressToken)) {
      this.#progress.get(params.progressToken)?.(params)
    }
    const at = this.#waiting.findIndex((waiter) => waiter.method === method)
    if (at === -1) this.#untaken.push(notification)
    else this.#waiting.splice(at, 1)[0]?.resolve(notification)
  }

  /** The next notification of a method that has not been taken yet. */
  next(method: string): Promise<NotificationMessage> {
    const at = this.#untaken.findIndex((notification) => notification.method === method)
    const [earliest] = at === -1 ? [] : this.#untaken.splice(at, 1)
    if (earliest) return Promise.resolve(earliest)
    return new Promise((resolve) => this.#waiting.push({ method, resolve }))
  }

  /** Runs a request, and calls `onProgress` with its progress notifications meanwhile. */
  async withProgress<T>(id: RequestId, onProgress: RequestOptions['onProgress'], run: () => Promise<T>): Promise<T> {
    if (onProgress) this.#progress.set(id, onProgress)
    try {
      return await run()
    } finally {
      this.#progress.delete(id)
    }
  }
}
