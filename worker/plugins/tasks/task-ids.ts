/** Task ids, and other parts that both kinds of tasks share: those of 2025-11-25, and those of the extension. */
import type { TaskCall, TaskError, TaskRpc, TaskView } from '../../../durable-objects/rpc.ts'
import type { Open } from '../../declarations/server.ts'
import type { Call, Seals } from '../../engine/call.ts'
import type { Answer } from '../../engine/journal.ts'
import { type MethodContext, readText } from '../../engine/methods/method.ts'
import { McpError } from '../../protocol/errors.ts'
import type { Params } from '../../protocol/types.ts'

export type Site = {
  task(name: string): TaskRpc
  /**
   * Returns the stored form of a call.
   *
   * @param lifeMs milliseconds that the task may run
   * @throws McpError `invalid_params` when the call is too large to store
   */
  callOf(call: Call, seals: Seals, lifeMs: number): Promise<TaskCall>
}

/** The same error for a task id of another server or principal, and for an expired one. */
const unknownTask = () => new McpError('invalid_handle', 'Unknown task')

/** @throws McpError `invalid_handle` when the id was not sealed here for the caller */
export async function taskNamed({ call, environment }: MethodContext, purpose: string, site: Site): Promise<TaskRpc> {
  const task = await openTaskId(environment.seals.open, purpose, readText(call.params, 'taskId'))
  if (!task) throw unknownTask()
  return site.task(task.name)
}

/** The content of a task id: the name of its Durable Object, and the scopes of the called tool. */
export type TaskReference = { readonly name: string; readonly scopes: readonly string[] }

/** Returns `undefined` for an id that was not sealed here for this purpose and principal, or has expired. */
export async function openTaskId(open: Open, purpose: string, taskId: string): Promise<TaskReference | undefined> {
  // Nothing else is sealed for these purposes.
  return (await open(purpose, taskId)) as TaskReference | undefined
}

/** @throws McpError `invalid_handle` when the task does not exist any more */
export async function orUnknownTask<T>(answer: Promise<T | undefined>): Promise<T> {
  const task = await answer
  if (task === undefined) throw unknownTask()
  return task
}

/** Returns the topic by which subscribers to a task are found. */
export const topicOf = (name: string): string => `task ${name}`

export const errorIn = ({ error: { kind, message, data } }: { error: TaskError }): McpError =>
  new McpError(kind, message, data)

export const toAnswers = (answers: Params): Record<string, Answer> =>
  Object.fromEntries(Object.entries(answers).map(([key, result]) => [key, { result }]))

/** Returns the members of a task that both kinds of tasks have. */
export const timesOf = ({ taskId, status, statusMessage, createdAt, lastUpdatedAt }: TaskView): Params => ({
  taskId,
  status,
  statusMessage,
  createdAt: new Date(createdAt).toISOString(),
  lastUpdatedAt: new Date(lastUpdatedAt).toISOString(),
})
