/** Task ids, and other parts that both kinds of tasks share: those of 2025-11-25, and those of the extension. */
import type { TaskCall, TaskError, TaskRpc, TaskView } from '../../../durable-objects/task/rpc.ts'
import type { Open } from '../../declarations/declarations.ts'
import type { Seals } from '../../engine/call.ts'
import type { Answer } from '../../engine/journal.ts'
import { type MethodContext, readText } from '../../engine/methods/method.ts'
import { BoundedMap } from '../../protocol/bounded-map.ts'
import { McpError } from '../../protocol/errors.ts'
import type { Params } from '../../protocol/types.ts'
import { nameOfId, type OpenedId } from '../../sealing/short-id.ts'

export type Site = {
  task(name: string): TaskRpc
  /**
   * Returns the stored form of a call.
   *
   * @param context of `tools/call`
   * @param lifeMs milliseconds that the task may run
   * @throws McpError `invalid_params` when the call is too large to store
   */
  callOf(context: MethodContext, lifeMs: number): Promise<TaskCall>
  /** Ends the calls of a session that wait for answers for a task, if the task has ended. Does not wait. */
  endCallsIfOver(task: TaskRpc, session: string): void
}

/** The same error for a task id of another server or principal, and for an expired one. */
const unknownTask = () => new McpError('invalid_handle', 'Unknown task')

/** @throws McpError `invalid_handle` when the id was not created here for the caller */
export async function taskNamed({ call, environment }: MethodContext, purpose: string, site: Site): Promise<TaskRpc> {
  const task = await openTaskId(environment.seals.open, purpose, readText(call.params, 'taskId'))
  if (!task) throw unknownTask()
  return site.task(task.name)
}

/** A call that becomes a task. */
export type NewTask = {
  readonly taskId: string
  /** Name of its Durable Object. */
  readonly name: string
  /** Scopes of the called tool. */
  readonly scopes: readonly string[]
}

/** Creates the id of a task. The id does not expire: the `ttl` of the task starts later, and its Durable Object knows it. */
export async function newTask({ createId }: Seals, purpose: string, scopes: readonly string[]): Promise<NewTask> {
  const taskId = await createId(purpose, Number.POSITIVE_INFINITY, scopes.length > 0)
  return { taskId, name: nameOfId(taskId), scopes }
}

/** Returns `undefined` for an id that was not created here for this purpose and principal. Its flag: the called tool has scopes. */
export async function openTaskId(open: Open, purpose: string, taskId: string): Promise<OpenedId | undefined> {
  // Nothing else is sealed for these purposes.
  return (await open(purpose, taskId)) as OpenedId | undefined
}

/** Scopes of tasks, by the name of their Durable Objects. They never change. */
const knownScopes = new BoundedMap<string, readonly string[]>({ maxEntries: 1_000 })

/** Returns the scopes of the tool that started a task. Only the Durable Object knows them, so a task without scopes is not asked. */
export async function scopesOfTask({ name, flag }: OpenedId, site: Site): Promise<readonly string[]> {
  if (!flag) return []
  const scopes = knownScopes.get(name) ?? (await site.task(name).scopes())
  if (scopes) knownScopes.set(name, scopes)
  return scopes ?? []
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
