/**
 * The time of the last use of what expires when it has not been used for a time. An object stores that time rarely, because each time
 * costs a row. So it stores a time ahead, up to which further uses need not be stored: nothing expires before its `ttl` is over, also when
 * a deployment has changed the `ttl` since.
 */

/** How often a use is stored within the `ttl`, at most. */
const storedPerTtl = 24

/** Returns the time to store for a use: the last one that is covered by it. In milliseconds since 1970. */
export const lastUse = (now: number, ttl: number): number => now + ttl / storedPerTtl

/** Whether a use is to be stored: the stored time does not cover it, or is of a longer `ttl`. */
export const isLaterUse = (now: number, stored: number, ttl: number): boolean =>
  now > stored || stored > lastUse(now, ttl)
