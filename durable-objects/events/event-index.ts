/** The index of an event: who has subscribed to it, and the publications that are on their way to them. */
import type { Alarms } from '../shared/alarms.ts'
import type { Schema } from '../shared/schema.ts'
import { Tables } from '../shared/tables.ts'
import type { EventsHost } from './events-host.ts'
import type { Member, MemberId, Publication, StoredRecipients } from './rpc.ts'

/**
 * | table          | a row is                                                        | until                           |
 * |----------------|-----------------------------------------------------------------|---------------------------------|
 * | `members`      | a subscription                                                  | it ends or expires              |
 * | `publications` | an event, and the owner after whom its fan-out continues        | every owner has it              |
 * | `undelivered`  | an owner whose object could not be reached, for an event        | it was reached, a day at most   |
 */
const schema = `
CREATE TABLE members (id TEXT PRIMARY KEY, version INTEGER NOT NULL, owner TEXT NOT NULL, issuer TEXT NOT NULL, tenant TEXT NOT NULL,
  subject TEXT NOT NULL, args TEXT NOT NULL, expires INTEGER NOT NULL);
CREATE INDEX members_of ON members (issuer, tenant, subject);
CREATE INDEX members_owner ON members (owner);
CREATE TABLE publications (seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL, body TEXT NOT NULL, key TEXT,
  recipients TEXT NOT NULL, after TEXT NOT NULL DEFAULT '', at INTEGER NOT NULL, isDone INTEGER NOT NULL DEFAULT 0);
CREATE TABLE undelivered (owner TEXT NOT NULL, seq INTEGER NOT NULL, PRIMARY KEY (owner, seq));`

type PublicationRow = {
  seq: number
  id: string
  body: string
  key: string | null
  recipients: string
  after: string
  at: number
}
type MemberRow = { id: string; version: number; owner: string; args: string }

/** Milliseconds for which a subscription is known after its end: its owner decides, and may have extended it. */
const graceMs = 60_000
/** Owners that are reached at the same time. */
const batchOwners = 50
/** Batches of one alarm: a Worker may make a limited number of requests for each. */
const alarmBatches = 10
/** Milliseconds until owners who could not be reached are tried again. */
const retryPauseMs = 5000
/** Milliseconds after which an event is given up for an owner whose object cannot be reached. */
const retryMs = 24 * 60 * 60_000

export class EventIndex {
  readonly #name: string
  readonly #storage: DurableObjectStorage
  readonly #tables: Tables
  readonly #schema: Schema
  readonly #alarms: Alarms
  readonly #host: EventsHost

  constructor(
    name: string,
    storage: DurableObjectStorage,
    parts: { schema: Schema; alarms: Alarms; host: EventsHost },
  ) {
    this.#name = name
    this.#storage = storage
    this.#tables = new Tables(storage.sql, 'members', schema)
    this.#schema = parts.schema
    this.#alarms = parts.alarms
    this.#host = parts.host
  }

  /** Called after the storage was deleted. */
  reset(): void {
    this.#tables.reset()
  }

  async add({ id, version, owner, who, args, expires }: Member): Promise<void> {
    this.#schema.store()
    this.#tables.create()
    const { issuer, tenant = '', subject = '' } = who
    const row = [id, version, owner, issuer, tenant, subject, args, expires]
    this.#storage.sql.exec(
      `INSERT INTO members VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE
        SET version = excluded.version, expires = excluded.expires WHERE excluded.version > version`,
      ...row,
    )
    // It takes the place of an alarm whose handler runs, and which would be repeated if this object is lost.
    await this.#alarms.add(this.#nextPublication() ? Date.now() + retryPauseMs : expires + graceMs)
  }

  remove(members: readonly MemberId[]): void {
    for (const { id, version } of members)
      this.#tables.query('DELETE FROM members WHERE id = ? AND version <= ?', id, version)
  }

  async publish({ id, body, key }: Publication, recipients: StoredRecipients): Promise<void> {
    // Without a subscription, nothing is stored.
    if (this.#tables.query('SELECT 1 FROM members LIMIT 1').length === 0) return
    this.#storage.sql.exec(
      'INSERT INTO publications (id, body, key, recipients, at) VALUES (?, ?, ?, ?, ?)',
      id,
      body,
      key ?? null,
      JSON.stringify(recipients),
      Date.now(),
    )
    await this.#alarms.add(Date.now())
  }

  /** Sends what was published to the objects of owners. @returns milliseconds since 1970 of the next time; `undefined`: none */
  async onAlarm(): Promise<number | undefined> {
    this.#tables.query('DELETE FROM members WHERE expires <= ?', Date.now() - graceMs)
    await this.#retry()
    for (let batches = 0; batches < alarmBatches; batches += 1) {
      const next = this.#nextPublication()
      if (!next) break
      await this.#fanOut(next)
    }
    this.#tables.query('DELETE FROM publications WHERE isDone = 1 AND seq NOT IN (SELECT seq FROM undelivered)')
    if (this.#nextPublication()) return Date.now()
    const [waiting] = this.#tables.query('SELECT 1 FROM undelivered LIMIT 1')
    if (waiting) return Date.now() + retryPauseMs
    const [row] = this.#tables.query<{ expires: number | null }>('SELECT min(expires) AS expires FROM members')
    return typeof row?.expires === 'number' ? row.expires + graceMs : undefined
  }

  #nextPublication(): PublicationRow | undefined {
    const [next] = this.#tables.query<PublicationRow>(
      'SELECT * FROM publications WHERE isDone = 0 ORDER BY seq LIMIT 1',
    )
    return next
  }

  /** Sends an event to the next owners, in the order of their names. */
  async #fanOut(publication: PublicationRow): Promise<void> {
    const { seq, after } = publication
    const { where, values } = condition(JSON.parse(publication.recipients))
    const owners = this.#tables.query<{ owner: string }>(
      `SELECT DISTINCT owner FROM members WHERE owner > ? AND ${where} ORDER BY owner LIMIT ${batchOwners}`,
      after,
      ...values,
    )
    const late = new Set(
      this.#tables.query<{ owner: string }>('SELECT DISTINCT owner FROM undelivered').map((row) => row.owner),
    )
    const failed = await Promise.all(
      // What came before it comes first.
      owners.map(async ({ owner }) => (!late.has(owner) && (await this.#deliver(owner, publication)) ? [] : [owner])),
    )
    this.#storage.transactionSync(() => {
      for (const owner of failed.flat())
        this.#storage.sql.exec(
          // An alarm that was repeated may have done all of it.
          'INSERT OR IGNORE INTO undelivered SELECT ?, seq FROM publications WHERE seq = ?',
          ...[owner, seq],
        )
      const last = owners.length < batchOwners ? undefined : owners.at(-1)
      if (last) this.#storage.sql.exec('UPDATE publications SET after = ? WHERE seq = ?', last.owner, seq)
      else this.#storage.sql.exec('UPDATE publications SET isDone = 1 WHERE seq = ?', seq)
    })
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
      const isOver = Date.now() - row.at > retryMs
      if (!isOver && !(await this.#deliver(owner, row))) return
      this.#tables.query('DELETE FROM undelivered WHERE owner = ? AND seq = ?', owner, row.seq)
    }
  }

  /** Sends an event to the subscriptions of an owner that it is for. Returns false when the object of the owner could not be reached. */
  async #deliver(owner: string, { id, body, key, recipients }: PublicationRow): Promise<boolean> {
    const { where, values } = condition(JSON.parse(recipients))
    const members = this.#tables.query<MemberRow>(
      `SELECT id, version, owner, args FROM members WHERE owner = ? AND ${where}`,
      owner,
      ...values,
    )
    const { data } = JSON.parse(body)
    const matching = await Promise.all(members.map(async (one) => ((await this.#matches(one.args, data)) ? [one] : [])))
    const chosen = matching.flat().map((one) => ({ id: one.id, version: one.version }))
    if (chosen.length === 0) return true
    try {
      this.remove(await this.#host.owner(owner).deliver({ id, body, ...(key !== null && { key }) }, chosen))
      return true
    } catch (problem) {
      this.#host.report(problem)
      return false
    }
  }

  /** A subscription does not receive an event for which the function of the developer throws. */
  async #matches(args: string, data: unknown): Promise<boolean> {
    try {
      return await this.#host.matches(this.#name, args, data)
    } catch (problem) {
      this.#host.report(problem)
      return false
    }
  }
}

function condition(recipients: StoredRecipients): { readonly where: string; readonly values: readonly string[] } {
  if ('everyone' in recipients) return { where: '1 = 1', values: [] }
  const { issuer, tenant = '' } = recipients
  if (!('subject' in recipients)) return { where: 'issuer = ? AND tenant = ?', values: [issuer, tenant] }
  return { where: 'issuer = ? AND tenant = ? AND subject = ?', values: [issuer, tenant, recipients.subject ?? ''] }
}
