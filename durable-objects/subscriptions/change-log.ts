/**
 * What has changed in the last minutes, for listeners whose connection was lost meanwhile and for sessions that have not
 * been told yet.
 *
 * | table     | column   | meaning                                                         | lifetime             |
 * |-----------|----------|-----------------------------------------------------------------|----------------------|
 * | `changes` | `seq`    | counts what was logged; grows, because the last one stays       | `keptFor`, the last one for good |
 * |           | `change` | a `Change` as JSON                                              |                      |
 * |           | `topics` | whom it is for, as JSON                                         |                      |
 * |           | `at`     | milliseconds: when it was told; NULL: it waits to be            |                      |
 * |           | `told`   | of the sessions, by name: who was told last; NULL: all have been |                      |
 */
import type { Tables } from '../shared/tables.ts'

export const changesSchema = `
  CREATE TABLE changes (seq INTEGER PRIMARY KEY, change TEXT, topics TEXT, at INTEGER, told TEXT);
  CREATE INDEX untold ON changes (seq) WHERE told IS NOT NULL;
  CREATE INDEX waiting ON changes (seq) WHERE at IS NULL;
`

/** Milliseconds for which a listener may be away without missing anything: at least. */
export const retentionMs = 5 * 60_000

export type LoggedChange = { seq: number; change: string; topics: string; told: string }

export class ChangeLog {
  readonly #tables: Tables
  readonly #kv: SyncKvStorage

  constructor(tables: Tables, kv: SyncKvStorage) {
    this.#tables = tables
    this.#kv = kv
  }

  /**
   * @param at milliseconds; `null`: it is told later
   * @param hasSessions sessions are to be told
   */
  append(change: string, topics: readonly string[], at: number | null, hasSessions: boolean): number {
    this.#tables.create()
    const [row] = this.#tables.query<{ seq: number }>(
      'INSERT INTO changes (change, topics, at, told) VALUES (?, ?, ?, ?) RETURNING seq',
      change,
      JSON.stringify(topics),
      at,
      hasSessions ? '' : null,
    )
    return (row as { seq: number }).seq
  }

  /** The last one; 0 before the first. */
  get last(): number {
    return this.#tables.query<{ last: number | null }>('SELECT max(seq) AS last FROM changes')[0]?.last ?? 0
  }

  /** What was logged after one; `undefined` when some of it is not kept any more. */
  after(seq: number): LoggedChange[] | undefined {
    if (seq < (this.#kv.get<number>('pruned') ?? 0) || seq > this.last) return undefined
    return this.#tables.query<LoggedChange>('SELECT * FROM changes WHERE seq > ? ORDER BY seq', seq)
  }

  /** The first one that sessions are still to be told of, but for these. */
  undelivered(without: Iterable<number>): LoggedChange | undefined {
    const [row] = this.#tables.query<LoggedChange>(
      `SELECT * FROM changes WHERE told IS NOT NULL AND seq NOT IN (SELECT value FROM json_each(?)) ORDER BY seq LIMIT 1`,
      JSON.stringify([...without]),
    )
    return row
  }

  /** @param last the session that was told last; `null`: there are no more */
  markDelivered(seq: number, last: string | null): void {
    this.#tables.query('UPDATE changes SET told = ? WHERE seq = ?', last, seq)
  }

  /** What waits to be told. */
  get waiting(): LoggedChange[] {
    return this.#tables.query<LoggedChange>('SELECT * FROM changes WHERE at IS NULL ORDER BY seq')
  }

  /**
   * Moves what waited behind what has been told meanwhile, so that numbers only grow for whoever hears them. Returns where.
   *
   * @param hasSessions by now: they may have come while it waited
   */
  requeue(seq: number, now: number, hasSessions: boolean): number {
    const [row] = this.#tables.query<{ seq: number }>(
      'UPDATE changes SET seq = (SELECT max(seq) + 1 FROM changes), at = ?, told = ? WHERE seq = ? RETURNING seq',
      now,
      hasSessions ? '' : null,
      seq,
    )
    return (row as { seq: number }).seq
  }

  /** Forgets what is old. True when there is something left to forget later. */
  prune(now: number): boolean {
    const last = this.last
    const old = this.#tables.query<{ seq: number }>(
      'DELETE FROM changes WHERE at < ? AND told IS NULL AND seq < ? RETURNING seq',
      now - retentionMs,
      last,
    )
    if (old.length > 0) this.#kv.put('pruned', Math.max(...old.map(({ seq }) => seq)))
    return this.#tables.query('SELECT 1 FROM changes WHERE seq < ? LIMIT 1', last).length > 0
  }

  /** From now on something may be missing: whoever comes back is told so. */
  markGap(now: number): void {
    this.#kv.put('pruned', this.append('{}', [], now, false))
  }
}
