/** Failures of handlers: what `onError` and `handlerErrors` of `serve()` receive. */
import type { Awaitable } from './context.ts'
import type { CallInfo } from './interceptor.ts'

/** Describes the step of a call in which a handler failed. */
export interface FailedCall extends CallInfo {
  /** Identifies the failure. With `handlerErrors` other than `'message'`, the log line contains it; `'generic'` sends it to the client. */
  readonly errorId: string
}

/**
 * Observes a value that a handler threw, such as `Sentry.captureException`.
 *
 * @param error the value itself, with its stack
 * @param call the step in which the handler failed
 * @returns anything; a promise continues after the response. What it throws is logged
 */
export type OnError = (error: unknown, call: FailedCall) => Awaitable<unknown>

/**
 * Decides which text the client receives for an error that is neither a `ToolError` nor an `McpError`: `'message'`, `'generic'`, or a
 * function that returns the text.
 */
export type HandlerErrors = 'message' | 'generic' | ((error: unknown, call: FailedCall) => string)

/**
 * Reports a failure.
 *
 * @param subject what failed, such as `The tool "report"`
 * @returns the text for the client; `undefined`: the default of the method
 */
export type HandleFailure = (thrown: unknown, subject: string, call: CallInfo) => string | undefined
