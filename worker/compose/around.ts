import type { Call } from '../engine/call.ts'
import type { Principal } from '../protocol/principal.ts'
import type { Implementation, Params, Result } from '../protocol/types.ts'
import type { Awaitable } from '../server/context.ts'
import type { Module } from '../server/server.ts'

/** What is asked, as it came. */
export type MethodCall = {
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

/** Stands around a method. @throws McpError for what the client is to be told as a JSON-RPC error */
export type Around = (call: MethodCall, next: Next) => Awaitable<Result>

/**
 * Middleware around every method that answers from what was declared: lists, calls, reads, completions, and those of
 * extensions. What is registered first is outermost. A call that asks is run again for each answer, and so is what stands
 * around it; a task is passed through once, when it begins.
 *
 * @example
 * server.use(around(async ({ method, params }, next) => {
 *   const since = Date.now()
 *   try {
 *     return await next()
 *   } finally {
 *     console.log(method, params.name, Date.now() - since)
 *   }
 * }))
 */
export const around =
  (stands: Around): Module =>
  ({ registry }) => {
    const outer = registry.around
    registry.around = (asked, answer) =>
      outer(asked, async (inner) => {
        // What stands around is handed the engine's own.
        const call = inner.call as Call
        // It has been passed through by the call that began it.
        if (call.isTask) return answer(inner)
        const { method, params, revision, principal, client, session } = call
        const next: Next = (changed = params) => answer({ ...inner, call: { ...call, params: changed } })
        const { signal } = inner.context
        return stands({ method, params, revision: revision.date, principal, client, session, signal }, next)
      })
  }
