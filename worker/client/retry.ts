/** Sends a request again after a temporary failure. */

/** Milliseconds of the first pause, before jitter, and of the longest one. */
const firstPauseMs = 200
const maxPauseMs = 5_000

/** Describes a failure after which a request may succeed. */
export type Temporary = {
  /** Milliseconds that the server asked to wait. Default: exponential backoff. */
  readonly retryAfterMs?: number | undefined
}

/** Configures the retries of one request. */
export type RetryTerms = {
  /** Number of times that the request may be sent again. */
  readonly retries: number
  /** Returns whether the request may be sent again, after a failure. */
  readonly isSafeToRetry: () => boolean
  /** Time, in milliseconds since 1970, after which nothing is sent. */
  readonly untilMs: number
  /** Returns a description of a failure that may be temporary; `undefined` for any other failure. */
  readonly temporary: (problem: unknown) => Temporary | undefined
  /** Waits. @throws when the caller has cancelled the request */
  readonly wait: (ms: number) => Promise<void>
}

/**
 * Runs attempts until one succeeds. Between two attempts it waits as long as the server asked, or exponentially longer, with full jitter.
 *
 * @throws the failure of the last attempt, at once if the pause before the next one is longer than the time that is left
 * @see https://aws.amazon.com/builders-library/timeouts-retries-and-backoff-with-jitter/
 */
export async function withRetries<T>(
  attempt: () => Promise<T>,
  { retries, isSafeToRetry, untilMs, temporary, wait }: RetryTerms,
): Promise<T> {
  for (let count = 0; ; count += 1) {
    try {
      return await attempt()
    } catch (problem) {
      const failure = count < retries && isSafeToRetry() ? temporary(problem) : undefined
      if (!failure) throw problem
      const pauseMs = Math.max(failure.retryAfterMs ?? 0, backoffMs(count))
      if (Date.now() + pauseMs >= untilMs) throw problem
      await wait(pauseMs)
    }
  }
}

/** Returns a random pause that is longer, on average, after each attempt. */
const backoffMs = (count: number): number => Math.random() * Math.min(maxPauseMs, firstPauseMs * 2 ** count)

/**
 * Returns the milliseconds of a `Retry-After` header; `undefined` without a valid one.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9110#section-10.2.3
 */
export function retryAfterMs(header: string | null, nowMs: number): number | undefined {
  if (header === null) return undefined
  if (/^\d{1,9}$/.test(header)) return Number(header) * 1000
  const dateMs = Date.parse(header)
  return Number.isNaN(dateMs) ? undefined : Math.max(0, dateMs - nowMs)
}
