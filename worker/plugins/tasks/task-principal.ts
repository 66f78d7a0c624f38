/**
 * The principal of a task. It is stored sealed, without its token and only with claims that may be stored. `reauthorize` of the server's
 * auth is called before each run.
 */

import type { RunPrincipal } from '../../../durable-objects/task/object.ts'
import type { TaskCall } from '../../../durable-objects/task/rpc.ts'
import { type StoredByIssuer, storable, storedFor } from '../../declarations/stored-principal.ts'
import type { Seals } from '../../engine/call.ts'
import { McpError } from '../../protocol/errors.ts'
import { type Principal, principalKey } from '../../protocol/principal.ts'

/** `isReauthorized`: the auth that accepted the principal has `reauthorize`, so the task must not run without it. */
type Sealed = { readonly principal: Principal; readonly isReauthorized: boolean }

const purpose = 'principal of a task'

/** @param lifeMs milliseconds that the task may run */
export async function sealPrincipal(
  principal: Principal | undefined,
  auth: StoredByIssuer | undefined,
  seals: Seals,
  lifeMs: number,
): Promise<string | undefined> {
  if (!principal) return undefined
  const { storedClaims, reauthorize } = storedFor(principal, auth ?? {})
  const value: Sealed = { principal: storable(principal, storedClaims), isReauthorized: reauthorize !== undefined }
  return seals.seal(purpose, value, lifeMs)
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
  // `sealPrincipal` sealed it: the purpose has no other values.
  const opened = (await seals.open(purpose, sealed)) as Sealed | undefined
  if (!opened) throw stopped('its stored principal cannot be read, because its key is no longer in EDGEMCP_KEYS')
  const { principal, isReauthorized } = opened
  const stored = storedFor(principal, auth ?? {})
  if (!stored.reauthorize) {
    if (!isReauthorized) return { principal, isCurrent: false }
    throw stopped('the auth of the server no longer has reauthorize')
  }
  const current = await stored.reauthorize(principal, { method: 'tools/call', params })
  if (!current) throw stopped("reauthorize of the server's auth refused the caller who began it")
  if (principalKey(current) !== principalKey(principal)) throw stopped('reauthorize returned another principal')
  return { principal: current, isCurrent: true }
}

const stopped = (reason: string): McpError => new McpError('forbidden', `The task was stopped: ${reason}`)
