/**
 * The principal of a task. It is stored sealed, without its token and with those claims only that may be stored, and
 * `reauthorize` of the server's auth is asked before each run.
 */
import type { RunPrincipal } from '../../durable-objects/task.ts'
import type { TaskCall } from '../../durable-objects/task-store.ts'
import type { Seals } from '../engine/call.ts'
import { McpError } from '../protocol/errors.ts'
import { type Principal, principalKey } from '../protocol/principal.ts'
import { type StoredPrincipals, storable } from '../server/stored-principal.ts'

/** `isReauthorized`: the auth that let it in has `reauthorize`, so the task may not run without. */
type Sealed = { readonly principal: Principal; readonly isReauthorized: boolean }

const purpose = 'principal of a task'

/** @param lifeMs for how long the task may run */
export async function sealPrincipal(
  principal: Principal | undefined,
  { storedClaims, reauthorize }: StoredPrincipals,
  seals: Seals,
  lifeMs: number,
): Promise<string | undefined> {
  if (!principal) return undefined
  const value: Sealed = { principal: storable(principal, storedClaims), isReauthorized: reauthorize !== undefined }
  return seals.seal(purpose, value, lifeMs)
}

/**
 * The principal that a run of a task acts for.
 *
 * @throws McpError `forbidden` when the task may not go on; whatever `reauthorize` throws
 */
export async function principalOf(
  { principal: sealed, params }: TaskCall,
  { reauthorize }: StoredPrincipals,
  seals: Seals,
): Promise<RunPrincipal> {
  if (sealed === undefined) return { principal: undefined, isCurrent: true }
  const opened = (await seals.open(purpose, sealed)) as Sealed | undefined
  if (!opened) throw stopped('its stored principal cannot be read: its key is not in EDGEMCP_KEYS any more')
  const { principal, isReauthorized } = opened
  if (!reauthorize) {
    if (!isReauthorized) return { principal, isCurrent: false }
    throw stopped('reauthorize is missing: give tasks(server, { auth }) the auth that serve() has')
  }
  const current = await reauthorize(principal, { method: 'tools/call', params })
  if (!current) throw stopped("reauthorize of the server's auth refused the caller who began it")
  if (principalKey(current) !== principalKey(principal)) throw stopped('reauthorize returned another principal')
  return { principal: current, isCurrent: true }
}

const stopped = (reason: string): McpError => new McpError('forbidden', `The task may not go on: ${reason}`)
