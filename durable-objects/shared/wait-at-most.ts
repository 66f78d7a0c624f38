/**
 * Waits until a promise settles, but no longer than a number of milliseconds.
 *
 * @returns what the promise resolves with; `undefined` when the time is over first
 * @throws what the promise rejects with
 */
export async function waitAtMost<T>(ms: number, work: Promise<T>): Promise<T | undefined> {
  const { promise: late, resolve } = Promise.withResolvers<undefined>()
  const timer = setTimeout(resolve, Math.max(0, ms))
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}
