/** How long handlers may run. */
import { onOutcome, withDeadline } from '../engine/on-outcome.ts'
import { McpError } from '../protocol/errors.ts'
import type { Registry } from '../server/server.ts'

const timed = new WeakSet<Registry>()

/**
 * From now on a handler that runs for longer than its endpoint allows ends with an error, and its signal says so. Waiting for a client does
 * not count, and neither do runs of tasks, which have a time of their own.
 *
 * @param unknownMs of calls that name no endpoint, such as those that run again after their object was lost
 */
export function limitTime(registry: Registry, unknownMs: number): void {
  // A server may be served at several addresses.
  if (timed.has(registry)) return
  timed.add(registry)
  const { interceptor } = registry
  registry.interceptor = (intercepted, answer) => {
    const { admitted, isTask } = intercepted.call
    const milliseconds = admitted ? admitted.handlerTimeMs : unknownMs
    if (isTask || milliseconds === undefined) return interceptor(intercepted, answer)
    const { promise: late, reject } = Promise.withResolvers<never>()
    late.catch(() => {})
    const abort = new AbortController()
    const timer = setTimeout(() => {
      const seconds = milliseconds / 1000
      const problem = new McpError('interrupted', `This took longer than ${seconds} seconds, and was stopped`, {
        reason: 'timeout',
        retryable: false,
      })
      reject(problem)
      abort.abort(problem)
    }, milliseconds)
    const context = { ...intercepted.context, signal: AbortSignal.any([intercepted.context.signal, abort.signal]) }
    const answered = withDeadline({ ...intercepted, context }, late, (within) => interceptor(within, answer))
    return onOutcome(intercepted, answered, () => clearTimeout(timer))
  }
}
