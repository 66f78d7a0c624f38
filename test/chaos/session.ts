/** A client's session on the level of bytes: connections break, and every event is the text it came in. */
import { type IncomingMessage, request } from 'node:http'
import type { Message } from '../../worker/protocol/jsonrpc.ts'

/** One event, byte for byte, without the empty line after it. The one that only gives an id has no data. */
export type Event = {
  id: string
  data: string | undefined
  /** Milliseconds after which a client that lost the stream should come back. */
  retry: number | undefined
  text: string
}

export type Session = {
  /** The streams that the client has seen events of. */
  readonly streams: Set<number>
  post(message: object): Promise<IncomingMessage>
  /** The standing stream, from now on. */
  listen(): Promise<IncomingMessage>
  /** The rest of a stream. */
  resume(after: string): Promise<IncomingMessage>
}

export async function openSession(url: URL): Promise<Session> {
  const json = { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' }
  const initialize = {
    id: 0,
    method: 'initialize',
    params: {
      protocolVersion: '2025-11-25',
      capabilities: { elicitation: {} },
      clientInfo: { name: 'chaos', version: '1' },
    },
  }
  const opened = await send(url, 'POST', json, initialize)
  await bodyOf(opened)
  const session = { 'Mcp-Session-Id': String(opened.headers['mcp-session-id']), 'MCP-Protocol-Version': '2025-11-25' }
  return {
    streams: new Set(),
    post: (message) => send(url, 'POST', { ...session, ...json }, message),
    listen: () => send(url, 'GET', { ...session, Accept: 'text/event-stream' }),
    resume: (after) => send(url, 'GET', { ...session, Accept: 'text/event-stream', 'Last-Event-ID': after }),
  }
}

function send(url: URL, method: string, headers: Record<string, string>, message?: object): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    // No connection outlives its request, so none can turn out to lead to a process that is no more.
    const sent = request(url, { method, headers, agent: false }, resolve)
    sent.on('error', reject)
    sent.end(message && JSON.stringify({ jsonrpc: '2.0', ...message }))
  })
}

export async function bodyOf(response: IncomingMessage): Promise<string> {
  let text = ''
  response.setEncoding('utf8')
  for await (const chunk of response) text += chunk
  return text
}

/** The answer to a request that is not streamed. */
export async function ask(session: Session, message: object): Promise<Message> {
  return JSON.parse(await bodyOf(await session.post(message)))
}

/** The events of a stream until it ends. What was cut off in the middle of an event has not been seen. */
export async function* events(response: IncomingMessage): AsyncGenerator<Event> {
  let rest = ''
  response.setEncoding('utf8')
  for await (const chunk of response) {
    const frames = (rest + chunk).split('\n\n')
    rest = frames.pop() as string
    for (const text of frames) {
      const [, id, retry, data] = /^id: (\S+)\n(?:retry: (\d+)\n)?data: (.*)$/.exec(text) ?? []
      if (id !== undefined) yield { id, data: data || undefined, retry: retry ? Number(retry) : undefined, text }
      else if (!/^(: .*|retry: \d+)$/.test(text)) throw new Error(`Not an event: ${text}`)
    }
  }
}

/** A connection may break, and nobody may listen for a while; everything else is news. */
export function onlyBroken(problem: unknown): void {
  const { code } = problem as { code?: string }
  if (code !== 'ECONNRESET' && code !== 'ECONNREFUSED' && code !== 'EPIPE') throw problem
}
