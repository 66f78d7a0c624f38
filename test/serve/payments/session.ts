/** A client with a session, and the object behind it. */
import { type Endpoint, type Fail, type Fate, send, type Way } from './scene.ts'

export class Session {
  readonly name: string
  /** Streams begin with an id, so that a client can come back before anything was said. */
  readonly isPrimed: boolean
  readonly #endpoint: Endpoint
  readonly #revision: string
  readonly #fail: Fail
  readonly #headers: Record<string, string> = {
    'Content-Type': 'application/json',
    Accept: 'application/json, text/event-stream',
  }
  #object = ''
  #isAsleep = false
  #pings = 0

  constructor(name: string, revision: string, endpoint: Endpoint, fail: Fail) {
    this.name = name
    this.isPrimed = revision >= '2025-11-25'
    this.#endpoint = endpoint
    this.#revision = revision
    this.#fail = fail
  }

  async open(): Promise<void> {
    const clientInfo = { name: 'payments', version: '1.0.0' }
    const params = { protocolVersion: this.#revision, capabilities: { elicitation: {} }, clientInfo }
    const response = await this.post({ id: 'open', method: 'initialize', params })
    await response.body?.cancel()
    const id = response.headers.get('Mcp-Session-Id') as string
    this.#headers['Mcp-Session-Id'] = id
    this.#headers['MCP-Protocol-Version'] = this.#revision
    this.#object = await this.#endpoint.objectOf(id)
  }

  post(message: object, signal?: AbortSignal): Promise<Response> {
    return fetch(this.#endpoint.url, this.#request(message, signal))
  }

  /** The rest of a stream after an event. */
  get(after: string, signal: AbortSignal): Promise<Response> {
    return fetch(this.#endpoint.url, { headers: { ...this.#headers, 'Last-Event-ID': after }, signal })
  }

  /** Sends something whose reply is not read. */
  async sendOff(message: object, fate: Fate, cutAfter: number): Promise<void> {
    await send(this.#endpoint.url, this.#request(message), fate, cutAfter)
  }

  /** A message without an answer of its own. */
  async tell(message: object, way: Way, cutAfter: number): Promise<void> {
    for (const together of way.sends) {
      await Promise.all(
        together.map(async (fate) => {
          const response = await send(this.#endpoint.url, this.#request(message), fate, cutAfter)
          await response?.body?.cancel()
          if (response && response.status !== 202) {
            this.#fail(`${this.name} says ${JSON.stringify(message)} and is answered ${response.status}`)
          }
        }),
      )
    }
  }

  /** An object that was lost does nothing before it is asked something. */
  async wake(): Promise<void> {
    if (!this.#isAsleep) return
    this.#isAsleep = false
    this.#pings += 1
    const response = await this.post({ id: `ping ${this.#pings}`, method: 'ping' })
    const text = await response.text()
    if (!('result' in JSON.parse(text))) this.#fail(`${this.name} is not there: ${response.status} ${text}`)
  }

  /** What the object had in memory is lost, when it has nothing to do. */
  async evict(webSockets: 'close' | 'hibernate'): Promise<void> {
    await this.#endpoint.evict({ session: this.#headers['Mcp-Session-Id'] }, { webSockets })
    this.#isAsleep = true
  }

  /** The object is lost in the middle of what it does. */
  async lose(): Promise<void> {
    await this.#endpoint.lose(this.#object)
    this.#isAsleep = true
  }

  #request(message: object, signal?: AbortSignal): RequestInit {
    const body = JSON.stringify({ jsonrpc: '2.0', ...message })
    return { method: 'POST', headers: this.#headers, body, ...(signal && { signal }) }
  }
}
