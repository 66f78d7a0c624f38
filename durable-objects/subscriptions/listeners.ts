/** The sockets of streams of `subscriptions/listen`, by topic. They hibernate. */
import { type List, splitTopic, withTenant } from '../../worker/protocol/changes.ts'
import { type ChangeLog, retentionMs } from './change-log.ts'
import { changedLists } from './declared-lists.ts'

/**
 * The subscriptions of a socket. `tenantKey` and `subscriber`: see `tenantKey` and `subscriberKey`. `openedAt`: milliseconds since 1970.
 * `position`: the change after which the stream began. Both are absent if the stream was opened with another socket.
 */
export type Attachment = {
  topics: string[]
  tenantKey?: string
  subscriber?: string
  openedAt?: number
  position?: number
}

const topicsIn = ({ topics, tenantKey }: Attachment): string[] => withTenant(topics, tenantKey)

/** Returns a function that says whether a published topic is for this subscriber. */
export function filterOf(attachment: Attachment): (topic: string) => boolean {
  const wanted = new Set(topicsIn(attachment))
  return (topic) => {
    const [prefix, rest] = splitTopic(topic)
    return prefix ? attachment.subscriber?.startsWith(prefix) === true && wanted.has(rest) : wanted.has(topic)
  }
}

/** Returns the texts by which a socket is found: its topics, and its user. */
function keysOf(socket: WebSocket): string[] {
  // `accept` attached it.
  const attachment: Attachment = socket.deserializeAttachment()
  const [, user = []] = /^(user:[\w-]+\/)/.exec(attachment.subscriber ?? '') ?? []
  return [topicsIn(attachment), user].flat()
}

export class Listeners {
  readonly #ctx: DurableObjectState
  readonly #log: ChangeLog
  readonly #lists: () => string | undefined
  /** All sockets, and those of each topic. Built at its first use. */
  #index: { all: Set<WebSocket>; byTopic: Map<string, Set<WebSocket>> } | undefined
  /** Milliseconds since 1970: since when there has been no socket. */
  #idleSince: number | undefined

  /** @param lists returns the declared lists: see `listsText` */
  constructor(ctx: DurableObjectState, log: ChangeLog, lists: () => string | undefined) {
    this.#ctx = ctx
    this.#log = log
    this.#lists = lists
  }

  get all(): WebSocket[] {
    return [...this.#sockets.all]
  }

  get count(): number {
    return this.#sockets.all.size
  }

  /**
   * Whether a listener may open another stream.
   *
   * @param most the maximum number of its streams
   * @param mostOfAll the maximum number of all streams
   */
  hasRoom(listener: string | undefined, most: number, mostOfAll: number): boolean {
    if (this.count >= mostOfAll) return false
    return !listener || this.#ctx.getWebSockets(listener).length < most
  }

  /** Accepts a socket for hibernation. */
  accept(socket: WebSocket, tags: string[], attachment: Attachment): void {
    const { kv } = this.#ctx.storage
    if (!kv.get('listeners')) kv.put('listeners', this.#lists() ?? true)
    this.#ctx.acceptWebSocket(socket, tags)
    socket.serializeAttachment(attachment)
    addTo(this.#sockets, socket, keysOf(socket))
    this.#idleSince = undefined
  }

  /** Stores the declared lists. @param announce publishes each list that a deployment has changed while there were sockets */
  updateLists(announce: (list: List) => void): void {
    const { kv } = this.#ctx.storage
    const lists = this.#lists()
    // `true`: the isolate had no endpoint of the server.
    const before = kv.get<string | true>('listeners')
    if (lists === undefined || before === undefined || before === lists) return
    if (before !== true) for (const list of changedLists(before, lists)) announce(list)
    // Afterwards: what the storage refuses is announced again.
    kv.put('listeners', lists)
  }

  remove(socket: WebSocket): void {
    if (!this.#index?.all.delete(socket)) return
    for (const topic of keysOf(socket)) {
      const sockets = this.#index.byTopic.get(topic)
      if (sockets?.delete(socket) && sockets.size === 0) this.#index.byTopic.delete(topic)
    }
  }

  /** Returns the sockets that have subscribed to one of the topics, each once. */
  to(topics: readonly string[]): WebSocket[] {
    const { byTopic } = this.#sockets
    const socketsOf = (topic: string) => {
      const [prefix] = splitTopic(topic)
      if (!prefix) return [...(byTopic.get(topic) ?? [])]
      const [user = ''] = /^user:[\w-]+\//.exec(prefix) ?? []
      return [...(byTopic.get(user) ?? [])].filter((socket) => filterOf(socket.deserializeAttachment())(topic))
    }
    return [...new Set(topics.flatMap(socketsOf))]
  }

  /** Whether changes have to be logged: there is a socket, or one may reconnect. */
  needLog(now: number): boolean {
    const { kv } = this.#ctx.storage
    if (this.count > 0) this.#idleSince = undefined
    else this.#idleSince ??= now
    if (this.#idleSince === undefined) return true
    if (!kv.get('listeners')) return false
    if (now - this.#idleSince < retentionMs) return true
    this.#log.markGap(now)
    kv.delete('listeners')
    return false
  }

  get #sockets() {
    if (!this.#index) {
      this.#index = { all: new Set(), byTopic: new Map() }
      for (const socket of this.#ctx.getWebSockets()) {
        addTo(this.#index, socket, keysOf(socket))
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
