/**
 * What was sent on a session's streams, so that a client that lost its connection gets the rest, exactly.
 *
 * | table     | column       | meaning                                                            | lifetime             |
 * |-----------|--------------|--------------------------------------------------------------------|----------------------|
 * | `streams` | `id`         | 0: the standing stream (GET); others: one POST each                 | until `log.age` after its end, or the session's end |
 * |           | `first`, `last`, `bytes` | sequence numbers of the oldest and newest event kept; characters of all of them |       |
 * |           | `unanswered` | requests of the POST that have no answer yet; 0: the stream is over |                      |
 * |           | `at`         | milliseconds: its newest event                                      |                      |
 * |           | `said`       | how many notifications each unfinished call has come to, by its row: JSON |                |
 * | `events`  | `stream`, `seq` | the event's id, written `<stream>.<seq>`                         | the newest `log.count` of a stream, and no more than `log.bytes` |
 * |           | `data`       | one JSON-RPC message                                                |                      |
 *
 * The tables are made when the first stream is: a session that never streamed has none.
 *
 * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#resumability-and-redelivery
 */
import { Tables } from './tables.ts'

export type EventId = { stream: number; seq: number }

/** How much of a stream is kept for clients that come back. */
export type LogBounds = {
  /** Milliseconds after its last event that a finished stream can be resumed. Default one hour. */
  age: number
  /** Events of one stream. Default 1,000. */
  count: number
  /** Characters of one stream. Default 4 million. */
  bytes: number
}

export const defaultLogBounds: LogBounds = { age: 60 * 60_000, count: 1000, bytes: 4_000_000 }

export const standingStream = 0

const schema = `
  CREATE TABLE streams (
    id INTEGER PRIMARY KEY AUTOINCREMENT, first INTEGER DEFAULT 1, last INTEGER DEFAULT 0, bytes INTEGER DEFAULT 0,
    unanswered INTEGER, at INTEGER, said TEXT DEFAULT '{}'
  );
  CREATE TABLE events (stream INTEGER, seq INTEGER, data TEXT, PRIMARY KEY (stream, seq)) WITHOUT ROWID;
`

export class EventLog {
  readonly tables: Tables
  readonly #sql: SqlStorage
  readonly #bounds: LogBounds

  constructor(sql: SqlStorage, bounds: LogBounds) {
    this.#sql = sql
    this.#bounds = bounds
    this.tables = new Tables(sql, 'streams', schema)
  }

  /** A stream for one POST with this many requests. Streams that ended too long ago make room for it. */
  open(unanswered: number, now: number): number {
    this.tables.create()
    const old = this.tables.query<{ id: number }>(
      'DELETE FROM streams WHERE unanswered = 0 AND at < ? RETURNING id',
      now - this.#bounds.age,
    )
    for (const { id } of old) this.#sql.exec('DELETE FROM events WHERE stream = ?', id)
    return this.#sql
      .exec<{ id: number }>('INSERT INTO streams (unanswered, at) VALUES (?, ?) RETURNING id', unanswered, now)
      .one().id
  }

  openStanding(now: number): void {
    this.tables.create()
    this.#sql.exec('INSERT OR IGNORE INTO streams (id, unanswered, at) VALUES (0, 1, ?)', now)
  }

  /** The events of a stream that are kept, and whether no more will come; `undefined` for a stream that is not here. */
  find(stream: number): { first: number; last: number; over: number } | undefined {
    const [found] = this.tables.query<{ first: number; last: number; over: number }>(
      'SELECT first, last, unanswered = 0 AS over FROM streams WHERE id = ?',
      stream,
    )
    return found
  }

  /**
   * @param said how many notifications a call has come to with this one, by its row
   * @returns `undefined`: there is no such stream any more
   */
  append(stream: number, data: string, now: number, said: Record<number, number> = {}): EventId | undefined {
    // The event first: one that is refused for its size changes nothing.
    const [event] = this.tables.query<{ size: number }>(
      'INSERT INTO events SELECT id, last + 1, ? FROM streams WHERE id = ? RETURNING length(data) AS size',
      data,
      stream,
    )
    if (!event) return undefined
    let { first, last, bytes } = this.#sql
      .exec<{ first: number; last: number; bytes: number }>(
        'UPDATE streams SET last = last + 1, bytes = bytes + ?, at = ?, said = json_patch(said, ?) WHERE id = ? RETURNING first, last, bytes',
        event.size,
        now,
        JSON.stringify(said),
        stream,
      )
      .one()
    const { count, bytes: most } = this.#bounds
    const oldest = first
    // The newest always stays.
    while (first < last && (last - first >= count || bytes > most)) {
      const { size } = this.#sql
        .exec<{ size: number }>(
          'DELETE FROM events WHERE stream = ? AND seq = ? RETURNING length(data) AS size',
          stream,
          first,
        )
        .one()
      bytes -= size
      first += 1
    }
    if (first > oldest) this.#sql.exec('UPDATE streams SET first = ?, bytes = ? WHERE id = ?', first, bytes, stream)
    return { stream, seq: last }
  }

  /** How many notifications a call has come to, whatever of them is still kept. */
  saidBy(row: number, stream: number): number {
    const [found] = this.tables.query<{ said: string }>('SELECT said FROM streams WHERE id = ?', stream)
    return JSON.parse(found?.said ?? '{}')[row] ?? 0
  }

  /** A call is over. */
  unsay(row: number, stream: number): void {
    this.#sql.exec('UPDATE streams SET said = json_remove(said, ?) WHERE id = ?', `$."${row}"`, stream)
  }

  /** One request of the stream has been answered, or never will be. True when it was the last. */
  settle(stream: number): boolean {
    const row = this.#sql
      .exec<{ unanswered: number }>(
        'UPDATE streams SET unanswered = max(unanswered - 1, 0) WHERE id = ? RETURNING unanswered',
        stream,
      )
      .one()
    return row.unanswered === 0
  }

  /**
   * From where a stream can go on after an event: `undefined` when what came after it is not known, or not any more.
   *
   * @param isLenient from the oldest event that is kept, if need be
   */
  onFrom({ stream, seq }: EventId, isLenient = false): EventId | undefined {
    const found = this.find(stream)
    if (!found || seq > found.last) return undefined
    const oldest = found.first - 1
    return seq >= oldest || isLenient ? { stream, seq: Math.max(seq, oldest) } : undefined
  }

  *after({ stream, seq }: EventId): Generator<{ id: EventId; data: string }> {
    const rows = this.#sql.exec('SELECT seq, data FROM events WHERE stream = ? AND seq > ? ORDER BY seq', stream, seq)
    for (const [at, data] of rows.raw<[number, string]>()) yield { id: { stream, seq: at }, data }
  }
}

export const eventIdText = ({ stream, seq }: EventId): string => `${stream}.${seq}`

export function readEventId(text: string): EventId | undefined {
  const match = /^(0|[1-9]\d{0,14})\.(0|[1-9]\d{0,14})$/.exec(text)
  return match ? { stream: Number(match[1]), seq: Number(match[2]) } : undefined
}
