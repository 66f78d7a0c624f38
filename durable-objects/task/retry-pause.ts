/** The pauses before a task runs again whose handler, or `reauthorize`, has thrown. Each is twice the one before. */

/** Consecutive times that `reauthorize` may throw before the task fails. */
export const maxReauthorizeAttempts = 10

/** The longest pause after `reauthorize` has thrown, in milliseconds. */
const maxReauthorizePauseMs = 60_000

/** Returns milliseconds. @param failures how often the handler has thrown */
export const handlerPauseMs = (failures: number): number => 1000 * 2 ** (failures - 1)

/** Returns milliseconds. @param failures how often `reauthorize` has thrown, one after another */
export const reauthorizePauseMs = (failures: number): number =>
  Math.min(1000 * 2 ** (failures - 1), maxReauthorizePauseMs)
