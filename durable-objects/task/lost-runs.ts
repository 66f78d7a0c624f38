/** Runs of a task that were lost with their object: after too many without progress, the task fails. */
import { McpError } from '../../worker/protocol/errors.ts'
import type { TaskRecord } from './task-store.ts'

/** Runs that may be lost one after another without an effect, a sleep or an input request in between. */
const maxLostRuns = 20

/** Returns the error of a task whose handler does not run again; `undefined` for another one. */
export function lostRunsError({ lostRuns = 0 }: TaskRecord): McpError | undefined {
  if (lostRuns <= maxLostRuns) return undefined
  return new McpError(
    'call_interrupted',
    `The task was lost ${maxLostRuns} times without progress: do its work in smaller steps, each in ctx.once`,
    { reason: 'interrupted', retryable: false },
  )
}
