/** How long handlers may run. */
import { McpError } from '../protocol/errors.ts'
import type { Watch } from '../server/context.ts'
import type { Registry } from '../server/server.ts'

const timed = new WeakSet<Watch>()

/**
 * From now on a handler that runs for longer ends with an error, and its signal says so. Waiting for a client does not count,
 * and neither do runs of tasks, which have a time of their own.
 */
export function limitTime(registry: Registry, milliseconds: number): void {
  const before = registry.watch
  // A server may be served at several addresses.
  if (before && timed.has(before)) return
  const watch: Watch = (call, context) => {
    const watched = before?.(call, context)
    if (call.isTask) return watched
    const late = Promise.withResolvers<never>()
    late.promise.catch(() => {})
    const abort = new AbortController()
    const timer = setTimeout(() => {
      const seconds = milliseconds / 1000
      const problem = new McpError('interrupted', `This took longer than ${seconds} seconds, and was stopped`, {
        reason: 'timeout',
        retryable: false,
      })
      late.reject(problem)
      abort.abort(problem)
    }, milliseconds)
    const given = watched?.context ?? context
    return {
      context: { ...given, signal: AbortSignal.any([given.signal, abort.signal]) },
      late: late.promise,
      end(came) {
        clearTimeout(timer)
        watched?.end(came)
      },
    }
  }
  timed.add(watch)
  registry.watch = watch
}
