/** The index of an event: who has subscribed to it, and the publications that are on their way to them. */
import type { Alarms } from '../shared/alarms.ts'
import type { Schema } from '../shared/schema.ts'
import { Tables } from '../shared/tables.ts'
import { EventLog, isRecipient, logSchema, type PublicationRow, recipientTexts } from './event-log.ts'
import { EventStreams } from './event-streams.ts'
import type { EventsHost } from './events-host.ts'
import type { LogPage, LogQuery, Member, MemberId, Publication, Reader, StoredRecipients } from './rpc.ts'
import { Turns } from './turns.ts'

/**
 * | table          | a row is                                                        | until                           |
 * |----------------|-----------------------------------------------------------------|---------------------------------|
 * | `members`      | a subscription                                                  | it ends or expires              |
 * | `publications` | an event: see `event-log.ts`                                    | every owner has it, and the log need not have it |
 * | `fanOuts`      | an event on its way, the owner after whom it continues, and the number of subscriptions that it was `sent` to | it was sent to every owner      |
 * | `undelivered`  | an owner whose object could not be reached, for an event        | it was reached, a day at most   |
 *
 * | key      | meaning                                                          | lifetime                        |
 * |----------|------------------------------------------------------------------|---------------------------------|
 * | `pruned` | the last event that was deleted; -1: events are published while the server keeps no log | as long as anything is stored; -1 until it keeps one |
 * | `expiry` | when expired subscriptions are looked for, in ms since 1970      | as long as anything is stored   |
 */
const schema = `
CREATE TABLE members (id TEXT PRIMARY KEY, version INTEGER NOT NULL, owner TEXT NOT NULL, issuer TEXT NOT NULL, tenant TEXT NOT NULL,
  subject TEXT NOT NULL, args TEXT NOT NULL, expires INTEGER NOT NULL);
CREATE INDEX members_of ON members (issuer, tenant, subject, owner);
CREATE INDEX members_owner ON members (owner, subject);
CREATE TABLE fanOuts (seq INTEGER PRIMARY KEY, key TEXT, after TEXT NOT NULL DEFAULT '["",""]', sent INTEGER NOT NULL DEFAULT 0);
CREATE TABLE undelivered (owner TEXT NOT NULL, seq INTEGER NOT NULL, PRIMARY KEY (owner, seq));${logSchema}`

type FanOut = PublicationRow & { after: string; sent: number }
type MemberRow = {
  id: string
  version: number
  owner: string
  issuer: string
  tenant: string
  subject: string
  args: string
}

/** Milliseconds for which a subscription is known after its end: its owner decides, and may have extended it. */
const graceMs = 60_000
/** Owners that are reached at the same time. */
const batchOwners = 50
/** Events that are on their way at the same time: one for everyone must not delay one for a user. */
const concurrentEvents = 8
/** Batches of one alarm: a Worker may make a limited number of requests for each. */
const alarmBatches = 10
/** Milliseconds until expired subscriptions are looked for again: that reads all of them, and their owners remove most of them. */
const expiryPauseMs = 60 * 60_000
/** Milliseconds until owners who could not be reached are tried again. */
const retryPauseMs = 5000
/** Milliseconds after which an event is given up for an owner whose object cannot be reached. */
const retryMs = 24 * 60 * 60_000

/** Whether an event is on its way. */
const isOpen = 'seq IN (SELECT seq FROM fanOuts) OR seq IN (SELECT seq FROM undelivered)'

export class EventIndex {
  readonly streams: EventStreams
  readonly #name: string
  readonly #log: EventLog
  readonly #turns = new Turns()
  readonly #storage: DurableObjectStorage
  readonly #tables: Tables
  readonly #schema: Schema
  readonly #alarms: Alarms
  readonly #host: EventsHost

  constructor(name: string, ctx: DurableObjectState, parts: { schema: Schema; alarms: Alarms; host: EventsHost }) {
    const { storage } = ctx
    this.#name = name
    this.#storage = storage
    this.#tables = new Tables(storage.sql, 'members', schema)
    this.#log = new EventLog(name, storage, this.#tables, parts.host)
    this.streams = new EventStreams(ctx, this.#log, this.#turns, parts.host)
    this.#schema = parts.schema
    this.#alarms = parts.alarms
    this.#host = parts.host
  }

  /** Called after the storage was deleted. */
  reset(): void {
    this.#tables.reset()
    this.#log.reset()
  }

  async add(
    { id, version, owner, who, args, expires }: Member,
    after?: number,
  ): Promise<Pick<LogPage, 'position' | 'isTruncated'>> {
    this.#schema.store()
    this.#tables.create()
    // One that is known has missed nothing: each event is on its way to it.
    const isKnown = this.#tables.query('SELECT 1 FROM members WHERE id = ?', id).length > 0
    const isTruncated = !isKnown && after !== undefined && this.#log.hasMissed(after, { who, args })
    const { issuer, tenant = '', subject = '' } = who
    const row = [id, version, owner, issuer, tenant, subject, args, expires]
    this.#storage.sql.exec(
      `INSERT INTO members VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE
        SET version = excluded.version, expires = excluded.expires WHERE excluded.version > version`,
      ...row,
    )
    const expiry = this.#expiry
    if (expiry === undefined || expires + graceMs < expiry) this.#storage.kv.put('expiry', expires + graceMs)
    // It takes the place of an alarm whose handler runs, and which would be repeated if this object is lost.
    const isBusy = this.#tables.query('SELECT 1 FROM fanOuts LIMIT 1').length > 0
    await this.#alarms.add(isBusy ? Date.now() + retryPauseMs : expires + graceMs)
    return { position: this.#settledFor(owner, { who, args }), isTruncated }
  }

  /** Returns a position up to which an owner has received everything. The position does not reveal when events for others were published. */
  #settledFor(owner: string, reader: Reader): number {
    const [row] = this.#tables.query<{ settled: number | null }>(
      `SELECT min(seq) - 1 AS settled FROM publications
        WHERE (seq IN (SELECT seq FROM fanOuts) OR seq IN (SELECT seq FROM undelivered WHERE owner = ?)) AND ${isRecipient}`,
      owner,
      recipientTexts(reader.who),
    )
    return row?.settled ?? this.#log.headFor(reader)
  }

  remove(members: readonly MemberId[]): void {
    for (const { id, version } of members)
      this.#tables.query('DELETE FROM members WHERE id = ? AND version <= ?', id, version)
  }

  owners(recipients: StoredRecipients): readonly string[] {
    const { where, values } = condition(recipients)
    const rows = this.#tables.query<MemberRow>(`SELECT DISTINCT owner FROM members WHERE ${where}`, ...values)
    return rows.map(({ owner }) => owner)
  }

  /** Whether an event that is published now is stored: a client can read it, or has subscribed. Without a log, that it was published. */
  get storesEvents(): boolean {
    return this.#log.isKept || this.#hasMembers || !this.#log.isSkipped
  }

  /** Whether something is stored that has no lifetime. */
  get isLasting(): boolean {
    return this.#log.isSkipped
  }

  get #hasMembers(): boolean {
    return this.#tables.query('SELECT 1 FROM members LIMIT 1').length > 0
  }

  async publish(publication: Publication, recipients: StoredRecipients): Promise<void> {
    const hasMembers = this.#hasMembers
    if (!hasMembers) this.#observe(publication.id, recipients, Date.now(), 0)
    if (!this.#log.isKept) this.#log.skip()
    if (!hasMembers && !this.#log.isKept) return
    this.#tables.create()
    this.#storage.transactionSync(() => {
      const seq = this.#log.append(publication, recipients)
      if (hasMembers)
        this.#storage.sql.exec('INSERT INTO fanOuts (seq, key) VALUES (?, ?)', seq, publication.key ?? null)
    })
    if (this.#log.isTooLong) this.#log.prune(isOpen)
    await this.#alarms.add(hasMembers ? Date.now() : Date.now() + this.#host.limits.logMs)
    this.streams.wake()
  }

  read({ listener, ...query }: LogQuery): Promise<LogPage> {
    return this.#turns.take(listener, () => this.#log.read(query))
  }

  /** Sends what was published to the objects of owners. @returns milliseconds since 1970 of the next time; `undefined`: none */
  async onAlarm(): Promise<number | undefined> {
    await this.#retry()
    for (let batches = 0; batches < alarmBatches; ) {
      const next = this.#nextFanOuts()
      if (next.length === 0) break
      batches += next.length
      await Promise.all(next.map((one) => this.#fanOut(one)))
    }
    this.#log.prune(isOpen)
    return this.#nextAlarm()
  }

  #nextAlarm(): number | undefined {
    const now = Date.now()
    const has = (rows: string) => this.#tables.query(`SELECT 1 FROM ${rows} LIMIT 1`).length > 0
    if (has('fanOuts')) return now
    if (has('undelivered')) return now + retryPauseMs
    // One alarm deletes many events.
    const next = Math.min(this.#expire(), this.#log.isEmpty ? Number.POSITIVE_INFINITY : now + this.#host.limits.logMs)
    return next === Number.POSITIVE_INFINITY ? undefined : next
  }

  /** Deletes expired subscriptions if it is time. Returns when it is time again; `Infinity` without a subscription. */
  #expire(): number {
    const now = Date.now()
    const expiry = this.#expiry
    if (this.#hasMembers && expiry !== undefined && expiry > now) return expiry
    this.#tables.query('DELETE FROM members WHERE expires <= ?', now - graceMs)
    const [row] = this.#tables.query<{ expires: number | null }>('SELECT min(expires) AS expires FROM members')
    if (typeof row?.expires !== 'number') return Number.POSITIVE_INFINITY
    const next = Math.max(row.expires + graceMs, now + expiryPauseMs)
    this.#storage.kv.put('expiry', next)
    return next
  }

  get #expiry(): number | undefined {
    return this.#storage.kv.get<number>('expiry')
  }

  /** Returns events that are on their way. Those with the same key wait for each other. */
  #nextFanOuts(): FanOut[] {
    return this.#tables.query<FanOut>(
      `SELECT publications.*, after, sent FROM fanOuts AS one JOIN publications USING (seq) WHERE one.key IS NULL OR NOT EXISTS
        (SELECT 1 FROM fanOuts AS other WHERE other.key = one.key AND other.seq < one.seq) ORDER BY seq LIMIT ?`,
      concurrentEvents,
    )
  }

  /** Sends an event to the next owners, in the order of an index. */
  async #fanOut(publication: FanOut): Promise<void> {
    const { seq, after } = publication
    const { where, values, order } = condition(JSON.parse(publication.recipients))
    const owners = this.#tables.query<{ owner: string; cursor: string }>(
      `SELECT DISTINCT owner, json_array(${order}) AS cursor FROM members WHERE (${order}) > (?, ?) AND ${where}
        ORDER BY ${order} LIMIT ${batchOwners}`,
      ...JSON.parse(after),
      ...values,
    )
    const late = new Set(
      this.#tables.query<{ owner: string }>('SELECT DISTINCT owner FROM undelivered').map((row) => row.owner),
    )
    const delivered = await Promise.all(
      // What came before it comes first.
      owners.map(async ({ owner }) => ({
        owner,
        count: late.has(owner) ? undefined : await this.#deliver(owner, publication),
      })),
    )
    const sent = delivered.reduce((sum, { count = 0 }) => sum + count, publication.sent)
    const last = owners.length < batchOwners ? undefined : owners.at(-1)
    this.#storage.transactionSync(() => {
      // An alarm that was repeated may have done all of it.
      for (const { owner, count } of delivered) {
        if (count !== undefined) continue
        this.#storage.sql.exec('INSERT OR IGNORE INTO undelivered SELECT ?, seq FROM fanOuts WHERE seq = ?', owner, seq)
      }
      if (last) this.#storage.sql.exec('UPDATE fanOuts SET after = ?, sent = ? WHERE seq = ?', last.cursor, sent, seq)
      else this.#storage.sql.exec('DELETE FROM fanOuts WHERE seq = ?', seq)
    })
    if (!last) this.#observe(publication.id, JSON.parse(publication.recipients), seq / 1000, sent)
  }

  /**
   * @param since milliseconds since 1970
   * @param subscriptions to which the event was sent; those whose object was not reached at first are not counted
   */
  #observe(event: string, recipients: StoredRecipients, since: number, subscriptions: number): void {
    const details = { event, recipients, subscriptions }
    this.#host.observe({ method: 'events/publish', name: this.#name, since, details })
  }

  /** Sends what owners lack whose objects could not be reached, to each in order. */
  async #retry(): Promise<void> {
    const owners = this.#tables.query<{ owner: string }>(
      `SELECT DISTINCT owner FROM undelivered ORDER BY random() LIMIT ${batchOwners}`,
    )
    await Promise.all(owners.map(({ owner }) => this.#retryOwner(owner)))
  }

  async #retryOwner(owner: string): Promise<void> {
    const rows = this.#tables.query<PublicationRow>(
      'SELECT publications.* FROM undelivered JOIN publications USING (seq) WHERE owner = ? ORDER BY seq LIMIT 10',
      owner,
    )
    for (const row of rows) {
      const isOver = Date.now() - row.seq / 1000 > retryMs
      if (!isOver && (await this.#deliver(owner, row)) === undefined) return
      this.#tables.query('DELETE FROM undelivered WHERE owner = ? AND seq = ?', owner, row.seq)
    }
  }

  /**
   * Sends an event to the subscriptions of an owner that it is for. Returns their number; `undefined` when the object of the owner could not
   * be reached.
   */
  async #deliver(owner: string, { seq, id, body, key, recipients }: PublicationRow): Promise<number | undefined> {
    const { where, values } = condition(JSON.parse(recipients))
    const members = this.#tables.query<MemberRow>(
      `SELECT * FROM members WHERE owner = ? AND ${where}`,
      owner,
      ...values,
    )
    const chosen = members
      .filter(({ args }) => this.#log.isFor(body, args))
      .map((one) => ({ id: one.id, version: one.version }))
    if (chosen.length === 0) return 0
    try {
      const event = { position: seq, id, body, ...(key !== null && { key }) }
      this.remove(await this.#host.owner(owner).deliver(event, chosen))
      return chosen.length
    } catch (problem) {
      this.#host.report(problem)
      return undefined
    }
  }
}

/** @returns `order`: the columns of an index that has the subscriptions in the order in which owners are reached */
function condition(recipients: StoredRecipients): {
  readonly where: string
  readonly values: readonly string[]
  readonly order: string
} {
  if ('everyone' in recipients) return { where: '1 = 1', values: [], order: 'owner, subject' }
  const order = 'subject, owner'
  const { issuer, tenant = '' } = recipients
  if (!('subject' in recipients)) return { where: 'issuer = ? AND tenant = ?', values: [issuer, tenant], order }
  const values = [issuer, tenant, recipients.subject ?? '']
  return { where: 'issuer = ? AND tenant = ? AND subject = ?', values, order }
}
