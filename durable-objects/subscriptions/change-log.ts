/**
 * The changes of the last minutes, for streams that were disconnected meanwhile, and for sessions that have not received them. The table is
 * in `object.ts`.
 */
import type { Schema } from '../shared/schema.ts'
import type { Tables } from '../shared/tables.ts'

export const changesSchema = `
  CREATE TABLE changes (seq INTEGER PRIMARY KEY, change TEXT, topics TEXT, at INTEGER, deliveredTo TEXT);
  CREATE INDEX undelivered ON changes (seq) WHERE deliveredTo IS NOT NULL;
  CREATE INDEX waiting ON changes (seq) WHERE at IS NULL;
`

/** Milliseconds for which a stream may be disconnected without missing a change. */
export const retentionMs = 5 * 60_000

/** The changes that are deleted: older than a time, and not the last one. */
const isOld = 'at < ? AND deliveredTo IS NULL AND seq < ?'

/**
 * A logged change. `at`: milliseconds since 1970; `null`: it waits to be sent. `deliveredTo`: the last session, by address, up to which it
 * was delivered to all.
 */
export type LoggedChange = {
  seq: number
  change: string
  topics: readonly string[]
  at: number | null
  deliveredTo: string
}

type ChangeRow = Omit<LoggedChange, 'topics'> & { topics: string }

const readChange = (row: ChangeRow): LoggedChange => ({ ...row, topics: JSON.parse(row.topics) })

export class ChangeLog {
  readonly #tables: Tables
  readonly #kv: SyncKvStorage
  readonly #schema: Schema

  constructor(tables: Tables, kv: SyncKvStorage, schema: Schema) {
    this.#tables = tables
    this.#kv = kv
    this.#schema = schema
  }

  /**
   * Logs a change. Returns its number.
   *
   * @param at milliseconds since 1970; `null`: it is sent later
   * @param hasSessions whether sessions have subscribed to it
   */
  append(change: string, topics: readonly string[], at: number | null, hasSessions: boolean): number {
    this.#schema.store()
    this.#tables.create()
    const { seq } = this.#tables.write<{ seq: number }>(
      'INSERT INTO changes (change, topics, at, deliveredTo) VALUES (?, ?, ?, ?) RETURNING seq',
      change,
      JSON.stringify(topics),
      at,
      hasSessions ? '' : null,
    )
    return seq
  }

  /** The number of the last change; 0 before the first. */
  get last(): number {
    return this.#tables.query<{ last: number | null }>('SELECT max(seq) AS last FROM changes')[0]?.last ?? 0
  }

  /** The number of the last change that was deleted; 0 before the first. */
  get pruned(): number {
    return this.#kv.get<number>('pruned') ?? 0
  }

  /**
   * Returns the changes after a number, without those that wait to be sent; `undefined` when some of them were deleted.
   *
   * @param limit of their number. Default: none
   */
  after(seq: number, limit = -1): LoggedChange[] | undefined {
    if (seq < this.pruned || seq > this.last) return undefined
    return this.#tables
      .query<ChangeRow>('SELECT * FROM changes WHERE seq > ? AND at IS NOT NULL ORDER BY seq LIMIT ?', seq, limit)
      .map(readChange)
  }

  /** Returns the first change after a number that has to be delivered to sessions, and does not wait to be sent. */
  undeliveredAfter(seq: number): LoggedChange | undefined {
    const [row] = this.#tables.query<ChangeRow>(
      'SELECT * FROM changes WHERE deliveredTo IS NOT NULL AND at IS NOT NULL AND seq > ? ORDER BY seq LIMIT 1',
      seq,
    )
    return row && readChange(row)
  }

  /** @param last see `LoggedChange`; `null`: it was delivered to all */
  markDelivered(seq: number, last: string | null): void {
    this.#tables.query('UPDATE changes SET deliveredTo = ? WHERE seq = ?', last, seq)
  }

  /** The changes that wait to be sent. */
  get waiting(): LoggedChange[] {
    return this.#tables.query<ChangeRow>('SELECT * FROM changes WHERE at IS NULL ORDER BY seq').map(readChange)
  }

  /**
   * Moves a waiting change behind those that were sent meanwhile, so that numbers on a stream increase. Returns its new number.
   *
   * @param hasSessions whether sessions have subscribed to it by now
   */
  requeue(seq: number, now: number, hasSessions: boolean): number {
    const row = this.#tables.write<{ seq: number }>(
      'UPDATE changes SET seq = (SELECT max(seq) + 1 FROM changes), at = ?, deliveredTo = ? WHERE seq = ? RETURNING seq',
      now,
      hasSessions ? '' : null,
      seq,
    )
    return row.seq
  }

  /**
   * Deletes old changes, once some are twice as old as a stream may be disconnected: many at once. Returns true if changes remain that have
   * to be deleted later.
   */
  prune(now: number): boolean {
    const last = this.last
    const [oldest] = this.#tables.query<{ at: number }>(
      'SELECT at FROM changes WHERE at IS NOT NULL AND deliveredTo IS NULL ORDER BY seq LIMIT 1',
    )
    if (oldest && oldest.at < now - 2 * retentionMs) this.#deleteOld(now, last)
    return this.#tables.query('SELECT 1 FROM changes WHERE seq < ? LIMIT 1', last).length > 0
  }

  #deleteOld(now: number, last: number): void {
    const [old] = this.#tables.query<{ seq: number | null }>(
      `SELECT max(seq) AS seq FROM changes WHERE ${isOld}`,
      now - retentionMs,
      last,
    )
    if (old?.seq) {
      // Stored before they are deleted: if a write is refused, no stream may continue without them.
      this.#kv.put('pruned', old.seq)
      this.#tables.query(`DELETE FROM changes WHERE ${isOld}`, now - retentionMs, last)
    }
  }

  /** Records that changes may be missing: streams that reconnect end. */
  markGap(now: number): void {
    this.#kv.put('pruned', this.append('{}', [], now, false))
  }
}
