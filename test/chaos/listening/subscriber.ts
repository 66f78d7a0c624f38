/** A session whose client listens on its standing stream, goes and returns, and subscribes to resources. */
import assert from 'node:assert/strict'
import type { IncomingMessage } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { bodyOf } from '../session.ts'
import type { Book, Hearer } from './book.ts'
import { topicOf } from './listener.ts'
import { ttl } from './ttl.ts'
import { heardOn, send } from './wire.ts'

const lists = ['tools', 'prompts', 'resources']
/** How often a request is sent that meets an object, or a process, that is being lost. */
const mostTries = 40

/** A client that was away for longer than sessions live, as on a machine that restarts slowly, has lost its session. */
export class SessionExpired extends Error {}

export class Subscriber implements Hearer {
  readonly kind = 'session'
  readonly name: string
  readonly #url: URL
  readonly #book: Book
  readonly #headers: Record<string, string>
  /** Resolves when the server is there. */
  readonly #up: () => Promise<void>
  #stream: IncomingMessage | undefined
  /** Milliseconds since 1970: when its last stream broke, or was dropped. */
  #awaySince = Date.now()
  #last: number | undefined
  /** What it must hear of, since when in milliseconds, and what it may. */
  readonly #sure = new Map<string, number>()
  readonly #possible = new Set<string>()
  /** When it was told that a subscription is over. */
  readonly #until = new Map<string, number>()
  #requests = 0

  private constructor(url: URL, session: string, book: Book, up: () => Promise<void>) {
    this.name = `session ${session.slice(-6)}`
    this.#url = url
    this.#headers = { 'Mcp-Session-Id': session, 'MCP-Protocol-Version': '2025-11-25' }
    this.#book = book
    this.#up = up
  }

  static async arrive(url: URL, book: Book, up: () => Promise<void>): Promise<Subscriber> {
    const params = {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 'subscriber', version: '1' },
    }
    const opened = await send(url, { method: 'POST', message: { id: 0, method: 'initialize', params } })
    const text = await bodyOf(opened)
    assert.equal(opened.statusCode, 200, text)
    return new Subscriber(url, String(opened.headers['mcp-session-id']), book, up)
  }

  get subscriptions(): string[] {
    return [...this.#sure.keys()].filter((topic) => !lists.includes(topic))
  }

  get isAway(): boolean {
    return this.#stream === undefined
  }

  expects(topic: string): boolean {
    return this.#sure.has(topic)
  }

  canSubscribe(topic: string, began: number): boolean {
    return this.#possible.has(topic) || (this.#until.get(topic) ?? 0) > began
  }

  since(topic: string): number {
    return this.#sure.get(topic) ?? Date.now()
  }

  /** Listens, from where it was. */
  async return(): Promise<void> {
    for (const list of lists) this.#possible.add(list)
    for (let tries = 1; ; tries++) {
      await this.#up()
      try {
        const headers: Record<string, string> = { ...this.#headers, Accept: 'text/event-stream' }
        if (this.#last !== undefined) headers['Last-Event-ID'] = `0.${this.#last}`
        const stream = await send(this.#url, { method: 'GET', headers })
        if (stream.statusCode !== 200) {
          const answer = `${stream.statusCode} ${await bodyOf(stream)}`
          const awayMs = Date.now() - this.#awaySince
          if (awayMs > ttl) throw new SessionExpired(`${this.name} was away for ${awayMs} ms: ${answer}`)
          throw new Error(`${this.name} was away for ${awayMs} ms: ${answer}`)
        }
        this.#stream = stream
        const { promise, resolve } = Promise.withResolvers<boolean>()
        this.#read(stream, () => resolve(true)).finally(() => resolve(false))
        // The first time an event without a message says where it begins: from then on it can be gone on with.
        if (this.#last !== undefined || (await promise)) break
      } catch (problem) {
        if (tries === mostTries || problem instanceof SessionExpired) throw problem
      }
      await sleep(100)
    }
    for (const list of lists) if (!this.#sure.has(list)) this.#sure.set(list, Date.now())
    this.#book.hearers.add(this)
  }

  /** Drops its stream. What it misses is kept for it. */
  away(): void {
    const stream = this.#stream
    this.cut()
    stream?.destroy()
  }

  /** From now on its stream may break at any time. */
  cut(): void {
    if (this.#stream) this.#awaySince = Date.now()
    this.#stream = undefined
  }

  async subscribe(uri: string): Promise<void> {
    this.#possible.add(uri)
    await this.#ask('resources/subscribe', { uri })
    if (!this.#sure.has(uri)) this.#sure.set(uri, Date.now())
  }

  async unsubscribe(uri: string): Promise<void> {
    this.#sure.delete(uri)
    await this.#ask('resources/unsubscribe', { uri })
    this.#possible.delete(uri)
    this.#until.set(uri, Date.now())
  }

  /** Goes without a word. */
  abandon(): void {
    this.#sure.clear()
    this.#book.hearers.delete(this)
    this.away()
  }

  async end(): Promise<void> {
    this.abandon()
    for (let tries = 1; tries <= mostTries; tries++) {
      await this.#up()
      const answer = await send(this.#url, { method: 'DELETE', headers: this.#headers }).catch(() => undefined)
      answer?.resume()
      if (answer?.statusCode === 204 || answer?.statusCode === 404) return
      await sleep(100)
    }
    throw new Error(`${this.name} cannot be ended`)
  }

  async #ask(method: string, params: object): Promise<void> {
    let said = ''
    for (let tries = 1; tries <= mostTries; tries++) {
      await this.#up()
      try {
        this.#requests += 1
        const message = { id: this.#requests, method, params }
        const answer = await send(this.#url, { method: 'POST', headers: this.#headers, message })
        said = `${answer.statusCode} ${await bodyOf(answer)}`
        if (answer.statusCode === 200 && said.includes('"result"')) return
        if (answer.statusCode === 404) break
      } catch (problem) {
        said = String(problem)
      }
      await sleep(100)
    }
    throw new Error(`${this.name}: ${method} was answered with ${said}`)
  }

  async #read(stream: IncomingMessage, begun: () => void): Promise<void> {
    try {
      for await (const { id, message } of heardOn(stream)) {
        if (stream !== this.#stream) return
        const seq = Number(/^0\.(\d+)$/.exec(id ?? '')?.[1])
        if (message) {
          if (seq !== (this.#last ?? 0) + 1) this.#book.problem(`${this.name} heard event ${seq} after ${this.#last}`)
          const { method, params } = message as { method: string; params?: { uri: string } }
          this.#book.hear(this, topicOf(method, params?.uri ?? ''))
        }
        this.#last = seq
        begun()
      }
      if (stream === this.#stream) this.#book.problem(`The stream of ${this.name} was ended`)
    } catch (problem) {
      if (stream === this.#stream) this.#book.problem(`The stream of ${this.name} broke: ${problem}`)
    }
    if (stream === this.#stream) this.cut()
  }
}
