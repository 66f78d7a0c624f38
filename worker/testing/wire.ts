/** Messages over HTTP, as a client sees them. */
import { EventSourceParserStream } from 'eventsource-parser/stream'
import type { Message } from '../protocol/jsonrpc.ts'
import { RpcError } from './rpc-error.ts'

/** A running server's endpoint, or the fetch handler of a Worker in this process. */
export type Target = string | URL | ((request: Request) => Promise<Response>)

export type Wire = {
  send(path: string | undefined, init: RequestInit): Promise<Response>
  /** Sees every message, in the order it went by. */
  readonly onMessage: (direction: 'sent' | 'received', message: Message) => void
}

export type Event = { id: string | undefined; event: string | undefined; data: string; retry: number | undefined }

/** @param base the endpoint; the in-process target is taken to serve `http://localhost/mcp` */
export function wireTo(target: Target, onMessage: Wire['onMessage']): Wire {
  const base = typeof target === 'function' ? 'http://localhost/mcp' : String(target)
  return {
    send(path, init) {
      const request = new Request(path === undefined ? base : new URL(path, base), init)
      if (typeof target === 'function') return target(request)
      // The signal once more: that of a request which has been collected as garbage aborts nothing in Node.
      return fetch(request, { signal: init.signal ?? null })
    },
    onMessage,
  }
}

/** The JSON-RPC messages of a response's JSON body. */
export async function bodyMessages(response: Response): Promise<Message[]> {
  const text = await response.text()
  if (text === '') return []
  let body: unknown
  try {
    body = JSON.parse(text)
  } catch {
    throw new RpcError(`HTTP ${response.status}: ${text.slice(0, 200)}`, { code: 0, status: response.status })
  }
  return Array.isArray(body) ? body : [body as Message]
}

export const isEventStream = (response: Response): boolean =>
  response.headers.get('Content-Type')?.startsWith('text/event-stream') === true

/** The events of a stream, priming events included, until it ends. */
export async function* events(response: Response): AsyncGenerator<Event> {
  let retry: number | undefined
  const parser = new EventSourceParserStream({
    onRetry(value) {
      retry = value
    },
  })
  const decoder = new TextDecoderStream() as unknown as ReadableWritablePair<string, Uint8Array>
  const stream = (response.body as ReadableStream<Uint8Array>).pipeThrough(decoder).pipeThrough(parser)
  const reader = stream.getReader()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      yield { id: value.id, event: value.event, data: value.data, retry }
    }
  } finally {
    reader.cancel().catch(() => {})
  }
}
