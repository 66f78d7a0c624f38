/** The principal of a task, for which `reauthorize` of the server's auth is called before each run, and while it lasts. */

import type { RunPrincipal } from '../../../durable-objects/task/object.ts'
import type { TaskCall } from '../../../durable-objects/task/rpc.ts'
import type { StoredByIssuer } from '../../declarations/stored-principal.ts'
import type { Seals } from '../../engine/call.ts'
import * as sealedPrincipal from '../../engine/sealed-principal.ts'
import { McpError } from '../../protocol/errors.ts'
import type { Principal } from '../../protocol/principal.ts'

const purpose = 'principal of a task'

/** @param lifeMs milliseconds that the task may run */
export async function sealPrincipal(
  principal: Principal | undefined,
  auth: StoredByIssuer | undefined,
  seals: Seals,
  lifeMs: number,
): Promise<string | undefined> {
  return principal && sealedPrincipal.sealPrincipal(purpose, principal, auth, seals, lifeMs)
}

/**
 * Returns the principal of a run of a task.
 *
 * @throws McpError `forbidden` when the task must not continue; any error of `reauthorize`
 */
export async function principalOf(
  { principal: sealed, params }: TaskCall,
  auth: StoredByIssuer | undefined,
  seals: Seals,
): Promise<RunPrincipal> {
  if (sealed === undefined) return { principal: undefined, isCurrent: false }
  const call = { method: 'tools/call', params }
  const reauthorized = await sealedPrincipal.reauthorize({ purpose, sealed, call }, auth, seals)
  if (!('reason' in reauthorized)) return reauthorized
  throw new McpError('forbidden', `The task was stopped: ${reauthorized.reason}`)
}
