import { setTimeout as sleep } from 'node:timers/promises'

/** @throws Error when something is not over after so many milliseconds */
export async function inTime<T>(work: Promise<T>, milliseconds: number, name: string): Promise<T> {
  const stop = new AbortController()
  const late = sleep(milliseconds, undefined, { signal: stop.signal }).then(() => {
    throw new Error(`${name} was not over after ${milliseconds / 1000} s`)
  })
  try {
    return await Promise.race([work, late])
  } finally {
    stop.abort()
    late.catch(() => {})
  }
}
