/**
 * The streams of a session that have ended. They remain for a time, for clients that reconnect: old ones are deleted, and the oldest while
 * there are too many or the storage is full.
 */

/** Finished streams of one session. Beyond it, the oldest are deleted. */
const maxFinished = 1000

/** The limits of `ReplayLimits` for finished streams. */
type Limits = { readonly maxAgeMs: number; readonly maxStorageBytes: number }

export type FinishedStreamsParts = {
  /** Returns all finished streams, the oldest first. */
  all(): readonly { readonly id: number; readonly at: number }[]
  /** Called for a stream that was deleted. */
  onDeleted(stream: number): void
}

/** The number of finished streams, and when the oldest of them ended, in milliseconds since 1970. */
type FinishedCount = { count: number; oldestAt: number }

/** Whether no stream is too old, and there are not too many. */
const isWithinLimits = ({ count, oldestAt }: FinishedCount, { maxAgeMs }: Limits, now: number): boolean =>
  oldestAt >= now - maxAgeMs && count <= maxFinished

export class FinishedStreams {
  readonly #sql: SqlStorage
  readonly #boundsNow: () => Limits
  readonly #parts: FinishedStreamsParts
  /** Set once they were read. Most calls need no more. */
  #known: FinishedCount | undefined

  constructor(sql: SqlStorage, bounds: () => Limits, parts: FinishedStreamsParts) {
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
   * Deletes those beyond the limits.
   *
   * @param isFull whether the session may store too much
   * @returns true if finished streams remain
   */
  delete(now: number, isFull = false): boolean {
    const limits = this.#boundsNow()
    const known = this.#known
    if (known && (known.count === 0 || (!isFull && isWithinLimits(known, limits, now)))) return known.count > 0
    this.#known = this.#deleteOldest(limits, now)
    return this.#known.count > 0
  }

  /** Deletes streams with their events until the rest is within the limits. Returns what remains. */
  #deleteOldest(limits: Limits, now: number): FinishedCount {
    const finished = this.#parts.all()
    for (const [index, { id, at }] of finished.entries()) {
      const rest = { count: finished.length - index, oldestAt: at }
      if (isWithinLimits(rest, limits, now) && this.#sql.databaseSize <= limits.maxStorageBytes) return rest
      this.#sql.exec('DELETE FROM events WHERE stream = ?', id)
      this.#sql.exec('DELETE FROM streams WHERE id = ?', id)
      this.#parts.onDeleted(id)
    }
    return { count: 0, oldestAt: now }
  }

  /** Called after the storage was deleted. */
  reset(): void {
    this.#known = undefined
  }
}
