/**
 * The age at which a stream ends: a random one between 80 and 100 % of the maximum, or when its credential expires. Streams that were opened
 * together, as after a deployment, do not end together.
 */

/** Timers take milliseconds of 31 bits. */
const maxTimerMs = 2 ** 31 - 1

/**
 * Calls back when a stream has reached its age.
 *
 * @param expires milliseconds since 1970: the expiry of the credential. Default: it does not expire
 * @returns the timer; `null` for a stream that does not end
 */
export function startAgeTimer(
  maxStreamAgeMs: number,
  expires: number | undefined,
  onAge: () => void,
): ReturnType<typeof setTimeout> | null {
  const randomAgeMs = maxStreamAgeMs * (1 - Math.random() / 5)
  const ageMs = expires === undefined ? randomAgeMs : Math.min(randomAgeMs, expires - Date.now())
  return ageMs <= maxTimerMs ? setTimeout(onAge, ageMs) : null
}
