/** Functions around every step of every call. */
import type { Principal } from '../protocol/principal.ts'
import type { Implementation, Params } from '../protocol/types.ts'
import type { Awaitable } from './context.ts'
import type { Admitted } from './endpoints.ts'
import type { Outcome } from './outcome.ts'

/** One step of a call, as an interceptor sees it. */
export interface CallInfo {
  readonly method: string
  /** As the client sent them, or as an outer interceptor changed them. */
  readonly params: Params
  /** The date of the protocol version that the client speaks. */
  readonly protocolVersion: string
  readonly principal: Principal | undefined
  readonly client: Implementation | undefined
  readonly session: { readonly id: string } | undefined
  /** The step runs a task that an earlier call has created. */
  readonly isTask: boolean
  /** What its endpoint stores with the call; `undefined` for a call that runs again after its Durable Object was lost, and for a task. */
  readonly admitted: Admitted | undefined
  /** Aborted when the client cancels the call or closes its connection, or when an outer interceptor aborts the signal that it gave. */
  readonly signal: AbortSignal
}

/**
 * Runs the rest: the interceptors further in, then the handler. The handler starts within this call, so that an `AsyncLocalStorage` reaches it.
 *
 * @param params instead of those of the call; the scopes that they need are checked
 * @param options `signal`: the signal of the rest. When the interceptor aborts it, the step ends with its reason, and sends nothing more
 * @returns the outcome of the step. It settles however the step ends
 * @throws McpError, or what an inner interceptor throws
 */
export type Next = (params?: Params, options?: { readonly signal?: AbortSignal }) => Promise<Outcome>

/**
 * Wraps every step of every call. A call that needs input has a step for each round, and a task has a step for each of its runs.
 *
 * @returns what `next` returned, or a result instead
 * @throws McpError for an error that the client gets; anything else is an internal error
 */
export type Interceptor = (call: CallInfo, next: Next) => Awaitable<Outcome>
