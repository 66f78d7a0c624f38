/** The streams of a session that have ended. They remain for a time, for clients that reconnect. */
import { deleteFinishedStreams, type FinishedCount, isWithinLimits } from './delete-finished-streams.ts'
import type { ReplayLimits } from './event-log.ts'

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
  /** Set once they were read. Most calls need no more. */
  #known: FinishedCount | undefined

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
   * Deletes those beyond the limits.
   *
   * @param isFull whether the session may store too much
   * @returns true if finished streams remain
   */
  delete(now: number, isFull = false): boolean {
    const limits = this.#boundsNow()
    const known = this.#known
    if (known && (known.count === 0 || (!isFull && isWithinLimits(known, limits, now)))) return known.count > 0
    this.#known = deleteFinishedStreams(this.#sql, limits, this.#parts.all(), now, this.#parts.onDeleted)
    return this.#known.count > 0
  }

  /** Called after the storage was deleted. */
  reset(): void {
    this.#known = undefined
  }
}
