/** edgemcp/limits: how much callers may ask. */
import { env } from 'cloudflare:workers'
import type { Limiter } from '../auth/auth.ts'
import { type LimitsOptions, limiter } from './limits.ts'

export type { RateLimit } from '../server/caller.ts'
export type { LimitsOptions } from './limits.ts'

/**
 * Limits for every caller: whoever is signed in, else the address.
 *
 * @example
 * serve(server, { limit: limits({ rate: '60/m', quota: '5000/d' }) })
 * @throws Error with one sentence that names the fix
 */
export const limits = (options: LimitsOptions = {}): Limiter =>
  limiter(options, () => env as unknown as Readonly<Record<string, unknown>>)
