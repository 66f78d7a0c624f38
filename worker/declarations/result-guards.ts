import type { Result } from '../protocol/types.ts'

/**
 * Refuse results that must not be sent. A plugin whose handlers can make such results adds one, so that a Worker without it bundles none.
 *
 * @returns nothing to wait for, for a result that may be sent
 * @throws McpError
 */
export const resultGuards = new Set<(result: Result) => Promise<never> | undefined>()
