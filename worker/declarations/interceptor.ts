/** Interceptors: functions around every step of every call. */
import type { Principal } from '../protocol/principal.ts'
import type { Implementation, Params } from '../protocol/types.ts'
import type { Awaitable } from './context.ts'
import type { HttpRequest } from './http-request.ts'
import type { Outcome } from './outcome.ts'
import type { RequestContext } from './request-context.ts'

/** Describes one step of a call to an interceptor. */
export interface CallInfo {
  /** The JSON-RPC method, such as `tools/call`. */
  readonly method: string
  /** The params that the client sent, or those of an outer interceptor. */
  readonly params: Params
  /** The protocol version of the client, such as `2025-11-25`. */
  readonly protocolVersion: string
  /** The authenticated caller; `undefined` for an anonymous caller. */
  readonly principal: Principal | undefined
  /** The request context of the call, as handlers get it in `ctx.requestContext`. */
  readonly requestContext: RequestContext
  /** The HTTP request of the step, as handlers get it in `ctx.request`. */
  readonly request: HttpRequest | undefined
  /** The name and version that the client reports; not authenticated. */
  readonly client: Implementation | undefined
  /** The session of the call, as in `ctx.session`; `undefined` in protocol versions without sessions. */
  readonly session: { readonly id: string } | undefined
  /** Whether the step runs a task that an earlier call created. */
  readonly isTask: boolean
  /**
   * Aborted when the client cancels the call or closes its connection, and when an outer interceptor aborts the signal that it passed to
   * `next`.
   */
  readonly signal: AbortSignal
}

/**
 * Runs the inner interceptors, then the handler. The handler starts inside this call, so that an `AsyncLocalStorage` reaches it.
 *
 * @param params replace those of the call; their scopes are checked. Default: unchanged
 * @param options `signal` replaces the signal of the inner steps. When the interceptor aborts it, the step rejects with its reason and
 * sends nothing more
 * @returns the outcome of the step
 * @throws McpError, or any error of an inner interceptor; Error when an interceptor calls it twice
 */
export type Next = (params?: Params, options?: { readonly signal?: AbortSignal }) => Promise<Outcome>

/**
 * Wraps every step of every call. A call that needs input has a step per round; a task has a step per run.
 *
 * @returns the outcome of `next`, or an outcome of its own
 * @throws McpError to send an error to the client; any other error becomes `internal_error`
 *
 * @example
 * const measure: Interceptor = async (call, next) => {
 *   const startMs = Date.now()
 *   try {
 *     return await next()
 *   } finally {
 *     console.log(call.method, Date.now() - startMs)
 *   }
 * }
 */
export type Interceptor = (call: CallInfo, next: Next) => Awaitable<Outcome>
