/** A stream of changes of a client without sessions, from its acknowledgement until it is left, cut or ended. */
import assert from 'node:assert/strict'
import type { IncomingMessage } from 'node:http'
import { bodyOf } from '../session.ts'
import type { Audience, Hearer } from './book.ts'
import { heardOn, send } from './wire.ts'

export type Filter = {
  toolsListChanged?: true
  promptsListChanged?: true
  resourcesListChanged?: true
  resourceSubscriptions?: string[]
}

/** Milliseconds for which changes are kept: the stream of one who has heard nothing for longer may be ended. */
const keptFor = 5 * 60_000
const prefix = 'io.modelcontextprotocol/'
let streams = 0

export class Listener implements Hearer {
  readonly kind = 'listener'
  readonly name: string
  /** Resolves when it is over, however. */
  readonly over: Promise<void>
  /** It was told that it may have missed something. */
  isDismissed = false
  readonly #response: IncomingMessage
  readonly #filter: Filter
  readonly #audience: Audience
  #isLive = false
  #heardAt = Date.now()

  private constructor(
    response: IncomingMessage,
    filter: Filter,
    audience: Audience,
    { id, acknowledged = () => {} }: Opening,
  ) {
    this.name = `listener ${id} of ${JSON.stringify(filter)}`
    this.#response = response
    this.#filter = filter
    this.#audience = audience
    this.over = this.#read(id, acknowledged)
  }

  /** Resolves when it listens. @throws Error when nobody answers, or something else */
  static async open(url: URL, filter: Filter, audience: Audience): Promise<Listener> {
    streams += 1
    const id = streams
    const method = 'subscriptions/listen'
    // One network for each, so that they are spread over the objects.
    const address = `10.${streams >> 8}.${streams & 255}.1`
    const _meta = { [`${prefix}protocolVersion`]: '2026-07-28', [`${prefix}clientCapabilities`]: {} }
    const response = await send(url, {
      method: 'POST',
      headers: { 'MCP-Protocol-Version': '2026-07-28', 'Mcp-Method': method, 'CF-Connecting-IP': address },
      message: { id, method, params: { notifications: filter, _meta } },
    })
    if (response.statusCode !== 200) throw new Error(`Listening: ${response.statusCode} ${await bodyOf(response)}`)
    const { promise, resolve } = Promise.withResolvers<void>()
    const listener = new Listener(response, filter, audience, { id, acknowledged: resolve })
    await Promise.race([promise, listener.over])
    return listener
  }

  expects(topic: string): boolean {
    return this.#isLive && this.canSubscribe(topic)
  }

  canSubscribe(topic: string): boolean {
    const { resourceSubscriptions: uris = [], ...lists } = this.#filter
    if (!topic.includes(':')) return `${topic}ListChanged` in lists
    return uris.includes(topic) || (topic.startsWith('note:') && uris.includes('note://{id}'))
  }

  /** Nothing that was announced before it listened is sent to it. */
  since(): number {
    return 0
  }

  leave(): void {
    this.cut()
    this.#response.destroy()
  }

  /** From now on it may break at any time. */
  cut(): void {
    this.#isLive = false
    this.#audience.hearers.delete(this)
  }

  async #read(id: number, acknowledged: () => void): Promise<void> {
    try {
      for await (const { message } of heardOn(this.#response)) {
        const { method, params, result } = message as Partial<Record<'method' | 'params' | 'result', unknown>>
        if (result) {
          this.isDismissed = this.#isLive && Date.now() - this.#heardAt > keptFor
          if (this.isDismissed) this.cut()
          continue
        }
        const { notifications, uri, _meta } = params as Record<string, Record<string, unknown> | undefined>
        assert.equal(_meta?.[`${prefix}subscriptionId`], id)
        if (method === 'notifications/subscriptions/acknowledged') {
          assert.deepEqual(notifications, this.#filter)
          this.#isLive = true
          this.#audience.hearers.add(this)
          acknowledged()
          continue
        }
        if (!this.#isLive) continue
        this.#heardAt = Date.now()
        this.#audience.hear(this, topicOf(method as string, uri as unknown as string))
      }
    } catch (problem) {
      if (this.#isLive) this.#audience.problem(`${this.name} broke: ${problem}`)
    }
    if (this.#isLive) this.#audience.problem(`${this.name} was ended`)
    this.cut()
  }
}

type Opening = { id: number; acknowledged: () => void }

/** What a notification is about. */
export function topicOf(method: string, uri: string): string {
  if (method === 'notifications/resources/updated') return uri
  const [, list] = /^notifications\/(\w+)\/list_changed$/.exec(method) ?? []
  assert.ok(list, `Not a change: ${method}`)
  return list
}
