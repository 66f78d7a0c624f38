/** The index of an event: who has subscribed to it, and the publications that are on their way to them. */
import type { Alarms } from '../shared/alarms.ts'
import type { Schema } from '../shared/schema.ts'
import { Tables } from '../shared/tables.ts'
import type { EventsHost } from './events-host.ts'
import type { Member, Publication, StoredRecipients } from './rpc.ts'

/**
 * | table          | a row is                                                        | until                                  |
 * |----------------|-----------------------------------------------------------------|----------------------------------------|
 * | `members`      | a subscription                                                  | it ends or expires                     |
 * | `publications` | an event, and the owner after whom its fan-out continues        | every owner has it, `retryMs` at most  |
 * | `undelivered`  | an owner whose object could not be reached, for an event        | it was reached                         |
 */
const schema = `
CREATE TABLE members (id TEXT PRIMARY KEY, owner TEXT NOT NULL, issuer TEXT NOT NULL, tenant TEXT NOT NULL, subject TEXT NOT NULL,
  args TEXT NOT NULL, expires INTEGER NOT NULL);
CREATE INDEX members_of ON members (issuer, tenant, subject);
CREATE INDEX members_owner ON members (owner);
CREATE TABLE publications (seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL, body TEXT NOT NULL, key TEXT, payload TEXT NOT NULL,
  recipients TEXT NOT NULL, after TEXT NOT NULL DEFAULT '', at INTEGER NOT NULL, isDone INTEGER NOT NULL DEFAULT 0);
CREATE TABLE undelivered (owner TEXT NOT NULL, seq INTEGER NOT NULL, PRIMARY KEY (owner, seq));`

type PublicationRow = {
  seq: number
  id: string
  body: string
  key: string | null
  payload: string
  recipients: string
  after: string
  at: number
}

/** Owners that are reached at the same time. */
const batchOwners = 50
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

  add({ id, owner, who, args, expires }: Member): void {
    this.#create()
    const { issuer, tenant = '', subject = '' } = who
    const row = [id, owner, issuer, tenant, subject, args, expires]
    this.#storage.sql.exec('INSERT OR REPLACE INTO members VALUES (?, ?, ?, ?, ?, ?, ?)', ...row)
  }

  remove(ids: readonly string[]): void {
    for (const id of ids) this.#tables.query('DELETE FROM members WHERE id = ?', id)
  }

  async publish({ id, body, key }: Publication, payload: string, recipients: StoredRecipients): Promise<void> {
    // Without a subscription, nothing is stored.
    if (this.#tables.query('SELECT 1 FROM members LIMIT 1').length === 0) return
    const row = [id, body, key ?? null, payload, JSON.stringify(recipients), Date.now()]
    this.#storage.sql.exec(
      'INSERT INTO publications (id, body, key, payload, recipients, at) VALUES (?, ?, ?, ?, ?, ?)',
      ...row,
    )
    await this.#alarms.add(Date.now())
  }

  /** Sends what was published to the objects of owners. @returns milliseconds since 1970 of the next time; `undefined`: none */
  async onAlarm(): Promise<number | undefined> {
    this.#tables.query('DELETE FROM members WHERE expires <= ?', Date.now())
    await this.#retry()
    for (;;) {
      const [next] = this.#tables.query<PublicationRow>(
        'SELECT * FROM publications WHERE isDone = 0 ORDER BY seq LIMIT 1',
      )
      if (!next) break
      await this.#fanOut(next)
    }
    this.#tables.query('DELETE FROM publications WHERE seq NOT IN (SELECT seq FROM undelivered)')
    const [waiting] = this.#tables.query('SELECT 1 FROM undelivered LIMIT 1')
    return waiting ? Date.now() + retryPauseMs : this.#nextExpiry()
  }

  #nextExpiry(): number | undefined {
    const [row] = this.#tables.query<{ expires: number | null }>('SELECT min(expires) AS expires FROM members')
    return row?.expires ?? undefined
  }

  /** Sends an event to the next owners, in the order of their names. */
  async #fanOut(publication: PublicationRow): Promise<void> {
    const { seq, after, payload } = publication
    const { where, values } = condition(JSON.parse(publication.recipients))
    const members = this.#tables.query<{ id: string; owner: string; args: string }>(
      `SELECT id, owner, args FROM members WHERE owner IN
        (SELECT DISTINCT owner FROM members WHERE owner > ? AND ${where} ORDER BY owner LIMIT ${batchOwners}) AND ${where} ORDER BY owner`,
      after,
      ...values,
      ...values,
    )
    const byOwner = Map.groupBy(members, ({ owner }) => owner)
    const late = new Set(
      this.#tables.query<{ owner: string }>('SELECT DISTINCT owner FROM undelivered').map(({ owner }) => owner),
    )
    const failed = await Promise.all(
      [...byOwner].map(async ([owner, all]) => {
        const chosen = await Promise.all(
          all.map(async (one) => ((await this.#matches(one.args, payload)) ? one.id : [])),
        )
        const ids = chosen.flat()
        if (ids.length === 0) return []
        // What came before it comes first.
        return !late.has(owner) && (await this.#deliver(owner, publication, ids)) ? [] : [owner]
      }),
    )
    this.#storage.transactionSync(() => {
      for (const owner of failed.flat())
        this.#storage.sql.exec('INSERT OR IGNORE INTO undelivered VALUES (?, ?)', owner, seq)
      const last = members.at(-1)?.owner
      if (byOwner.size < batchOwners || last === undefined)
        this.#storage.sql.exec('UPDATE publications SET isDone = 1 WHERE seq = ?', seq)
      else this.#storage.sql.exec('UPDATE publications SET after = ? WHERE seq = ?', last, seq)
    })
  }

  /** Sends what owners lack whose objects could not be reached, to each in order. */
  async #retry(): Promise<void> {
    const owners = this.#tables.query<{ owner: string }>(`SELECT DISTINCT owner FROM undelivered LIMIT ${batchOwners}`)
    await Promise.all(owners.map(({ owner }) => this.#retryOwner(owner)))
  }

  async #retryOwner(owner: string): Promise<void> {
    const rows = this.#tables.query<PublicationRow>(
      'SELECT publications.* FROM undelivered JOIN publications USING (seq) WHERE owner = ? ORDER BY seq',
      owner,
    )
    for (const row of rows) {
      const { where, values } = condition(JSON.parse(row.recipients))
      const members = this.#tables.query<{ id: string; args: string }>(
        `SELECT id, args FROM members WHERE owner = ? AND ${where}`,
        owner,
        ...values,
      )
      const chosen = await Promise.all(
        members.map(async ({ id, args }) => ((await this.#matches(args, row.payload)) ? id : [])),
      )
      const isOver = Date.now() - row.at > retryMs
      if (!isOver && !(await this.#deliver(owner, row, chosen.flat()))) return
      this.#tables.query('DELETE FROM undelivered WHERE owner = ? AND seq = ?', owner, row.seq)
    }
  }

  /** Returns false when the object of the owner could not be reached. */
  async #deliver(owner: string, { id, body, key }: PublicationRow, ids: readonly string[]): Promise<boolean> {
    try {
      this.remove(await this.#host.owner(owner).deliver({ id, body, ...(key !== null && { key }) }, ids))
      return true
    } catch (problem) {
      this.#host.report(problem)
      return false
    }
  }

  /** A function of the developer that throws receives no event. */
  async #matches(args: string, payload: string): Promise<boolean> {
    try {
      return await this.#host.matches(this.#name, args, payload)
    } catch (problem) {
      this.#host.report(problem)
      return false
    }
  }

  #create(): void {
    this.#schema.store()
    this.#tables.create()
  }
}

function condition(recipients: StoredRecipients): { readonly where: string; readonly values: readonly string[] } {
  if ('everyone' in recipients) return { where: '1 = 1', values: [] }
  const { issuer, tenant = '' } = recipients
  if (!('subject' in recipients)) return { where: 'issuer = ? AND tenant = ?', values: [issuer, tenant] }
  return { where: 'issuer = ? AND tenant = ? AND subject = ?', values: [issuer, tenant, recipients.subject ?? ''] }
}
