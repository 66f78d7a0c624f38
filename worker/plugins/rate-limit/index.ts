/** edgemcp/rate-limit: how much callers may ask. */
import { env } from 'cloudflare:workers'
import type { Plugin } from '../../plugin.ts'
import { limiter, type RateLimitOptions, timeOf } from './limits.ts'
import { limitTime } from './time.ts'

export type { RateLimit } from '../../declarations/caller.ts'
export type { RateLimitOptions } from './limits.ts'

/**
 * Limits how much each caller may ask: whoever is signed in, else the address.
 *
 * @example
 * serve(server, { plugins: [rateLimit({ rate: '60/m', quota: '5000/d' })] })
 * @throws Error with one sentence that names the fix
 */
export function rateLimit(options: RateLimitOptions = {}): Plugin {
  // The names and types of the bindings are the project's.
  const limits = limiter(options, () => env as unknown as Readonly<Record<string, unknown>>)
  const time = timeOf(options)
  return {
    name: 'rateLimit',
    limiter: limits,
    ...(time !== undefined && { interceptor: () => limitTime(time) }),
  }
}
