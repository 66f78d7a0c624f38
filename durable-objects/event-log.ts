/**
 * What was sent on a session's streams, so that a client that lost its connection gets the rest, exactly.
 *
 * | table     | column       | meaning                                                            | lifetime             |
 * |-----------|--------------|--------------------------------------------------------------------|----------------------|
 * | `streams` | `id`         | 0: the standing stream (GET); others: one POST each                 | until the session ends |
 * |           | `last`       | sequence number of the newest event                                 |                      |
 * |           | `unanswered` | requests of the POST that have no answer yet; 0: the stream is over |                      |
 * | `events`  | `stream`, `seq` | the event's id, written `<stream>.<seq>`                         | newest 1,000 a stream |
 * |           | `data`       | one JSON-RPC message                                                |                      |
 *
 * The tables are made when the first stream is: a session that never streamed has none.
 *
 * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#resumability-and-redelivery
 */
export type EventId = { stream: number; seq: number }

export const standingStream = 0

const mostEvents = 1000

export class EventLog {
  readonly #sql: SqlStorage
  #exists: boolean | undefined

  constructor(sql: SqlStorage) {
    this.#sql = sql
  }

  /** A stream for one POST with this many requests. */
  open(unanswered: number): number {
    this.#create()
    const row = this.#sql
      .exec<{ id: number }>('INSERT INTO streams (last, unanswered) VALUES (0, ?) RETURNING id', unanswered)
      .one()
    return row.id
  }

  openStanding(): void {
    this.#create()
    this.#sql.exec('INSERT OR IGNORE INTO streams (id, last, unanswered) VALUES (0, 0, 1)')
  }

  /** The newest event of a stream and whether more may come; `undefined` for a stream that never was. */
  find(stream: number): { last: number; over: boolean } | undefined {
    if (!this.#has()) return undefined
    const [row] = this.#sql
      .exec<{ last: number; unanswered: number }>('SELECT last, unanswered FROM streams WHERE id = ?', stream)
      .toArray()
    return row && { last: row.last, over: row.unanswered === 0 }
  }

  append(stream: number, data: string): EventId {
    const { last } = this.#sql
      .exec<{ last: number }>('UPDATE streams SET last = last + 1 WHERE id = ? RETURNING last', stream)
      .one()
    this.#sql.exec('INSERT INTO events (stream, seq, data) VALUES (?, ?, ?)', stream, last, data)
    if (last > mostEvents) this.#sql.exec('DELETE FROM events WHERE stream = ? AND seq <= ?', stream, last - mostEvents)
    return { stream, seq: last }
  }

  /** How many notifications were sent on a stream. */
  notificationsOn(stream: number): number {
    const like = '{"jsonrpc":"2.0","method":"notifications/%'
    return this.#sql
      .exec<{ sent: number }>('SELECT count(*) AS sent FROM events WHERE stream = ? AND data LIKE ?', stream, like)
      .one().sent
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

  /** Are all events after this one still here? */
  reaches({ stream, seq }: EventId): boolean {
    const found = this.find(stream)
    if (!found || seq > found.last || seq < 0) return false
    return found.last - seq <= mostEvents
  }

  *after({ stream, seq }: EventId): Generator<{ id: EventId; data: string }> {
    const rows = this.#sql.exec<{ seq: number; data: string }>(
      'SELECT seq, data FROM events WHERE stream = ? AND seq > ? ORDER BY seq',
      stream,
      seq,
    )
    for (const row of rows) yield { id: { stream, seq: row.seq }, data: row.data }
  }

  /** The storage has been deleted. */
  forget(): void {
    this.#exists = false
  }

  #has(): boolean {
    this.#exists ??= this.#sql.exec("SELECT 1 FROM sqlite_master WHERE name = 'streams'").toArray().length > 0
    return this.#exists
  }

  #create(): void {
    if (this.#has()) return
    this.#sql.exec(`
      CREATE TABLE streams (id INTEGER PRIMARY KEY AUTOINCREMENT, last INTEGER NOT NULL, unanswered INTEGER NOT NULL);
      CREATE TABLE events (stream INTEGER, seq INTEGER, data TEXT NOT NULL, PRIMARY KEY (stream, seq)) WITHOUT ROWID;
    `)
    this.#exists = true
  }
}

export const eventIdText = ({ stream, seq }: EventId): string => `${stream}.${seq}`

export function readEventId(text: string): EventId | undefined {
  const match = /^(0|[1-9]\d{0,14})\.(0|[1-9]\d{0,14})$/.exec(text)
  return match ? { stream: Number(match[1]), seq: Number(match[2]) } : undefined
}
