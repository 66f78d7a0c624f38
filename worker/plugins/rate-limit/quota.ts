/**
 * Exact counters: one Durable Object per caller, with one request for all calls of a POST. They are stored as a state, like those that
 * handlers declare.
 */

import type { StateRpc } from '../../declarations/state.ts'
import { declare, type Store } from '../../declarations/state-declaration.ts'

/** One counter, and its limit. */
export type Counted = { readonly name: string; readonly most: number; readonly seconds: number }

/** Seconds until a full counter has room, and its index; `undefined`: all had room, and were increased. */
export type Full = { readonly index: number; readonly wait: number } | undefined

type Counter = { from: number; count: number }

const name = 'edgemcp.limits'

/** Increases each counter or, if one of them is full, none. */
export function takeEach(store: Pick<Store, 'get' | 'put'>, counted: readonly Counted[], now: number): Full {
  const counters = counted.map(({ name: key, most: limit, seconds }) => {
    const from = now - (now % (seconds * 1000))
    // Only this function writes these keys.
    const counter = store.get(key) as Counter | undefined
    const count = counter?.from === from ? counter.count : 0
    return { key, from, count, waitMs: count < limit ? 0 : from + seconds * 1000 - now }
  })
  const waits = counters.map(({ waitMs }) => waitMs)
  const longest = Math.max(...waits)
  if (longest > 0) return { index: waits.indexOf(longest), wait: Math.ceil(longest / 1000) }
  for (const { key, from, count } of counters) store.put(key, { from, count: count + 1 } satisfies Counter)
  return undefined
}

declare({
  name,
  per: 'user',
  // Longer than every window.
  ttl: 2 * 86_400_000,
  tables: [],
  operations: (store: Store) => ({
    /** One call after the other, in one transaction. */
    take(calls: readonly (readonly Counted[])[]): Full[] {
      const now = Date.now()
      return calls.map((counted) => takeEach(store, counted, now))
    },
  }),
})

/** Returns the object that stores a state, by its name. */
type StateOf = (name: string) => StateRpc

type Waiting = { readonly calls: (readonly Counted[])[]; readonly taken: Promise<Full[]> }

/** Calls of one POST that are about to be counted. */
const waiting = new WeakMap<object, Waiting>()

/**
 * Counts one call, together with the others of its POST that are counted at the same moment.
 *
 * @param caller one text for each caller
 */
export async function take(stateOf: StateOf, caller: string, counted: readonly Counted[], post: object): Promise<Full> {
  let group = waiting.get(post)
  if (!group) {
    const calls: Waiting['calls'] = []
    group = { calls, taken: takeTogether(stateOf, caller, calls, post) }
    waiting.set(post, group)
  }
  const index = group.calls.push(counted) - 1
  return (await group.taken)[index]
}

async function takeTogether(
  stateOf: StateOf,
  caller: string,
  calls: readonly (readonly Counted[])[],
  post: object,
): Promise<Full[]> {
  // The other calls of the POST start in the same turn.
  await undefined
  waiting.delete(post)
  const answer = await stateOf(JSON.stringify([name, caller])).run({
    state: name,
    operation: 'take',
    args: [calls],
    expires: undefined,
  })
  // `takeEach` returned them.
  if ('value' in answer) return answer.value as Full[]
  throw new Error('thrown' in answer ? answer.thrown.message : 'Cannot count the quota: the call to McpState failed')
}
