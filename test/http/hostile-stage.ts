/** The running server as the table sees it: a way to send, and things to have at hand when a row needs them. */
import { type Sealer, sealer, sealerFor } from '../../worker/sealing/seal.ts'
import {
  capabilitiesKey,
  envelope,
  type Params,
  post,
  request,
  type Sendable,
  stateless,
  type Wire,
} from './hostile-row.ts'
import { exchange, type RawAnswer } from './raw-http.ts'

const newKey = () => Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString('base64url')

/** The server's key is known to the table, so that it can forge what otherwise only time or another server could make. */
const key = newKey()
const identity = JSON.stringify(['everything', '/mcp'])
export const secrets = { EDGEMCP_KEYS: `table:${key}` }

/** The `_meta` of a client with these capabilities. */
export const declaring = (capabilities: Params): Params => envelope({ [capabilitiesKey]: capabilities })

export type Answered = RawAnswer & { wire: Wire }

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
