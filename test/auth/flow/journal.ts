/** What a client and the browser of its user send, and what they hear. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { IncomingMessage } from 'node:http'

export type Entry = {
  readonly url: URL
  readonly method: string
  /** Of a form, or of a JSON object. */
  readonly body: Readonly<Record<string, unknown>>
  readonly bearer: string | undefined
  readonly status: number
  readonly challenge: string | null
}

/** Before anybody puts something in its place. */
const { fetch } = globalThis

export class Journal {
  readonly #entries: Entry[] = []

  /** Writes down what goes through it. */
  readonly fetch = async (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const request = new Request(input, init)
    const text = await request.clone().text()
    const response = await fetch(request)
    this.#entries.push({
      url: new URL(request.url),
      method: request.method,
      body: parsed(text),
      bearer: request.headers.get('Authorization')?.replace(/^Bearer /, ''),
      status: response.status,
      challenge: response.headers.get('WWW-Authenticate'),
    })
    return response
  }

  /** What one server was asked since this was asked last. Streams that a session opens beside are left out. */
  take(origin: string): Taken {
    const all = this.#entries.filter(({ url }) => url.origin === origin)
    for (const entry of all) this.#entries.splice(this.#entries.indexOf(entry), 1)
    const entries = all.filter(
      ({ method, url, status }) => !(method === 'GET' && url.pathname === '/mcp' && status < 300),
    )
    return { entries, lines: entries.map(lineOf) }
  }
}

export type Taken = { readonly entries: readonly Entry[]; readonly lines: readonly string[] }

/** `POST /token refresh_token 200` */
const lineOf = ({ method, url: { pathname }, body, status }: Entry): string => {
  const detail = body.grant_type ?? body.method
  // What follows is different each time.
  const path = pathname.replace(/^(\/(?:auth|interaction))\/.+/, '$1/…')
  return [method, path, ...(detail ? [detail] : []), status].join(' ')
}

function parsed(text: string): Record<string, unknown> {
  if (text.startsWith('{')) return JSON.parse(text)
  return Object.fromEntries(new URLSearchParams(text))
}

/** What a server of this process is asked, by everybody: `GET /jwks`. */
export function hear(issuer: string): { readonly heard: string[] } & Disposable {
  const heard: string[] = []
  const port = Number(new URL(issuer).port)
  const listen = (message: unknown) => {
    const { method, url = '', socket } = (message as { request: IncomingMessage }).request
    if (socket.localPort === port) heard.push(`${method} ${url.replace(/[?].*/, '')}`)
  }
  subscribe('http.server.request.start', listen)
  return { heard, [Symbol.dispose]: () => void unsubscribe('http.server.request.start', listen) }
}
