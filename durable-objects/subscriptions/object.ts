/**
 * Who wants to hear of changes.
 *
 * There is one such object, or as many as the option `shards` of `subscriptions()` says: each listener and each session belongs to one
 * of them. A change is published to the first, which hands it on to the next sixteen, and so on. Each writes it down
 * before it says that it has it.
 *
 * Listeners of stateless clients are hibernatable sockets; their topics are the socket's attachment (`Attachment`). Sessions are rows:
 *
 * | table           | column             | meaning                                                    | lifetime                   |
 * |-----------------|--------------------|------------------------------------------------------------|----------------------------|
 * | `subscriptions` | `topic`, `session` | the session with this `sessionAddress` subscribes to a topic | until it unsubscribes or ends |
 *
 * | key         | meaning                                                        | lifetime                       |
 * |-------------|----------------------------------------------------------------|--------------------------------|
 * | `shards`    | how many objects there are; first object                       | as the server: it only grows   |
 * | `enabledOverrides`    | what was enabled or disabled while the server ran; first object | as the server                 |
 * | `unannounced` | `Unannounced`: lists whose change by `setEnabled` has not been published everywhere yet, by topic; first object | until it has |
 * | `joined`    | the first object knows of this one                             | as the server                  |
 * | `listeners` | somebody listens, or did a moment ago                          | until nobody has for `keptFor` |
 * | `pruned`    | the last change that is not kept any more                      | as the server                  |
 *
 * A session that has subscribed to resources has one more row, whose `topic` names its caller (`callerPrefix`): nothing is published to it.
 *
 * For `changes` see `change-log.ts`.
 */

import { networkOf } from '../../worker/protocol/address.ts'
import { bounds } from '../../worker/protocol/bounds.ts'
import { type ServerEvent, withTenant } from '../../worker/protocol/changes.ts'
import { relayMessage } from '../../worker/protocol/relay-messages.ts'
import { Keys } from '../keys.ts'
import type { SessionRpc, Shards, Subscriber, SubscriptionsRpc } from '../rpc.ts'
import { Tables } from '../shared/tables.ts'
import { ChangeLog, changesSchema, retentionMs } from './change-log.ts'
import { Outbox } from './outbox.ts'

/** How many may listen, and how they are spread. */
export type SubscriptionsOptions = {
  /** Objects that listeners are spread over. Default 1; may be raised at any time, never lowered. */
  shards: number
  /** Streams of changes that one object holds. Default 10,000. */
  listeners: number
  /** Streams of changes that one principal may hold. Default 100. */
  listenersEach: number
  /** Streams of changes that clients without a principal may hold from one IPv4 address or /64 network of IPv6. Default 100. */
  listenersPerAddress: number
  /**
   * Bytes of storage beyond which an object takes no more subscriptions to resources. Beyond half of them, it takes none of a principal
   * with `listenersEach` other sessions that have subscribed, or of an address with `listenersPerAddress`. Default 1 GiB.
   */
  storageBytes: number
}

export type SubscriptionsHost = {
  readonly options: SubscriptionsOptions
  readonly shards: Shards
  /** @param address see `sessionAddress` */
  session(address: string): SessionRpc
  report(problem: unknown): void
}

const schema = `
  CREATE TABLE subscriptions (topic TEXT, session TEXT, PRIMARY KEY (topic, session)) WITHOUT ROWID;
  CREATE INDEX by_session ON subscriptions (session);
  ${changesSchema}
`
/** How many objects one hands a change on to. */
const fanOut = 16
/** Milliseconds in which the same change is told only once more. */
const coalesceMs = 100
/** Sessions that are told at once, and how often before others get a turn. */
const [sessionsPerBatch, batchesPerAlarm] = [100, 5]
/** How often a session that does not answer is told, and for how many milliseconds it is waited for. */
const [attempts, deliveryTimeoutMs] = [4, 5_000]
/** Milliseconds after which what is left undone is gone on with. */
const retryAfter = 10_000

/** Headers of the request that opens a relay. */
export const topicsHeader = 'Edgemcp-Topics'
/** See `tenantKey`. */
export const tenantKeyHeader = 'Edgemcp-Tenant-Key'
/** How `?listener=` begins for a client without a principal; its network follows. */
export const anonymousListener = 'address '

/** How the topics of resources begin that are for everybody: each subscription to a resource has one. */
const resourcePrefix = 'resource:'

/** How the row begins that names the caller of a session: no topic does. */
const callerPrefix = 'caller:'
const addressPrefix = `${callerPrefix}${anonymousListener}`

/** `undefined` where there is neither a principal nor an address. */
const callerTopic = ({ principal, address }: Subscriber): string | undefined =>
  principal ? callerPrefix + principal : address ? addressPrefix + networkOf(address) : undefined

/** `version`: tells a change from a later one of the same topic. */
type Unannounced = Readonly<Record<string, { change: ServerEvent; topics: readonly string[]; version: number }>>

/** What a socket listens to. `tenantKey`: see there. */
type Attachment = { topics: string[]; tenantKey?: string }

const topicsIn = ({ topics, tenantKey }: Attachment): string[] => withTenant(topics, tenantKey)

export class SubscriptionsObject extends Keys implements SubscriptionsRpc {
  readonly #host: SubscriptionsHost
  readonly #tables: Tables
  readonly #log: ChangeLog
  readonly #outbox = new Outbox()
  /** All sockets, and those of each topic. Made when it is first needed. */
  #sockets: { all: Set<WebSocket>; byTopic: Map<string, Set<WebSocket>> } | undefined
  /** When a change was last told, by its first topic. */
  readonly #told = new Map<string, number>()
  /** Changes that are told in a moment, by their first topic: where they are logged. */
  readonly #waiting = new Map<string, number>()
  #isTelling = false
  #isNew = true
  /** Milliseconds: since when nobody has listened. */
  #idleSince: number | undefined

  constructor(ctx: DurableObjectState, env: never, host: SubscriptionsHost) {
    super(ctx, env)
    this.#host = host
    this.#tables = new Tables(ctx.storage.sql, 'subscriptions', schema)
    this.#log = new ChangeLog(this.#tables, ctx.storage.kv)
  }

  async publish(change: ServerEvent, topics: readonly string[], shards?: number): Promise<void> {
    this.schema.check()
    const count = shards ?? this.ctx.storage.kv.get<number>('shards') ?? 1
    this.#accept(JSON.stringify(change), topics)
    const first = this.#shard * fanOut + 1
    const next = Array.from({ length: Math.min(fanOut, count - first) }, (_, at) => first + at)
    await Promise.all([
      this.#outbox.waitForCapacity(),
      ...next.map((shard) => this.#host.shards.at(shard).publish(change, topics, count)),
    ])
  }

  async subscribe(session: string, topics: readonly string[], subscriber?: Subscriber): Promise<boolean> {
    this.schema.check()
    this.schema.store()
    await this.#join()
    this.#tables.create()
    const resource = topics.find((topic) => topic.startsWith(resourcePrefix))
    const caller = subscriber && resource !== undefined ? callerTopic(subscriber) : undefined
    if (resource !== undefined && !this.#hasRoom(session, resource, caller)) return false
    for (const topic of caller === undefined ? topics : [...topics, caller]) {
      this.#tables.query('INSERT OR IGNORE INTO subscriptions (topic, session) VALUES (?, ?)', topic, session)
    }
    return true
  }

  /** Each URI has one topic for everybody, and may have another one for a tenant. */
  #hasRoom(session: string, topic: string, caller: string | undefined): boolean {
    const { storageBytes, listenersEach, listenersPerAddress } = this.#host.options
    const { databaseSize } = this.ctx.storage.sql
    if (databaseSize >= storageBytes) return false
    // The second half of the storage is shared out, so that no caller takes all of it.
    if (caller !== undefined && databaseSize >= storageBytes / 2) {
      const limit = caller.startsWith(addressPrefix) ? listenersPerAddress : listenersEach
      const others = 'SELECT 1 FROM subscriptions WHERE topic = ? AND session <> ? LIMIT 1 OFFSET ?'
      if (this.#tables.query(others, caller, session, limit - 1).length > 0) return false
    }
    const [taken = { count: 0, characters: 0 }] = this.#tables.query<{ count: number; characters: number }>(
      `SELECT COUNT(*) AS count, COALESCE(SUM(LENGTH(topic) - ${resourcePrefix.length}), 0) AS characters
       FROM subscriptions WHERE session = ? AND topic >= '${resourcePrefix}' AND topic < 'resource;' AND topic <> ?`,
      session,
      topic,
    )
    const characters = taken.characters + topic.length - resourcePrefix.length
    return taken.count < bounds.sessionSubscriptions && characters <= bounds.sessionSubscriptionCharacters
  }

  async unsubscribe(session: string, topics: readonly string[]): Promise<void> {
    this.schema.check()
    for (const topic of topics) {
      this.#tables.query('DELETE FROM subscriptions WHERE topic = ? AND session = ?', topic, session)
    }
  }

  async leave(session: string): Promise<boolean> {
    this.schema.check()
    const left = this.#tables.query<{ topic: string }>(
      'DELETE FROM subscriptions WHERE session = ? RETURNING topic',
      session,
    )
    return left.some(({ topic }) => topic.startsWith(resourcePrefix))
  }

  async setEnabled(key: string, on: boolean, change?: ServerEvent, topics: readonly string[] = []): Promise<boolean> {
    this.schema.check()
    this.schema.store()
    const overrides = this.#enabledOverrides
    const isChanged = overrides[key] !== on
    this.ctx.storage.kv.put('enabledOverrides', { ...overrides, [key]: on })
    if (!change) return isChanged
    if (isChanged) {
      // Stored with the change itself: when publishing fails, the next call or an alarm publishes it.
      const unannounced = this.#unannounced
      const [topic = ''] = topics
      const version = (unannounced[topic]?.version ?? 0) + 1
      this.#unannounced = { ...unannounced, [topic]: { change, topics, version } }
      await this.#wakeBy(Date.now() + retryAfter)
    }
    await this.#announce()
    return false
  }

  /** Publishes what `turn` has changed and not published everywhere. @throws what publishing threw */
  async #announce(): Promise<void> {
    for (const [topic, { change, topics, version }] of Object.entries(this.#unannounced)) {
      await this.publish(change, topics)
      // The list may have changed again meanwhile.
      const { [topic]: announced, ...rest } = this.#unannounced
      if (announced?.version === version) this.#unannounced = rest
    }
  }

  get #unannounced(): Unannounced {
    return this.ctx.storage.kv.get<Unannounced>('unannounced') ?? {}
  }

  set #unannounced(unannounced: Unannounced) {
    if (Object.keys(unannounced).length > 0) this.ctx.storage.kv.put('unannounced', unannounced)
    else this.ctx.storage.kv.delete('unannounced')
  }

  async enabledOverrides(): Promise<Readonly<Record<string, boolean>>> {
    return this.#enabledOverrides
  }

  async join(shard: number): Promise<void> {
    this.schema.check()
    this.schema.store()
    const { kv } = this.ctx.storage
    if (shard >= (kv.get<number>('shards') ?? 1)) kv.put('shards', shard + 1)
  }

  override async fetch(request: Request): Promise<Response> {
    this.schema.check()
    const { searchParams } = new URL(request.url)
    const topics: string[] = JSON.parse(request.headers.get(topicsHeader) ?? '[]')
    const tenantKey = request.headers.get(tenantKeyHeader)
    const attachment: Attachment = { topics, ...(tenantKey !== null && { tenantKey }) }
    const [after, listener] = [searchParams.get('after'), searchParams.get('listener')]
    await this.#join()
    const isFull = this.#listeners.all.size >= this.#host.options.listeners
    const tags = listener ? [listener] : []
    const { listenersEach, listenersPerAddress } = this.#host.options
    const isAnonymous = listener?.startsWith(anonymousListener)
    // A Worker of an older release does not send the limit of its endpoint.
    const limit = Number(searchParams.get('most') ?? (isAnonymous ? listenersPerAddress : listenersEach))
    const hasMany = tags.some((tag) => this.ctx.getWebSockets(tag).length >= limit)
    if (isFull || hasMany) return new Response(null, { status: 429 })
    this.#recover()
    const missed = after ? this.#log.after(Number(after)) : []
    if (!missed) return new Response(null, { status: 410 })
    const { 0: client, 1: socket } = new WebSocketPair()
    this.ctx.acceptWebSocket(socket, tags)
    socket.serializeAttachment(attachment)
    const heard = topicsIn(attachment)
    this.#enter(socket, heard)
    const { kv } = this.ctx.storage
    this.schema.store()
    if (!kv.get('listeners')) kv.put('listeners', true)
    const waiting = new Set(this.#waiting.values())
    for (const { seq, change, topics: delivered } of missed) {
      const concerns = (JSON.parse(delivered) as string[]).some((topic) => heard.includes(topic))
      if (concerns && !waiting.has(seq)) socket.send(frameOf(seq, change))
    }
    const headers = { 'Last-Event-ID': String(this.#log.last) }
    return new Response(null, { status: 101, webSocket: client, headers })
  }

  override webSocketClose(socket: WebSocket): void {
    if (!this.#sockets?.all.delete(socket)) return
    for (const topic of topicsIn(socket.deserializeAttachment())) {
      const those = this.#sockets.byTopic.get(topic)
      if (those?.delete(socket) && those.size === 0) this.#sockets.byTopic.delete(topic)
    }
  }

  override webSocketError(socket: WebSocket): void {
    this.webSocketClose(socket)
  }

  override async alarm(): Promise<void> {
    if (await this.schema.putOffAlarm()) return
    this.#recover()
    await this.#announce().catch(this.#host.report)
    await this.#tell()
    const now = Date.now()
    if (Object.keys(this.#unannounced).length > 0) return this.#wakeBy(now + retryAfter)
    // Another turn may still be telling sessions. When this object is lost meanwhile, only an alarm goes on with the rest.
    if (this.#log.undelivered([])) return this.#wakeBy(now + retryAfter)
    // What is left may be kept for longer, so that an alarm is for many.
    if (this.#log.prune(now)) await this.#wakeBy(now + retentionMs)
  }

  get #enabledOverrides(): Readonly<Record<string, boolean>> {
    return this.ctx.storage.kv.get<Record<string, boolean>>('enabledOverrides') ?? {}
  }

  get #shard(): number {
    return Number(/^subscriptions (\d+)$/.exec(this.ctx.id.name ?? '')?.[1] ?? 0)
  }

  /** The first object has to know of the others before anybody relies on them. */
  async #join(): Promise<void> {
    const { kv } = this.ctx.storage
    if (this.#shard === 0 || kv.get('joined')) return
    await this.#host.shards.at(0).join(this.#shard)
    this.schema.store()
    kv.put('joined', true)
  }

  // Telling

  #accept(change: string, topics: readonly string[]): void {
    const now = Date.now()
    this.#recover()
    const [key = ''] = topics
    if (this.#waiting.has(key)) return
    const hasSessions = this.#hasSessions(topics)
    if (!this.#isHeard(now) && !hasSessions) return
    const remaining = (this.#told.get(key) ?? 0) + coalesceMs - now
    const waits = remaining > 0
    this.schema.store()
    const seq = this.#log.append(change, topics, waits ? null : now, hasSessions)
    void this.#wakeBy(now + (hasSessions || waits ? retryAfter : retentionMs))
    if (!waits) return this.#send(seq, change, topics)
    this.#waiting.set(key, seq)
    setTimeout(() => {
      this.#waiting.delete(key)
      this.#sendWaiting(seq, change, topics)
    }, remaining)
  }

  /** What waited when the last instance was lost waits no more. */
  #recover(): void {
    if (!this.#isNew) return
    this.#isNew = false
    for (const { seq, change, topics } of this.#log.waiting) this.#sendWaiting(seq, change, JSON.parse(topics))
  }

  #sendWaiting(seq: number, change: string, topics: readonly string[]): void {
    this.#send(this.#log.requeue(seq, Date.now(), this.#hasSessions(topics)), change, topics)
  }

  #send(seq: number, change: string, topics: readonly string[]): void {
    if (this.#told.size > 10_000) this.#told.clear()
    this.#told.set(topics[0] ?? '', Date.now())
    const { byTopic } = this.#listeners
    this.#outbox.send(frameOf(seq, change), [...new Set(topics.flatMap((topic) => [...(byTopic.get(topic) ?? [])]))])
    this.ctx.waitUntil(this.#tell())
  }

  /** Tells sessions what they have not been told, some at a time. */
  async #tell(): Promise<void> {
    if (this.#isTelling) return
    this.#isTelling = true
    try {
      for (let index = 0; index < batchesPerAlarm; index++) {
        const row = this.#log.undelivered(this.#waiting.values())
        if (!row) return
        const sessions = this.#subscribers(row.topics, row.told, sessionsPerBatch)
        await Promise.all(sessions.map((session) => this.#tellSession(session, JSON.parse(row.change))))
        this.#log.markDelivered(row.seq, sessions.length < sessionsPerBatch ? null : (sessions.at(-1) as string))
      }
      await this.#wakeBy(Date.now())
    } finally {
      this.#isTelling = false
    }
  }

  /** Notifies a session. A call that hangs is made again, because its object may be lost: a session that is only slow gets the change once. */
  async #tellSession(session: string, change: ServerEvent): Promise<void> {
    const delivery = crypto.randomUUID()
    for (let attempt = 1; ; attempt++) {
      const { promise: late, reject } = Promise.withResolvers<never>()
      const timer = setTimeout(() => reject(new Error(`The session ${session} does not answer`)), deliveryTimeoutMs)
      try {
        const isThere = await Promise.race([
          this.#host.session(session).changed(change, undefined, undefined, delivery),
          late,
        ])
        if (!isThere) await this.leave(session)
        return
      } catch (problem) {
        // One that is lost comes back at once. One that fails must not keep the change from the others.
        if (attempt === attempts) return this.#host.report(problem)
      } finally {
        clearTimeout(timer)
      }
      await new Promise((resolve) => setTimeout(resolve, 50 * attempt))
    }
  }

  #hasSessions(topics: readonly string[]): boolean {
    return this.#subscribers(JSON.stringify(topics), '', 1).length > 0
  }

  /** @param topics as JSON */
  #subscribers(topics: string, after: string, limit: number): string[] {
    return this.#tables
      .query<{ session: string }>(
        `SELECT DISTINCT session FROM subscriptions WHERE topic IN (SELECT value FROM json_each(?)) AND session > ?
         ORDER BY session LIMIT ?`,
        topics,
        after,
        limit,
      )
      .map(({ session }) => session)
  }

  async #wakeBy(when: number): Promise<void> {
    const set = await this.ctx.storage.getAlarm()
    if (set === null || set > when) await this.ctx.storage.setAlarm(when)
  }

  // Listening

  get #listeners() {
    if (!this.#sockets) {
      this.#sockets = { all: new Set(), byTopic: new Map() }
      for (const socket of this.ctx.getWebSockets()) this.#enter(socket, topicsIn(socket.deserializeAttachment()))
    }
    return this.#sockets
  }

  #enter(socket: WebSocket, topics: readonly string[]): void {
    const { all, byTopic } = this.#listeners
    all.add(socket)
    for (const topic of topics) {
      const those = byTopic.get(topic)
      if (those) those.add(socket)
      else byTopic.set(topic, new Set([socket]))
    }
  }

  /** Does anybody listen, or is somebody about to come back? Otherwise nothing has to be written down. */
  #isHeard(now: number): boolean {
    const { kv } = this.ctx.storage
    if (this.#listeners.all.size > 0) this.#idleSince = undefined
    else this.#idleSince ??= now
    if (this.#idleSince === undefined) return true
    if (!kv.get('listeners')) return false
    if (now - this.#idleSince < retentionMs) return true
    kv.delete('listeners')
    this.#log.markGap(now)
    return false
  }
}

const frameOf = (seq: number, change: string) => relayMessage(change, String(seq))
