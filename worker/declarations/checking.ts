import * as checking from './checks.ts'

/**
 * `wrangler deploy` puts "production" in the place of this expression: what was wrong with a declaration was seen before.
 * Written out so that bundlers see that a deployment needs nothing of it.
 */
export const checks = globalThis.process?.env?.NODE_ENV === 'production' ? undefined : checking
