/** A client of one session that does only what it is told: it answers nothing, resumes nothing and ends nothing. */
import type { Event } from '../../../worker/client/event-stream-reader.ts'
import { bodyMessages, events } from '../../../worker/client/wire.ts'

export type Incoming = {
  id?: unknown
  method?: string
  params?: Record<string, unknown>
  result?: { content?: { text: string }[] }
  error?: { code: number }
}

export type OverSse = { visitor: Visitor; session: string; stream: AsyncGenerator<Event>; leave(): void }

type Params = Record<string, unknown>

export class Visitor {
  readonly #url: URL
  readonly #headers: Record<string, string>
  #lastId = 0

  constructor(url: URL, headers: Record<string, string> = {}) {
    this.#url = url
    this.#headers = headers
  }

  /** Opens a session. */
  static async arrive(url: URL): Promise<Visitor & { session: string }> {
    const opened = await new Visitor(url).post({ id: 0, ...initialize })
    const session = opened.headers.get('Mcp-Session-Id')
    await opened.body?.cancel()
    if (session === null) throw new Error(`No session: ${opened.status}`)
    return Object.assign(new Visitor(url, { 'Mcp-Session-Id': session }), { session })
  }

  /** Opens a session over HTTP+SSE. Everything is said on its stream; `leave` drops it. */
  static async arriveOverSse(url: URL): Promise<OverSse> {
    const stop = new AbortController()
    const stream = events(await fetch(new URL('/sse', url), { signal: stop.signal }))
    const { value: first } = await stream.next()
    const endpoint = new URL((first as Event).data, url)
    const visitor = new Visitor(endpoint)
    await visitor.post({ id: 0, ...initialize })
    await readUntil(stream, ({ id }) => id === 0)
    const session = endpoint.searchParams.get('session') as string
    return { visitor, session, stream, leave: () => stop.abort() }
  }

  post(message: object, signal?: AbortSignal): Promise<Response> {
    return fetch(this.#url, {
      method: 'POST',
      signal: signal ?? null,
      headers: {
        ...this.#headers,
        'Content-Type': 'application/json',
        Accept: 'application/json, text/event-stream',
      },
      body: JSON.stringify({ jsonrpc: '2.0', ...message }),
    })
  }

  /** Sends a request. */
  ask(method: string, params: Params = {}, signal?: AbortSignal): Promise<Response> {
    this.#lastId += 1
    return this.post({ id: this.#lastId, method, params }, signal)
  }

  call(name: string, args: Params = {}, signal?: AbortSignal): Promise<Response> {
    return this.ask('tools/call', { name, arguments: args, _meta: { progressToken: 'p' } }, signal)
  }

  /** GET: the standing stream, or the rest of another. */
  stream(after?: string, signal?: AbortSignal): Promise<Response> {
    const headers = { ...this.#headers, Accept: 'text/event-stream', ...(after && { 'Last-Event-ID': after }) }
    return fetch(this.#url, { headers, signal: signal ?? null })
  }

  /** DELETE: ends the session. */
  end(): Promise<Response> {
    return fetch(this.#url, { method: 'DELETE', headers: this.#headers })
  }
}

export const initialize = {
  method: 'initialize',
  params: {
    protocolVersion: '2025-11-25',
    capabilities: { elicitation: {} },
    clientInfo: { name: 'visitor', version: '1' },
  },
}

/** Every message of an answer, until it ends. */
export async function messagesOf(response: Response): Promise<Incoming[]> {
  if (!response.headers.get('Content-Type')?.startsWith('text/event-stream')) return bodyMessages(response)
  const messages: Incoming[] = []
  for await (const { data } of events(response)) if (data !== '') messages.push(JSON.parse(data))
  return messages
}

/** Reads a stream until a message. The stream stays open. */
export async function readUntil(
  stream: AsyncGenerator<Event>,
  isIt: (message: Incoming) => boolean,
): Promise<Incoming> {
  for (;;) {
    const { value, done } = await stream.next()
    if (done) throw new Error('The stream ended')
    if (value.event === undefined && value.data !== '') {
      const message = JSON.parse(value.data) as Incoming
      if (isIt(message)) return message
    }
  }
}
