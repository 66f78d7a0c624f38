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
 * @returns stops the timer
 */
export function startAgeTimer(maxStreamAgeMs: number, expires: number | undefined, onAge: () => void): () => void {
  const end = Math.min(Date.now() + maxStreamAgeMs * (1 - Math.random() / 5), expires ?? Number.POSITIVE_INFINITY)
  let stop = () => {}
  const wait = () => {
    const leftMs = end - Date.now()
    const timer = leftMs > maxTimerMs ? setTimeout(wait, maxTimerMs) : setTimeout(onAge, leftMs)
    stop = () => clearTimeout(timer)
  }
  if (end < Number.POSITIVE_INFINITY) wait()
  return () => stop()
}
