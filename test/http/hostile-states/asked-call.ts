/** A call within a session that has been asked something, and its client, which can say anything to that. */
import { events, isEventStream } from '../../../worker/client/wire.ts'
import type { Params } from '../hostile-row.ts'

export type Posted = { status: number; body: Params | undefined }

/** A session, and a way to say anything in it. */
export class Session {
  readonly #url: URL
  readonly id: string
  readonly #as: string

  constructor(url: URL, id: string, as: string) {
    this.#url = url
    this.id = id
    this.#as = as
  }

  static async begin(url: URL, { as = 'ada', version = '2025-11-25' } = {}): Promise<Session> {
    const session = new Session(url, '', as)
    const capabilities = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} }
    const params = { protocolVersion: version, capabilities, clientInfo: { name: 'hostile', version: '1' } }
    const response = await session.send({ jsonrpc: '2.0', id: 0, method: 'initialize', params })
    await response.body?.cancel()
    return new Session(url, response.headers.get('Mcp-Session-Id') as string, as)
  }

  /** @param headers `undefined` leaves out what would be there otherwise */
  send(body: unknown, headers: Record<string, string | undefined> = {}): Promise<Response> {
    const all = {
      'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream',
      Authorization: `Bearer ${this.#as}`,
      ...(this.id && { 'Mcp-Session-Id': this.id }),
      ...headers,
    }
    const given = Object.entries(all).filter((header): header is [string, string] => header[1] !== undefined)
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    return fetch(this.#url, { method: 'POST', headers: given, body: text })
  }

  async post(body: unknown, headers: Record<string, string | undefined> = {}): Promise<Posted> {
    const response = await this.send(body, headers)
    const text = await response.text()
    return { status: response.status, body: text === '' ? undefined : JSON.parse(text) }
  }

  async end(): Promise<void> {
    const headers = { Authorization: `Bearer ${this.#as}`, 'Mcp-Session-Id': this.id }
    await fetch(this.#url, { method: 'DELETE', headers })
  }

  /** Calls a tool that asks, and waits for its question. */
  async call(name = 'ask', id: number = 1): Promise<AskedCall> {
    const response = await this.send({ jsonrpc: '2.0', id, method: 'tools/call', params: { name } })
    if (!isEventStream(response)) throw new Error(`No stream: ${response.status} ${await response.text()}`)
    return AskedCall.of(this, response)
  }
}

export class AskedCall {
  readonly session: Session
  /** What the question is called. */
  readonly question: string
  readonly #stream: AsyncIterator<{ data: string }>

  private constructor(session: Session, question: string, stream: AsyncIterator<{ data: string }>) {
    this.session = session
    this.question = question
    this.#stream = stream
  }

  static async of(session: Session, response: Response): Promise<AskedCall> {
    const stream = events(response)
    const asked = await nextOf(stream)
    return new AskedCall(session, asked?.id as string, stream)
  }

  /** Says this to the question. */
  answer(result: unknown): Promise<Posted> {
    return this.session.post({ jsonrpc: '2.0', id: this.question, result })
  }

  /** The next message for this call; `undefined` at its end. */
  next(): Promise<Params | undefined> {
    return nextOf(this.#stream)
  }
}

async function nextOf(stream: AsyncIterator<{ data: string }>): Promise<Params | undefined> {
  for (;;) {
    const { done, value } = await stream.next()
    if (done) return undefined
    // What opens a stream has no data.
    if (value.data !== '') return JSON.parse(value.data)
  }
}
