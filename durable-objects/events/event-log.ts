/**
 * The log of an event: what was published, for the subscriptions that it is on its way to and for clients that read it.
 *
 * The number of a publication is its position in the log: microseconds since 1970, and larger than that of the publication before it. A
 * position therefore means the same after the log was empty and its object deleted everything.
 */
import type { Tables } from '../shared/tables.ts'
import { type EventsHost, keepsLog } from './events-host.ts'
import type { LogPage, LogQuery, Publication, Reader, StoredRecipients } from './rpc.ts'
import { maxPageCharacters } from './turns.ts'

/** A row is an event, until it has reached its subscriptions and the log need not have it any more. */
export const logSchema = `
CREATE TABLE publications (seq INTEGER PRIMARY KEY, id TEXT NOT NULL, key TEXT, recipients TEXT NOT NULL, body TEXT NOT NULL);`

export type PublicationRow = { seq: number; id: string; body: string; key: string | null; recipients: string }

type PageQuery = Pick<LogQuery, 'who' | 'args' | 'limit'>
type Page = Omit<LogPage, 'isTruncated'>

export const microsecondsPerMs = 1000
/** Milliseconds by which the clocks of two machines may differ on which an object runs, one after the other. */
const clockDifferenceMs = 1000
/** Rows that are read at a time. */
const batchRows = 5
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

  /**
   * The position after everything that was published for a client so far. A position of an event for others would reveal when the event was
   * published, so this one may be a second old: an event that is published later has a later position.
   */
  headFor(reader: Reader): number {
    const since = (Date.now() - clockDifferenceMs) * microsecondsPerMs
    return Math.max(this.#readPruned(), this.#readFrom(since, { ...reader, limit: Number.POSITIVE_INFINITY }).position)
  }

  /** The position after everything that was published so far. */
  get #head(): number {
    this.#last ??=
      this.#tables.query<{ last: number | null }>('SELECT max(seq) AS last FROM publications')[0]?.last ?? 0
    return Math.max(this.#last, this.#readPruned(), (Date.now() - clockDifferenceMs) * microsecondsPerMs)
  }

  /** Returns the position of the event. The tables must exist. */
  append({ id, body, key }: Publication, recipients: StoredRecipients): number {
    const seq = Math.max(this.#head + 1, Date.now() * microsecondsPerMs)
    const row = [seq, id, key ?? null, JSON.stringify(recipients), body]
    this.#storage.sql.exec('INSERT INTO publications VALUES (?, ?, ?, ?, ?)', ...row)
    this.#last = seq
    this.#count = this.#length + 1
    return seq
  }

  /** Whether a client with this position may have missed an event that is for it. */
  hasMissed(after: number, reader: Reader): boolean {
    if (!this.isKept || this.positionAfter(after, reader).isTruncated) return true
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

  /** The last event that was deleted. A server that keeps a log again has none of the events before, and begins before the next one. */
  #readPruned(): number {
    if (this.#lastPruned === undefined) {
      this.#lastPruned = this.#storage.kv.get<number>('pruned') ?? 0
      if (this.isKept && this.#lastPruned === unknownPosition) this.#setPruned(Date.now() * microsecondsPerMs - 1)
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
  positionAfter(
    after: number,
    reader: Reader,
    maxAgeMs = Number.POSITIVE_INFINITY,
  ): Pick<LogPage, 'position' | 'isTruncated'> {
    const ageMs = Math.min(this.#host.limits.logMs, maxAgeMs)
    const first = Math.max(Math.floor((Date.now() - ageMs) * microsecondsPerMs), this.#readPruned())
    const isKnown = after >= 0 && after <= Math.max(this.#head, Date.now() * microsecondsPerMs)
    if (isKnown && after >= first) return { position: after, isTruncated: false }
    const head = this.headFor(reader)
    return { position: isKnown ? Math.max(after, Math.min(first, head)) : head, isTruncated: true }
  }

  /** Returns the next events for a client. */
  read({ after, maxAgeMs, ...query }: Omit<LogQuery, 'listener'>): LogPage {
    if (after === undefined) {
      const head = this.headFor(query)
      return { events: [], start: head, position: head, characters: 0, isTruncated: false, hasMore: false }
    }
    const { position: start, isTruncated } = this.positionAfter(after, query, maxAgeMs)
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
        `SELECT * FROM publications WHERE seq > ? AND ${isRecipient} ORDER BY seq LIMIT ?`,
        position,
        recipientTexts(reader.who),
        batchRows,
      )
      for (const row of rows) {
        position = row.seq
        characters += row.body.length
        if (this.isFor(row.body, reader.args)) {
          events.push({ position, body: row.body })
          own = position
        }
        if (events.length >= limit || characters > maxPageCharacters)
          return { events, start, position, characters, hasMore: true }
      }
      if (rows.length < batchRows) break
    }
    // As `headFor` says.
    const now = (Date.now() - clockDifferenceMs) * microsecondsPerMs
    return { events, start, position: Math.max(own, now), characters, hasMore: false }
  }

  /** Whether a recipient with these arguments receives an event: not one for which the function of the developer throws. */
  isFor(body: string, args: string): boolean {
    try {
      return this.#host.matches(this.#name, args, body)
    } catch (problem) {
      this.#host.report(problem)
      return false
    }
  }
}

/** SQL condition for the events whose recipients include a principal. Its value is `recipientTexts`. */
export const isRecipient = 'recipients IN (SELECT value FROM json_each(?))'

/** Returns a JSON list of the recipients that include a principal, each as a row stores it. `who`: absent for an anonymous caller. */
export function recipientTexts(who: Reader['who']): string {
  const all: StoredRecipients[] = [{ everyone: true }]
  if (who) {
    const { issuer, subject } = who
    const tenant = who.tenant || undefined
    if (tenant) all.push({ issuer, tenant })
    if (subject !== undefined) all.push({ issuer, subject, ...(tenant && { tenant }) })
  }
  return JSON.stringify(all.map((one) => JSON.stringify(one)))
}
