/** The sockets of streams of `subscriptions/listen`, by topic. They hibernate. */
import { withTenant } from '../../worker/protocol/changes.ts'
import { type ChangeLog, retentionMs } from './change-log.ts'

/** The subscriptions of a socket. `tenantKey`: see the function of that name. */
export type Attachment = { topics: string[]; tenantKey?: string }

export const topicsIn = ({ topics, tenantKey }: Attachment): string[] => withTenant(topics, tenantKey)

export class Listeners {
  readonly #ctx: DurableObjectState
  readonly #log: ChangeLog
  /** All sockets, and those of each topic. Built at its first use. */
  #index: { all: Set<WebSocket>; byTopic: Map<string, Set<WebSocket>> } | undefined
  /** Milliseconds since 1970: since when there has been no socket. */
  #idleSince: number | undefined

  constructor(ctx: DurableObjectState, log: ChangeLog) {
    this.#ctx = ctx
    this.#log = log
  }

  get count(): number {
    return this.#sockets.all.size
  }

  /** Returns the number of sockets with a tag. */
  countOf(tag: string): number {
    return this.#ctx.getWebSockets(tag).length
  }

  /** Accepts a socket for hibernation. */
  accept(socket: WebSocket, tags: string[], attachment: Attachment): void {
    this.#ctx.acceptWebSocket(socket, tags)
    socket.serializeAttachment(attachment)
    addTo(this.#sockets, socket, topicsIn(attachment))
    const { kv } = this.#ctx.storage
    if (!kv.get('listeners')) kv.put('listeners', true)
  }

  remove(socket: WebSocket): void {
    if (!this.#index?.all.delete(socket)) return
    for (const topic of topicsIn(socket.deserializeAttachment())) {
      const sockets = this.#index.byTopic.get(topic)
      if (sockets?.delete(socket) && sockets.size === 0) this.#index.byTopic.delete(topic)
    }
  }

  /** Returns the sockets that have subscribed to one of the topics, each once. */
  to(topics: readonly string[]): WebSocket[] {
    const { byTopic } = this.#sockets
    return [...new Set(topics.flatMap((topic) => [...(byTopic.get(topic) ?? [])]))]
  }

  /** Whether changes have to be logged: there is a socket, or one may reconnect. */
  needLog(now: number): boolean {
    const { kv } = this.#ctx.storage
    if (this.count > 0) this.#idleSince = undefined
    else this.#idleSince ??= now
    if (this.#idleSince === undefined) return true
    if (!kv.get('listeners')) return false
    if (now - this.#idleSince < retentionMs) return true
    kv.delete('listeners')
    this.#log.markGap(now)
    return false
  }

  get #sockets() {
    if (!this.#index) {
      this.#index = { all: new Set(), byTopic: new Map() }
      for (const socket of this.#ctx.getWebSockets()) {
        addTo(this.#index, socket, topicsIn(socket.deserializeAttachment()))
      }
    }
    return this.#index
  }
}

function addTo(
  { all, byTopic }: { all: Set<WebSocket>; byTopic: Map<string, Set<WebSocket>> },
  socket: WebSocket,
  topics: readonly string[],
): void {
  all.add(socket)
  for (const topic of topics) {
    const sockets = byTopic.get(topic)
    if (sockets) sockets.add(socket)
    else byTopic.set(topic, new Set([socket]))
  }
}
