/** Deletes the events of a stream beyond the limits of replay, and what a row of the event log has. */

/** The limits of `ReplayLimits` for one stream. */
type Limits = Readonly<Record<'maxEvents' | 'maxCharacters' | 'maxResponses' | 'maxResponseCharacters', number>>

/** Columns of a `Position`. */
export const position =
  'ifnull(seq, 0) AS seq, ifnull(total, 0) AS total, ifnull(messages, 0) AS messages, ifnull(messageTotal, 0) AS messageTotal'

/** The position of an event in its stream: see the columns. */
export type Position = { seq: number; total: number; messages: number; messageTotal: number }

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
export function trimStreamEvents(sql: SqlStorage, bounds: Limits, rows: readonly EventRow[]): void {
  const newest = new Map(rows.map((row) => [`${row[0]} ${row[7]}`, row]))
  for (const [stream, seq, , total, , , , isMessage, messages, messageTotal] of newest.values()) {
    if (isMessage) trimMessages(sql, bounds, stream, { seq, total, messages, messageTotal })
    else trimNotifications(sql, bounds, stream, { seq, total, messages, messageTotal })
  }
}

function trimNotifications(
  sql: SqlStorage,
  { maxEvents, maxCharacters }: Limits,
  stream: number,
  { seq, total, messages, messageTotal }: Position,
): void {
  const [countNow, totalNow] = [seq - messages, total - messageTotal]
  // The counts include deleted events, so they are upper bounds.
  if (countNow <= maxEvents && totalNow <= maxCharacters) return
  const before = 'total - ifnull(messageTotal, 0) - length(data)'
  trimKind(sql, stream, notifications, seq, `seq - ifnull(messages, 0) > ?3 AND ${before} >= ?4`, [
    countNow - maxEvents,
    totalNow - maxCharacters,
  ])
}

function trimMessages(
  sql: SqlStorage,
  { maxResponses, maxResponseCharacters }: Limits,
  stream: number,
  { seq, messages, messageTotal }: Position,
): void {
  if (messages <= maxResponses && messageTotal <= maxResponseCharacters) return
  trimKind(sql, stream, responses, seq, 'messages > ?3 AND messageTotal - length(data) >= ?4', [
    messages - maxResponses,
    messageTotal - maxResponseCharacters,
  ])
}

type Kind = { readonly dropped: 'droppedNotification' | 'droppedMessage'; readonly isOne: string }

const notifications: Kind = { dropped: 'droppedNotification', isOne: 'isMessage IS NULL' }
const responses: Kind = { dropped: 'droppedMessage', isOne: 'isMessage = 1' }

/**
 * Deletes the oldest events of one kind until the rest fits, and records the newest deleted one in the stream.
 *
 * @param newest is never deleted
 * @param fits the condition of the first event that is not deleted, with `bounds` as ?3 and ?4
 */
function trimKind(
  sql: SqlStorage,
  stream: number,
  { dropped, isOne }: Kind,
  newest: number,
  fits: string,
  bounds: readonly [number, number],
): void {
  // The oldest of a kind are deleted first, so that the search begins after them.
  const rest = `stream = ?1 AND seq > ifnull((SELECT ${dropped} FROM streams WHERE id = ?1), 0) AND ${isOne}`
  const first = `SELECT seq FROM events WHERE ${rest} AND (seq = ?2 OR (${fits})) ORDER BY seq LIMIT 1`
  const { last } = sql
    .exec<{ last: number | null }>(
      `SELECT max(seq) AS last FROM events WHERE ${rest} AND seq < (${first})`,
      stream,
      newest,
      ...bounds,
    )
    .one()
  if (last === null) return
  sql.exec(`DELETE FROM events WHERE ${rest} AND seq <= ?2`, stream, last)
  sql.exec(`UPDATE streams SET ${dropped} = ? WHERE id = ?`, last, stream)
}
