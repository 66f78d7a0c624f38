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
