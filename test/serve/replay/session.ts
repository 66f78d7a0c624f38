/** A session of the model: what its calls must say, and the requests that let them. */
import type { ServerWithObjects } from '../../support/objects.ts'
import { type Line, Stream } from './stream.ts'

export type Step = 'report' | 'log' | 'ask' | 'ask together' | 'wait' | 'leave'

export type Call = {
  id: number | string
  /** In front of everything it says. */
  name: string
  steps: Step[]
  /** It may be run again when it was lost. */
  isSafeToRetry: boolean
  stream: Stream
  /** The step it has come to. */
  at: number
  /** Questions without an answer. */
  open: string[]
  isWaiting: boolean
}

export class Session implements Line {
  readonly name: string
  readonly polling: boolean
  readonly calls: Call[] = []
  readonly standing: Stream
  /** Notes it has subscribed to. */
  readonly notes = new Set<string>()
  /** It has had a standing stream, and from then on everything that belongs on it is kept. */
  isListening = false
  /** Its sockets were cut once; the Worker dials again when it likes. */
  wasCut = false
  readonly #endpoint: ServerWithObjects
  readonly #revision: string
  readonly #fail: (problem: string) => void
  readonly #headers: Record<string, string> = {
    'Content-Type': 'application/json',
    Accept: 'application/json, text/event-stream',
  }
  /** What the client was asked, by the ids of the questions. */
  readonly #asked = new Map<string, string>()
  /** Requests so far, for their ids. */
  #asks = 0
  #isAsleep = false

  constructor(name: string, revision: string, endpoint: ServerWithObjects, fail: (problem: string) => void) {
    this.name = name
    this.polling = revision >= '2025-11-25'
    this.#endpoint = endpoint
    this.#revision = revision
    this.#fail = fail
    this.standing = new Stream(`the standing stream of ${name}`, this)
  }

  fail(problem: string): void {
    this.#fail(problem)
  }

  get streams(): Stream[] {
    return [this.standing, ...this.calls.map(({ stream }) => stream)]
  }

  // What is sent

  async open(notes: readonly string[]): Promise<void> {
    const clientInfo = { name: 'replay', version: '1.0.0' }
    const params = { protocolVersion: this.#revision, capabilities: { elicitation: {} }, clientInfo }
    const response = await this.post({ id: 'open', method: 'initialize', params })
    await response.text()
    const id = response.headers.get('Mcp-Session-Id') as string
    this.#headers['Mcp-Session-Id'] = id
    this.#headers['MCP-Protocol-Version'] = this.#revision
    for (const note of notes) {
      await this.ask('resources/subscribe', { uri: `note://${note}` })
      this.notes.add(note)
    }
  }

  post(message: object, signal?: AbortSignal): Promise<Response> {
    const body = JSON.stringify({ jsonrpc: '2.0', ...message })
    return fetch(this.#endpoint.url, { method: 'POST', headers: this.#headers, body, signal: signal ?? null })
  }

  get(after: string | undefined, signal: AbortSignal): Promise<Response> {
    const headers = { ...this.#headers, ...(after !== undefined && { 'Last-Event-ID': after }) }
    return fetch(this.#endpoint.url, { headers, signal })
  }

  /** How a GET is answered that is not answered with a stream. */
  async statusAfter(id: string): Promise<number> {
    const stop = new AbortController()
    const { status } = await this.get(id, stop.signal)
    stop.abort()
    return status
  }

  /** A quick request. */
  async ask(method: string, params: object): Promise<void> {
    this.#asks += 1
    const response = await this.post({ id: `quick ${this.#asks}`, method, params })
    const text = await response.text()
    if (!('result' in JSON.parse(text))) this.fail(`${method} is answered ${response.status} ${text}`)
  }

  /** A message without an answer of its own. */
  async tell(message: object): Promise<void> {
    const { status } = await this.post(message)
    if (status !== 202) this.fail(`${JSON.stringify(message)} is answered ${status}`)
  }

  async wake(): Promise<void> {
    if (!this.#isAsleep) return
    this.#isAsleep = false
    await this.ask('ping', {})
  }

  async end(): Promise<void> {
    const { status } = await fetch(this.#endpoint.url, { method: 'DELETE', headers: this.#headers })
    if (status !== 204) this.fail(`the end of ${this.name} is answered ${status}`)
  }

  // What the model makes of it

  add(call: Pick<Call, 'id' | 'name' | 'steps' | 'isSafeToRetry'>): Call {
    const stream = new Stream(`the stream of ${call.name}`, this)
    const added: Call = { ...call, stream, at: 0, open: [], isWaiting: false }
    this.calls.push(added)
    return added
  }

  /** A call goes on, until it asks, waits or ends. Returns the last event before it first sent its client away. */
  advance(call: Call): number | undefined {
    const { name, steps, stream } = call
    let awayAfter: number | undefined
    call.isWaiting = false
    for (; call.at < steps.length; call.at++) {
      const { at } = call
      const step = steps[at]
      if (step === 'report') stream.carries.push(`reports ${name}: ${at} of ${steps.length}, ${name} ${at}`)
      if (step === 'log') stream.carries.push(`logs ${name} ${at}`)
      if (step === 'leave' && this.polling) {
        awayAfter ??= stream.last
        this.#sendAway(stream)
      }
      if (step === 'ask') call.open = [`${name} ${at}`]
      if (step === 'ask together') call.open = [`${name} ${at}a`, `${name} ${at}b`]
      if (call.open.length > 0) {
        stream.carries.push(...call.open.map((question) => `asks ${question}`))
      }
      call.isWaiting = step === 'wait'
      if (call.open.length > 0 || call.isWaiting) {
        call.at += 1
        return awayAfter
      }
    }
    stream.carries.push(`answers ${call.id} with ${name} is done`)
    stream.isOver = true
    return awayAfter
  }

  #sendAway(stream: Stream): void {
    const { connection } = stream
    if (!connection || connection.endsAfter !== undefined) return
    // Its Worker may be dialling again, and then there is nobody to send away.
    if (this.wasCut) {
      stream.excuses += 1
      return
    }
    connection.endsAfter = stream.last
    connection.isSentAway = true
  }

  /** What the object had in memory is lost; what it said, asked and was answered is not. */
  async evict(webSockets: 'close' | 'hibernate', times = 1): Promise<void> {
    for (const { connection } of this.streams) if (connection?.endsAfter !== undefined) await connection.untilEnd()
    // Only an object that is there can be lost.
    this.#isAsleep = true
    await this.wake()
    if (webSockets === 'close') {
      this.wasCut = true
      for (const stream of this.streams) stream.excuses += times * stream.left
    }
    for (let time = 0; time < times; time++)
      await this.#endpoint.evict({ session: this.#headers['Mcp-Session-Id'] }, { webSockets })
    this.#isAsleep = true
  }

  telling(message: object): string {
    const { id, method, params, result, error } = message as Record<string, never> as {
      id?: number | string
      method?: string
      params?: Record<string, unknown>
      result?: { content: { text: string }[] }
      error?: { data: { reason: string; retryable: boolean } }
    }
    switch (method) {
      case 'notifications/progress':
        return `reports ${params?.progressToken}: ${params?.progress} of ${params?.total}, ${params?.message}`
      case 'notifications/message':
        return `logs ${params?.data}`
      case 'notifications/resources/updated':
        return `changes ${params?.uri}`
      case 'notifications/cancelled':
        return `withdraws ${this.#asked.get(String(params?.requestId))}`
      case 'elicitation/create': {
        this.#asked.set(String(id), String(params?.message))
        return `asks ${params?.message}`
      }
    }
    if (result) return `answers ${id} with ${result.content[0]?.text}`
    const { reason, retryable } = error?.data ?? {}
    return error ? `fails ${id}: ${reason}, ${retryable ? 'try again' : 'for good'}` : JSON.stringify(message)
  }

  /** The id under which the client was asked. */
  idOf(question: string): string | undefined {
    return [...this.#asked].find(([, asked]) => asked === question)?.[0]
  }
}
