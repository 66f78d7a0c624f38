/** HTTP requests and responses of a client, and the messages in them. */
import type { Message } from '../protocol/jsonrpc.ts'
import { type Event, EventStreamReader } from './event-stream-reader.ts'
import { RpcError } from './rpc-error.ts'

type Answering = Response | Promise<Response>

// `never`: whatever a Worker takes there, the test knows it.
type Fetching = { fetch(request: Request, env: never, ctx: never): Answering }

/**
 * Accepts a URL, an object with a `url` such as `startServer()` returns, or in this process a Worker, its fetch handler, or a binding such
 * as `exports.default`.
 */
export type Target = string | URL | { readonly url: string | URL } | ((request: Request) => Answering) | Fetching

/** Configures requests to a Worker in this process. */
export type InProcessOptions = {
  /** URL of the endpoint. Default: `http://localhost/mcp`. */
  url?: string | URL
  /** Bindings of the Worker. Default: none. */
  env?: unknown
  /** Execution context of the Worker. Default: a context without `props`, whose `waitUntil` does not wait. */
  ctx?: unknown
}

/** Sends HTTP requests to an endpoint. */
export type Wire = {
  /** URL of the endpoint. */
  readonly url: URL
  /** Sends a request to a URL, which may be relative to that of the endpoint. `undefined`: to the endpoint. */
  send(path: string | undefined, init: RequestInit): Promise<Response>
  /** Called for every message, in the order in which they were sent and received. */
  readonly onMessage: (direction: 'sent' | 'received', message: Message) => void
}

/** @param where may have headers, which each request has unless it sets them itself */
export function wireTo(
  target: Target,
  where: InProcessOptions & { readonly headers?: Readonly<Record<string, string>> },
  onMessage: Wire['onMessage'],
): Wire {
  const { url, fetch: ask } = reach(target, where)
  return {
    url,
    send(path, init) {
      const headers = new Headers(where.headers)
      for (const [name, value] of new Headers(init.headers)) headers.set(name, value)
      return ask(new Request(path === undefined ? url : new URL(path, url), { ...init, headers }), init)
    },
    onMessage,
  }
}

type Reached = { url: URL; fetch(request: Request, init: RequestInit): Promise<Response> }

function reach(target: Target, where: InProcessOptions): Reached {
  const currentUrl = () => new URL(where.url ?? 'http://localhost/mcp')
  if (typeof target === 'string' || target instanceof URL) return overHttp(target)
  // Asked first: a binding may be called for another, and the name of any other property is a call.
  if (isFetching(target)) {
    const { env, ctx = { waitUntil() {}, passThroughOnException() {}, props: {} } } = where
    // The test has given what its Worker takes.
    return { url: currentUrl(), fetch: async (request) => target.fetch(request, env as never, ctx as never) }
  }
  if (typeof target === 'function') return { url: currentUrl(), fetch: async (request) => target(request) }
  if (typeof target.url === 'string' || target.url instanceof URL) return overHttp(target.url)
  throw new Error('connect() takes a URL, the server of startServer(), a Worker or its fetch')
}

const isFetching = (target: object): target is Fetching => typeof Reflect.get(target, 'fetch') === 'function'

const overHttp = (url: string | URL): Reached => ({
  url: new URL(url),
  // The signal once more: that of a request which has been collected as garbage aborts nothing in Node.
  fetch: (request, init) => fetch(request, { signal: init.signal ?? null }),
})

/** The JSON-RPC messages of a response's JSON body. */
export async function bodyMessages(response: Response): Promise<Message[]> {
  const text = await response.text()
  if (text === '') return []
  try {
    // A batch is a list of messages.
    return [parseMessage(text)].flat()
  } catch {
    throw new RpcError(`HTTP ${response.status}: ${text.slice(0, 200)}`, { code: 0, status: response.status })
  }
}

/** Parses a message of a server without validation: a test checks what it expects. */
export const parseMessage = (text: string): Message => JSON.parse(text)

/** @see https://www.rfc-editor.org/rfc/rfc9110#section-8.3.1 media types ignore case */
export const isEventStream = ({ headers }: Response): boolean =>
  /^text\/event-stream/i.test(headers.get('Content-Type') ?? '')

/** Whether an event is a message: a server ends the start of an event that it has no more as one of another type. */
export const isMessage = ({ event = 'message', data }: Event): boolean => event === 'message' && data !== ''

/**
 * Yields the events of a stream until it ends, including priming events.
 *
 * @param signal of its request: inside one process, the signal does not end a response that has started
 * @param reader has the fields besides events. Default: a new one
 */
export async function* events(
  response: Response,
  signal?: AbortSignal,
  reader = new EventStreamReader(),
): AsyncGenerator<Event> {
  for await (const chunk of eventsByChunk(response, reader, signal)) yield* chunk
}

/** Yields the messages of a stream until it ends: see `events`. */
export async function* messages(
  response: Response,
  signal?: AbortSignal,
  reader?: EventStreamReader,
): AsyncGenerator<Message, void> {
  for await (const event of events(response, signal, reader)) if (isMessage(event)) yield parseMessage(event.data)
}

/** Yields the events that end in each chunk of a stream, for a consumer that reads many: see `events`. */
export async function* eventsByChunk(
  { body }: Response,
  reader: EventStreamReader,
  signal?: AbortSignal,
): AsyncGenerator<Iterable<Event>> {
  const bytes = body?.getReader()
  if (!bytes) return
  const end = () => void bytes.cancel().catch(() => {})
  signal?.addEventListener('abort', end, { once: true })
  if (signal?.aborted) end()
  try {
    for (;;) {
      const { done, value } = await bytes.read()
      if (done) return
      yield reader.read(value)
    }
  } finally {
    signal?.removeEventListener('abort', end)
    end()
  }
}
