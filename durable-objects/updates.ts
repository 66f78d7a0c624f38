/**
 * What the isolates of a server share: who wants to hear of changes, and the key ring.
 *
 * Listeners of stateless clients are hibernatable sockets; their filter is the socket's attachment. Sessions are rows:
 *
 * | table           | column             | meaning                                                   | lifetime                   |
 * |-----------------|--------------------|-----------------------------------------------------------|----------------------------|
 * | `subscriptions` | `topic`, `session` | the session with this object name wants to hear of a topic | until it unsubscribes or ends |
 *
 * | key    | meaning                                            | lifetime       |
 * |--------|----------------------------------------------------|----------------|
 * | `keys` | the key ring of a server that has no secret for it | as the server  |
 */
import { DurableObject } from 'cloudflare:workers'
import { type KeyRing, mintKeyRing } from '../worker/auth/seal.ts'
import { type Change, hears, listTopics, topicOf } from '../worker/protocol/changes.ts'
import type { SubscriptionFilter } from '../worker/protocol/types.ts'
import type { SessionRpc } from './session.ts'
import { Tables } from './tables.ts'

/** What Workers and sessions may ask of it. */
export interface UpdatesRpc {
  /** Tells everyone who wants to hear of this change. Resolves when it has been handed on. */
  publish(change: Change): Promise<void>
  subscribe(session: string, topics: readonly string[]): Promise<void>
  unsubscribe(session: string, topics: readonly string[]): Promise<void>
  /** Forgets a session. True when it was subscribed to resources. */
  leave(session: string): Promise<boolean>
  /** The key ring, minted the first time somebody asks. */
  keys(): Promise<KeyRing>
  /** Opens a feed of changes, one JSON `Change` a message; `?filter=` is a `SubscriptionFilter` as JSON. */
  fetch(request: Request): Promise<Response>
}

export type UpdatesHost = {
  session(name: string): SessionRpc
  report(problem: unknown): void
}

const schema = `
  CREATE TABLE subscriptions (topic TEXT, session TEXT, PRIMARY KEY (topic, session)) WITHOUT ROWID;
  CREATE INDEX by_session ON subscriptions (session);
`

export class Updates extends DurableObject implements UpdatesRpc {
  readonly #host: UpdatesHost
  readonly #tables: Tables

  constructor(ctx: DurableObjectState, env: never, host: UpdatesHost) {
    super(ctx, env)
    this.#host = host
    this.#tables = new Tables(ctx.storage.sql, 'subscriptions', schema)
  }

  async publish(change: Change): Promise<void> {
    const message = JSON.stringify(change)
    for (const socket of this.ctx.getWebSockets()) {
      if (hears(socket.deserializeAttachment() as SubscriptionFilter, change)) socket.send(message)
    }
    const subscribers = this.#tables.query<{ session: string }>(
      'SELECT session FROM subscriptions WHERE topic = ?',
      topicOf(change),
    )
    await Promise.all(subscribers.map(({ session }) => this.#tell(session, change)))
  }

  async subscribe(session: string, topics: readonly string[]): Promise<void> {
    this.#tables.create()
    for (const topic of topics) {
      this.ctx.storage.sql.exec('INSERT OR IGNORE INTO subscriptions (topic, session) VALUES (?, ?)', topic, session)
    }
  }

  async unsubscribe(session: string, topics: readonly string[]): Promise<void> {
    for (const topic of topics) {
      this.#tables.query('DELETE FROM subscriptions WHERE topic = ? AND session = ?', topic, session)
    }
  }

  async leave(session: string): Promise<boolean> {
    const left = this.#tables.query<{ topic: string }>(
      'DELETE FROM subscriptions WHERE session = ? RETURNING topic',
      session,
    )
    return left.some(({ topic }) => !(listTopics as readonly string[]).includes(topic))
  }

  async keys(): Promise<KeyRing> {
    const { kv } = this.ctx.storage
    const kept = kv.get<KeyRing>('keys')
    if (kept) return kept
    const minted = mintKeyRing()
    kv.put('keys', minted)
    return minted
  }

  override async fetch(request: Request): Promise<Response> {
    const filter: SubscriptionFilter = JSON.parse(new URL(request.url).searchParams.get('filter') ?? '{}')
    const { 0: client, 1: socket } = new WebSocketPair()
    this.ctx.acceptWebSocket(socket)
    socket.serializeAttachment(filter)
    return new Response(null, { status: 101, webSocket: client })
  }

  async #tell(session: string, change: Change): Promise<void> {
    try {
      if (!(await this.#host.session(session).changed(change))) await this.leave(session)
    } catch (problem) {
      // One session that fails must not keep the change from the others.
      this.#host.report(problem)
    }
  }
}
