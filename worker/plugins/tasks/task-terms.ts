/** The terms of a task, from the option `task` of its tool: when a call becomes a task, how long the task is stored, its retries. */
import type { TaskTerms } from '../../../durable-objects/task/rpc.ts'
import { type Duration, milliseconds } from '../../declarations/duration.ts'
import type { TaskOptions, Tool } from '../../declarations/tool.ts'

const day = 86_400_000

/** @throws Error when the tool's declaration has an invalid duration */
export function termsOf(
  { answerWithin = 0, ttl = day, pollInterval = 1000, retries = 0 }: TaskOptions,
  { item }: Tool,
): TaskTerms {
  const read = (name: string, value: Duration) => milliseconds(value, `task.${name} of tool "${item.name}"`)
  return {
    after: read('answerWithin', answerWithin),
    ttl: read('ttl', ttl),
    poll: read('pollInterval', pollInterval),
    retries,
  }
}
