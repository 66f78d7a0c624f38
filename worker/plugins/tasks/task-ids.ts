/** What both ways of speaking of tasks have in common. */
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
   * What is stored of a call.
   *
   * @param lifeMs for how long the task may run
   * @throws McpError `invalid_params` when there is more to a call than can be stored
   */
  callOf(call: Call, seals: Seals, lifeMs: number): Promise<TaskCall>
}

/** Not made here, for somebody else, or lapsed: one answer for all of them. */
const unknownTask = () => new McpError('invalid_handle', 'Unknown task')

/** @throws McpError `invalid_handle` when the id was not sealed here, for whoever asks */
export async function taskNamed({ call, environment }: MethodContext, purpose: string, site: Site): Promise<TaskRpc> {
  const task = await openTaskId(environment.seals.open, purpose, readText(call.params, 'taskId'))
  if (!task) throw unknownTask()
  return site.task(task.name)
}

/** What a task id is sealed from: the name of its object, and the scopes of the tool that was called. */
export type TaskReference = { readonly name: string; readonly scopes: readonly string[] }

/** `undefined` when the id was not sealed here, for this purpose and principal, or the task's time is over. */
export async function openTaskId(open: Open, purpose: string, taskId: string): Promise<TaskReference | undefined> {
  // Nothing else is sealed for these purposes.
  return (await open(purpose, taskId)) as TaskReference | undefined
}

/** @throws McpError `invalid_handle` when there is no such task any more */
export async function orUnknownTask<T>(answer: Promise<T | undefined>): Promise<T> {
  const task = await answer
  if (task === undefined) throw unknownTask()
  return task
}

/** By it those who listen to a task are found. */
export const topicOf = (name: string): string => `task ${name}`

export const errorIn = ({ error: { kind, message, data } }: { error: TaskError }): McpError =>
  new McpError(kind, message, data)

export const toAnswers = (answers: Params): Record<string, Answer> =>
  Object.fromEntries(Object.entries(answers).map(([key, result]) => [key, { result }]))

/** What a task is on every wire. */
export const timesOf = ({ taskId, status, statusMessage, createdAt, lastUpdatedAt }: TaskView): Params => ({
  taskId,
  status,
  statusMessage,
  createdAt: new Date(createdAt).toISOString(),
  lastUpdatedAt: new Date(lastUpdatedAt).toISOString(),
})
