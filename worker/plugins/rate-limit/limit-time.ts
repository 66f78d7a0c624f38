/** The time limit of handlers. */

import type { Interceptor } from '../../declarations/interceptor.ts'
import { McpError } from '../../protocol/errors.ts'

/**
 * Returns an interceptor that ends the step of a handler that runs longer with an error, and aborts its signal. Time in which the handler waits
 * for its client does not count. Runs of tasks are not limited.
 */
export const limitTime =
  (milliseconds: number): Interceptor =>
  async ({ isTask, params, signal }, next) => {
    if (isTask) return next()
    const abort = new AbortController()
    const { promise: late, reject } = Promise.withResolvers<never>()
    const timer = setTimeout(() => {
      const problem = `The call took longer than ${milliseconds / 1000} seconds and was stopped`
      const error = new McpError('call_interrupted', problem, { reason: 'timeout', retryable: false })
      abort.abort(error)
      // Also for a call that its client has cancelled, while its handler still runs.
      reject(error)
    }, milliseconds)
    try {
      return await Promise.race([next(params, { signal: AbortSignal.any([signal, abort.signal]) }), late])
    } finally {
      clearTimeout(timer)
    }
  }
