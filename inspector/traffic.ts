/** Records every request of this page to the server, and every response, as sent on the wire. */
import { EventStreamReader } from '../worker/client/event-stream-reader.ts'
import type { Target } from '../worker/testing/index.ts'
import { parsed } from './json.ts'

/** An HTTP request and its response. Times are milliseconds since the page was opened. */
export type Exchange = {
  readonly number: number
  readonly method: string
  readonly path: string
  readonly requestHeaders: Headers
  readonly began: number
  status?: number
  responseHeaders?: Headers
  /** When the headers of the response arrived. */
  answered?: number
  /** When the response was complete. */
  ended?: number
}

/** A frame that was sent or received: a message, or an HTTP request or response without one. */
export type Frame = {
  readonly number: number
  readonly direction: 'sent' | 'received'
  readonly at: number
  readonly exchange: Exchange
  /** The text on the wire. */
  readonly text: string
  /** The text as JSON. `undefined`: it is not JSON. */
  readonly value: unknown
  /** The event of a stream. */
  readonly event?: { id?: string | undefined; name?: string | undefined }
  /** A short description of a frame without a message. */
  readonly note?: string
  /** A keep-alive comment. */
  readonly isComment?: true
}

type Fetching = (request: Request) => unknown

/** The paths of the server: its endpoint, and the one of HTTP+SSE. */
export type ServerPaths = { readonly mcp: string; readonly sse: string | undefined }

export type TrafficOptions = {
  onFrame(frame: Frame): void
  /** Headers that a message needs in addition to those of its transport. */
  headersFor(message: unknown): Readonly<Record<string, string>>
}

/** The server as a target of the client, with all frames recorded. */
export function trafficTo(
  { mcp, sse }: ServerPaths,
  { onFrame, headersFor }: TrafficOptions,
): Extract<Target, Fetching> {
  let lastExchange = 0
  let lastFrame = 0

  return async (request) => {
    const { pathname, search } = new URL(request.url)
    const path = (pathname === '/mcp' ? mcp : pathname === '/sse' ? (sse ?? pathname) : pathname) + search
    const body = request.method === 'POST' ? await request.text() : undefined
    const sent = body === undefined ? undefined : parsed(body)
    const headers = new Headers(request.headers)
    for (const [name, value] of Object.entries(headersFor(sent))) headers.set(name, value)
    const exchange: Exchange = {
      number: ++lastExchange,
      method: request.method,
      path,
      requestHeaders: headers,
      began: performance.now(),
    }
    const record = (frame: Omit<Frame, 'number' | 'at' | 'exchange'>) =>
      onFrame({ number: ++lastFrame, at: performance.now(), exchange, ...frame })
    record({ direction: 'sent', text: body ?? '', value: sent, ...(body === undefined && { note: 'no body' }) })
    let response: Response
    try {
      response = await fetch(path, { method: request.method, headers, body: body ?? null, signal: request.signal })
    } catch (problem) {
      exchange.ended = performance.now()
      record({ direction: 'received', text: '', value: undefined, note: endOf(problem) })
      throw problem
    }
    Object.assign(exchange, { status: response.status, responseHeaders: response.headers, answered: performance.now() })
    return overheard(response, exchange, record)
  }
}

type RecordFrame = (frame: Omit<Frame, 'number' | 'at' | 'exchange'>) => void

function overheard(response: Response, exchange: Exchange, record: RecordFrame): Response {
  const isStream = response.headers.get('Content-Type')?.startsWith('text/event-stream') === true
  const received = (frame: Omit<Parameters<RecordFrame>[0], 'direction'>) => {
    exchange.ended = performance.now()
    record({ direction: 'received', ...frame })
  }
  if (!response.body || isBodyless(response)) {
    received({ text: '', value: undefined, note: 'no body' })
    return response
  }
  if (isStream) record({ direction: 'received', text: '', value: undefined, note: 'stream opened' })
  let whole = ''
  // Keep-alive comments.
  const events = new EventStreamReader({}, (comment) => {
    const note = `a comment${comment && `: ${comment}`}`
    record({ direction: 'received', text: '', value: undefined, note, isComment: true })
  })
  const decoder = new TextDecoder()
  const reader = response.body.getReader()
  let isCancelled = false
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await reader.read()
        // The stream was cancelled, which is recorded already.
        if (isCancelled) return
        if (!done) {
          if (!isStream) whole += decoder.decode(value, { stream: true })
          else {
            for (const { id, event, data } of events.read(value)) {
              record({ direction: 'received', text: data, value: parsed(data), event: { id, name: event } })
            }
          }
          controller.enqueue(value)
          return
        }
        if (isStream) received({ text: '', value: undefined, note: 'stream ended' })
        else received({ text: whole, value: parsed(whole), ...(whole === '' && { note: 'no body' }) })
        controller.close()
      } catch (problem) {
        if (isCancelled) return
        received({ text: '', value: undefined, note: endOf(problem) })
        controller.error(problem)
      }
    },
    cancel(reason) {
      isCancelled = true
      received({ text: '', value: undefined, note: 'aborted by this page' })
      return reader.cancel(reason)
    },
  })
  const { status, headers } = response
  return new Response(body, { status, headers })
}

/** Since version 150, Chromium gives these responses an empty body, which the constructor of Response refuses. */
const isBodyless = ({ status, headers }: Response): boolean =>
  [204, 205, 304].includes(status) || (status === 202 && !headers.has('Content-Type'))

const endOf = (problem: unknown): string =>
  (problem as Error).name === 'AbortError' ? 'aborted by this page' : `no response: ${(problem as Error).message}`
