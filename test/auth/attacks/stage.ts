/** Where attacks take place: a server, the authorization servers it trusts, one it does not, and raw sockets. */

import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { connect as dial } from 'node:net'
import type { JWTPayload } from 'jose'
import { expect } from 'vitest'
import { events } from '../../../worker/client/wire.ts'
import { startServer, type TestServer } from '../../support/server.ts'
import { AuthorizationServer, type Key, newKey } from '../authorization-server.ts'

/** What an attacker gets to see. Absent: there was none. */
export type Seen = {
  status: number
  code?: number
  message?: string
  /** The header `WWW-Authenticate`. */
  challenge?: string
  /** The header `Retry-After`. */
  after?: string
  /** What a handler returned, or the HTTP body where it is no JSON-RPC. */
  result?: unknown
}

export type Attack = {
  /** As a reviewer would call it. */
  name: string
  /** Carries it out. */
  by(stage: Stage): Promise<unknown>
  /** What comes of it, all of it. */
  outcome: unknown
  /** What others do meanwhile would be heard. */
  alone?: true
  /** The handlers that run; none when left out. */
  ran?: readonly string[]
  /** How often paths of the authorization server are asked meanwhile, those under a prefix. */
  asked?: Readonly<Record<string, number>>
}

const original = globalThis.fetch

export const newest = '2026-07-28'
export const handshaking = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'] as const

type Sent = {
  token?: string | undefined
  headers?: Record<string, string>
  path?: string
  http?: string
  body?: string
}

type Asked = Omit<Sent, 'body' | 'http'> & { named?: string | null; revision?: string; says?: string }

export class Stage implements AsyncDisposable {
  readonly issuer: AuthorizationServer
  /** Trusted as well, and no friend of the first. */
  readonly other: AuthorizationServer
  /** Not trusted. */
  readonly stranger: AuthorizationServer
  readonly server: TestServer
  /** One for each algorithm. */
  readonly keys: Record<'ES256' | 'RS256' | 'EdDSA' | 'PS256', Key>
  /** Everything that must not be found in an answer or a log. */
  readonly secrets = new Set<string>()
  /** What was answered, headers included. */
  readonly answers: string[] = []

  private constructor(parts: Pick<Stage, 'issuer' | 'other' | 'stranger' | 'server' | 'keys'>) {
    this.issuer = parts.issuer
    this.other = parts.other
    this.stranger = parts.stranger
    this.server = parts.server
    this.keys = parts.keys
  }

  /** @param tenants names of issuers that live beside the first, at paths */
  static async start(tenants: readonly string[]): Promise<Stage> {
    // What a Worker fetches goes through this process, which would follow redirects on its behalf.
    globalThis.fetch = (input, init) => original(input, { ...init, redirect: 'manual' })
    const issuer = await AuthorizationServer.start()
    const [other, stranger] = [await AuthorizationServer.start(), await AuthorizationServer.start()]
    const keys = {
      ES256: issuer.keys[0] as Key,
      RS256: await newKey('RS256'),
      EdDSA: await newKey('EdDSA'),
      PS256: await newKey('PS256'),
    }
    issuer.keys = Object.values(keys)
    const issuers = [issuer.issuer, other.issuer, ...tenants.map((tenant) => `${issuer.issuer}/${tenant}`)]
    const secrets = { ISSUERS: issuers.join(','), EFFECTS: issuer.issuer }
    const server = await startServer('test/auth/attacks', secrets)
    return new Stage({ issuer, other, stranger, server, keys })
  }

  /** What the server calls itself. */
  get audience(): string {
    return this.server.url.href
  }

  /** A token that is good here, but for what is said otherwise. */
  async token(claims: JWTPayload = {}, signed: { key?: Key; header?: object } = {}): Promise<string> {
    return this.keep(await this.issuer.token(this.audience, { scope: 'notes:read', ...claims }, signed))
  }

  /** Notes that something must never be told. */
  keep(token: string): string {
    if (token.length > 20) this.secrets.add(token)
    return token
  }

  /** What handlers have run, in any order. */
  get effects(): Record<string, number> {
    return Object.fromEntries([...this.issuer.asked].filter(([path]) => path.startsWith('/ran/')))
  }

  async fetch(
    { token, headers = {}, path = '/mcp', http = 'POST', body }: Sent,
    signal?: AbortSignal,
  ): Promise<Response> {
    return fetch(new URL(path, this.server.url), {
      method: http,
      redirect: 'manual',
      signal: signal ?? null,
      headers: { ...(token !== undefined && { Authorization: `Bearer ${token}` }), ...headers },
      ...(body !== undefined && { body }),
    })
  }

  async send(sent: Sent): Promise<Seen> {
    return this.see(await this.fetch(sent))
  }

  /** A request of the newest revision. */
  async ask(method: string, params: object = {}, sent: Asked = {}): Promise<Seen> {
    return this.see(await this.fetch(this.stateless(method, params, sent)))
  }

  stateless(method: string, params: Record<string, unknown> | object, { named, revision, says, ...sent }: Asked): Sent {
    const { name, uri } = params as { name?: string; uri?: string }
    const target = named === undefined ? (method === 'resources/read' ? uri : name) : named
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': newest,
      'io.modelcontextprotocol/clientCapabilities': { elicitation: {} },
    }
    return {
      ...sent,
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } }),
      headers: {
        Accept: 'application/json, text/event-stream',
        'Content-Type': 'application/json',
        'MCP-Protocol-Version': revision ?? newest,
        'Mcp-Method': says ?? method,
        ...(typeof target === 'string' && { 'Mcp-Name': target }),
        ...sent.headers,
      },
    }
  }

  /** Calls a tool that takes `notes:read`, or another. */
  async call(token: string | undefined, name = 'read', args: object = {}): Promise<Seen> {
    if (token !== undefined) this.keep(token)
    return this.ask('tools/call', { name, arguments: args }, { token })
  }

  /** A session of a revision that has them. @returns its id */
  async session(token: string, version: string = handshaking[0]): Promise<string> {
    const params = {
      protocolVersion: version,
      capabilities: { elicitation: {} },
      clientInfo: { name: 'a', version: '1' },
    }
    const body = JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params })
    const response = await this.fetch({ token, body, headers: json })
    await response.text()
    return response.headers.get('Mcp-Session-Id') as string
  }

  /** A message of a session. */
  inSession(session: string, token: string | undefined, message: unknown): Promise<Seen> {
    return this.send({ token, body: JSON.stringify(message), headers: { ...json, 'Mcp-Session-Id': session } })
  }

  /** A session over HTTP+SSE. `endpoint` is where it posts to. */
  async sse(token: string) {
    const stop = new AbortController()
    const response = await this.fetch({ token, path: '/sse', http: 'GET', headers: stream }, stop.signal)
    const heard = events(response)
    const first = await heard.next()
    return { endpoint: first.value?.data as string, heard, stop: () => stop.abort() }
  }

  /** A whole request as it goes over the wire. */
  async raw(text: string | Buffer): Promise<Seen | Seen[]> {
    const socket = dial(Number(this.server.url.port), this.server.url.hostname)
    const chunks: Buffer[] = []
    socket.on('data', (chunk: Buffer) => chunks.push(chunk))
    socket.on('error', () => {})
    socket.setTimeout(60_000, () => socket.destroy())
    socket.write(text)
    await once(socket, 'close')
    const seen = await Promise.all(responsesIn(Buffer.concat(chunks).toString('latin1')).map((each) => this.see(each)))
    return seen.length === 1 ? (seen[0] as Seen) : seen
  }

  /** What there is to see of a response, with addresses that are the same every time. */
  async see(response: Response): Promise<Seen> {
    const text = await response.text()
    const challenge = response.headers.get('WWW-Authenticate')
    this.answers.push([text, ...[...response.headers].flat()].join('\n'))
    const after = response.headers.get('Retry-After')
    return {
      status: response.status,
      ...(challenge !== null && { challenge: this.told(challenge) }),
      ...(after !== null && { after }),
      ...this.#read(text),
    }
  }

  #read(text: string): Partial<Seen> {
    const written = this.told(text.startsWith('event:') || text.startsWith('id:') ? lastData(text) : text)
    if (written === '') return {}
    let value: { error?: { code: number; message: string }; result?: Record<string, unknown> }
    try {
      value = JSON.parse(written)
    } catch {
      return { result: written }
    }
    if (value.error) return { code: value.error.code, message: value.error.message }
    const { content, contents, messages, completion } = (value.result ?? {}) as Record<string, never>
    const [first] = (content ?? contents ?? []) as { text: string }[]
    return { result: first?.text ?? messages ?? completion ?? value.result ?? value }
  }

  told(text: string): string {
    return (
      text
        .replaceAll(this.server.url.host, 'here')
        .replaceAll(`localhost:${this.server.url.port}`, 'localhost')
        .replaceAll(this.issuer.issuer, 'http://issuer')
        .replaceAll(this.stranger.issuer, 'http://stranger')
        // With ports that differ from run to run; other tests check this part of the message.
        .replaceAll(/iss is .{1,202}?, and this server accepts tokens of [^"\\]+/g, 'iss is …')
    )
  }

  async [Symbol.asyncDispose](): Promise<void> {
    globalThis.fetch = original
    await this.server[Symbol.asyncDispose]()
    for (const each of [this.issuer, this.other, this.stranger]) await each[Symbol.asyncDispose]()
  }
}

export const json = { Accept: 'application/json, text/event-stream', 'Content-Type': 'application/json' }
export const stream = { Accept: 'text/event-stream' }

export const unique = () => randomUUID()

const lastData = (text: string) => text.match(/(?<=^data: ).*$/gm)?.at(-1) ?? ''

/** The responses in what a connection carried. */
function responsesIn(all: string): Response[] {
  if (!all.includes('\r\n\r\n')) return []
  const at = all.indexOf('\r\n\r\n') + 4
  const [status = '', ...lines] = all.slice(0, at - 4).split('\r\n')
  const headers = new Headers()
  for (const line of lines) headers.append(line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim())
  const length = Number(headers.get('Content-Length') ?? 0)
  const { text, rest } =
    headers.get('Transfer-Encoding') === 'chunked'
      ? dechunked(all.slice(at))
      : { text: all.slice(at, at + length), rest: all.slice(at + length) }
  const response = new Response(text === '' ? null : text, { status: Number(status.split(' ')[1]), headers })
  return [response, ...responsesIn(rest)]
}

function dechunked(coded: string): { text: string; rest: string } {
  let [text, rest] = ['', coded]
  for (;;) {
    const at = rest.indexOf('\r\n')
    const size = Number.parseInt(rest.slice(0, at), 16)
    if (!(size > 0)) return { text, rest: rest.slice(at + 4) }
    text += rest.slice(at + 2, at + 2 + size)
    rest = rest.slice(at + 4 + size)
  }
}

// What comes of attacks, word for word.

const metadata = 'resource_metadata="http://here/.well-known/oauth-protected-resource/mcp"'
const offered = 'scope="notes:read notes:write admin prompts"'

/** No credential that counts. */
export const anonymous: Seen = {
  status: 401,
  code: -32600,
  message: 'Authorization is required: send a bearer token',
  challenge: `Bearer ${metadata}, ${offered}`,
}

/** A token that is worth nothing. */
export const invalid = (message: string): Seen => ({
  status: 401,
  code: -32600,
  message,
  challenge: `Bearer ${metadata}, ${offered}, error="invalid_token", error_description="${message.replaceAll('"', "'")}"`,
})

/** The server fetches the keys again for a few unknown keys. After that, it answers 503 to a token that names another unknown key. */
export const unknownKey = expect.toBeOneOf([
  invalid('The issuer of the token does not publish the key that signed it'),
  {
    status: 503,
    code: -32603,
    message: expect.stringMatching(
      /^Too many tokens name keys that their issuer does not publish: try again in \d+ s$/,
    ),
    after: expect.stringMatching(/^\d+$/),
  },
])

/** A credential that is sent in a way that nobody may. */
export const malformed = (message: string): Seen => ({
  status: 400,
  code: -32600,
  message,
  challenge: `Bearer ${metadata}, error="invalid_request", error_description="${message.replaceAll('"', "'")}"`,
})

/** @param wanted what the challenge asks for: what is held and counts here, and what it takes */
export const insufficient = (takes: string, wanted = takes): Seen => ({
  status: 403,
  code: -32600,
  message: `Requires the scopes ${takes}`,
  challenge: `Bearer ${metadata}, scope="${wanted}", error="insufficient_scope", error_description="Requires the scopes ${takes}"`,
})

export const unavailable: Seen = {
  status: 503,
  code: -32603,
  message: 'The authorization server does not answer: try again later',
  after: '5',
}

export const unknownSession: Seen = {
  status: 404,
  code: -32600,
  message: 'Session not found: send initialize again',
}
