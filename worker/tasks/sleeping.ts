import type { Context } from '../server/context.ts'
import { milliseconds } from './duration.ts'

/**
 * `sleep` and `until` of a handler, which may be run again: what it slept through before is over.
 *
 * @param once of its context
 * @param rest waits until a moment, in milliseconds
 */
export function sleeping(
  { once }: Pick<Context, 'once'>,
  rest: (moment: number) => Promise<void>,
): Pick<Context, 'sleep' | 'until'> {
  let sleeps = 0
  const until = async (moment: number | { valueOf(): number }) => {
    sleeps += 1
    const known = await once(`\0sleep ${sleeps}`, () => Number(moment))
    if (known > Date.now()) await rest(known)
  }
  return {
    until,
    sleep: async (duration) => until(Date.now() + milliseconds(duration, 'The duration of ctx.sleep')),
  }
}

/** @throws the signal's reason when that is aborted before */
export function waited(time: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer)
      reject(signal.reason)
    }
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', stop)
      resolve()
    }, time)
    if (signal.aborted) stop()
    else signal.addEventListener('abort', stop, { once: true })
  })
}
