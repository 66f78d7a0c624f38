/**
 * The log of an event: what was published, for the subscriptions that it is on its way to and for clients that read it.
 *
 * The number of a publication is its position in the log: microseconds since 1970, and larger than that of the publication before it. A
 * position therefore means the same after the log was empty and its object deleted everything.
 */
import type { Tables } from '../shared/tables.ts'
import { type EventsHost, keepsLog } from './events-host.ts'
import type { LogPage, LogQuery, Publication, Reader, StoredRecipients } from './rpc.ts'

/** A row is an event, until it has reached its subscriptions and the log need not have it any more. */
export const logSchema = `
CREATE TABLE publications (seq INTEGER PRIMARY KEY, id TEXT NOT NULL, body TEXT NOT NULL, key TEXT, recipients TEXT NOT NULL);`

export type PublicationRow = { seq: number; id: string; body: string; key: string | null; recipients: string }

type PageQuery = Pick<LogQuery, 'who' | 'args' | 'limit'>
type Page = Omit<LogPage, 'isTruncated'>

export const microsecondsPerMs = 1000
/** Milliseconds by which the clocks of two machines may differ on which an object runs, one after the other. */
const clockDifferenceMs = 1000
/** Rows that are read at a time. */
const batchRows = 5
/**
 * Characters that are read for a page, also those of events for others: other requests of the object wait while it is read. What is for the
 * client then waits in memory, once in this object and once in the Worker of a reader.
 */
export const maxPageCharacters = 250_000
/** Stored in the place of a position while the server keeps no log. */
const unknownPosition = -1
/** Events beyond its length that the log has before some are deleted. */
const spareRows = 20

export class EventLog {
  readonly #name: string
  readonly #storage: DurableObjectStorage
  readonly #tables: Tables
  readonly #host: EventsHost
  #count: number | undefined
  #last: number | undefined
  /** The stored position of the last event that was deleted; `undefined`: it was not read yet. */
  #lastPruned: number | undefined

  /** @param name of the event */
  constructor(name: string, storage: DurableObjectStorage, tables: Tables, host: EventsHost) {
    this.#name = name
    this.#storage = storage
    this.#tables = tables
    this.#host = host
  }

  /** Called after the storage was deleted. */
  reset(): void {
    this.#count = undefined
    this.#last = undefined
    this.#lastPruned = undefined
  }

  /** Whether clients can read events that were published. */
  get isKept(): boolean {
    return keepsLog(this.#host.limits)
  }

  /** Remembers that events are published while the server keeps no log: clients that continue later have missed them. */
  skip(): void {
    if (!this.isSkipped) this.#setPruned(unknownPosition)
  }

  get isSkipped(): boolean {
    return this.#readPruned() === unknownPosition
  }

  /** The position after everything that was published so far. */
  get head(): number {
    // A log that begins again begins before the next event.
    this.#readPruned()
    return this.#end
  }

  get #end(): number {
    this.#last ??=
      this.#tables.query<{ last: number | null }>('SELECT max(seq) AS last FROM publications')[0]?.last ?? 0
    return Math.max(this.#last, (Date.now() - clockDifferenceMs) * microsecondsPerMs)
  }

  /** Returns the position of the event. The tables must exist. */
  append({ id, body, key }: Publication, recipients: StoredRecipients): number {
    const seq = Math.max(this.head + 1, Date.now() * microsecondsPerMs)
    const row = [seq, id, body, key ?? null, JSON.stringify(recipients)]
    this.#storage.sql.exec('INSERT INTO publications VALUES (?, ?, ?, ?, ?)', ...row)
    this.#last = seq
    this.#count = this.#length + 1
    return seq
  }

  /** Whether a client with this position may have missed an event that is for it. */
  hasMissed(after: number, reader: Reader): boolean {
    if (!this.isKept || this.positionAfter(after).isTruncated) return true
    const { events, hasMore } = this.#readFrom(after, { ...reader, limit: 1 })
    return hasMore || events.length > 0
  }

  /** Deletes what is too old, or too much. @param isOpen condition for rows that still have to reach a subscription */
  prune(isOpen: string): void {
    const { logMs, logEvents } = this.#host.limits
    this.#deleteUntil((Date.now() - logMs) * microsecondsPerMs, isOpen)
    if (this.#length <= logEvents) return
    const [row] = this.#tables.query<{ seq: number }>(
      'SELECT seq FROM publications ORDER BY seq DESC LIMIT 1 OFFSET ?',
      logEvents,
    )
    if (row) this.#deleteUntil(row.seq, isOpen)
  }

  #deleteUntil(seq: number, isOpen: string): void {
    const deleted = this.#tables.query<{ seq: number }>(
      `DELETE FROM publications WHERE seq <= ? AND NOT (${isOpen}) RETURNING seq`,
      seq,
    )
    if (deleted.length === 0) return
    if (this.isKept) this.#setPruned(deleted.reduce((most, row) => Math.max(most, row.seq), this.#readPruned()))
    else this.skip()
    this.#count = undefined
  }

  /** The last event that was deleted. A server that keeps a log again has none of the events before. */
  #readPruned(): number {
    if (this.#lastPruned === undefined) {
      this.#lastPruned = this.#storage.kv.get<number>('pruned') ?? 0
      if (this.isKept && this.#lastPruned === unknownPosition) this.#setPruned(this.#end)
    }
    return this.#lastPruned
  }

  #setPruned(position: number): void {
    this.#storage.kv.put('pruned', position)
    this.#lastPruned = position
  }

  /** Whether it has so many events more than it should that it is time to delete some: not with each event. */
  get isTooLong(): boolean {
    return this.#length > this.#host.limits.logEvents * 1.25 + spareRows
  }

  get isEmpty(): boolean {
    return this.#length === 0
  }

  get #length(): number {
    this.#count ??= this.#tables.query<{ count: number }>('SELECT count(*) AS count FROM publications')[0]?.count ?? 0
    return this.#count
  }

  /** Returns the position from which the log can be read after one that a client has. */
  positionAfter(after: number, maxAgeMs = Number.POSITIVE_INFINITY): Pick<LogPage, 'position' | 'isTruncated'> {
    const { head } = this
    const ageMs = Math.min(this.#host.limits.logMs, maxAgeMs)
    const first = Math.max(Math.floor((Date.now() - ageMs) * microsecondsPerMs), this.#readPruned())
    // A position that this log never had.
    if (!(after >= 0 && after <= head)) return { position: head, isTruncated: true }
    return { position: Math.max(after, Math.min(first, head)), isTruncated: after < first }
  }

  /** Returns the next events for a client. */
  read({ after, maxAgeMs, ...query }: LogQuery): LogPage {
    if (after === undefined) {
      const { head } = this
      return { events: [], start: head, position: head, characters: 0, isTruncated: false, hasMore: false }
    }
    const { position: start, isTruncated } = this.positionAfter(after, maxAgeMs)
    return { isTruncated, ...this.#readFrom(start, query) }
  }

  /** Returns the next events for a stream, which has had every event up to its position. */
  readOn(after: number, query: PageQuery): LogPage {
    const start = Math.max(after, this.#readPruned())
    return { isTruncated: start > after, ...this.#readFrom(start, query) }
  }

  #readFrom(start: number, { limit, ...reader }: PageQuery): Page {
    const events: LogPage['events'][number][] = []
    let position = start
    let own = start
    let characters = 0
    for (;;) {
      const rows = this.#tables.query<PublicationRow>(
        'SELECT * FROM publications WHERE seq > ? ORDER BY seq LIMIT ?',
        position,
        batchRows,
      )
      for (const row of rows) {
        position = row.seq
        characters += row.body.length
        if (this.isFor(row, reader)) {
          events.push({ position, body: row.body })
          own = position
        }
        if (events.length >= limit || characters > maxPageCharacters)
          return { events, start, position, characters, hasMore: true }
      }
      if (rows.length < batchRows) break
    }
    // A position after events of others would tell when they were published. What is published later has a later one.
    const now = (Date.now() - clockDifferenceMs) * microsecondsPerMs
    return { events, start, position: Math.max(own, now), characters, hasMore: false }
  }

  /** A subscription does not receive an event for which the function of the developer throws. */
  isFor({ body, recipients }: Pick<PublicationRow, 'body' | 'recipients'>, { who, args }: Reader): boolean {
    if (!isRecipient(JSON.parse(recipients), who)) return false
    try {
      return this.#host.matches(this.#name, args, body)
    } catch (problem) {
      this.#host.report(problem)
      return false
    }
  }
}

export function isRecipient(recipients: StoredRecipients, who: Reader['who']): boolean {
  if ('everyone' in recipients) return true
  const { issuer, tenant = '' } = recipients
  if (!who || who.issuer !== issuer || (who.tenant ?? '') !== tenant) return false
  return !('subject' in recipients) || who.subject === recipients.subject
}
