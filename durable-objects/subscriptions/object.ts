/**
 * The Durable Object `McpSubscriptions`: which streams and sessions have subscribed to which topics.
 *
 * Each server has objects of its own: as many (shards) as the option `shards` of `subscriptions()` says. Each stream and each session belongs
 * to one of them.
 * A change is published at the first object, which forwards it to the next sixteen, and so on. Each object logs a change before it answers.
 *
 * Streams of stateless clients are hibernatable sockets, with their topics as attachment (`Attachment`). Sessions are rows:
 *
 * | table           | column             | meaning                                                      | lifetime                      |
 * |-----------------|--------------------|--------------------------------------------------------------|-------------------------------|
 * | `subscriptions` | `topic`, `session` | the session of this name subscribes to a topic | until it unsubscribes or ends |
 * | `changes`       | `seq`              | number of a change; increases, because the last one remains  | `retentionMs`; the last one remains |
 * |                 | `change`           | `ServerEvent`, as JSON                                       |                               |
 * |                 | `topics`           | of the change, as JSON                                       |                               |
 * |                 | `at`               | milliseconds since 1970: when it was sent; NULL: it waits    |                               |
 * |                 | `deliveredTo`      | the last session that it was delivered to; NULL: to all      |                               |
 * | `agedStreams`   | `stream`           | caller and filter of a stream of a stateless client that ended at its maximum age | `listensAgainMs`, and until the next one ends |
 * |                 | `at`               | milliseconds since 1970: when it ended                       |                               |
 * |                 | `position`         | the last change that was received on it                      |                               |
 * | `parkedSessions` | `session`         | a session that could not be called, or whose queue was full  | until it is called, or its id has expired |
 * |                 | `seq`              | the first change that it has not received                    |                               |
 * |                 | `since`, `due`     | milliseconds since 1970: when it was parked, and when it is called next |                    |
 * | key                | meaning                                                                  | lifetime                              |
 * |--------------------|--------------------------------------------------------------------------|---------------------------------------|
 * | `shards`           | number of objects; first object                                          | as the server: it only grows          |
 * | `joined`           | this object is registered at the first object                            | as the server                         |
 * | `enabledOverrides` | entries that were enabled or disabled at run time; first object          | as the server                         |
 * | `unannounced`      | `Unannounced`: changes of lists that are not published everywhere; first object | until they are                 |
 * | `listeners`        | there is a socket, or was one recently: the lists that it knows, as `listsText` | until there was none for `retentionMs` |
 * | `pruned`           | number of the last change that was deleted                               | as the server                         |
 *
 * Two more rows of a session have a `topic` that nothing is published to: `subscriberKey` of a session with a principal, by which
 * notifications for its user find it, and the caller (`callerPrefix`) of a session that has subscribed to resources.
 */

import { DurableObject } from 'cloudflare:workers'
import { sumOf } from '../../worker/declarations/change-hub.ts'
import { readShardName, type ServerEvent, type SubscriberCount, topicOf } from '../../worker/protocol/changes.ts'
import * as closeCode from '../../worker/protocol/close-code.ts'
import { Alarms } from '../shared/alarms.ts'
import { Schema } from '../shared/schema.ts'
import { Tables } from '../shared/tables.ts'
import { AgedStreams, agedStreamsSchema, mayContinue } from './aged-streams.ts'
import { ChangeLog, changesSchema, type LoggedChange, retentionMs } from './change-log.ts'
import { EnabledOverrides } from './enabled-overrides.ts'
import { type Attachment, filterOf, Listeners } from './listeners.ts'
import { migrations } from './migrations.ts'
import { ParkedSessions, parkedSessionsSchema } from './parked-sessions.ts'
import { changeMessage, Publisher, retryAfterMs } from './publisher.ts'
import type { Subscriber, SubscriptionsRpc } from './rpc.ts'
import { SessionDelivery } from './session-delivery.ts'
import { SessionSubscriptions, subscriptionsSchema } from './session-subscriptions.ts'
import { ShardTree } from './shard-tree.ts'
import type { SubscriptionsHost } from './subscriptions-host.ts'

export { Subscriptions } from './session-part.ts'
export { anonymousListener } from './session-subscriptions.ts'
export type { SubscriptionsHost, SubscriptionsOptions } from './subscriptions-host.ts'

const maxCountedSessions = 10_000

/** Headers of the request that opens a relay. */
export const topicsHeader = 'Edgemcp-Topics'
/** See `tenantKey`. */
export const tenantKeyHeader = 'Edgemcp-Tenant-Key'
/** See `subscriberKey`. */
export const subscriberKeyHeader = 'Edgemcp-Subscriber-Key'

export class SubscriptionsObject extends DurableObject implements SubscriptionsRpc {
  readonly #host: SubscriptionsHost
  readonly #schema: Schema
  readonly #alarms: Alarms
  readonly #log: ChangeLog
  readonly #listeners: Listeners
  readonly #sessions: SessionSubscriptions
  readonly #delivery: SessionDelivery
  readonly #publisher: Publisher
  readonly #overrides: EnabledOverrides
  readonly #tree: ShardTree
  readonly #aged: AgedStreams
  /** Whether this instance has published the lists that a deployment has changed. */
  #isAnnounced = false

  constructor(ctx: DurableObjectState, env: Cloudflare.Env, host: SubscriptionsHost) {
    super(ctx, env)
    const { kv, sql } = ctx.storage
    const tables = new Tables(
      sql,
      'subscriptions',
      subscriptionsSchema + changesSchema + agedStreamsSchema + parkedSessionsSchema,
    )
    this.#host = host
    this.#schema = new Schema(ctx.storage, migrations)
    this.#alarms = new Alarms(ctx.storage)
    this.#log = new ChangeLog(tables, kv, this.#schema)
    this.#aged = new AgedStreams(tables)
    const shard = readShardName(ctx.id.name)
    this.#listeners = new Listeners(ctx, this.#log, () => host.lists?.())
    this.#sessions = new SessionSubscriptions(tables, sql, host.options)
    const parts = {
      host,
      log: this.#log,
      sessions: this.#sessions,
      alarms: this.#alarms,
      waitUntil: (work: Promise<unknown>) => ctx.waitUntil(work),
    }
    this.#delivery = new SessionDelivery({ ...parts, parked: new ParkedSessions(tables), id: String(ctx.id) })
    this.#publisher = new Publisher({ ...parts, listeners: this.#listeners, delivery: this.#delivery })
    this.#overrides = new EnabledOverrides(kv, this.#schema, (change, topics) => this.publish(change, topics))
    this.#tree = new ShardTree(shard, kv, this.#schema, (other) => host.shardAt(other))
  }

  async publish(change: ServerEvent, topics: readonly string[], shards?: number): Promise<void> {
    this.#schema.check()
    const count = shards ?? this.#tree.count
    this.#publisher.publish(JSON.stringify(change), topics)
    await Promise.all([this.#publisher.waitForCapacity(), this.#tree.publishBelow(change, topics, count)])
  }

  async subscribe(session: string, topics: readonly string[], subscriber?: Subscriber): Promise<boolean> {
    this.#schema.check()
    this.#schema.store()
    await this.#tree.join()
    return this.#sessions.add(session, topics, subscriber)
  }

  async unsubscribe(session: string, topics: readonly string[]): Promise<void> {
    this.#schema.check()
    this.#sessions.remove(session, topics)
  }

  async countSubscribers(topics: readonly string[], shards?: number): Promise<SubscriberCount> {
    this.#schema.check()
    const count = shards ?? this.#tree.count
    const below = this.#tree.below(count).map((shard) => shard.countSubscribers(topics, count))
    const sessions = this.#sessions.of(topics, '', maxCountedSessions + 1).length
    const own = {
      sessions: Math.min(sessions, maxCountedSessions),
      streams: this.#listeners.to(topics).length,
      isComplete: sessions <= maxCountedSessions,
    }
    return sumOf([own, ...(await Promise.all(below))])
  }

  async hasSubscribed(session: string, topics: readonly string[]): Promise<boolean> {
    this.#schema.check()
    return this.#sessions.has(session, topics)
  }

  async unsubscribeAll(session: string, keepsLists?: boolean): Promise<boolean> {
    this.#schema.check()
    return this.#sessions.removeAll(session, keepsLists)
  }

  async setEnabled(key: string, isEnabled: boolean, change: ServerEvent, topics: readonly string[]): Promise<void> {
    this.#schema.check()
    if (this.#overrides.values[key] !== isEnabled) {
      // Stored before the value itself: if publishing or a write fails, the next call or an alarm publishes it.
      this.#overrides.addUnannounced(change, topics)
      this.#overrides.set(key, isEnabled)
      await this.#alarms.add(Date.now() + retryAfterMs)
    }
    await this.#overrides.announce()
  }

  async enabledOverrides(): Promise<Readonly<Record<string, boolean>>> {
    return this.#overrides.values
  }

  async addShard(shard: number): Promise<void> {
    this.#schema.check()
    this.#tree.add(shard)
  }

  override async fetch(request: Request): Promise<Response> {
    this.#schema.check()
    const { searchParams } = new URL(request.url)
    const topics: string[] = JSON.parse(request.headers.get(topicsHeader) ?? '[]')
    const tenantKey = request.headers.get(tenantKeyHeader)
    const subscriber = request.headers.get(subscriberKeyHeader)
    const after = searchParams.get('after')
    const subscribed = { topics, ...(tenantKey !== null && { tenantKey }), ...(subscriber !== null && { subscriber }) }
    await this.#tree.join()
    // Empty for a caller without a principal and an address.
    const tag = searchParams.get('listener') || undefined
    if (!this.#listeners.hasRoom(tag, Number(searchParams.get('most')), this.#host.options.listeners))
      return new Response(null, { status: 429 })
    this.#publisher.recover()
    this.#announceChangedLists()
    const position = after ? Number(after) : this.#positionOf(tag, subscribed)
    const missed = this.#log.after(position)
    if (!missed) return new Response(null, { status: 410 })
    const { 0: client, 1: socket } = new WebSocketPair()
    this.#schema.store()
    const attachment = { ...subscribed, ...(!after && { openedAt: Date.now(), position }) }
    this.#listeners.accept(socket, tag ? [tag] : [], attachment)
    sendWanted(socket, attachment, missed)
    // If this socket is lost at once, the next one begins where it began.
    const headers = { 'Last-Event-ID': String(after ? this.#log.last : position) }
    return new Response(null, { status: 101, webSocket: client, headers })
  }

  /** Returns the number of the change after which a new stream begins: the last one, unless an equal stream ended at its maximum age. */
  #positionOf(tag: string | undefined, attachment: Attachment): number {
    const { last, pruned } = this.#log
    const position = this.#aged.positionOf(tag, attachment, Date.now()) ?? last
    // What was deleted was sent long before.
    return Math.min(Math.max(position, pruned), last)
  }

  /**
   * Publishes the lists that a deployment has changed, to streams: a deployment closes their sockets, and each continues after its last
   * event.
   */
  #announceChangedLists(): void {
    if (this.#isAnnounced) return
    // Sessions compare by themselves, when their streams continue.
    this.#listeners.updateLists((list) => this.#publisher.publish(JSON.stringify({ list }), [topicOf({ list })], false))
    this.#isAnnounced = true
  }

  override webSocketClose(socket: WebSocket, code: number, reason: string): void {
    if (code === closeCode.aged && reason !== '') {
      const [tag] = this.ctx.getTags(socket)
      const attachment: Attachment = socket.deserializeAttachment()
      this.#aged.add(tag, attachment, Number(reason), Date.now())
      this.#sendLate(tag, attachment)
    }
    this.#listeners.remove(socket)
  }

  /**
   * Sends what a stream missed that ended at its maximum age to the equal streams that opened before the object knew of its end: its client
   * may have opened one of them.
   */
  #sendLate(tag: string | undefined, ended: Attachment): void {
    const after = this.#positionOf(tag, ended)
    const missed = this.#log.after(after) ?? []
    for (const socket of this.ctx.getWebSockets(tag)) {
      const attachment: Attachment = socket.deserializeAttachment()
      const { position = after } = attachment
      if (position <= after || socket.readyState !== WebSocket.OPEN) continue
      if (!mayContinue(attachment, ended, Date.now())) continue
      const late = missed.filter(({ seq }) => seq <= position)
      sendWanted(socket, attachment, late)
      socket.serializeAttachment({ ...attachment, position: after })
    }
  }

  override webSocketError(socket: WebSocket): void {
    this.#listeners.remove(socket)
  }

  override async alarm(): Promise<void> {
    if (await this.#schema.putOffAlarm()) return
    this.#publisher.recover()
    await this.#overrides.announce().catch(this.#host.report)
    await this.#delivery.start()
    this.#delivery.catchUp()
    const now = Date.now()
    // Sessions may still be called, and a change may still wait. If this object is lost meanwhile, only an alarm continues.
    const hasChanges = this.#log.undeliveredAfter(0) !== undefined || this.#log.waiting.length > 0
    if (hasChanges || this.#overrides.hasUnannounced) await this.#alarms.add(now + retryAfterMs)
    this.#aged.prune(now)
    // Changes may be stored for longer than `retentionMs`, so that one alarm deletes many.
    if (this.#publisher.prune(now)) await this.#alarms.add(now + retentionMs)
  }
}

/** Sends those changes to a socket that it has subscribed to. */
function sendWanted(socket: WebSocket, attachment: Attachment, changes: readonly LoggedChange[]): void {
  const isWanted = filterOf(attachment)
  for (const { seq, change, topics } of changes) if (topics.some(isWanted)) socket.send(changeMessage(seq, change))
}
