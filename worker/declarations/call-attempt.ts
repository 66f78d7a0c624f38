import type { Params } from '../protocol/types.ts'

/** One round of a call, as limits see it before its handler runs. */
export type CallAttempt = {
  readonly method: string
  readonly params: Params
  /** The caller that the call counts for: what `Limiter.callerOf` returned for its HTTP request. */
  readonly caller: string
  /** Calls with the same object came in one POST, and are counted together. */
  readonly post: object
  /** The call goes on after an input response in a session. It was counted when it began. */
  readonly isResumed: boolean
  /** Aborted when the call is cancelled. */
  signal(): AbortSignal
  /** Nothing of the call runs on after its signal is aborted: the Worker runs it, and its client has gone. */
  readonly endsWithSignal: boolean
  /** Calls of the same session that wait for input responses. */
  parked(): readonly { readonly method: string; readonly params?: Params }[]
}

/**
 * Counts a round where it runs.
 *
 * @returns what to call when the round has ended
 * @throws McpError `too_many_requests` or `content_too_large`
 */
export type CountRound = (attempt: CallAttempt) => Promise<() => void>
