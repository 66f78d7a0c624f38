/** A client of one server: sends what published clients send, reads JSON and streams, and answers input requests. */
import { Agent, type IncomingMessage } from 'node:http'
import { setTimeout } from 'node:timers/promises'
import { post } from '../http.ts'
import { capabilities, clientInfo, type Way, written } from './ways.ts'

export type Params = Readonly<Record<string, unknown>>
export type Message = {
  jsonrpc: '2.0'
  id?: number | string
  method?: string
  params?: Params
  result?: Record<string, unknown>
  error?: unknown
}
/** The response to a request, and the messages before it. */
export type Answer = { readonly result: Record<string, unknown>; readonly heard: readonly Message[] }

type Headers = Readonly<Record<string, string>>
type Received = { readonly headers: IncomingMessage['headers']; readonly messages: readonly Message[] }

export class Client {
  readonly way: Way
  readonly #url: URL
  readonly #readPauseMs: number
  readonly #agent = new Agent({ keepAlive: true })
  /** What a connection has received until the end of its last response. */
  readonly #received = new WeakMap<object, number>()
  readonly #sessions: Headers[] = []
  #lastId = 0
  #bytes = 0
  #firstBytesMs: number[] = []

  /** @param readPauseMs for which it stops reading after each part of a body */
  constructor(url: URL, way: Way, readPauseMs = 0) {
    this.#url = url
    this.way = way
    this.#readPauseMs = readPauseMs
  }

  /** Bytes of all responses on the wire, and milliseconds from each request to the first byte of the body. */
  get responses(): { readonly bytes: number; readonly firstBytesMs: readonly number[] } {
    return { bytes: this.#bytes, firstBytesMs: this.#firstBytesMs }
  }

  forgetResponses(): void {
    this.#bytes = 0
    this.#firstBytesMs = []
  }

  /** Opens sessions until there are this many. Does nothing without sessions. */
  async open(count: number): Promise<void> {
    if (this.way.kind !== 'session') return
    while (this.#sessions.length < count) this.#sessions.push(await this.openSession())
  }

  /** Does what a client does before its first request. */
  async openSession(): Promise<Headers> {
    const { headers } = await this.initialize()
    const id = headers['mcp-session-id']
    if (typeof id !== 'string') throw new Error('initialize was answered without a session id')
    const session = { 'Mcp-Session-Id': id }
    const { revision } = this.way
    const initialized = { jsonrpc: '2.0', method: 'notifications/initialized' } as const
    await this.#post(initialized, { 'MCP-Protocol-Version': revision, ...session })
    return session
  }

  async initialize(): Promise<Answer & { headers: Received['headers'] }> {
    const params = { protocolVersion: this.way.revision, capabilities, clientInfo }
    const id = ++this.#lastId
    const { headers, messages } = await this.#post({ jsonrpc: '2.0', id, method: 'initialize', params }, {})
    return { headers, ...answerIn(messages, id) }
  }

  /** @param session the index of an open session, or the headers of another one */
  async call(method: string, params: Params, session: number | Headers = 0): Promise<Answer> {
    const id = ++this.#lastId
    const { headers, params: sent } = written(this.way, method, params)
    const own = typeof session === 'number' ? this.#sessions[session % this.#sessions.length] : session
    const all = { ...headers, ...own }
    const { messages } = await this.#post({ jsonrpc: '2.0', id, method, params: sent }, all)
    return answerIn(messages, id)
  }

  close(): void {
    this.#agent.destroy()
  }

  async #post(message: Message, headers: Headers): Promise<Received> {
    const sentAt = performance.now()
    const response = await post(this.#url, this.#agent, message, headers)
    const parts = this.#partsOf(response, sentAt)
    const { statusCode = 0, headers: answered } = response
    const isStream = answered['content-type']?.startsWith('text/event-stream')
    if (statusCode >= 300) throw new Error(`${statusCode}: ${await wholeOf(parts)}`)
    if (!isStream) {
      const text = await wholeOf(parts)
      return { headers: answered, messages: text === '' ? [] : [JSON.parse(text) as Message] }
    }
    const messages: Message[] = []
    for await (const received of eventsOf(parts)) {
      messages.push(received)
      if (received.method !== undefined && received.id !== undefined) await this.#reply(received, headers)
    }
    return { headers: answered, messages }
  }

  async *#partsOf(response: IncomingMessage, sentAt: number): AsyncGenerator<string> {
    const { socket } = response
    response.setEncoding('utf8')
    let isFirst = true
    for await (const part of response) {
      if (isFirst) this.#firstBytesMs.push(performance.now() - sentAt)
      isFirst = false
      yield part
      if (this.#readPauseMs > 0) await setTimeout(this.#readPauseMs)
    }
    this.#bytes += socket.bytesRead - (this.#received.get(socket) ?? 0)
    this.#received.set(socket, socket.bytesRead)
  }

  /** Accepts every input request. */
  async #reply({ id }: Message, headers: Headers): Promise<void> {
    const result = { action: 'accept', content: { sure: true } }
    await this.#post({ jsonrpc: '2.0', id: id as number, result }, headers)
  }
}

function answerIn(messages: readonly Message[], id: number): Answer {
  const answer = messages.at(-1)
  if (answer?.id !== id || !answer.result) {
    throw new Error(`No result for ${id}, but ${messages.length} messages, the last: ${JSON.stringify(answer)}`)
  }
  return { result: answer.result, heard: messages.slice(0, -1) }
}

async function wholeOf(parts: AsyncIterable<string>): Promise<string> {
  let text = ''
  for await (const part of parts) text += part
  return text
}

async function* eventsOf(parts: AsyncIterable<string>): AsyncGenerator<Message> {
  let text = ''
  for await (const part of parts) {
    text += part
    const events = text.split(/\r?\n\r?\n/)
    text = events.pop() ?? ''
    for (const event of events) {
      const data = event
        .split(/\r?\n/)
        .filter((line) => line.startsWith('data:'))
        .map((line) => line.slice('data:'.length).trimStart())
        .join('\n')
      if (data !== '') yield JSON.parse(data) as Message
    }
  }
}
