/** The subscriptions of sessions: rows with a topic and the address of the session. */

import * as bounds from '../../worker/protocol/bounds.ts'
import { splitTopic } from '../../worker/protocol/changes.ts'
import { networkOf } from '../../worker/protocol/ip-address.ts'
import type { Tables } from '../shared/tables.ts'
import type { Subscriber } from './rpc.ts'
import type { SubscriptionsOptions } from './subscriptions-host.ts'

export const subscriptionsSchema = `
  CREATE TABLE subscriptions (topic TEXT, session TEXT, PRIMARY KEY (topic, session)) WITHOUT ROWID;
  CREATE INDEX by_session ON subscriptions (session);
`

/** Start of `?listener=` for an anonymous client; its network follows. */
export const anonymousListener = 'address '

/** Start of the topics of resources that are for everyone: each subscription to a resource has one. */
const resourcePrefix = 'resource:'
/** Start of the row that names the caller of a session. No topic starts with it. */
const callerPrefix = 'caller:'
/** The rows that a subscription to a resource adds: its topics, also of a tenant, and the caller. */
const isOfResource = `(topic GLOB '${resourcePrefix}*' OR topic GLOB 'tenant:* ${resourcePrefix}*' OR topic GLOB '${callerPrefix}*')`
const addressPrefix = `${callerPrefix}${anonymousListener}`

/** Returns `undefined` without a principal and an address. */
const callerTopic = ({ owner, address }: Subscriber): string | undefined =>
  owner ? callerPrefix + owner : address ? addressPrefix + networkOf(address) : undefined

/** Returns the user that the topics of a change are for, and the topics without it: they have the same recipients. */
function splitTopics(topics: readonly string[]): readonly [prefix: string | undefined, rest: string[]] {
  const split = topics.map(splitTopic)
  return [split.find(([prefix]) => prefix)?.[0], split.map(([, rest]) => rest)]
}

export class SessionSubscriptions {
  readonly #tables: Tables
  readonly #sql: SqlStorage
  readonly #options: SubscriptionsOptions
  /** Sessions that are being called. A session that subscribes meanwhile has not ended, whatever the call returns. */
  readonly #called = new Set<string>()

  constructor(tables: Tables, sql: SqlStorage, options: SubscriptionsOptions) {
    this.#tables = tables
    this.#sql = sql
    this.#options = options
  }

  /** Adds topics of a session. Returns false, and adds nothing, if there are too many subscriptions to resources. */
  add(session: string, topics: readonly string[], subscriber: Subscriber | undefined): boolean {
    this.#tables.create()
    this.#called.delete(session)
    const resource = topics.find((topic) => topic.startsWith(resourcePrefix))
    const caller = subscriber && resource !== undefined ? callerTopic(subscriber) : undefined
    if (resource !== undefined && !this.#hasRoom(session, resource, caller)) return false
    for (const topic of caller === undefined ? topics : [...topics, caller]) {
      this.#tables.query('INSERT OR IGNORE INTO subscriptions (topic, session) VALUES (?, ?)', topic, session)
    }
    return true
  }

  /** Each URI has one topic for everyone, and may have another one for a tenant. */
  #hasRoom(session: string, topic: string, caller: string | undefined): boolean {
    const { storageBytes, listenersEach, listenersPerAddress } = this.#options
    const { databaseSize } = this.#sql
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

  remove(session: string, topics: readonly string[]): void {
    for (const topic of topics) {
      this.#tables.query('DELETE FROM subscriptions WHERE topic = ? AND session = ?', topic, session)
    }
  }

  /**
   * Calls a session, and removes it if it has ended.
   *
   * @param deliver returns false if the session has ended
   * @returns the same; true if the session has subscribed meanwhile: its next life has
   * @throws what `deliver` throws
   */
  async call(session: string, deliver: () => Promise<boolean>): Promise<boolean> {
    this.#called.add(session)
    try {
      if ((await deliver()) || !this.#called.has(session)) return true
      this.removeAll(session)
      return false
    } finally {
      this.#called.delete(session)
    }
  }

  /** Removes a session, or its resources only. Returns true if it was subscribed to resources. */
  removeAll(session: string, keepsLists = false): boolean {
    const removed = this.#tables.query<{ topic: string }>(
      `DELETE FROM subscriptions WHERE session = ? ${keepsLists ? `AND ${isOfResource}` : ''} RETURNING topic`,
      session,
    )
    return removed.some(({ topic }) => topic.startsWith(resourcePrefix))
  }

  /** Whether a session has subscribed to one of the topics. */
  has(session: string, topics: readonly string[]): boolean {
    const sql = 'SELECT 1 FROM subscriptions WHERE session = ? AND topic IN (SELECT value FROM json_each(?)) LIMIT 1'
    return this.#tables.query(sql, session, JSON.stringify(topics)).length > 0
  }

  /** Returns a function that says whether a change with these topics is for a session. */
  filterOf(session: string): (topics: readonly string[]) => boolean {
    const rows = this.#tables.query<{ topic: string }>('SELECT topic FROM subscriptions WHERE session = ?', session)
    const wanted = new Set(rows.map(({ topic }) => topic))
    return (topics) => {
      const [prefix, rest] = splitTopics(topics)
      if (!prefix) return topics.some((topic) => wanted.has(topic))
      const isOfUser = rows.some(({ topic }) => topic.startsWith(prefix))
      return isOfUser && rest.some((topic) => topic === '' || wanted.has(topic))
    }
  }

  /** Returns the URIs that a session has subscribed to. */
  resourcesOf(session: string): string[] {
    const sql = `SELECT topic FROM subscriptions WHERE session = ? AND topic >= '${resourcePrefix}' AND topic < 'resource;'`
    return this.#tables.query<{ topic: string }>(sql, session).map(({ topic }) => topic.slice(resourcePrefix.length))
  }

  hasAny(topics: readonly string[]): boolean {
    return this.of(topics, '', 1).length > 0
  }

  /** Returns the sessions that have subscribed to one of the topics, ordered by address. @param after the last session of the previous page */
  of(topics: readonly string[], after: string, limit: number): string[] {
    const [prefix, rest] = splitTopics(topics)
    if (prefix) return this.#ofUser(prefix, rest, after, limit)
    // One page of each topic: a statement for all topics would read the rows of all pages.
    const sql = 'SELECT session FROM subscriptions WHERE topic = ? AND session > ? ORDER BY session LIMIT ?'
    const pages = topics.flatMap((topic) => this.#tables.query<{ session: string }>(sql, topic, after, limit))
    return firstOf(pages, limit)
  }

  /** @param topics without the prefix of the user. An empty one is for all sessions of the user */
  #ofUser(prefix: string, topics: readonly string[], after: string, limit: number): string[] {
    const isForAll = topics.includes('') ? 1 : 0
    // As in `of`, one page of each topic.
    const sql = `SELECT session FROM subscriptions AS users WHERE topic = ? AND session > ? AND (
        ? OR EXISTS (SELECT 1 FROM json_each(?) AS published, subscriptions AS wanted
                     WHERE wanted.topic = published.value AND wanted.session = users.session)
      ) ORDER BY session LIMIT ?`
    return firstOf(
      this.#keysFrom(prefix).flatMap((key) =>
        this.#tables.query<{ session: string }>(sql, key, after, isForAll, JSON.stringify(topics), limit),
      ),
      limit,
    )
  }

  /** Returns the `subscriberKey`s that have rows and start with the prefix of a user: one for each client. */
  #keysFrom(prefix: string): string[] {
    const keys: string[] = []
    const sql = 'SELECT min(topic) AS topic FROM subscriptions WHERE topic > ? AND topic < ?'
    // All texts that start with the prefix come after this one, and before the prefix with a `~`.
    let last: string | null | undefined = prefix.slice(0, -1)
    for (;;) {
      last = this.#tables.query<{ topic: string | null }>(sql, last, `${prefix}~`)[0]?.topic
      if (!last) return keys
      keys.push(last)
    }
  }
}

const firstOf = (pages: readonly { session: string }[], limit: number): string[] =>
  [...new Set(pages.map(({ session }) => session))].sort().slice(0, limit)
