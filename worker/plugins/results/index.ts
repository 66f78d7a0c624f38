/** edgemcp/results: Store large results in R2, and send the client a link with a preview. */
import { env } from 'cloudflare:workers'
import type { Plugin } from '../../plugin.ts'
import { type ResultStoreOptions, resultStorePlugin } from './result-store.ts'

export type { ResultStoreOptions } from './result-store.ts'
export { type StoredResultOptions, type StoredResultSource, storedResult } from './stored-result.ts'

/**
 * Creates a plugin that stores large results of tools in R2. The result keeps a preview and a link (`result://…`), which the same caller reads
 * with `resources/read`, piece by piece.
 *
 * @throws Error for an invalid option. The message names the fix
 * @see https://developers.cloudflare.com/r2/api/workers/workers-api-reference/
 *
 * @example
 * serve(server, { plugins: [resultStore({ bucket: () => env.RESULTS, overBytes: 100_000, ttl: '1d' })] })
 */
export function resultStore(options: ResultStoreOptions): Plugin {
  return resultStorePlugin(options, () => env)
}
