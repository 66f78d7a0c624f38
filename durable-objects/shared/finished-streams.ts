/** The streams of a session that have ended. They remain for a time, for clients that reconnect. */
import type { ReplayLimits } from './event-log.ts'

/** Finished streams of one session. Beyond it, the oldest are deleted. */
const maxFinished = 1000

export type FinishedStreamsParts = {
  /** Returns all finished streams, the oldest first. */
  all(): readonly { readonly id: number; readonly at: number }[]
  /** Called for a stream that was deleted. */
  onDeleted(stream: number): void
}

export class FinishedStreams {
  readonly #sql: SqlStorage
  readonly #boundsNow: () => ReplayLimits
  readonly #parts: FinishedStreamsParts
  /** Their number, and when the oldest of them ended, once they were read. Most calls need no more. */
  #known: { count: number; oldestAt: number } | undefined

  constructor(sql: SqlStorage, bounds: () => ReplayLimits, parts: FinishedStreamsParts) {
    this.#sql = sql
    this.#boundsNow = bounds
    this.#parts = parts
  }

  /** Called when a stream has ended. */
  add(now: number): void {
    if (!this.#known) return
    const { count, oldestAt } = this.#known
    this.#known = { count: count + 1, oldestAt: count === 0 ? now : Math.min(oldestAt, now) }
  }

  /**
   * Deletes those that are older than `maxAgeMs`, and the oldest ones while there are too many or the session stores too much.
   *
   * @param isFull whether the session may store too much
   * @returns true if finished streams remain
   */
  delete(now: number, isFull = false): boolean {
    const { maxAgeMs, maxStorageBytes } = this.#boundsNow()
    const isRecent = (count: number, oldestAt: number) => oldestAt >= now - maxAgeMs && count <= maxFinished
    const isKept = (count: number, oldestAt: number) =>
      isRecent(count, oldestAt) && this.#sql.databaseSize <= maxStorageBytes
    const known = this.#known
    if (known && (known.count === 0 || (!isFull && isRecent(known.count, known.oldestAt)))) return known.count > 0
    const finished = this.#parts.all()
    for (const [index, { id, at }] of finished.entries()) {
      const count = finished.length - index
      if (isKept(count, at)) {
        this.#known = { count, oldestAt: at }
        return true
      }
      this.#sql.exec('DELETE FROM events WHERE stream = ?', id)
      this.#sql.exec('DELETE FROM streams WHERE id = ?', id)
      this.#parts.onDeleted(id)
    }
    this.#known = { count: 0, oldestAt: now }
    return false
  }

  /** Called after the storage was deleted. */
  reset(): void {
    this.#known = undefined
  }
}
