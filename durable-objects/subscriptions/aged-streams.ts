/**
 * The positions of streams of `subscriptions/listen` that ended at their maximum age: their clients listen again, and receive what was
 * published meanwhile. Nothing tells equal clients apart, such as two windows of a user. So each stream that opens receives the changes
 * since the oldest position of an equal stream, and takes it from nobody: a change may be delivered twice, but none is lost.
 * The table is in `object.ts`.
 */
import type { Tables } from '../shared/tables.ts'
import type { Attachment } from './listeners.ts'

export const agedStreamsSchema = `
  CREATE TABLE agedStreams (stream TEXT, at INTEGER, position INTEGER, PRIMARY KEY (stream, at)) WITHOUT ROWID;
`

/** Milliseconds within which a client listens again. */
const listensAgainMs = 30_000

export class AgedStreams {
  readonly #tables: Tables

  constructor(tables: Tables) {
    this.#tables = tables
  }

  /**
   * Stores the position of a stream that ended at its maximum age.
   *
   * @param position the last change that was received on it
   */
  add(tag: string | undefined, attachment: Attachment, position: number, now: number): void {
    this.#tables.create()
    this.prune(now)
    const key = streamKey(tag, attachment)
    // The clients of streams that ended before this one opened have had the whole age of a stream to listen again. It may be less than
    // `listensAgainMs`.
    this.#tables.query('DELETE FROM agedStreams WHERE stream = ? AND at < ?', key, attachment.openedAt ?? 0)
    this.#tables.query(
      `INSERT INTO agedStreams (stream, at, position) VALUES (?, ?, ?)
        ON CONFLICT DO UPDATE SET position = min(position, excluded.position)`,
      key,
      now,
      position,
    )
  }

  /** Returns the oldest position of equal streams; `undefined`: none has ended within `listensAgainMs`. */
  positionOf(tag: string | undefined, attachment: Attachment, now: number): number | undefined {
    const [row] = this.#tables.query<{ position: number | null }>(
      'SELECT min(position) AS position FROM agedStreams WHERE stream = ? AND at >= ?',
      streamKey(tag, attachment),
      now - listensAgainMs,
    )
    return row?.position ?? undefined
  }

  /** Deletes the positions that no stream receives any more. */
  prune(now: number): void {
    this.#tables.query('DELETE FROM agedStreams WHERE at < ?', now - listensAgainMs)
  }
}

/** Whether an open stream of the same caller may be of the client of a stream that has just ended. */
export const mayContinue = (open: Attachment, ended: Attachment, now: number): boolean =>
  (open.openedAt ?? 0) >= now - listensAgainMs && streamKey(undefined, open) === streamKey(undefined, ended)

/** Returns a text for a caller and its filter: a client that listens again has the same. */
const streamKey = (tag: string | undefined, { topics, tenantKey, subscriber }: Attachment): string =>
  JSON.stringify([tag, topics.toSorted(), tenantKey, subscriber])
