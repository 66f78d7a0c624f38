/** Times of the timeouts of signals, in milliseconds since 1970. */
const deadlines = new WeakMap<AbortSignal, number>()

/** Returns a signal that is also aborted after a timeout. */
export function withTimeout(signal: AbortSignal, ms: number): AbortSignal {
  const timed = AbortSignal.any([signal, AbortSignal.timeout(ms)])
  deadlines.set(timed, Date.now() + ms)
  return timed
}

/** Returns the time at which the timeout of a signal is over. @param signal that `withTimeout` returned */
export const deadlineOf = (signal: AbortSignal): number => deadlines.get(signal) ?? Number.POSITIVE_INFINITY
