/** A client of the counting server: it runs one operation after another, and records the cost of each. */

import { clientCapabilitiesKey, protocolVersionKey } from '../../../worker/protocol/meta.ts'
import { evict } from '../objects.ts'
import type { TestServer } from '../server.ts'
import type { Left, Tallies, Tally } from './tally.ts'

/** The counts of one operation. */
export type Cost = { operation: string } & Pick<Tallies, 'http' | 'session' | 'subscriptions'>
/** The data that a Session object stores while its client is idle. */
export type Leaving = { after: string; left: Left }
/** The operations of one type of client. */
export type Bill = { title: string; costs: Cost[]; leavings: Leaving[] }

export const statelessRevision = '2026-07-28'

/** A client and the cost of its requests. Its session ends with it, so that it causes no costs for later clients. */
export class Stage implements AsyncDisposable {
  /** The session id. */
  id: string | undefined
  /** The id of its last request. */
  lastId = 0
  readonly #server: TestServer
  readonly #bill: Bill
  readonly #revision: string
  /** The names of its Session objects: one, or none before it was needed. */
  readonly #names = new Set<string>()
  /** The URL of its POST requests. */
  #url: URL

  constructor(server: TestServer, bill: Bill, revision: string) {
    this.#server = server
    this.#bill = bill
    this.#revision = revision
    this.#url = server.url
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.id !== undefined) await this.#fetch('DELETE')
    await this.#ask('/reset')
  }

  // Counting

  /** Counts an operation whose objects were evicted, as for a client with rare requests. This is the most expensive case. */
  async count<T>(operation: string, run: () => Promise<T>): Promise<T> {
    await this.#putToSleep()
    return this.countAwake(operation, run)
  }

  async countAwake<T>(operation: string, run: () => Promise<T>): Promise<T> {
    await this.#tallies()
    await this.#ask('/reset')
    const result = await run()
    const { http, session, subscriptions } = await this.#tallies()
    this.#bill.costs.push({ operation, http, session, subscriptions })
    return result
  }

  /** Counts the difference between the costs of two operations. */
  async countFurther(operation: string, than: string, run: () => Promise<unknown>): Promise<void> {
    const less = this.#bill.costs.find((cost) => cost.operation === than) as Cost
    await this.count(operation, run)
    const more = this.#bill.costs.pop() as Cost
    const further = {
      session: difference(more.session, less.session),
      subscriptions: difference(more.subscriptions, less.subscriptions),
    }
    this.#bill.costs.push({ operation, http: more.http - less.http, ...further })
  }

  /** Records what the Session object stores. */
  async leave(after: string): Promise<void> {
    this.#bill.leavings.push({ after, left: await this.#ask(`/left?session=${await this.#name()}`) })
  }

  /** Advances the clock of the server. */
  wait(milliseconds: number): Promise<void> {
    return this.#ask(`/later?by=${milliseconds}`)
  }

  /** Advances the clock of the server, and runs the alarm of the session, which is then due. */
  async alarm(milliseconds: number): Promise<void> {
    const hasRun = await this.#ask(`/later?by=${milliseconds}&session=${await this.#name()}`)
    if (!hasRun) throw new Error(`No alarm is due after ${milliseconds} ms`)
  }

  /** Publishes a change of a note. */
  publish(note: string): Promise<void> {
    return this.#ask(`/publish?note=${note}`)
  }

  /** Lets a slow call take its next step. */
  async goOn(): Promise<void> {
    await this.#ask(`/go?session=${await this.#name()}`)
  }

  /** Sends a request that is not counted. */
  async #ask<T>(path: string): Promise<T> {
    const response = await fetch(new URL(`/counted${path}`, this.#server.url))
    if (!response.ok) throw new Error(`/counted${path}: ${response.status}`)
    return response.json() as Promise<T>
  }

  async #tallies(): Promise<Tallies> {
    const tallies = await this.#ask<Tallies>('')
    for (const name of tallies.names) this.#names.add(name)
    return tallies
  }

  async #name(): Promise<string> {
    await this.#tallies()
    const [name, ...others] = this.#names
    if (!name || others.length > 0) throw new Error('There is not one session')
    return name
  }

  async #putToSleep(): Promise<void> {
    await this.#tallies()
    for (const name of this.#names) await evict(this.#server, 'McpSession', name, 'hibernate')
    await evict(this.#server, 'McpSubscriptions', 'subscriptions 0', 'hibernate')
  }

  // Requests

  async initialize(): Promise<void> {
    const response = await this.post(
      this.message('initialize', {
        protocolVersion: this.#revision,
        capabilities: { elicitation: {} },
        clientInfo: { name: 'cost', version: '1.0.0' },
      }),
    )
    this.id = response.headers.get('Mcp-Session-Id') ?? undefined
  }

  /** Sends a request with one message as its response. */
  async request(method: string, params: object = {}): Promise<Params> {
    const { result, error } = (await (await this.post(this.message(method, params))).json()) as Answer
    if (!result) throw new Error(`${method}: ${JSON.stringify(error)}`)
    return result
  }

  /** Sends a request with a stream as its response. */
  async stream(method: string, params: object): Promise<Stream> {
    return new Stream(await this.post(this.message(method, params)))
  }

  async notify(method: string, params: object = {}): Promise<void> {
    await this.post({ jsonrpc: '2.0', method, params })
  }

  async answer(id: string, result: object): Promise<void> {
    await this.post({ jsonrpc: '2.0', id, result })
  }

  /** Opens the standing stream, or resumes a stream. */
  async listen(lastEventId?: string): Promise<Stream> {
    const headers = { Accept: 'text/event-stream', ...(lastEventId && { 'Last-Event-ID': lastEventId }) }
    return new Stream(expectOk(await this.#fetch('GET', headers)))
  }

  async end(): Promise<void> {
    expectOk(await this.#fetch('DELETE'))
    this.id = undefined
  }

  /** Sends a request that is answered like one of an unknown session. */
  async refused(Authorization = 'ada'): Promise<void> {
    const { status } = await this.#post(this.message('ping'), { Authorization })
    if (status !== 404) throw new Error(`A session that should be unknown is answered with ${status}`)
  }

  /** Opens an HTTP+SSE session. Later requests are posted to it. */
  async openSse(): Promise<Stream> {
    const stream = new Stream(expectOk(await fetch(new URL('/sse', this.#url))))
    const endpoint = /data: (\S+)/.exec((await stream.until('event: endpoint\ndata: /')).text)?.[1] as string
    this.#url = new URL(endpoint, this.#url)
    return stream
  }

  /** Closes the stream of a session, and waits until its object has handled that. */
  async hangUp(stream: Stream): Promise<void> {
    await stream.close()
    while ((await this.#tallies()).closed === 0) await new Promise((resolve) => setTimeout(resolve, 20))
  }

  message(method: string, params: object = {}): Message {
    const isStateless = this.#revision === statelessRevision
    const envelope = { [protocolVersionKey]: this.#revision, [clientCapabilitiesKey]: { elicitation: {} } }
    const meta = '_meta' in params ? (params._meta as object) : {}
    const enveloped = isStateless ? { ...params, _meta: { ...meta, ...envelope } } : params
    return { jsonrpc: '2.0', id: ++this.lastId, method, params: enveloped }
  }

  async post(message: Message): Promise<Response> {
    return expectOk(await this.#post(message))
  }

  #post(message: Message, more: Record<string, string> = {}): Promise<Response> {
    const isStateless = this.#revision === statelessRevision
    const { method, params } = message
    const headers = {
      'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream',
      ...(isStateless && method !== undefined && { 'Mcp-Method': method }),
      ...(isStateless && params !== undefined && 'name' in params && { 'Mcp-Name': String(params.name) }),
      ...more,
    }
    return this.#fetch('POST', headers, JSON.stringify(message))
  }

  #fetch(method: string, headers: Record<string, string> = {}, body?: string): Promise<Response> {
    const speaks = this.id !== undefined || this.#revision === statelessRevision
    return fetch(this.#url, {
      method,
      headers: {
        ...headers,
        ...(this.id !== undefined && { 'Mcp-Session-Id': this.id }),
        ...(speaks && { 'MCP-Protocol-Version': this.#revision }),
      },
      ...(body !== undefined && { body }),
    })
  }
}

type Message = { jsonrpc: '2.0'; id?: string | number; method?: string; params?: object; result?: object }
type Params = Record<string, unknown>
type Answer = { result?: Params; error?: unknown }

/** The cost of a failed operation is not that of the operation. */
function expectOk(response: Response): Response {
  if (!response.ok) throw new Error(`${response.url}: ${response.status}`)
  return response
}

/** An event stream, as text. */
class Stream {
  text = ''
  readonly #reader: ReadableStreamDefaultReader<string>

  constructor({ headers, body }: Response) {
    if (!headers.get('Content-Type')?.startsWith('text/event-stream')) throw new Error('This is no stream')
    const decoder = new TextDecoderStream() as unknown as ReadableWritablePair<string, Uint8Array>
    this.#reader = (body as ReadableStream<Uint8Array>).pipeThrough(decoder).getReader()
  }

  /** Reads until a text has arrived. */
  async until(text: string): Promise<this> {
    while (!this.text.includes(text)) {
      if (!(await this.#read())) throw new Error(`The stream ended without ${text}: ${this.text}`)
    }
    return this
  }

  async ended(): Promise<void> {
    while (await this.#read());
  }

  /** Reads until two more keep-alive comments have arrived. */
  async keptAlive(): Promise<void> {
    const comments = () => this.text.split(': keep-alive').length
    for (const enough = comments() + 2; comments() < enough; ) await this.#read()
  }

  close(): Promise<void> {
    return this.#reader.cancel()
  }

  async #read(): Promise<boolean> {
    const { done, value } = await this.#reader.read()
    this.text += value ?? ''
    return !done
  }
}

const difference = (more: Tally, less: Tally): Tally =>
  Object.fromEntries(Object.entries(more).map(([unit, number]) => [unit, number - less[unit as keyof Tally]])) as Tally
