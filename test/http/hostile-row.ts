/** One row of the table of hostile and broken requests: what is sent, and exactly what must come back. */
import type { Stage } from './hostile-stage.ts'

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
