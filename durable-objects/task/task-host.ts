import type { StateRpc } from '../../worker/declarations/state.ts'
import type { EndpointOfTenant } from '../../worker/engine/call.ts'
import type { Principal } from '../../worker/protocol/principal.ts'
import type { InputRequest } from '../../worker/protocol/types.ts'
import type { TaskCall, TaskReferences, TaskView } from './rpc.ts'

/** The principal of a run. `isCurrent`: `reauthorize` has just returned it. Otherwise it is the stored one, without most of its claims. */
export type RunPrincipal = { readonly principal: Principal | undefined; readonly isCurrent: boolean }

/** What a task needs of its server. */
export interface TaskHost {
  /** Returns the endpoint of a tenant. */
  at(tenant: string | undefined): EndpointOfTenant
  state(name: string): StateRpc
  /**
   * Returns the principal of the next run.
   *
   * @throws McpError when the task must not continue
   */
  principalOf(call: TaskCall): Promise<RunPrincipal>
  /** Returns the problem of a client's response to a request; `undefined` for a valid response. */
  problemOf(key: string, request: InputRequest, response: unknown): string | undefined
  /** Sends the status of a task to its session and to the clients that listen to it. */
  publishStatus(task: TaskView, of: TaskReferences & { readonly shards: readonly number[] }): Promise<void>
  report(problem: unknown): void
}
