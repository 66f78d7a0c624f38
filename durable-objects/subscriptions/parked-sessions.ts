/**
 * Sessions that could not be called, or to which changes come faster than they answer. Each has one row, however many changes it misses:
 * the change log has them, and each later call begins with the first of them. Other sessions do not wait for it. The table is in `object.ts`.
 */
import type { Tables } from '../shared/tables.ts'

export const parkedSessionsSchema = `
  CREATE TABLE parkedSessions (session TEXT PRIMARY KEY, seq INTEGER, since INTEGER, due INTEGER) WITHOUT ROWID;
  CREATE INDEX parked_by_due ON parkedSessions (due);
`

/** Milliseconds between two calls, at least and at most. Each pause is as long as the session has been parked, twice the one before. */
const [minPauseMs, maxPauseMs] = [1_000, 10 * 60_000]

export type ParkedSession = { readonly session: string; readonly seq: number; readonly since: number }

const nextCall = (since: number, now: number) => now + Math.min(Math.max(now - since, minPauseMs), maxPauseMs)

export class ParkedSessions {
  readonly #tables: Tables

  constructor(tables: Tables) {
    this.#tables = tables
  }

  /** @param seq the first change that the session has not received */
  add(session: string, seq: number, now: number): void {
    this.#tables.query(
      'INSERT OR IGNORE INTO parkedSessions (session, seq, since, due) VALUES (?, ?, ?, ?)',
      session,
      seq,
      now,
      nextCall(now, now),
    )
  }

  /** Returns those of these sessions that are parked. */
  among(sessions: readonly string[]): Set<string> {
    const sql = 'SELECT session FROM parkedSessions WHERE session IN (SELECT value FROM json_each(?))'
    return new Set(this.#tables.query<{ session: string }>(sql, JSON.stringify(sessions)).map(({ session }) => session))
  }

  /** Milliseconds since 1970: when the first session is to be called; `undefined` without one. */
  get due(): number | undefined {
    return this.#tables.query<{ due: number | null }>('SELECT min(due) AS due FROM parkedSessions')[0]?.due ?? undefined
  }

  /** Returns sessions that are to be called now. If this instance is lost meanwhile, they are called after their next pause. */
  take(now: number, limit: number): ParkedSession[] {
    const sql = 'SELECT session, seq, since FROM parkedSessions WHERE due <= ? ORDER BY due LIMIT ?'
    const parked = this.#tables.query<ParkedSession>(sql, now, limit)
    for (const { session, since } of parked) {
      this.#tables.query('UPDATE parkedSessions SET due = ? WHERE session = ?', nextCall(since, now), session)
    }
    return parked
  }

  /** Records that a session has received the changes before this one. */
  advance(session: string, seq: number): void {
    this.#tables.query('UPDATE parkedSessions SET seq = ? WHERE session = ?', seq, session)
  }

  remove(session: string): void {
    this.#tables.query('DELETE FROM parkedSessions WHERE session = ?', session)
  }
}
