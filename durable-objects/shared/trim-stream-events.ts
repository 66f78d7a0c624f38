/** Deletes the events of a stream beyond the limits of replay, and what a row of the event log has. */
import type { ReplayLimits } from './event-log.ts'

/** Columns of a `Position`. */
export const position =
  'ifnull(seq, 0) AS seq, ifnull(total, 0) AS total, ifnull(messages, 0) AS messages, ifnull(messageTotal, 0) AS messageTotal'

/** The position of an event in its stream: see the columns. */
export type Position = { seq: number; total: number; messages: number; messageTotal: number }

type Oldest = Position & { characters: number }

/** A row of `events` in the order of its columns, as SQLite takes it. */
export type EventRow = [
  stream: number,
  seq: number,
  data: string,
  total: number,
  call: number | null,
  said: number | null,
  scoped: number | null,
  isMessage: 1 | null,
  messages: number,
  messageTotal: number,
]

/** Deletes the oldest events beyond the limits of the streams that these were appended to. The newest of each kind is never deleted. */
export function trimStreamEvents(sql: SqlStorage, bounds: ReplayLimits, rows: readonly EventRow[]): void {
  const newest = new Map(rows.map((row) => [`${row[0]} ${row[7]}`, row]))
  for (const [stream, seq, , total, , , , isMessage, messages, messageTotal] of newest.values()) {
    if (isMessage) trimMessages(sql, bounds, stream, { seq, total, messages, messageTotal })
    else trimNotifications(sql, bounds, stream, { seq, total, messages, messageTotal })
  }
}

function trimNotifications(
  sql: SqlStorage,
  bounds: ReplayLimits,
  stream: number,
  { seq, total, messages, messageTotal }: Position,
): void {
  const { maxEvents, maxCharacters } = bounds
  const [countNow, totalNow] = [seq - messages, total - messageTotal]
  // The counts include deleted events, so they are upper bounds.
  if (countNow <= maxEvents && totalNow <= maxCharacters) return
  trimKind(sql, stream, 'droppedNotification', 'isMessage IS NULL', seq, (oldest) => {
    const before = oldest.total - oldest.messageTotal - oldest.characters
    return countNow - (oldest.seq - oldest.messages) < maxEvents && totalNow - before <= maxCharacters
  })
}

function trimMessages(
  sql: SqlStorage,
  bounds: ReplayLimits,
  stream: number,
  { seq, messages, messageTotal }: Position,
): void {
  const { maxResponses, maxResponseCharacters } = bounds
  if (messages <= maxResponses && messageTotal <= maxResponseCharacters) return
  trimKind(sql, stream, 'droppedMessage', 'isMessage = 1', seq, (oldest) => {
    const before = oldest.messageTotal - oldest.characters
    return messages - oldest.messages < maxResponses && messageTotal - before <= maxResponseCharacters
  })
}

/** Deletes the oldest events of one kind until the rest fits, and records the newest deleted one in the stream. */
function trimKind(
  sql: SqlStorage,
  stream: number,
  dropped: 'droppedNotification' | 'droppedMessage',
  kind: string,
  newest: number,
  fits: (oldest: Oldest) => boolean,
): void {
  for (;;) {
    // The oldest of a kind are deleted first, so that the search begins after them.
    const oldest = sql
      .exec<Oldest>(
        `SELECT ${position}, length(data) AS characters FROM events
         WHERE stream = ?1 AND seq > ifnull((SELECT ${dropped} FROM streams WHERE id = ?1), 0) AND ${kind}
         ORDER BY seq LIMIT 1`,
        stream,
      )
      .one()
    if (oldest.seq === newest || fits(oldest)) return
    sql.exec('DELETE FROM events WHERE stream = ? AND seq = ?', stream, oldest.seq)
    sql.exec(`UPDATE streams SET ${dropped} = ? WHERE id = ?`, oldest.seq, stream)
  }
}
