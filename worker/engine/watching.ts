import { isObject } from '../protocol/jsonrpc.ts'
import type { Registry } from '../server/server.ts'
import type { Call } from './call.ts'

/**
 * Looks on at every call of a server, beside whoever does already.
 *
 * @param begun what to do as a call begins; it returns what to do when that is over, with the engine's `Outcome`
 * or what was thrown: see `isAsleep`
 */
export function watchCalls(registry: Registry, begun: (call: Call) => (came: unknown) => void): void {
  const before = registry.watch
  registry.watch = (given, context) => {
    const watched = before?.(given, context)
    // What watches is handed the engine's own.
    const over = begun(given as Call)
    return {
      ...watched,
      context: watched?.context ?? context,
      end(came) {
        watched?.end(came)
        over(came)
      },
    }
  }
}

/** Did the run of a task end because its handler sleeps? */
export const isAsleep = (came: unknown): boolean => isObject(came) && 'wake' in came
