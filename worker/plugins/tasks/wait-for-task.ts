/** How a request waits for a task: while it runs, sleeps, or its Durable Object is lost. */
import type { TaskRpc, TaskView } from '../../../durable-objects/task/rpc.ts'
import { wait } from '../../engine/wait.ts'
import { McpError } from '../../protocol/errors.ts'
import { orUnknownTask } from './task-ids.ts'

/** Milliseconds between two checks of a sleeping task, which may be cancelled: they grow from the first to the second. */
const [firstPause, mostPause] = [10_000, 60_000]
/** Milliseconds between two checks of a task whose Durable Object was lost. */
const lostPause = 500
/** Consecutive losses of the Durable Object of a task. */
const mostLosses = 10

/**
 * Waits until a sleeping task may run again, or has to be checked.
 *
 * @param sinceMs when the request began to wait, in milliseconds since 1970
 * @throws the reason of the signal
 */
export function waitUntilDue({ due = 0 }: Pick<TaskView, 'due'>, sinceMs: number, signal: AbortSignal): Promise<void> {
  const now = Date.now()
  const pause = Math.min(Math.max(now - sinceMs, firstPause), mostPause)
  return wait(Math.min(Math.max(due - now, lostPause), pause), signal)
}

/** Returns the task when it has stopped running, or while it still runs after some time. */
export const settled = (task: TaskRpc, signal: AbortSignal): Promise<TaskView> =>
  repeatIfLost(() => orUnknownTask(task.settled()), signal)

/** Calls a Durable Object of a task, again if it is lost meanwhile. */
export async function repeatIfLost<T>(call: () => Promise<T>, signal: AbortSignal): Promise<T> {
  for (let losses = 0; ; losses += 1) {
    try {
      return await call()
    } catch (problem) {
      // The task continues in another instance.
      if (problem instanceof McpError || losses === mostLosses) throw problem
      await wait(lostPause, signal)
    }
  }
}
