/** Any function. */
export type Called = (...args: never) => unknown

/** The members that V8 adds to the constructor of errors. */
const errors = Error as unknown as {
  stackTraceLimit: number
  captureStackTrace(target: object, from: Called): void
}

/** Returns the stack of a call, nearest call first, without the lines of `from` and of what it calls. Includes awaited calls. */
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
