/** edgemcp/rate-limit: Limit the rate, the number and the duration of the calls of each caller. */
import { env } from 'cloudflare:workers'
import type { Plugin } from '../../plugin.ts'
import { limitTime } from './limit-time.ts'
import { limiter, type RateLimitOptions, timeOf } from './limiter.ts'

export type { RateLimit } from '../../declarations/caller.ts'
export type { RateLimitOptions } from './limiter.ts'

/**
 * Creates a plugin that limits how much each caller calls. A caller is a principal or, without one, an IPv4 address or a /64 network of
 * IPv6. A call beyond a limit gets status 429 with `Retry-After`, before its handler runs.
 *
 * @throws Error for an invalid option. The message names the fix
 * @see https://developers.cloudflare.com/workers/runtime-apis/bindings/rate-limit/
 * @see https://www.rfc-editor.org/rfc/rfc6585#section-4
 *
 * @example
 * serve(server, { plugins: [rateLimit({ rate: '60/m', quota: '5000/d' })] })
 */
export function rateLimit(options: RateLimitOptions = {}): Plugin {
  // The names and types of the bindings are the project's.
  const limits = limiter(options, () => env as unknown as Readonly<Record<string, unknown>>)
  const time = timeOf(options)
  return {
    name: 'rateLimit',
    ...limits,
    ...(time !== undefined && { interceptor: () => limitTime(time) }),
  }
}
