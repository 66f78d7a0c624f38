/** Any function. */
export type Called = (...args: never) => unknown

/** What V8 adds to the constructor of errors. */
const errors = Error as unknown as {
  stackTraceLimit: number
  captureStackTrace(target: object, from: Called): void
}

/**
 * Where something was called from: lines of a stack, the nearest call first, without those of `from` and what it calls.
 * Calls that are awaited are followed.
 */
export function trace(from: Called): string[] {
  const seen: { stack?: unknown } = {}
  const { stackTraceLimit } = errors
  errors.stackTraceLimit = 100
  errors.captureStackTrace(seen, from)
  errors.stackTraceLimit = stackTraceLimit
  return String(seen.stack)
    .split('\n')
    .filter((line) => /^\s+at /.test(line))
}
