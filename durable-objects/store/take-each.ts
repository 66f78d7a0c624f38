import type { CallLimit, FullCounter } from '../rpc.ts'

/** `from`: milliseconds since 1970, when its window began. */
type Counter = { from: number; count: number }

/** Takes one from each counter or, if one of them is full, from none. */
export function takeEach(
  store: { get(key: string): unknown; put(key: string, value: unknown): void },
  limits: readonly CallLimit[],
  now: number,
): FullCounter | undefined {
  const counters = limits.map(({ name, seconds }) => {
    const from = now - (now % (seconds * 1000))
    // Only this function writes these keys.
    const counter = store.get(`counter:${name}`) as Counter | undefined
    return counter && counter.from === from ? counter : { from, count: 0 }
  })
  const waits = limits.map(({ most, seconds }, index) => {
    // `counters` has one for each limit.
    const { from, count } = counters[index] as Counter
    return count < most ? 0 : from + seconds * 1000 - now
  })
  const longest = Math.max(...waits)
  if (longest > 0) return { index: waits.indexOf(longest), wait: Math.ceil(longest / 1000) }
  for (const [index, { name }] of limits.entries()) {
    const { from, count } = counters[index] as Counter
    store.put(`counter:${name}`, { from, count: count + 1 })
  }
  return undefined
}
