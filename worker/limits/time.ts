/** How long handlers may run. */
import { McpError } from '../protocol/errors.ts'
import type { Registry } from '../server/server.ts'

/**
 * From now on a handler that runs for longer ends with an error, and its signal says so. Waiting for a client does not count,
 * and neither do runs of tasks, which have a time of their own.
 */
export function limitTime(registry: Registry, milliseconds: number): void {
  const before = registry.watch
  registry.watch = (call, context) => {
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
}
