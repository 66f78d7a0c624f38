import type { Server } from '../../worker/declarations/server.ts'
import type { StateRpc } from '../../worker/declarations/state.ts'
import type { Seals } from '../../worker/engine/call.ts'
import type { Principal } from '../../worker/protocol/principal.ts'
import type { InputRequest } from '../../worker/protocol/types.ts'
import type { TaskCall, TaskReferences, TaskView } from '../rpc.ts'

/** `isCurrent`: `reauthorize` has just returned it. Else it is as it was stored, without most of its claims. */
export type RunPrincipal = { readonly principal: Principal | undefined; readonly isCurrent: boolean }

/** What a task needs from the server it belongs to. */
export interface TaskHost {
  /** Returns the server of the endpoint that admitted a call. */
  serverOf(call: TaskCall): Pick<Server, 'declarations'>
  seals(principal: Principal | undefined, identity: string): Seals
  state(name: string): StateRpc
  /**
   * Returns the principal that the next run acts for.
   *
   * @throws McpError when the task may not go on
   */
  principalOf(call: TaskCall): Promise<RunPrincipal>
  /** Returns what is wrong with a client's response to a request; `undefined`: nothing. */
  problemOf(key: string, request: InputRequest, response: unknown): string | undefined
  /** Sends the status of a task to its session and to the clients that listen to it. */
  publishStatus(task: TaskView, of: TaskReferences & { readonly shards: readonly number[] }): Promise<void>
  report(problem: unknown): void
}
