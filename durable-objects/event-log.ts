/**
 * What was sent on a session's streams, so that a client that lost its connection gets the rest, exactly.
 *
 * | table     | column       | meaning                                                            | lifetime             |
 * |-----------|--------------|--------------------------------------------------------------------|----------------------|
 * | `streams` | `id`         | 0: the standing stream (GET); others: one POST each                 | until `log.age` after its end, or the session's end |
 * |           | `unanswered` | requests of the POST that have no answer yet; 0: the stream is over |                      |
 * |           | `at`         | milliseconds: when the last of them was answered                    |                      |
 * |           | `scopes`     | JSON list: what a token needs to resume the stream; NULL: nothing    |                      |
 * | `events`  | `stream`, `seq` | the event's id, written `<stream>.<seq>`                         | the newest `log.count` of a stream, and no more than `log.bytes` |
 * |           | `data`       | one JSON-RPC message                                                |                      |
 * |           | `total`      | characters of the stream up to and with this event, ever            |                      |
 * |           | `scoped`     | about what takes scopes, 1: a resource, 2: a task; `data` is '' once it was revoked |     |
 * |           | `call`, `said` | of a notification: whose it is, by its row, and how many that call has come to |           |
 *
 * The ids of streams, and of the events of the standing stream, begin above those of an earlier life of the session. The first event of
 * such a standing stream has no `data`: it holds the place.
 *
 * The tables are made when the first stream is: a session that never streamed has none.
 *
 * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#resumability-and-redelivery
 */
import { checkSize, maxRowBytes } from './message-size.ts'
import { type SkippedIds, Tables } from './tables.ts'

export type EventId = { stream: number; seq: number }

/** The row of a call, and how many notifications it has come to. */
export type Said = readonly [call: number | null, said: number | null]

/** What an event of the standing stream is about that only tokens with its scopes may read. */
export type ScopedEvent = 'resource' | 'task'

const scopedNumbers: Readonly<Record<ScopedEvent, number>> = { resource: 1, task: 2 }

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
  CREATE TABLE streams (id INTEGER PRIMARY KEY AUTOINCREMENT, unanswered INTEGER, at INTEGER, scopes TEXT);
  CREATE TABLE events (
    stream INTEGER, seq INTEGER, data TEXT, total INTEGER, call INTEGER, said INTEGER, scoped INTEGER,
    PRIMARY KEY (stream, seq)
  ) WITHOUT ROWID;
`

export class EventLog {
  readonly tables: Tables
  readonly #sql: SqlStorage
  readonly #bounds: LogBounds

  readonly #skippedIds: SkippedIds

  constructor(sql: SqlStorage, bounds: LogBounds, skippedIds: SkippedIds = () => 0) {
    this.#skippedIds = skippedIds
    this.#sql = sql
    this.#bounds = bounds
    this.tables = new Tables(sql, 'streams', schema)
  }

  /**
   * A stream for one POST with this many requests. Streams that ended too long ago make room for it.
   *
   * @param scopes what a token needs to resume it
   */
  open(unanswered: number, now: number, scopes: readonly string[] = []): number {
    this.#create()
    const old = this.tables.query<{ id: number }>(
      'DELETE FROM streams WHERE unanswered = 0 AND at < ? RETURNING id',
      now - this.#bounds.age,
    )
    for (const { id } of old) this.#sql.exec('DELETE FROM events WHERE stream = ?', id)
    return this.#sql
      .exec<{ id: number }>(
        'INSERT INTO streams (unanswered, scopes) VALUES (?, ?) RETURNING id',
        unanswered,
        scopes.length > 0 ? JSON.stringify(scopes) : null,
      )
      .one().id
  }

  openStanding(): void {
    this.#create()
    const opened = this.tables.query('INSERT OR IGNORE INTO streams (id, unanswered) VALUES (0, 1) RETURNING id')
    const skipped = opened.length > 0 ? this.#skippedIds() : 0
    if (skipped === 0) return
    this.#sql.exec("INSERT INTO events (stream, seq, data, total) VALUES (?, ?, '', 0)", standingStream, skipped)
  }

  #create(): void {
    if (this.tables.create()) this.tables.skipIds('streams', this.#skippedIds())
  }

  /** What a token needs to resume a stream. */
  scopesOf(stream: number): readonly string[] {
    const [found] = this.tables.query<{ scopes: string | null }>('SELECT scopes FROM streams WHERE id = ?', stream)
    return JSON.parse(found?.scopes ?? '[]')
  }

  /** Erases the events of the standing stream that are about resources, or tasks, that take scopes. Their ids stay. */
  eraseScoped(about: ScopedEvent): void {
    const scoped = scopedNumbers[about]
    this.tables.query("UPDATE events SET data = '' WHERE stream = ? AND scoped = ?", standingStream, scoped)
  }

  /** The events of a stream that are kept, and whether no more will come; `undefined` for a stream that is not here. */
  find(stream: number): { first: number; last: number; over: number } | undefined {
    const [found] = this.tables.query<{ first: number; last: number; over: number }>(
      'SELECT ifnull((SELECT min(seq) FROM events WHERE stream = id), 1) AS first, ifnull((SELECT max(seq) FROM events WHERE stream = id), 0) AS last, unanswered = 0 AS over FROM streams WHERE id = ?',
      stream,
    )
    return found
  }

  /**
   * One row for each event, whatever is known of its stream.
   *
   * @param call the row of the call that says it, and how many notifications it has come to with this one
   * @param scoped it is about a resource, or a task, that takes scopes
   * @returns `undefined`: there is no such stream any more
   * @throws McpError when the event is larger than a row
   */
  append(stream: number, data: string, [call, said]: Said = [null, null], scoped?: ScopedEvent): EventId | undefined {
    checkSize('The message', data, maxRowBytes)
    const [event] = this.tables.query<{ seq: number; total: number }>(
      'INSERT INTO events SELECT id, ifnull(seq, 0) + 1, ?1, ifnull(total, 0) + length(?1), ?2, ?3, ?5 FROM streams LEFT JOIN (SELECT seq, total FROM events WHERE stream = ?4 ORDER BY seq DESC LIMIT 1) WHERE id = ?4 RETURNING seq, total',
      data,
      call,
      said,
      stream,
      scoped ? scopedNumbers[scoped] : null,
    )
    if (!event) return undefined
    const { seq, total } = event
    const { count, bytes } = this.#bounds
    // What a stream ever had is no less than what it keeps. The newest always stays.
    while (seq > count || total > bytes) {
      const oldest = this.#sql
        .exec<{ seq: number; before: number }>(
          'SELECT seq, total - length(data) AS before FROM events WHERE stream = ? ORDER BY seq LIMIT 1',
          stream,
        )
        .one()
      if (oldest.seq === seq || (seq - oldest.seq < count && total - oldest.before <= bytes)) break
      this.#sql.exec('DELETE FROM events WHERE stream = ? AND seq = ?', stream, oldest.seq)
    }
    return { stream, seq }
  }

  /** How many notifications a call has come to, as far as the last of them is still kept. */
  saidBy(row: number, stream: number): number {
    const [found] = this.tables.query<{ said: number | null }>(
      'SELECT max(said) AS said FROM events WHERE stream = ? AND call = ?',
      stream,
      row,
    )
    return found?.said ?? 0
  }

  /** One request of the stream has been answered, or never will be. True when it was the last. */
  settle(stream: number, now: number): boolean {
    const row = this.#sql
      .exec<{ unanswered: number }>(
        'UPDATE streams SET unanswered = max(unanswered - 1, 0), at = ? WHERE id = ? RETURNING unanswered',
        now,
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
    for (const [at, data] of rows.raw<[number, string]>()) if (data !== '') yield { id: { stream, seq: at }, data }
  }
}

export const eventIdText = ({ stream, seq }: EventId): string => `${stream}.${seq}`

export function readEventId(text: string): EventId | undefined {
  const match = /^(0|[1-9]\d{0,14})\.(0|[1-9]\d{0,14})$/.exec(text)
  return match ? { stream: Number(match[1]), seq: Number(match[2]) } : undefined
}
