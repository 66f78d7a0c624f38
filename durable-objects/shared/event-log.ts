/**
 * The event log of a session: the messages that were sent on its streams. A client that lost its connection replays exactly those that it
 * missed.
 *
 * | table     | column       | meaning                                                            | lifetime             |
 * |-----------|--------------|--------------------------------------------------------------------|----------------------|
 * | `streams` | `id`         | 0: the standing stream (GET); others: one POST each                | until `deleteFinished` deletes it (`log.maxAgeMs` after its end, or to make room), or the session ends |
 * |           | `unanswered` | requests of the POST without a reply; 0: the stream has ended      |                      |
 * |           | `at`         | milliseconds since 1970: when the last of them was answered        |                      |
 * |           | `scopes`     | JSON list: scopes that a token needs to resume the stream; NULL: none |                   |
 * |           | `droppedNotification` | `seq` of the newest notification that was deleted to make room; NULL: none | |
 * |           | `droppedMessage` | the same for responses and requests                            |                      |
 * | `events`  | `stream`, `seq` | the id of the event, written `<stream>.<seq>`                   | the newest notifications of a stream within `log.maxEvents` and `log.maxCharacters`, and the newest responses and requests within `log.maxResponses` and `log.maxResponseCharacters` |
 * |           | `data`       | one JSON-RPC message                                               |                      |
 * |           | `total`      | characters of all events of the stream so far, deleted ones included |                    |
 * |           | `scoped`     | 1: about a resource with scopes, 2: about a task with scopes; `data` is '' once it was erased |     |
 * |           | `call`, `said` | of a notification: the row of its call, and the number of notifications of that call so far |   |
 * |           | `isMessage`  | 1: a response or a request, which notifications must not displace; NULL: a notification | |
 * |           | `messages`, `messageTotal` | number and characters of the responses and requests of the stream so far, counted from any number | |
 *
 * A client waits for responses and requests, so they have limits of their own. Beyond these, a client that has not received the deleted
 * ones cannot resume the stream: the stream ends, instead of continuing with a gap.
 *
 * The ids of streams, and of the events of the standing stream, start above those of an earlier life of the session. The first event of
 * such a standing stream has no `data`: it is a placeholder.
 *
 * The tables are created with the first stream: a session that never streamed has none.
 *
 * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#resumability-and-redelivery
 */

import { FinishedStreams } from './finished-streams.ts'
import { checkSize, maxRowBytes } from './message-size.ts'
import { type SkippedIds, Tables } from './tables.ts'
import { type EventRow, type Position, position, trimStreamEvents } from './trim-stream-events.ts'

export type EventId = { stream: number; seq: number }

/** The row of a call, and the number of its notifications so far. */
export type Said = readonly [call: number | null, said: number | null]

/** What an event of the standing stream is about, if only tokens with its scopes may read it. */
export type ScopedEvent = 'resource' | 'task'

const scopedNumbers: Readonly<Record<ScopedEvent, number>> = { resource: 1, task: 2 }

/** Limits the events that a session stores, for clients that reconnect. */
export type ReplayLimits = {
  /** Milliseconds after its end in which a stream can be resumed. Its events are deleted within twice this time. Default: 1 hour. */
  maxAgeMs: number
  /** Notifications of one stream. Beyond it, the oldest are deleted. Default: 1,000. */
  maxEvents: number
  /** Characters of the notifications of one stream. Beyond it, the oldest are deleted. Default: 4 million. */
  maxCharacters: number
  /** Responses and input requests of one stream. Beyond it, the stream ends for a client that has not received the oldest. Default: 10,000. */
  maxResponses: number
  /** Characters of the responses and input requests of one stream, with the same effect. Default: 32 million. */
  maxResponseCharacters: number
  /** Bytes of storage of one session. Beyond it, the oldest finished streams are deleted. Default: 64 MiB. */
  maxStorageBytes: number
}

export const defaultLogBounds: ReplayLimits = {
  maxAgeMs: 60 * 60_000,
  maxEvents: 1000,
  maxCharacters: 4_000_000,
  maxResponses: 10_000,
  maxResponseCharacters: 32_000_000,
  maxStorageBytes: 64 * 1024 * 1024,
}

/** What is stored with an event besides its text. */
export type EventOptions = {
  /** Of a notification: see `Said`. */
  said?: Said | undefined
  /** The event is about a resource or a task with scopes. */
  scoped?: ScopedEvent | undefined
  /** The event is a response or a request, which its client waits for. */
  isMessage?: boolean
}

export const standingStream = 0

const schema = `
  CREATE TABLE streams (
    id INTEGER PRIMARY KEY AUTOINCREMENT, unanswered INTEGER, at INTEGER, scopes TEXT,
    droppedNotification INTEGER, droppedMessage INTEGER
  );
  CREATE TABLE events (
    stream INTEGER, seq INTEGER, data TEXT, total INTEGER, call INTEGER, said INTEGER, scoped INTEGER,
    isMessage INTEGER, messages INTEGER, messageTotal INTEGER,
    PRIMARY KEY (stream, seq)
  ) WITHOUT ROWID;
`

/** A row of `streams` that has not been written. */
type StreamRow = { unanswered: number; at: number | null; scopes: string | null }

/** Rows of one statement: ten values each, of at most a hundred. */
const rowsPerStatement = 9
/** The part of `maxStorageBytes` that is written between two reads of the size of the database, each of which is a query. */
const unmeasuredPart = 1 / 64
/** Characters of events that wait until they are written together. */
const maxUnwrittenCharacters = 256 * 1024

function insertEvents(sql: SqlStorage, rows: readonly EventRow[]): void {
  for (let first = 0; first < rows.length; first += rowsPerStatement) {
    const some = rows.slice(first, first + rowsPerStatement)
    const values = Array(some.length).fill('(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)').join(', ')
    sql.exec(
      `INSERT INTO events (stream, seq, data, total, call, said, scoped, isMessage, messages, messageTotal) VALUES ${values}`,
      ...some.flat(),
    )
  }
}

/**
 * Writes the streams and events of a turn together: `write()` runs before each read, and its caller runs it before it sends the events.
 */
export class EventLog {
  readonly #tables: Tables
  readonly #sql: SqlStorage
  readonly #boundsNow: () => ReplayLimits
  readonly #skippedIds: SkippedIds
  /** Positions of the streams that events were appended to. */
  readonly #positions = new Map<number, Position>()
  /** Streams that have ended since the last write. */
  readonly #over = new Set<number>()
  readonly #unwrittenStreams = new Map<number, StreamRow>()
  #unwrittenEvents: EventRow[] = []
  #unwrittenCharacters = 0
  /** Characters that were written since the size of the database was read; `Infinity` before the first read. */
  #unmeasured = Number.POSITIVE_INFINITY
  /** The highest id of a stream so far. */
  #lastStream: number | undefined
  readonly #finished: FinishedStreams

  /** @param bounds is called before each use */
  constructor(sql: SqlStorage, bounds: () => ReplayLimits, skippedIds: SkippedIds = () => 0) {
    this.#skippedIds = skippedIds
    this.#sql = sql
    this.#boundsNow = bounds
    this.#tables = new Tables(sql, 'streams', schema)
    this.#finished = new FinishedStreams(sql, bounds, {
      all: () => this.#query('SELECT id, at FROM streams WHERE unanswered = 0 ORDER BY at, id'),
      onDeleted: (stream) => this.#positions.delete(stream),
    })
  }

  /** Called after the storage was deleted. */
  reset(): void {
    this.#tables.reset()
    this.#positions.clear()
    this.#over.clear()
    this.#unwrittenStreams.clear()
    this.#unwrittenEvents = []
    this.#unwrittenCharacters = 0
    this.#lastStream = undefined
    this.#finished.reset()
  }

  /** Writes the streams and events since the last call. */
  write(): void {
    for (const [id, { unanswered, at, scopes }] of this.#unwrittenStreams) {
      this.#sql.exec('INSERT INTO streams (id, unanswered, at, scopes) VALUES (?, ?, ?, ?)', id, unanswered, at, scopes)
    }
    this.#unwrittenStreams.clear()
    const rows = this.#unwrittenEvents
    if (rows.length === 0) return
    insertEvents(this.#sql, rows)
    // Until they are written, each call throws: no later event may be written without them.
    this.#unwrittenEvents = []
    this.#unmeasured += this.#unwrittenCharacters
    this.#unwrittenCharacters = 0
    trimStreamEvents(this.#sql, this.#boundsNow(), rows)
    for (const stream of this.#over) this.#positions.delete(stream)
    this.#over.clear()
    const { maxStorageBytes } = this.#boundsNow()
    if (this.#unmeasured < maxStorageBytes * unmeasuredPart) return
    if (this.#sql.databaseSize > maxStorageBytes) this.#finished.delete(Date.now(), true)
    else this.#unmeasured = 0
  }

  /** Writes, then returns the rows of a statement. */
  #query<Row extends Record<string, SqlStorageValue>>(statement: string, ...bindings: SqlStorageValue[]): Row[] {
    this.write()
    return this.#tables.query<Row>(statement, ...bindings)
  }

  /**
   * Creates a stream for a POST with this number of requests. Deletes finished streams to make room.
   *
   * @param scopes that a token needs to resume the stream
   */
  open(unanswered: number, now: number, scopes: readonly string[] = []): number {
    this.#create()
    this.deleteFinished(now)
    this.#lastStream ??=
      this.#query<{ seq: number }>("SELECT seq FROM sqlite_sequence WHERE name = 'streams'")[0]?.seq ?? 0
    const id = ++this.#lastStream
    this.#unwrittenStreams.set(id, { unanswered, at: null, scopes: scopes.length > 0 ? JSON.stringify(scopes) : null })
    this.#positions.set(id, { seq: 0, total: 0, messages: 0, messageTotal: 0 })
    return id
  }

  /**
   * Deletes finished streams that are older than `maxAgeMs`, and the oldest ones while there are too many or the session stores too much.
   *
   * @returns true if finished streams remain
   */
  deleteFinished(now: number): boolean {
    return this.#finished.delete(now)
  }

  /** Creates the standing stream if it does not exist. Returns the id of its newest event. */
  openStanding(): EventId {
    this.#create()
    const opened = this.#query('INSERT OR IGNORE INTO streams (id, unanswered) VALUES (0, 1) RETURNING id')
    const skipped = opened.length > 0 ? this.#skippedIds() : 0
    if (skipped > 0) this.#holdPlace(skipped)
    this.#positions.delete(standingStream)
    return { stream: standingStream, seq: this.find(standingStream)?.last ?? 0 }
  }

  /** Starts the standing stream after the events of an earlier life. */
  #holdPlace(skipped: number): void {
    this.#sql.exec("INSERT INTO events (stream, seq, data, total) VALUES (?, ?, '', 0)", standingStream, skipped)
    this.#sql.exec('UPDATE streams SET droppedNotification = ? WHERE id = ?', skipped - 1, standingStream)
  }

  #create(): void {
    if (this.#tables.create()) this.#tables.skipIds('streams', this.#skippedIds())
  }

  /** Returns the scopes that a token needs to resume a stream. */
  scopesOf(stream: number): readonly string[] {
    const [streamRow] = this.#query<{ scopes: string | null }>('SELECT scopes FROM streams WHERE id = ?', stream)
    return JSON.parse(streamRow?.scopes ?? '[]')
  }

  /** Erases the events of the standing stream that are about resources, or tasks, with scopes. Their ids remain. */
  eraseScoped(about: ScopedEvent): void {
    const scoped = scopedNumbers[about]
    this.#query("UPDATE events SET data = '' WHERE stream = ? AND scoped = ?", standingStream, scoped)
  }

  /** Returns the newest event of a stream, and whether the stream has ended; `undefined` for an unknown stream. */
  find(stream: number): { last: number; over: number } | undefined {
    const [streamRow] = this.#query<{ last: number; over: number }>(
      'SELECT ifnull((SELECT max(seq) FROM events WHERE stream = id), 0) AS last, unanswered = 0 AS over FROM streams WHERE id = ?',
      stream,
    )
    return streamRow
  }

  /**
   * Appends an event, one row.
   *
   * @returns `undefined` if the stream does not exist any more
   * @throws McpError when the event is larger than a row
   */
  append(
    stream: number,
    data: string,
    { said: [call, sentCount] = [null, null], scoped, isMessage = false }: EventOptions = {},
  ): EventId | undefined {
    checkSize('The message', data, maxRowBytes)
    const last = this.#positions.get(stream) ?? this.#readPosition(stream)
    if (!last) return undefined
    const characters = countCharacters(data)
    const [seq, total] = [last.seq + 1, last.total + characters]
    const messages = last.messages + (isMessage ? 1 : 0)
    const messageTotal = last.messageTotal + (isMessage ? characters : 0)
    this.#positions.set(stream, { seq, total, messages, messageTotal })
    const scopedNumber = scoped ? scopedNumbers[scoped] : null
    const flag = isMessage ? 1 : null
    const row: EventRow = [stream, seq, data, total, call, sentCount, scopedNumber, flag, messages, messageTotal]
    this.#unwrittenEvents.push(row)
    this.#unwrittenCharacters += data.length
    if (this.#unwrittenCharacters > maxUnwrittenCharacters) this.write()
    return { stream, seq }
  }

  #readPosition(stream: number): Position | undefined {
    const [last] = this.#query<Position>(
      `SELECT ${position} FROM streams LEFT JOIN (
         SELECT seq, total, messages, messageTotal FROM events WHERE stream = ?1 ORDER BY seq DESC LIMIT 1
       ) WHERE id = ?1`,
      stream,
    )
    return last
  }

  /** Returns the number of notifications of a call so far, as far as the last one is still stored. */
  saidBy(row: number, stream: number): number {
    const [streamRow] = this.#query<{ said: number | null }>(
      'SELECT max(said) AS said FROM events WHERE stream = ? AND call = ?',
      stream,
      row,
    )
    return streamRow?.said ?? 0
  }

  /** Records that a request of the stream has its reply, or will never have one. Returns true if it was the last one. */
  requestAnswered(stream: number, now: number): boolean {
    const unanswered = this.#decrement(stream, now)
    if (unanswered > 0) return false
    this.#finished.add(now)
    this.#over.add(stream)
    return true
  }

  /** Returns the requests of the stream that have no reply yet. */
  #decrement(stream: number, now: number): number {
    const unwritten = this.#unwrittenStreams.get(stream)
    if (unwritten) {
      unwritten.unanswered = Math.max(unwritten.unanswered - 1, 0)
      unwritten.at = now
      return unwritten.unanswered
    }
    return this.#tables.write<{ unanswered: number }>(
      'UPDATE streams SET unanswered = max(unanswered - 1, 0), at = ? WHERE id = ? RETURNING unanswered',
      now,
      stream,
    ).unanswered
  }

  /**
   * Returns the event after which a stream can be resumed; `undefined` when the following events are unknown or deleted.
   *
   * @param isLenient resumes although notifications were deleted, but never if a response or a request was
   */
  onFrom({ stream, seq }: EventId, isLenient = false): EventId | undefined {
    const [streamRow] = this.#query<{ last: number; dropped: number }>(
      `SELECT ifnull((SELECT max(seq) FROM events WHERE stream = id), 0) AS last,
         max(ifnull(droppedMessage, 0), iif(?2, 0, ifnull(droppedNotification, 0))) AS dropped
       FROM streams WHERE id = ?1`,
      stream,
      isLenient ? 1 : 0,
    )
    return streamRow && seq <= streamRow.last && seq >= streamRow.dropped ? { stream, seq } : undefined
  }

  *after({ stream, seq }: EventId): Generator<{ id: EventId; data: string }> {
    this.write()
    const rows = this.#sql.exec('SELECT seq, data FROM events WHERE stream = ? AND seq > ? ORDER BY seq', stream, seq)
    for (const [at, data] of rows.raw<[number, string]>()) if (data !== '') yield { id: { stream, seq: at }, data }
  }
}

/** Counts code points, as SQLite does: a pair of surrogates is one. */
const countCharacters = (text: string): number => text.length - (text.match(/[\uD800-\uDBFF]/g)?.length ?? 0)

export const eventIdText = ({ stream, seq }: EventId): string => `${stream}.${seq}`

export function readEventId(text: string): EventId | undefined {
  const match = /^(0|[1-9]\d{0,14})\.(0|[1-9]\d{0,14})$/.exec(text)
  return match ? { stream: Number(match[1]), seq: Number(match[2]) } : undefined
}
