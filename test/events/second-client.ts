/** A client of events that is written from docs/guides/events.md alone. */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'

type Fields = Record<string, unknown>
export type Revision = '2025-11-25' | '2026-07-28'

export type ListedEvent = { name: string; description?: string; delivery: string[] }
export type EventOccurrence = { eventId: string; name: string; timestamp: string; data: Fields; cursor?: string }
export type Subscription = { id: string; refreshBefore: string; cursor: string; truncated: boolean }
export type Page = {
  events: EventOccurrence[]
  cursor: string
  truncated: boolean
  hasMore: boolean
  nextPollMs: number
}
type Reply = { id?: unknown; method?: string; params?: Fields; result?: unknown; error?: ErrorFields }
type ErrorFields = { code: number; message: string; data?: Fields }
type Desired = { name: string; arguments: Fields; ttlMs?: number | null }

export class RpcError extends Error {
  readonly code: number
  readonly data: Fields | undefined

  constructor({ code, message, data }: ErrorFields) {
    super(message)
    this.code = code
    this.data = data
  }
}

const clientInfo = { name: 'second-client', version: '1.0.0' }
const toleranceSeconds = 300
const createSecret = () => `whsec_${randomBytes(32).toString('base64')}`

export class SecondClient {
  readonly events: EventOccurrence[] = []
  /** The error of the notice that ended the subscription. */
  terminated: ErrorFields | undefined
  subscription: Subscription | undefined

  readonly #endpoint: string
  readonly #revision: Revision
  readonly #token: string
  readonly #callback: string
  #secret = createSecret()
  #previousSecret: string | undefined
  #desired: Desired | undefined
  #session: Promise<string | null> | undefined
  #lastId = 0
  readonly #seen = new Set<string>()

  constructor(options: { endpoint: string; revision: Revision; token: string; callback: string }) {
    this.#endpoint = options.endpoint
    this.#revision = options.revision
    this.#token = options.token
    this.#callback = options.callback
  }

  async list(): Promise<ListedEvent[]> {
    const { events } = await this.#request<{ events: ListedEvent[] }>('events/list', {})
    return events
  }

  subscribe(name: string, args: Fields, options: { ttlMs?: number; cursor?: string | null } = {}) {
    const { ttlMs, cursor = null } = options
    this.#desired = { name, arguments: args, ...(ttlMs === undefined ? {} : { ttlMs }) }
    return this.#subscribe(cursor)
  }

  /** Repeats the subscription with a new secret. Deliveries that only the previous secret signs stay valid. */
  refresh(): Promise<Subscription> {
    this.#previousSecret = this.#secret
    this.#secret = createSecret()
    return this.#subscribe(this.subscription?.cursor ?? null)
  }

  async unsubscribe(): Promise<void> {
    const { name, arguments: args } = this.#current()
    await this.#request('events/unsubscribe', { name, arguments: args, delivery: { url: this.#callback } })
  }

  poll(cursor: string | null): Promise<Page> {
    const { name, arguments: args } = this.#current()
    return this.#request('events/poll', { name, arguments: args, cursor })
  }

  /** Yields the events of one stream. The stream is closed when the iteration ends. */
  async *stream(cursor: string | null): AsyncGenerator<EventOccurrence> {
    const { name, arguments: args } = this.#current()
    const leaving = new AbortController()
    try {
      const response = await this.#post('events/stream', { name, arguments: args, cursor }, leaving.signal)
      for await (const reply of repliesOf(response)) {
        if (reply.error) throw new RpcError(reply.error)
        if (reply.method === 'notifications/events/event') yield reply.params as unknown as EventOccurrence
      }
    } finally {
      leaving.abort()
    }
  }

  /** Receives a POST of the server at the callback URL. */
  async receive(request: Request): Promise<Response> {
    const body = await request.text()
    const id = request.headers.get('webhook-id')
    const timestamp = request.headers.get('webhook-timestamp')
    const signatures = request.headers.get('webhook-signature')
    const subscription = request.headers.get('x-mcp-subscription-id')
    if (!id || !timestamp || !signatures || !subscription) return new Response(null, { status: 401 })
    // The challenge precedes the result that has the id.
    if (this.subscription && subscription !== this.subscription.id) return new Response(null, { status: 401 })
    const ageSeconds = Math.abs(Date.now() / 1000 - Number(timestamp))
    if (!(ageSeconds <= toleranceSeconds)) return new Response(null, { status: 401 })
    if (!this.#isSigned(`${id}.${timestamp}.${body}`, signatures)) return new Response(null, { status: 401 })

    const message = JSON.parse(body) as Fields
    if (message.type === 'verification') return Response.json({ challenge: message.challenge })
    if (message.type === 'terminated') {
      this.terminated = message.error as ErrorFields
      return new Response(null, { status: 204 })
    }
    if (!this.#seen.has(id)) {
      this.#seen.add(id)
      this.events.push(message as unknown as EventOccurrence)
    }
    return new Response(null, { status: 204 })
  }

  #isSigned(content: string, signatures: string): boolean {
    const secrets = [this.#secret, this.#previousSecret].filter((secret) => secret !== undefined)
    return secrets.some((secret) => {
      const key = Buffer.from(secret.slice('whsec_'.length), 'base64')
      const expected = Buffer.from(`v1,${createHmac('sha256', key).update(content).digest('base64')}`)
      return signatures.split(' ').some((signature) => {
        const given = Buffer.from(signature)
        return given.length === expected.length && timingSafeEqual(given, expected)
      })
    })
  }

  #current(): Desired {
    if (!this.#desired) throw new Error('subscribe() comes first')
    return this.#desired
  }

  async #subscribe(cursor: string | null): Promise<Subscription> {
    const delivery = { mode: 'webhook', url: this.#callback, secret: this.#secret }
    const result = await this.#request<Subscription>('events/subscribe', { ...this.#current(), delivery, cursor })
    this.subscription = result
    return result
  }

  async #request<T>(method: string, params: Fields): Promise<T> {
    const response = await this.#post(method, params)
    for await (const { result, error } of repliesOf(response)) {
      if (error) throw new RpcError(error)
      if (result !== undefined) return result as T
    }
    throw new Error(`${method}: status ${response.status} without a response`)
  }

  async #post(method: string, params: Fields, signal?: AbortSignal): Promise<Response> {
    const id = ++this.#lastId
    if (this.#revision === '2025-11-25') {
      this.#session ??= this.#initialize()
      const session = await this.#session
      return this.#send({ id, method, params }, session === null ? {} : { 'Mcp-Session-Id': session }, signal)
    }
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': this.#revision,
      'io.modelcontextprotocol/clientInfo': clientInfo,
      'io.modelcontextprotocol/clientCapabilities': {},
    }
    return this.#send({ id, method, params: { ...params, _meta } }, { 'Mcp-Method': method }, signal)
  }

  async #initialize(): Promise<string | null> {
    const params = { protocolVersion: this.#revision, capabilities: {}, clientInfo }
    const response = await this.#send({ id: ++this.#lastId, method: 'initialize', params }, {})
    for await (const { error } of repliesOf(response)) if (error) throw new RpcError(error)
    const session = response.headers.get('Mcp-Session-Id')
    const headers: Record<string, string> = session === null ? {} : { 'Mcp-Session-Id': session }
    await (await this.#send({ method: 'notifications/initialized' }, headers)).body?.cancel()
    return session
  }

  #send(message: Fields, headers: Record<string, string>, signal?: AbortSignal): Promise<Response> {
    return fetch(this.#endpoint, {
      method: 'POST',
      headers: {
        'Content-Type': 'application/json',
        Accept: 'application/json, text/event-stream',
        Authorization: `Bearer ${this.#token}`,
        'MCP-Protocol-Version': this.#revision,
        ...headers,
      },
      body: JSON.stringify({ jsonrpc: '2.0', ...message }),
      signal: signal ?? null,
    })
  }
}

/** Yields the JSON-RPC messages of a JSON or an SSE response. */
async function* repliesOf(response: Response): AsyncGenerator<Reply> {
  if (!response.headers.get('Content-Type')?.startsWith('text/event-stream')) {
    const text = await response.text()
    if (!text.startsWith('{')) throw new Error(`Status ${response.status} without a JSON-RPC message`)
    yield JSON.parse(text) as Reply
    return
  }
  const decoder = new TextDecoder()
  let buffer = ''
  for await (const chunk of response.body ?? []) {
    buffer += decoder.decode(chunk, { stream: true })
    const blocks = buffer.split(/\r?\n\r?\n/)
    buffer = blocks.pop() ?? ''
    for (const block of blocks) {
      const lines = block.split(/\r?\n/).filter((line) => line.startsWith('data:'))
      const data = lines.map((line) => line.slice('data:'.length).replace(/^ /, '')).join('\n')
      if (data !== '') yield JSON.parse(data) as Reply
    }
  }
}
