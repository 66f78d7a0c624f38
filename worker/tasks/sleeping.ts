import type { Context } from '../server/context.ts'
import { milliseconds } from './duration.ts'

/**
 * `sleep` and `sleepUntil` of a handler, which may be run again: a sleep goes on until the moment that is stored under its key, in whatever
 * order the branches of the handler come to theirs. `once` with them, because an effect must not begin with a sleep: what a task slept
 * through is known when its effect is run again, and its effect is not.
 *
 * @param once of its context
 * @param suspendUntil waits until a moment, in milliseconds
 */
export function sleeping(
  { once }: Pick<Context, 'once'>,
  suspendUntil: (moment: number) => Promise<void>,
): Pick<Context, 'sleep' | 'sleepUntil' | 'once'> {
  const used = new Set<string>()
  /** The key of the `once` whose effect is being started. */
  let starting: string | undefined

  function claim(key: string): void {
    if (typeof key !== 'string' || key === '') {
      throw new Error(`The key of a sleep is ${JSON.stringify(key)}: use a text, as in ctx.sleep('wait', '1h')`)
    }
    if (starting !== undefined) {
      throw new Error(`The sleep "${key}" is inside once "${starting}": sleep before or after it`)
    }
    if (used.has(key)) throw new Error(`The sleep key "${key}" is used twice in one call: give each its own`)
    used.add(key)
  }

  async function restUntil(key: string, moment: number): Promise<void> {
    if (Number.isNaN(moment))
      throw new Error(`The moment of the sleep "${key}" is none: use a Date, or its milliseconds`)
    const stored = await once(`\0sleep ${key}`, () => moment)
    if (stored > Date.now()) await suspendUntil(stored)
  }

  return {
    async sleep(key, duration) {
      claim(key)
      await restUntil(key, Date.now() + milliseconds(duration, `The duration of the sleep "${key}"`))
    },
    async sleepUntil(key, moment) {
      claim(key)
      await restUntil(key, Number(moment))
    },
    once: (key, effect) =>
      once(key, () => {
        const outer = starting
        starting = key
        try {
          return effect()
        } finally {
          starting = outer
        }
      }),
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
