/** A conversation within a session: one call, whose questions come on a stream. */
import type { Event } from '../../../worker/client/event-stream-reader.ts'
import { events } from '../../../worker/client/wire.ts'
import {
  type Asked,
  answerTo,
  type Conversation,
  callOf,
  type Ended,
  endOf,
  messageOf,
  type Trip,
} from './conversation.ts'

type Message = Asked & Ended & { id?: string | number; params?: { data?: string; requestId?: string } }

type Way = {
  revision: string
  /** What the client can be asked. */
  capabilities: object
  /** The transport of 2024-11-05: the stream is the session. */
  overSse?: boolean
  /** It has no connection while anything happens. */
  leaves?: boolean
}

/** Whoever comes back this often for a few events is sent in circles. */
const mostReturns = 9
/** Milliseconds that the next event may take. */
const patience = 60_000

export class SessionConversation implements Conversation {
  readonly traveller: string
  readonly heard: string[] = []
  end: string | undefined
  returns = 0
  readonly #url: URL
  readonly #trip: Trip
  readonly #way: Way
  /** Ends the stream. */
  #stop = new AbortController()
  readonly #headers: Record<string, string> = {
    'Content-Type': 'application/json',
    Accept: 'application/json, text/event-stream',
  }
  /** Where to post. */
  #endpoint: URL
  #stream: AsyncGenerator<Event> | undefined
  #lastEvent: string | undefined
  #open: Message[] = []
  /** Texts of events, by their ids. */
  readonly #events = new Map<string, string>()

  constructor(url: URL, trip: Trip, way: Way) {
    this.#url = url
    this.#endpoint = url
    this.#trip = trip
    this.traveller = trip.traveller
    this.#way = way
  }

  async begin(): Promise<void> {
    const { revision: protocolVersion, capabilities, overSse } = this.#way
    if (overSse) {
      this.#stream = events(await fetch(new URL('/sse', this.#url), { signal: this.#stop.signal }))
      this.#endpoint = new URL((await this.#stream.next()).value?.data as string, this.#url)
    }
    const clientInfo = { name: 'survival', version: '1' }
    const params = { protocolVersion, capabilities, clientInfo }
    const opened = await this.#post({ id: 0, method: 'initialize', params })
    await opened.body?.cancel()
    if (overSse) await this.#hear(({ id }) => id === 0)
    else {
      this.#headers['Mcp-Session-Id'] = opened.headers.get('Mcp-Session-Id') as string
      this.#headers['MCP-Protocol-Version'] = protocolVersion
    }
    const called = await this.#post({ id: 1, method: 'tools/call', params: callOf(this.#trip) }, this.#stop.signal)
    if (!overSse) this.#stream = events(called)
    const questions = this.#trip.shape === 'at once' ? 2 : 1
    await this.#hear(() => this.#open.length === questions)
  }

  get leaves(): boolean {
    return this.#way.leaves === true && this.end === undefined && !this.#stop.signal.aborted
  }

  leave(): void {
    this.#stop.abort()
  }

  async answer(): Promise<void> {
    const asked = this.#open.shift() as Message
    const { status, body } = await this.#post({ id: asked.id, result: answerTo(asked) })
    await body?.cancel()
    if (status !== 202) this.heard.push(`is answered with ${status}`)
    if (this.#open.length === 0) await this.#hear(() => this.#open.length > 0)
  }

  async finish(): Promise<void> {
    if (this.end === undefined) await this.#hear(() => false)
    // Over HTTP+SSE the stream goes on with the session.
    if (!this.#way.overSse && (await this.#read())) this.heard.push('goes on after its end')
  }

  async again(): Promise<boolean | undefined> {
    // Whoever comes back takes the place of the connection before, which is to be kept meanwhile.
    if (this.#way.overSse || this.end === undefined) return undefined
    const [[first], ...rest] = [...this.#events] as [[string, string]]
    const replayed: [string, string][] = []
    for await (const { id = '', data } of events(await this.#resume(first))) if (data !== '') replayed.push([id, data])
    return JSON.stringify(replayed) === JSON.stringify(rest)
  }

  async close(): Promise<void> {
    this.#stop.abort()
    await this.#stream?.return(undefined).catch(() => {})
  }

  /** Hears until the end, or until something else is so. */
  async #hear(until: (message: Message) => boolean): Promise<void> {
    for (;;) {
      const event = await this.#read()
      if (!event) {
        if (this.end === undefined) await this.#comeBack()
        if (this.end !== undefined) return
        continue
      }
      this.#lastEvent = event.id ?? this.#lastEvent
      if (event.data === '') continue
      const message = JSON.parse(event.data) as Message
      const id = String(event.id)
      this.heard.push(`${id} ${this.#events.has(id) ? 'again ' : ''}${this.#note(message)}`)
      this.#events.set(id, event.data)
      if (this.end !== undefined || until(message)) return
    }
  }

  #note(message: Message): string {
    const { id, method, params } = message
    if (method === 'notifications/message') return `says ${params?.data}`
    if (method === 'notifications/cancelled') {
      this.#open = this.#open.filter((asked) => asked.id !== params?.requestId)
      return 'withdraws'
    }
    if (method !== undefined) {
      this.#open.push(message)
      return `asks ${messageOf(message)}`
    }
    if (id === 0) return 'welcomes'
    this.end = endOf(message)
    return 'ends'
  }

  /** `undefined`: the stream has ended, or is lost. */
  async #read(): Promise<Event | undefined> {
    const timer = setTimeout(() => {
      this.end = 'nothing comes'
      this.#stop.abort()
    }, patience)
    try {
      return (await this.#stream?.next())?.value || undefined
    } catch {
      return undefined
    } finally {
      clearTimeout(timer)
    }
  }

  async #comeBack(): Promise<void> {
    if (this.#way.overSse) {
      this.end = 'its stream is lost'
      return
    }
    this.returns += 1
    if (this.returns > mostReturns) throw new Error(`${this.traveller} came back too often`)
    const response = await this.#resume(this.#lastEvent)
    if (response.status === 200) this.#stream = events(response)
    else this.end = endOf((await response.json()) as Ended)
  }

  #resume(after: string | undefined): Promise<Response> {
    this.#stop = new AbortController()
    const headers = { ...this.#headers, Accept: 'text/event-stream', ...(after && { 'Last-Event-ID': after }) }
    return fetch(this.#url, { headers, signal: this.#stop.signal })
  }

  #post(message: object, signal: AbortSignal | null = null): Promise<Response> {
    const body = JSON.stringify({ jsonrpc: '2.0', ...message })
    return fetch(this.#endpoint, { method: 'POST', headers: this.#headers, body, signal })
  }
}
