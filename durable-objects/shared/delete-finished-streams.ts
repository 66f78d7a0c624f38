/** Decides which finished streams of a session are deleted: old ones, and the oldest while there are too many or the storage is full. */
import type { ReplayLimits } from './event-log.ts'

/** Finished streams of one session. Beyond it, the oldest are deleted. */
const maxFinished = 1000

/** The number of finished streams, and when the oldest of them ended, in milliseconds since 1970. */
export type FinishedCount = { count: number; oldestAt: number }

/** Whether no stream is too old, and there are not too many. */
export const isWithinLimits = ({ count, oldestAt }: FinishedCount, { maxAgeMs }: ReplayLimits, now: number): boolean =>
  oldestAt >= now - maxAgeMs && count <= maxFinished

/**
 * Deletes streams with their events until the rest is within the limits, and the session stores at most `maxStorageBytes`.
 *
 * @param finished all finished streams, the oldest first
 * @param onDeleted called for each stream that was deleted
 * @returns what remains
 */
export function deleteFinishedStreams(
  sql: SqlStorage,
  limits: ReplayLimits,
  finished: readonly { readonly id: number; readonly at: number }[],
  now: number,
  onDeleted: (stream: number) => void,
): FinishedCount {
  for (const [index, { id, at }] of finished.entries()) {
    const rest = { count: finished.length - index, oldestAt: at }
    if (isWithinLimits(rest, limits, now) && sql.databaseSize <= limits.maxStorageBytes) return rest
    sql.exec('DELETE FROM events WHERE stream = ?', id)
    sql.exec('DELETE FROM streams WHERE id = ?', id)
    onDeleted(id)
  }
  return { count: 0, oldestAt: now }
}
