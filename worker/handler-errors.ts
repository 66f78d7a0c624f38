/** The options `onError` and `handlerErrors` of `serve()`. */
import type { HandleFailure, HandlerErrors, OnError } from './declarations/failure.ts'

/** What reports failures. */
type FailureServices = {
  /** Logs values. */
  readonly report: (...values: unknown[]) => void
  /** Continues work after the response, and reports what it throws. */
  readonly waitUntil: (work: Promise<unknown>) => void
}

/** Returns the function that reports the failures of an endpoint; `undefined` without options, for the default of each method. */
export function failureHandler(
  onError: OnError | undefined,
  handlerErrors: HandlerErrors = 'message',
  { report, waitUntil }: FailureServices,
): HandleFailure | undefined {
  if (!onError && handlerErrors === 'message') return undefined
  return (thrown, subject, info) => {
    const errorId = crypto.randomUUID().slice(0, 8)
    const generic = `${subject} failed (error id ${errorId})`
    const call = Object.assign(info, { errorId })
    // What a handler throws after its client has cancelled the call is mostly the consequence.
    if (!call.signal.aborted) {
      if (handlerErrors === 'message') report(thrown)
      else report(generic, thrown)
      // Called at once, so that it sees the active span and its own AsyncLocalStorage.
      if (onError) waitUntil((async () => onError(thrown, call))())
    }
    if (typeof handlerErrors === 'string') return handlerErrors === 'generic' ? generic : undefined
    try {
      const text: unknown = handlerErrors(thrown, call)
      if (typeof text === 'string') return text
      throw new TypeError('handlerErrors of serve() must return a string')
    } catch (problem) {
      report(problem)
      return generic
    }
  }
}
