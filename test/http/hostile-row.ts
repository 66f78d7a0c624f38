/** The rows of the table of hostile and broken requests: what is sent, exactly what must come back, and the server that gets it. */
import { type Sealer, sealer, sealerFor } from '../../worker/sealing/seal.ts'
import { exchange, type RawAnswer } from './raw-http.ts'

export type Row = { name: string; send: Sendable; outcome: Outcome }

/** A request, or how to come to the point where it is sent. */
export type Sendable = Wire | ((stage: Stage) => Wire | Promise<Wire>)

/** A request as it goes over the wire. */
export type Wire = {
  method?: string
  path?: string
  /** One character is one byte. `undefined` leaves out what would be there otherwise. */
  headers?: Headers
  body?: string | Uint8Array
  /** Instead of all of the above: every byte of the request, for this host. */
  raw?: (host: string) => string
  /** Say that nothing more will come, and keep reading. */
  halfClose?: boolean
  /** Enough has been read of a stream that does not end by itself. */
  until?: (text: string) => boolean
}

export type Headers = Record<string, string | undefined>
export type Params = Record<string, unknown>
export type Id = string | number

export type Outcome = { status: number; headers?: Record<string, string | null> } & (
  | { error: number; id: Id | undefined; data?: unknown }
  | { result: unknown; id: Id }
  /** Every message of a batch or a stream, in order. */
  | { messages: unknown }
  | { text: string }
  /** The runtime in front of the Worker answers; the Worker never sees the request. */
  | { byRuntime: true }
)

export const row = (name: string, send: Sendable, outcome: Outcome): Row => ({ name, send, outcome })

// What comes back

/** A JSON-RPC error; without an id when none could be read. */
export const refused = (status: number, error: number, id?: Id, more: Partial<Outcome> = {}): Outcome => ({
  ...more,
  status,
  error,
  id,
})

export const answered = (id: Id, result: unknown = {}): Outcome => ({ status: 200, result, id })

/** A tool's result that is one text. */
export const said = (id: Id, text: unknown): Outcome => answered(id, { content: [{ type: 'text', text }] })

/** A tool's result that says what went wrong. */
export const failed = (id: Id, text: unknown): Outcome =>
  answered(id, { isError: true, content: [{ type: 'text', text }] })

export const empty = (status: number, headers: Record<string, string> = {}): Outcome => ({ status, headers, text: '' })

export const byRuntime = (status: number): Outcome => ({ status, byRuntime: true })

// What goes out

/** Text and bytes go out as they are, everything else as JSON. */
export const post = (body: unknown, headers: Headers = {}): Wire => ({
  headers,
  body: typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body),
})

/** A JSON-RPC request with the id 1, unless it says otherwise. */
export const request = (method: string, params?: unknown, more: Params = {}) => ({
  jsonrpc: '2.0',
  id: 1,
  method,
  params,
  ...more,
})

export const notification = (method: string, params?: unknown) => ({ jsonrpc: '2.0', method, params })

export const versionKey = 'io.modelcontextprotocol/protocolVersion'
export const capabilitiesKey = 'io.modelcontextprotocol/clientCapabilities'

/** The `_meta` of a stateless request. */
export const envelope = (more: Params = {}): Params => ({
  [versionKey]: '2026-07-28',
  [capabilitiesKey]: {},
  ...more,
})

/** A complete stateless request: envelope and mirrored headers, as far as they are not given. */
export function stateless(method: string, params: Params = {}, headers: Headers = {}, id: unknown = 1): Wire {
  const name = params.name ?? params.uri
  return post(request(method, { _meta: envelope(), ...params }, { id }), {
    'MCP-Protocol-Version': '2026-07-28',
    'Mcp-Method': method,
    ...(typeof name === 'string' && { 'Mcp-Name': name }),
    ...headers,
  })
}

/** The same with these headers too. */
export const withHeaders = (wire: Wire, headers: Headers): Wire => ({
  ...wire,
  headers: { ...wire.headers, ...headers },
})

/** A message in a session of this revision. */
export const inSession =
  (message: unknown, headers: Headers = {}, version = '2025-11-25'): Sendable =>
  async (stage) =>
    post(message, { 'Mcp-Session-Id': await stage.shared(version), ...headers })

// The server

const newKey = () => Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString('base64url')

/** The server's key is known to the table, so that it can forge what otherwise only time or another server could make. */
const key = newKey()
const identity = JSON.stringify(['everything', '/mcp'])
export const secrets = { EDGEMCP_KEYS: `table:${key}` }

/** The `_meta` of a client with these capabilities. */
export const declaring = (capabilities: Params): Params => envelope({ [capabilitiesKey]: capabilities })

export type Answered = RawAnswer & { wire: Wire }

/** The running server as the table sees it: a way to send, and things to have at hand when a row needs them. */
export class Stage {
  readonly url: URL
  /** Seals with the server's own key. */
  readonly seals: Sealer = sealerFor(sealer({ current: 'table', keys: { table: key } }), identity)
  /** Seals with another key of the same name. */
  readonly foreignSeals: Sealer = sealerFor(sealer({ current: 'table', keys: { table: newKey() } }), identity)
  readonly #shared = new Map<string, Promise<string>>()

  constructor(url: URL) {
    this.url = url
  }

  /** Sends a request over a connection of its own. */
  async send(sendable: Sendable): Promise<Answered> {
    const wire = typeof sendable === 'function' ? await sendable(this) : sendable
    const { halfClose, until } = wire
    return { ...(await exchange(this.url, { bytes: bytesOf(wire, this.url.host), halfClose, until })), wire }
  }

  /** A new session. */
  async session(version = '2025-11-25', capabilities: Params = {}): Promise<string> {
    const params = { protocolVersion: version, capabilities, clientInfo: { name: 'table', version: '1' } }
    const { headers, text } = await this.send(post(request('initialize', params)))
    const id = headers.get('Mcp-Session-Id')
    if (id === null) throw new Error(`No session: ${text}`)
    return id
  }

  /** One session of each revision, for every row that leaves it as it was. */
  shared(version: string): Promise<string> {
    const known = this.#shared.get(version) ?? this.session(version)
    this.#shared.set(version, known)
    return known
  }

  /** Where the second page of the tools begins. */
  async cursor(): Promise<string> {
    return (await this.#result(stateless('tools/list'))).nextCursor as string
  }

  /** The state of a call of `ask_name` that has asked. */
  async requestState(): Promise<string> {
    const asked = stateless('tools/call', { name: 'ask_name', _meta: declaring({ elicitation: {} }) })
    return (await this.#result(asked)).requestState as string
  }

  async #result(wire: Wire): Promise<Params> {
    const { text } = await this.send(wire)
    return (JSON.parse(text) as { result: Params }).result
  }
}

/** The JSON-RPC messages of an answer, in order. */
export function messagesOf({ headers, text }: RawAnswer): Params[] {
  const type = headers.get('Content-Type')
  if (text === '') return []
  if (type === 'application/json') return [JSON.parse(text)].flat()
  return type === 'text/event-stream' ? dataOf(text).map((data) => JSON.parse(data)) : []
}

const dataOf = (text: string): string[] =>
  text.split('\n').flatMap((line) => (line.startsWith('data: {') ? line.slice(6) : []))

function bytesOf(wire: Wire, host: string): Uint8Array {
  if (wire.raw) return Buffer.from(wire.raw(host))
  const { method = 'POST', path = '/mcp', body } = wire
  const content = Buffer.from(body ?? '')
  const headers = {
    Host: host,
    Accept: 'application/json, text/event-stream',
    ...(body !== undefined && { 'Content-Type': 'application/json', 'Content-Length': String(content.length) }),
    ...wire.headers,
  }
  const lines = Object.entries(headers).flatMap(([name, value]) => (value === undefined ? [] : [`${name}: ${value}`]))
  const head = [`${method} ${path} HTTP/1.1`, ...lines, '', ''].join('\r\n')
  return Buffer.concat([Buffer.from(head, 'latin1'), content])
}
