/** The subscriptions of a user, and what is to be delivered to them. */

import { waitAtMost } from '../../worker/engine/wait.ts'
import { encodeBase64url } from '../../worker/protocol/base64url.ts'
import { isObject } from '../../worker/protocol/jsonrpc.ts'
import type { Params } from '../../worker/protocol/types.ts'
import { isSameText } from '../../worker/sealing/same-text.ts'
import type { Alarms } from '../shared/alarms.ts'
import type { Schema } from '../shared/schema.ts'
import { Tables } from '../shared/tables.ts'
import type { EventsHost, EventWork, Termination } from './events-host.ts'
import { postWebhook, type WebhookResponse } from './post-webhook.ts'
import type {
  DeadLetter,
  DeliveryStatus,
  LoggedEvent,
  LogPage,
  MemberId,
  NewSubscription,
  SubscribeOutcome,
  SubscriptionSummary,
} from './rpc.ts'

/**
 * Times are milliseconds since 1970. The name and the id are the identity of an event: events of two names may have one id.
 *
 * | table           | a row is                                                                     | until                     |
 * |-----------------|------------------------------------------------------------------------------|---------------------------|
 * | `subscriptions` | a subscription; `suspended` after several `rejections` in a row             | it ends, or is not refreshed |
 * | `verified`      | a URL that has answered a challenge                                          | no subscription has it    |
 * | `failures`      | a verification that failed                                                   | an hour                   |
 * | `events`        | an event, without `body` once it has no delivery: it is not delivered again  | a day                     |
 * | `deliveries`    | an event on its way to a subscription                                        | it is delivered, or the subscription ends |
 * | … without `due` | a dead letter: it is not sent before the developer sends it again            | the same, a week at most, and the newest 100 |
 */
const schema = `
CREATE TABLE subscriptions (id TEXT PRIMARY KEY, version INTEGER NOT NULL, name TEXT NOT NULL, url TEXT NOT NULL, secret TEXT NOT NULL, previous TEXT,
  previousUntil INTEGER NOT NULL DEFAULT 0, principal TEXT NOT NULL, tenant TEXT, refreshBefore INTEGER NOT NULL,
  suspended INTEGER NOT NULL DEFAULT 0, rejections INTEGER NOT NULL DEFAULT 0, lastDeliveryAt INTEGER, lastError TEXT, failedSince INTEGER);
CREATE TABLE verified (url TEXT NOT NULL, client TEXT NOT NULL, PRIMARY KEY (url, client));
CREATE TABLE failures (id INTEGER PRIMARY KEY, at INTEGER NOT NULL);
CREATE TABLE events (name TEXT NOT NULL, id TEXT NOT NULL, body TEXT, at INTEGER NOT NULL, position INTEGER NOT NULL, PRIMARY KEY (name, id));
CREATE INDEX events_at ON events (at);
CREATE TABLE deliveries (seq INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, event TEXT NOT NULL, subscription TEXT NOT NULL, key TEXT,
  attempts INTEGER NOT NULL DEFAULT 0, due INTEGER, reason TEXT, endedAt INTEGER);
CREATE INDEX deliveries_due ON deliveries (due);
CREATE INDEX deliveries_next ON deliveries (subscription, due, seq);
CREATE INDEX deliveries_of ON deliveries (subscription, key, seq);
CREATE INDEX deliveries_event ON deliveries (name, event);`

type Subscription = {
  id: string
  version: number
  name: string
  url: string
  secret: string
  previous: string | null
  previousUntil: number
  principal: string
  tenant: string | null
  refreshBefore: number
  suspended: number
  rejections: number
  lastDeliveryAt: number | null
  lastError: string | null
  failedSince: number | null
}
/** A verification that runs. `isSuperseded`: its subscription was ended, or is verified again. */
type Verification = { readonly id: string; isSuperseded: boolean; readonly ended: PromiseWithResolvers<void> }
type Delivery = { seq: number; name: string; event: string; subscription: string; due: number; attempts: number }
type DeadDelivery = Pick<Delivery, 'seq' | 'event' | 'subscription'> & { reason: DeadLetter['reason']; endedAt: number }

/**
 * Whether a row of `deliveries AS one` has its turn: those with the same key wait for each other, and those of a subscription that is suspended
 * for its refresh.
 */
const hasTurn = `(key IS NULL OR NOT EXISTS
  (SELECT 1 FROM deliveries AS other WHERE other.subscription = one.subscription AND other.key = one.key AND other.seq < one.seq AND other.due IS NOT NULL))
  AND one.subscription NOT IN (SELECT id FROM subscriptions WHERE suspended = 1)`

const hourMs = 60 * 60_000
/** Milliseconds for which an event is not delivered again. */
const rememberedMs = 24 * hourMs
/** Milliseconds for which attempts are signed with a secret that was replaced, too. */
const previousSecretMs = 10 * 60_000
/** Attempts that run at the same time, and those to one subscription. */
const maxRunning = 6
const maxRunningEach = 2
/** Attempts of one alarm: a Worker may make a limited number of requests for each. Each may ask an identity provider, too. */
const alarmAttempts = 200
/** Milliseconds after which an alarm begins no attempt: the platform ends one that takes minutes. */
const alarmMs = 60_000
/** Responses 401 and 410 in a row after which a subscription waits for its refresh: its receiver may not know it any more. */
const maxRejections = 5
const firstRetryMs = 1000
/** Dead letters of a user: the newest ones. */
const maxDeadLetters = 100
/** Milliseconds for which one is kept. */
const deadLetterMs = 7 * 24 * hourMs
const longestRetryMs = hourMs

export class EventOwner {
  readonly #name: string
  readonly #storage: DurableObjectStorage
  readonly #tables: Tables
  readonly #schema: Schema
  readonly #alarms: Alarms
  readonly #host: EventsHost
  readonly #verifications = new Set<Verification>()
  readonly #running = new Map<number, { readonly subscription: string; readonly ended: Promise<void> }>()
  #poked = Promise.withResolvers<void>()

  constructor(
    name: string,
    storage: DurableObjectStorage,
    parts: { schema: Schema; alarms: Alarms; host: EventsHost },
  ) {
    this.#name = name
    this.#storage = storage
    this.#tables = new Tables(storage.sql, 'subscriptions', schema)
    this.#schema = parts.schema
    this.#alarms = parts.alarms
    this.#host = parts.host
  }

  /** Called after the storage was deleted. */
  reset(): void {
    this.#tables.reset()
  }

  async subscribe(subscription: NewSubscription): Promise<SubscribeOutcome> {
    const { id, url, secret, client = '' } = subscription
    const before = this.#find(id)
    if (!this.#hasRoomFor(id)) return this.#exhausted()
    if (this.#tables.query('SELECT 1 FROM verified WHERE url = ? AND client = ?', url, client).length === 0) {
      const { failedVerifications: max } = this.#host.limits
      // Those that run count as failed until they succeed.
      while (this.#failedVerifications() >= max) {
        if (this.#verifications.size === 0) return { kind: 'exhausted', limit: 'failedVerifications', max }
        await Promise.race([...this.#verifications].map(({ ended }) => ended.promise))
      }
      const refused = await this.#verify(subscription)
      if (refused) return refused
    }
    const sealed = await this.#host.seal(secret, subscription.refreshBefore - Date.now() + hourMs)
    const known = before && (await this.#host.open(before.secret))
    // Others may have been activated meanwhile.
    if (!this.#hasRoomFor(id)) return this.#exhausted()
    const previous = known === secret ? null : (before?.secret ?? null)
    const { position, isTruncated } = await this.#activate(subscription, sealed, previous)
    const settled = Math.min(position, this.#firstPending(id) - 1)
    return { kind: 'active', status: before && { ...statusOf(before), active: true }, position: settled, isTruncated }
  }

  #hasRoomFor(id: string): boolean {
    const [row] = this.#tables.query<{ count: number }>('SELECT count(*) AS count FROM subscriptions WHERE id <> ?', id)
    return (row?.count ?? 0) < this.#host.limits.subscriptions
  }

  #exhausted(): SubscribeOutcome {
    return { kind: 'exhausted', limit: 'subscriptions', max: this.#host.limits.subscriptions }
  }

  /** Returns the position of the first event that is still on its way to a subscription; `Infinity` without one. */
  #firstPending(id: string): number {
    const [row] = this.#tables.query<{ first: number | null }>(
      'SELECT min(position) AS first FROM events WHERE (name, id) IN (SELECT name, event FROM deliveries WHERE subscription = ? AND due IS NOT NULL)',
      id,
    )
    return row?.first ?? Number.POSITIVE_INFINITY
  }

  /** @param previous the secret that it had before, sealed */
  async #activate(
    subscription: NewSubscription,
    sealed: string,
    previous: string | null,
  ): Promise<Pick<LogPage, 'position' | 'isTruncated'>> {
    const { id, name, args, url, principal, tenant = null, client = '', refreshBefore, owner } = subscription
    this.#schema.store()
    this.#tables.create()
    const now = Date.now()
    const version = this.#storage.transactionSync(() => {
      this.#storage.sql.exec('INSERT OR IGNORE INTO verified VALUES (?, ?)', url, client)
      // What waited for the refresh.
      const soon = now + firstRetryMs
      this.#storage.sql.exec(
        'UPDATE deliveries SET due = min(due, ?), attempts = 0 WHERE subscription = ?',
        ...[soon, id],
      )
      // Also later than that of a subscription that has ended.
      const version = Math.max((this.#find(id)?.version ?? 0) + 1, now)
      this.#storage.sql.exec(
        `INSERT INTO subscriptions (id, version, name, url, secret, previous, previousUntil, principal, tenant, refreshBefore)
          VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET version = excluded.version, secret = excluded.secret,
            previous = coalesce(excluded.previous, previous), previousUntil = iif(excluded.previous IS NULL, previousUntil, excluded.previousUntil),
            principal = excluded.principal, refreshBefore = excluded.refreshBefore, suspended = 0, rejections = 0`,
        ...[id, version, name, url, sealed, previous, now + previousSecretMs, principal, tenant, refreshBefore],
      )
      return version
    })
    this.#poked.resolve()
    await this.#alarms.add(Math.min(refreshBefore, this.#nextDue() ?? refreshBefore))
    const member = { id, version, owner: this.#name, who: owner, args, expires: refreshBefore }
    return this.#host.index(name).add(member, subscription.after)
  }

  async unsubscribe(id: string): Promise<boolean> {
    this.#supersede(id)
    const subscription = this.#find(id)
    if (!subscription) return false
    await this.#end(subscription, 'unsubscribed')
    return true
  }

  async deliver({ id, body, key, position }: LoggedEvent, members: readonly MemberId[]): Promise<readonly MemberId[]> {
    const known = members.flatMap((member) => this.#find(member.id) ?? [])
    const ended = members.filter((member) => !known.some((subscription) => subscription.id === member.id))
    // They are subscriptions to one event.
    const name = known[0]?.name ?? ''
    const isKnown = this.#tables.query('SELECT 1 FROM events WHERE name = ? AND id = ?', name, id).length > 0
    if (known.length === 0 || isKnown) return ended
    const now = Date.now()
    this.#storage.transactionSync(() => {
      this.#storage.sql.exec('INSERT INTO events VALUES (?, ?, ?, ?, ?)', name, id, body, now, position)
      for (const { id: subscription, suspended, refreshBefore } of known) {
        const due = suspended ? refreshBefore : now
        this.#storage.sql.exec(
          'INSERT INTO deliveries (name, event, subscription, key, due) VALUES (?, ?, ?, ?, ?)',
          ...[name, id, subscription, key ?? null, due],
        )
      }
      this.#dropOldest()
    })
    this.#poked.resolve()
    await this.#alarms.add(now)
    return ended
  }

  subscriptions(): readonly SubscriptionSummary[] {
    const rows = this.#tables.query<Subscription>('SELECT * FROM subscriptions ORDER BY id')
    return rows.map(({ id, name, url, suspended, refreshBefore }) => {
      const { origin, pathname } = new URL(url)
      const state = suspended ? 'suspended' : 'active'
      return { id, event: name, url: origin + pathname, state, refreshBefore: new Date(refreshBefore).toISOString() }
    })
  }

  /** @param name of an event. Default: all */
  deadLetters(name?: string): readonly DeadLetter[] {
    return this.#deadDeliveries(name).map(({ event, subscription, reason, endedAt }) => {
      return { id: event, subscription, reason, at: new Date(endedAt).toISOString() }
    })
  }

  /** Sends dead letters again, in their place among those of their keys. @returns how many */
  async redeliver(name?: string, ids?: readonly string[]): Promise<number> {
    const deliveries = this.#deadDeliveries(name).filter(({ event }) => ids?.includes(event) ?? true)
    if (deliveries.length === 0) return 0
    const now = Date.now()
    for (const { seq } of deliveries)
      this.#tables.query('UPDATE deliveries SET due = ?, attempts = 0 WHERE seq = ?', now, seq)
    this.#poked.resolve()
    await this.#alarms.add(now)
    return deliveries.length
  }

  #deadDeliveries(name?: string): DeadDelivery[] {
    return this.#tables.query<DeadDelivery>(
      'SELECT seq, event, subscription, reason, endedAt FROM deliveries WHERE due IS NULL AND name = coalesce(?, name) ORDER BY endedAt, seq',
      name ?? null,
    )
  }

  /** Sends what is due. @returns milliseconds since 1970 of the next time; `undefined`: none, and nothing is stored any more */
  async onAlarm(): Promise<number | undefined> {
    for (const expired of this.#tables.query<Subscription>(
      'SELECT * FROM subscriptions WHERE refreshBefore <= ?',
      Date.now(),
    ))
      await this.#end(expired, 'expired')
    this.#tables.query('DELETE FROM events WHERE at < ? AND body IS NULL', Date.now() - rememberedMs)
    await this.#sendDue()
    this.#deleteDeadLetters()
    // One that is not remembered would count again.
    this.#failedVerifications()
    const [row] = this.#tables.query<{ next: number | null }>(
      `SELECT min(next) AS next FROM (SELECT min(refreshBefore) AS next FROM subscriptions UNION ALL SELECT min(due) FROM deliveries AS one WHERE ${hasTurn}
        UNION ALL SELECT min(endedAt) + ${deadLetterMs} FROM deliveries WHERE due IS NULL
        UNION ALL SELECT min(at) + ${hourMs} FROM failures UNION ALL SELECT min(at) + ${rememberedMs} FROM events WHERE body IS NULL)`,
    )
    return row?.next ?? undefined
  }

  /** Runs attempts until none is due, or until the alarm has begun enough of them. */
  async #sendDue(): Promise<void> {
    const until = Date.now() + alarmMs
    for (let started = 0; ; ) {
      this.#poked = Promise.withResolvers()
      const next = started < alarmAttempts && Date.now() < until ? this.#nextDeliveries() : []
      started += next.length
      for (const delivery of next) this.#start(delivery)
      if (this.#running.size === 0) return
      const ends = [...this.#running.values()].map(({ ended }) => ended)
      const [later] = this.#tables.query<{ due: number | null }>(
        'SELECT min(due) AS due FROM deliveries WHERE due > ?',
        Date.now(),
      )
      // Timers take milliseconds of 31 bits.
      const pauseMs = later?.due ? Math.min(later.due - Date.now(), alarmMs) : alarmMs
      const timer = setTimeout(() => this.#poked.resolve(), pauseMs)
      await Promise.race([...ends, this.#poked.promise])
      clearTimeout(timer)
    }
  }

  /** Returns what is due, at most two for each subscription: what waits for one that fails takes no place of others. */
  #nextDeliveries(): Delivery[] {
    const running = Map.groupBy(this.#running.values(), ({ subscription }) => subscription)
    const subscriptions = this.#tables.query<{ id: string }>('SELECT id FROM subscriptions WHERE suspended = 0')
    const due = subscriptions.flatMap(({ id }) => {
      const free = maxRunningEach - (running.get(id)?.length ?? 0)
      if (free <= 0) return []
      const rows = this.#tables.query<Delivery>(
        `SELECT seq, name, event, subscription, due, attempts FROM deliveries AS one WHERE subscription = ? AND due <= ? AND ${hasTurn}
          ORDER BY due, seq LIMIT ${maxRunningEach}`,
        id,
        Date.now(),
      )
      return rows.filter(({ seq }) => !this.#running.has(seq)).slice(0, free)
    })
    return due.sort((one, other) => one.due - other.due).slice(0, maxRunning - this.#running.size)
  }

  #start(delivery: Delivery): void {
    const ended = this.#attempt(delivery)
      .catch((problem) => {
        this.#host.report(problem)
        const error = {
          kind: 'internal',
          code: 0,
          message: 'The attempt failed before its request: its error is reported',
        }
        this.#observe('events/deliver', this.#find(delivery.subscription), detailsOf(delivery), { error })
        this.#retryLater(delivery)
      })
      .finally(() => this.#running.delete(delivery.seq))
    this.#running.set(delivery.seq, { subscription: delivery.subscription, ended })
  }

  async #attempt(delivery: Delivery): Promise<void> {
    const { name, event, subscription: id } = delivery
    const subscription = this.#find(id)
    const [row] = this.#tables.query<{ body: string | null }>(
      'SELECT body FROM events WHERE name = ? AND id = ?',
      name,
      event,
    )
    if (!subscription || !row?.body) return this.#finish(delivery)
    const deciding = this.#host.terminationOf(subscription).then((termination) => ({ termination }))
    const decided = await waitAtMost(this.#host.limits.timeoutMs, deciding)
    if (!decided) throw new Error('reauthorize or visibleTo takes longer than the timeout of events()')
    const secrets = await this.#secretsOf(subscription)
    if (decided.termination) return this.#terminate(delivery, subscription, decided.termination, secrets)
    if (secrets.length === 0) {
      const reason = 'its secret cannot be read, because its key is no longer in EDGEMCP_KEYS'
      return this.#terminate(delivery, subscription, { reason }, secrets)
    }
    // It may have ended meanwhile.
    if (this.#find(id)?.version !== subscription.version) return
    const webhook = { url: subscription.url, secrets, subscription: id, id: event, body: row.body }
    const begunAt = Date.now()
    const response = await postWebhook(webhook, this.#host.limits.timeoutMs)
    this.#observe('events/deliver', subscription, detailsOf(delivery), { since: begunAt, error: errorOf(response) })
    // What it says about an earlier version says nothing about a later one, which tries again.
    if (this.#find(id)?.version === subscription.version) await this.#onResponse(delivery, subscription, response)
    else if (response.status !== undefined && response.status < 300) this.#finish(delivery)
  }

  async #onResponse(delivery: Delivery, subscription: Subscription, response: WebhookResponse): Promise<void> {
    const { status } = response
    const { id } = subscription
    if (status !== undefined && status >= 200 && status < 300) {
      this.#finish(delivery)
      const set = 'lastDeliveryAt = ?, lastError = NULL, failedSince = NULL, rejections = 0'
      this.#tables.query(`UPDATE subscriptions SET ${set} WHERE id = ?`, Date.now(), id)
      return
    }
    if (status === 413)
      this.#host.report(
        new Error(`A receiver refused an event of the subscription ${id} as too large: it is not sent again`),
      )
    if (status === 410) this.#bury([delivery.seq], 'gone')
    else if (status === 413) this.#bury([delivery.seq], 'too_large')
    else this.#retryLater(delivery)
    const rejections = status === 401 || status === 410 ? 'rejections + 1' : '0'
    const set = `lastError = ?, failedSince = coalesce(failedSince, ?), rejections = ${rejections}`
    this.#tables.query(`UPDATE subscriptions SET ${set} WHERE id = ?`, categoryOf(response), Date.now(), id)
    // Other attempts may have ended meanwhile.
    const current = this.#find(id)
    if (!current || current.rejections < maxRejections) return
    this.#tables.query('UPDATE subscriptions SET suspended = 1 WHERE id = ?', id)
    this.#tables.query(
      'UPDATE deliveries SET due = ? WHERE subscription = ? AND due IS NOT NULL',
      current.refreshBefore,
      id,
    )
    if (!current.suspended) this.#observe('events/suspend', current, { reason: `http_${status}` })
  }

  #retryLater({ seq }: Delivery): void {
    // A refresh may have begun to count again.
    const [row] = this.#tables.query<{ attempts: number }>('SELECT attempts FROM deliveries WHERE seq = ?', seq)
    const pauseMs = Math.min(firstRetryMs * 2 ** (row?.attempts ?? 0), longestRetryMs)
    const due = Date.now() + pauseMs * (1 - Math.random() / 2)
    this.#tables.query(
      'UPDATE deliveries SET attempts = attempts + 1, due = ? WHERE seq = ? AND due IS NOT NULL',
      Math.ceil(due),
      seq,
    )
  }

  /** Makes dead letters of deliveries. */
  #bury(seqs: readonly number[], reason: DeadLetter['reason']): void {
    const set = 'due = NULL, reason = ?, endedAt = ?'
    for (const seq of seqs) this.#tables.query(`UPDATE deliveries SET ${set} WHERE seq = ?`, reason, Date.now(), seq)
    this.#deleteDeadLetters()
  }

  #deleteDeadLetters(): void {
    const newest = `SELECT seq FROM deliveries WHERE due IS NULL ORDER BY endedAt DESC, seq DESC LIMIT ${maxDeadLetters}`
    const old = this.#tables.query<Delivery>(
      `SELECT seq, name, event FROM deliveries WHERE due IS NULL AND (endedAt <= ? OR seq NOT IN (${newest}))`,
      Date.now() - deadLetterMs,
    )
    for (const delivery of old) this.#finish(delivery)
  }

  #finish({ seq, name, event }: Pick<Delivery, 'seq' | 'name' | 'event'>): void {
    this.#storage.transactionSync(() => {
      this.#tables.query('DELETE FROM deliveries WHERE seq = ?', seq)
      this.#tables.query(
        'UPDATE events SET body = NULL WHERE name = ? AND id = ? AND (name, id) NOT IN (SELECT name, event FROM deliveries)',
        name,
        event,
      )
    })
  }

  /** Ends a subscription, reports why, and tells its receiver once. */
  async #terminate(
    delivery: Delivery,
    subscription: Subscription,
    { reason, error }: Termination,
    secrets: readonly string[],
  ): Promise<void> {
    const { id, version, name, url } = subscription
    // It may have been refreshed meanwhile: the next attempt decides.
    if (this.#find(id)?.version !== version) return
    this.#host.report(new Error(`The subscription ${id} to "${name}" has ended: ${reason}`))
    const refusal = { kind: 'forbidden', code: 0, message: reason }
    this.#observe('events/deliver', subscription, detailsOf(delivery), { error: refusal })
    await this.#end(subscription, reason)
    // Without a secret, nothing can be signed.
    if (!error || secrets.length === 0) return
    const body = JSON.stringify({ type: 'terminated', error })
    const webhook = { url, secrets, subscription: id, id: `msg_terminated_${randomText()}`, body }
    await postWebhook(webhook, this.#host.limits.timeoutMs)
  }

  /** Ends a subscription, unless it was refreshed meanwhile. */
  async #end(subscription: Subscription, reason: string): Promise<void> {
    const { id, version, name, url } = subscription
    const isCurrent = this.#storage.transactionSync(() => {
      const ended = this.#tables.query(
        'DELETE FROM subscriptions WHERE id = ? AND version = ? RETURNING id',
        id,
        version,
      )
      if (ended.length === 0) return false
      this.#tables.query('DELETE FROM deliveries WHERE subscription = ?', id)
      this.#tables.query('DELETE FROM verified WHERE url = ? AND url NOT IN (SELECT url FROM subscriptions)', url)
      const unsent = 'body IS NOT NULL AND (name, id) NOT IN (SELECT name, event FROM deliveries)'
      this.#tables.query(`UPDATE events SET body = NULL WHERE ${unsent}`)
      return true
    })
    if (!isCurrent) return
    this.#observe('events/end', subscription, { reason })
    // The index learns of it with the next event, too.
    await this.#host
      .index(name)
      .remove([{ id, version }])
      .catch((problem) => this.#host.report(problem))
  }

  #observe(
    method: EventWork['method'],
    subscription: Subscription | undefined,
    details: Params,
    { since = Date.now(), error }: Partial<Pick<EventWork, 'since' | 'error'>> = {},
  ): void {
    if (!subscription) return
    const { id, name } = subscription
    this.#host.observe({ method, name, owner: this.#name, since, error, details: { subscription: id, ...details } })
  }

  /** Drops the oldest deliveries beyond the limit, which is reported. */
  #dropOldest(): void {
    const [{ count = 0 } = {}] = this.#tables.query<{ count: number }>(
      'SELECT count(*) AS count FROM deliveries WHERE due IS NOT NULL',
    )
    const excess = count - this.#host.limits.waiting
    if (excess <= 0) return
    this.#host.report(
      new Error(`${excess} events of a user are dropped: more than ${this.#host.limits.waiting} wait for receivers`),
    )
    const oldest = this.#tables.query<Delivery>(
      'SELECT seq FROM deliveries WHERE due IS NOT NULL ORDER BY seq LIMIT ?',
      excess,
    )
    this.#bury(
      oldest.map(({ seq }) => seq),
      'dropped',
    )
  }

  /** Sends a challenge, which the receiver must return. @returns why it is not verified; `undefined` if it is */
  async #verify({ id, url, secret }: NewSubscription): Promise<SubscribeOutcome | undefined> {
    this.#supersede(id)
    const verification: Verification = { id, isSuperseded: false, ended: Promise.withResolvers() }
    this.#verifications.add(verification)
    // It counts as failed until it succeeds: others may begin meanwhile.
    const failure = this.#addFailure()
    try {
      // The alarm deletes what is stored, also if no verification is admitted. It takes the place of one whose handler runs, and which would be
      // repeated if this object is lost.
      await this.#alarms.add(Math.min(Date.now() + hourMs, this.#nextDue() ?? Number.POSITIVE_INFINITY))
      // A host is one receiver with all of its ports, and with the final dot of its name.
      const receiver = this.#host.receiver(new URL(url).hostname.replace(/\.$/, ''))
      const max = await receiver.admit(this.#name)
      if (max !== undefined) {
        this.#tables.query('DELETE FROM failures WHERE id = ?', failure)
        return { kind: 'exhausted', limit: 'verificationsOfHost', max }
      }
      const challenge = randomText()
      const body = JSON.stringify({ type: 'verification', challenge })
      const webhook = { url, secrets: [secret], subscription: id, id: `msg_verification_${randomText()}`, body }
      const reason = reasonOf(await postWebhook(webhook, this.#host.limits.timeoutMs, true), challenge)
      if (reason !== undefined) return { kind: 'unverified', reason }
      if (verification.isSuperseded) return { kind: 'unverified', reason: 'challenge_failed' }
      this.#tables.query('DELETE FROM failures WHERE id = ?', failure)
      return undefined
    } finally {
      this.#verifications.delete(verification)
      verification.ended.resolve()
    }
  }

  /** Makes verifications of a subscription that run activate nothing. */
  #supersede(id: string): void {
    for (const one of this.#verifications) if (one.id === id) one.isSuperseded = true
  }

  #addFailure(): number {
    this.#schema.store()
    this.#tables.create()
    const { id } = this.#tables.write<{ id: number }>('INSERT INTO failures (at) VALUES (?) RETURNING id', Date.now())
    return id
  }

  #failedVerifications(): number {
    this.#tables.query('DELETE FROM failures WHERE at < ?', Date.now() - hourMs)
    const [row] = this.#tables.query<{ count: number }>('SELECT count(*) AS count FROM failures')
    return row?.count ?? 0
  }

  async #secretsOf({ secret, previous, previousUntil }: Subscription): Promise<readonly string[]> {
    const sealed = previous !== null && previousUntil > Date.now() ? [secret, previous] : [secret]
    const opened = await Promise.all(sealed.map((text) => this.#host.open(text)))
    return opened.filter((text) => text !== undefined)
  }

  #find(id: string): Subscription | undefined {
    const [row] = this.#tables.query<Subscription>(
      'SELECT * FROM subscriptions WHERE id = ? AND refreshBefore > ?',
      id,
      Date.now(),
    )
    return row
  }

  #nextDue(): number | undefined {
    const [row] = this.#tables.query<{ due: number | null }>(
      `SELECT min(due) AS due FROM deliveries AS one WHERE ${hasTurn}`,
    )
    return row?.due ?? undefined
  }
}

function reasonOf(response: WebhookResponse, challenge: string): string | undefined {
  if (response.status === undefined) return response.reason
  const { status, text } = response
  if (status >= 500) return 'http_5xx'
  if (status >= 400) return 'http_4xx'
  if (status < 200 || status >= 300) return 'challenge_failed'
  return isEcho(text, challenge) ? undefined : 'challenge_failed'
}

function isEcho(text: string, challenge: string): boolean {
  let echo: unknown
  try {
    echo = JSON.parse(text)
  } catch {
    return false
  }
  if (!isObject(echo) || typeof echo.challenge !== 'string') return false
  return isSameText(echo.challenge, challenge)
}

/** Returns a category of the specification, which has none for redirects: as for other answers that no repetition changes, `http_4xx`. */
const categoryOf = (response: WebhookResponse): string =>
  response.status === undefined ? response.reason : response.status >= 500 ? 'http_5xx' : 'http_4xx'

const randomText = (): string => encodeBase64url(crypto.getRandomValues(new Uint8Array(24)))

const detailsOf = ({ event, attempts }: Pick<Delivery, 'event' | 'attempts'>): Params => ({
  event,
  attempt: attempts + 1,
})

/** Returns why an attempt has not delivered; `undefined` if it has. */
function errorOf(response: WebhookResponse): EventWork['error'] {
  const { status } = response
  if (status === undefined) return { kind: response.reason, code: 0, message: 'The receiver gave no response' }
  if (status >= 200 && status < 300) return undefined
  return { kind: categoryOf(response), code: status, message: `The receiver answered with status ${status}` }
}

function statusOf({ suspended, lastDeliveryAt, lastError, failedSince }: Subscription): DeliveryStatus {
  return {
    active: suspended === 0,
    lastError,
    ...(lastDeliveryAt !== null && { lastDeliveryAt: new Date(lastDeliveryAt).toISOString() }),
    ...(failedSince !== null && { failedSince: new Date(failedSince).toISOString() }),
  }
}
