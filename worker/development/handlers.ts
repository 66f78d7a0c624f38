import { onCall } from '../engine/on-outcome.ts'
import type { Registry } from '../server/server.ts'
import { begin, end, requestWith } from './hops.ts'

/** From now on it is known how long each handler takes. */
export function timeHandlers(registry: Registry): void {
  onCall(registry, ({ method, params, session, isTask }) => {
    const { name, uri } = params
    const what = [isTask && 'task', method, name ?? uri].filter(Boolean).join(' ')
    const hop = begin('handler', what, requestWith(session?.id, method, params))
    return (outcome) => end(hop, outcome instanceof Error)
  })
}
