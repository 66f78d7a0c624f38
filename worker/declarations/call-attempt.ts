import type { Principal } from '../protocol/principal.ts'
import type { Params } from '../protocol/types.ts'
import type { Guarded } from './caller.ts'

/** Describes one round of a call to a limiter, before the handler runs. */
export type CallAttempt = {
  /** The params of the call. */
  readonly params: Params | undefined
  /** The entry that the call names, if it names one; of several upstreams that may have it, that of each. */
  readonly entries: readonly Guarded[]
  /** The authenticated caller; `undefined` for an anonymous caller. */
  readonly principal: Principal | undefined
  /** The caller that the call counts for: what `Limiter.callerOf` returned for its HTTP request. */
  readonly caller: string
  /** The same object for all calls of one POST, which are counted together. */
  readonly post: object
  /** Whether the call continues after an input response in a session. It was counted when it started. */
  readonly isResumed: boolean
  /** Returns a signal that is aborted when the call is cancelled. */
  signal(): AbortSignal
  /** Whether nothing of the call runs after its signal is aborted, because the Worker runs it and its client is disconnected. */
  readonly endsWithSignal: boolean
  /** Returns whether the caller sees one of the entries. */
  sees(entry: Guarded): Promise<boolean>
  /** Yields the calls of the same session that wait for input responses. Together they may be too large for the memory of an isolate. */
  parked(): Iterable<{ readonly call: { readonly request: { readonly method: string; readonly params?: Params } } }>
}

/**
 * Counts a round where it runs.
 *
 * @returns what to call when the round has ended
 * @throws McpError `too_many_requests` or `content_too_large`
 */
export type CountRound = (attempt: CallAttempt) => Promise<() => void>
