/** What stands around the calls of a server: the engine hands itself in, and knows nothing of who stands there. */
import type { Params, Result } from '../protocol/types.ts'
import type { Context } from './context.ts'
import type { Admitted } from './endpoints.ts'

/** One round of a call: the engine's `Asked`, as far as somebody outside of it may rely on it. */
export type InterceptedCall = {
  readonly call: {
    readonly method: string
    readonly params: Params
    readonly isTask?: boolean
    readonly admitted?: Admitted | undefined
  }
  readonly context: Context
  /** Settles when the round ends before its handler does, with the engine's `Outcome`. */
  readonly blocked: Promise<unknown>
}

/** Stands around every round of every call. It hands on what it was given, or a copy with another context. */
export type Interceptor = <A extends InterceptedCall>(
  intercepted: A,
  answer: (asked: A) => Promise<Result>,
) => Promise<Result>
