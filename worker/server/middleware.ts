/** Functions of a server's own around every call. */
import type { Principal } from '../protocol/principal.ts'
import type { Revision } from '../protocol/revision.ts'
import type { Implementation, Params, Result } from '../protocol/types.ts'
import type { Awaitable } from './context.ts'
import type { InterceptedCall, Interceptor } from './interceptor.ts'

/** What is asked, as it came. */
export type CallInfo = {
  readonly method: string
  readonly params: Params
  /** The revision's date. */
  readonly revision: string
  readonly principal: Principal | undefined
  readonly client: Implementation | undefined
  readonly session: { readonly id: string } | undefined
  /** Aborted when nobody waits for the answer any more. */
  readonly signal: AbortSignal
}

/** Goes on. @param params instead of those that came @returns the answer, in the words of the newest revision */
export type Next = (params?: Params) => Promise<Result>

/**
 * Stands around every method that answers from what was declared: lists, calls, reads, completions, and those of
 * extensions. What is registered first is outermost. A call that asks is run again for each answer, and so is what stands
 * around it; a task is passed through once, when it begins.
 *
 * @throws McpError for what the client is to be told as a JSON-RPC error
 */
export type Middleware = (call: CallInfo, next: Next) => Awaitable<Result>

/** What the engine's calls have besides. */
type Described = InterceptedCall['call'] & Omit<CallInfo, 'revision' | 'signal'> & { readonly revision: Revision }

/** Middleware, within what stands around calls already. */
export const composeInterceptors =
  (outer: Interceptor, middleware: Middleware): Interceptor =>
  (intercepted, answer) =>
    outer(intercepted, async (inner) => {
      const call = inner.call as Described
      const next: Next = (params = call.params) => answer({ ...inner, call: { ...call, params } })
      // A task was passed through when it began.
      if (call.isTask) return next()
      return middleware({ ...call, revision: call.revision.date, signal: inner.context.signal }, next)
    })
