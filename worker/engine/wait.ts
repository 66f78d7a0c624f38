/** Waits in memory for a number of milliseconds. @throws the reason of the signal when it is aborted */
export function wait(time: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer)
      reject(signal.reason)
    }
    // biome-ignore lint/style/noRestrictedGlobals: the timer that callers hand to the engine
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', stop)
      resolve()
    }, time)
    if (signal.aborted) stop()
    else signal.addEventListener('abort', stop, { once: true })
  })
}

/**
 * Waits until a promise settles, but no longer than a number of milliseconds.
 *
 * @returns what the promise resolves with; `undefined` when the time is over first
 * @throws what the promise rejects with
 */
export async function waitAtMost<T>(ms: number, work: Promise<T>): Promise<T | undefined> {
  const { promise: late, resolve } = Promise.withResolvers<undefined>()
  // biome-ignore lint/style/noRestrictedGlobals: see `wait`
  const timer = setTimeout(resolve, Math.max(0, ms))
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}
