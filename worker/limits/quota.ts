/**
 * Counters that are exact: one object for each caller, asked once for everything that a request counts for. They are a state
 * like those that handlers declare.
 */
import type { Site } from '../auth/auth.ts'
import { declare, type Store } from '../state/declaration.ts'

/** One counter, and how far it may go. */
export type Counted = { readonly name: string; readonly most: number; readonly seconds: number }

/** Whole seconds until there is room again, and which counter is full; `undefined`: there was room, and it is taken. */
export type Full = { readonly index: number; readonly wait: number } | undefined

type Counter = { from: number; count: number }

const name = 'edgemcp.limits'

declare({
  name,
  scope: 'user',
  // Longer than every window.
  ttl: 2 * 86_400_000,
  tables: [],
  operations: (store: Store) => ({
    // All of them or none: what is refused uses up nothing.
    take(counted: readonly Counted[]): Full {
      const now = Date.now()
      const counters = counted.map(({ name: key, seconds }) => {
        const from = now - (now % (seconds * 1000))
        const known = store.get(key) as Counter | undefined
        return known && known.from === from ? known : { from, count: 0 }
      })
      const waits = counted.map(({ most, seconds }, index) => {
        const { from, count } = counters[index] as Counter
        return count < most ? 0 : from + seconds * 1000 - now
      })
      const longest = Math.max(...waits)
      if (longest > 0) return { index: waits.indexOf(longest), wait: Math.ceil(longest / 1000) }
      for (const [index, { name: key }] of counted.entries()) {
        const { from, count } = counters[index] as Counter
        store.put(key, { from, count: count + 1 })
      }
      return undefined
    },
  }),
})

/** @param who one text for each caller */
export async function take(site: Site, who: string, counted: readonly Counted[]): Promise<Full> {
  const answer = await site
    .state(JSON.stringify([name, who]))
    .run({ state: name, operation: 'take', args: [counted], expires: undefined })
  if ('value' in answer) return answer.value as Full
  throw new Error('thrown' in answer ? answer.thrown.message : 'The counter is gone')
}
