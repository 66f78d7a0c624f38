/**
 * Where the ids of a session's streams, events, calls and input requests start. An idle session deletes everything, and its client may use it
 * again, so ids must be above those of an earlier life: the time from `initialize` to the first row of a life distinguishes its lives.
 */
import type { Id } from './session-values.ts'

/** Far more streams, events and input requests than a session has in a millisecond. With a life of a week, ids have at most 15 digits. */
const idsPerMs = 1_000_000
/** Milliseconds after `initialize` in which a session that stores nothing counts as new: clients of these see small ids. */
const firstLifeMs = 60_000

/**
 * Returns the highest id that an earlier life of the session may have used; 0 for a new session.
 *
 * @param idLifeMs milliseconds from `initialize` until the session id expires
 * @param ttlMs milliseconds after which an idle session expires
 */
export function skippedIdsOf({ since, expires }: Id, idLifeMs: number, ttlMs: number): number {
  const ageMs = since + idLifeMs - expires
  // A deployment may have changed `ttl` since the earlier life, so its current value tells nothing about a session of this age.
  return ageMs < Math.min(ttlMs, firstLifeMs) ? 0 : ageMs * idsPerMs
}
