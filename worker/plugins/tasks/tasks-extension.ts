/**
 * Tasks of the extension, for clients of 2026-07-28.
 *
 * @see https://modelcontextprotocol.io/seps/2663-tasks-extension
 */
import type { TaskTerms, TaskView } from '../../../durable-objects/task/rpc.ts'
import type { SubscriptionTopics } from '../../declarations/declarations.ts'
import type { Call } from '../../engine/call.ts'
import { maxAnswerTimeoutMs } from '../../engine/journal.ts'
import { isPermitted } from '../../engine/methods/lists.ts'
import { type MethodContext, readObject } from '../../engine/methods/method.ts'
import { McpError } from '../../protocol/errors.ts'
import { isObject } from '../../protocol/jsonrpc.ts'
import { clientCapabilitiesKey, metaOf } from '../../protocol/meta.ts'
import type { Revision } from '../../protocol/revision.ts'
import { newestRevision } from '../../protocol/revisions/index.ts'
import type { ClientCapabilities, Notification, Params, Result } from '../../protocol/types.ts'
import {
  errorIn,
  type NewTask,
  newTask,
  openTaskId,
  orUnknownTask,
  type Site,
  taskNamed,
  timesOf,
  toAnswers,
  topicOf,
} from './task-ids.ts'
import { repeatIfLost } from './wait-for-task.ts'

export const tasksExtension = 'io.modelcontextprotocol/tasks'

/** The purpose that task ids are sealed for. */
export const purpose = 'task'
const declares = ({ extensions }: ClientCapabilities): boolean => extensions?.[tasksExtension] !== undefined

/** Whether the client of a request declares the extension. */
export const knowsTasks = ({ revision, capabilities }: Call): boolean => revision.stateless && declares(capabilities)

export const needsTasks = (): McpError =>
  new McpError('missing_client_capability', `This call needs a client that supports ${tasksExtension}`, {
    requiredCapabilities: { extensions: { [tasksExtension]: {} } },
  })

/** `task`: `undefined` if the call is not a task. `isResumed`: an earlier round decided that. */
export type TaskStart = { readonly task: NewTask | undefined; readonly isResumed: boolean }

/**
 * Decides in the first round of a call whether a Durable Object runs it. Later rounds continue there, because it stores the results of
 * `once`.
 *
 * @param scopes of the tool
 * @throws McpError `missing_client_capability` when the call started as a task, and its client no longer declares the extension
 */
export async function begin(
  { call, context, environment }: MethodContext,
  scopes: readonly string[],
): Promise<TaskStart> {
  let isResumed = true
  const { task } = await context.once('\0task', async (): Promise<{ task?: NewTask }> => {
    isResumed = false
    return knowsTasks(call) ? { task: await newTask(environment.seals, purpose, scopes) } : {}
  })
  if (task && !knowsTasks(call)) throw needsTasks()
  return { task, isResumed }
}

/** Starts a task, or answers at once with an outcome within `answerWithin`. */
export async function callAsTask(
  methodContext: MethodContext,
  task: NewTask,
  isResumed: boolean,
  terms: TaskTerms,
  site: Site,
): Promise<Result> {
  const { call, context } = methodContext
  const answers = readObject(call.params, 'inputResponses')
  for (const key of Object.keys(answers)) context.inputResponse(key)
  const startResult = await site
    .task(task.name)
    .start(
      await site.callOf(methodContext, terms.after + terms.ttl + maxAnswerTimeoutMs),
      terms,
      { ...task, session: undefined },
      toAnswers(answers),
      isResumed,
    )
  if ('done' in startResult) return startResult.done
  if ('error' in startResult) throw errorIn(startResult)
  if ('inputRequests' in startResult) return context.requestInput(startResult.inputRequests)
  return { resultType: 'task', ...summary(startResult.task) }
}

export async function getTask(context: MethodContext, site: Site): Promise<Result> {
  return detailed(await orUnknownTask((await found(context, site)).get()), context.call.revision)
}

export async function updateTask(context: MethodContext, site: Site): Promise<Result> {
  const task = await found(context, site)
  const { params } = context.call
  if (!isObject(params.inputResponses)) throw new McpError('invalid_params', 'params.inputResponses must be an object')
  const updated = await orUnknownTask(task.update(toAnswers(params.inputResponses)))
  if ('error' in updated) throw errorIn(updated)
  return {}
}

export async function cancelTask(context: MethodContext, site: Site): Promise<Result> {
  await orUnknownTask((await found(context, site)).cancel())
  return {}
}

/** @throws McpError `missing_client_capability`; `invalid_handle` for an id that is not of a task of the caller */
async function found(context: MethodContext, site: Site) {
  if (!knowsTasks(context.call)) throw needsTasks()
  return taskNamed(context, purpose, site)
}

/** Returns what reads the filter of `subscriptions/listen` for tasks: ids of tasks of its caller. */
export const taskTopics =
  (site: Site): SubscriptionTopics =>
  async (params, open, principal) => {
    const { taskIds } = readObject(params, 'notifications')
    if (taskIds === undefined) return undefined
    // The envelope of the request has been read: its capabilities are an object.
    if (!declares((metaOf(params)?.[clientCapabilitiesKey] ?? {}) as ClientCapabilities)) throw needsTasks()
    if (!(Array.isArray(taskIds) && taskIds.every((id) => typeof id === 'string'))) {
      throw new McpError('invalid_params', 'params.notifications.taskIds must be a list of task ids')
    }
    const opened = await Promise.all(
      taskIds.map(async (id) => {
        const name = (await openTaskId(open, purpose, id))?.name
        const scopes = name === undefined ? undefined : await site.task(name).scopes()
        return name !== undefined && scopes && isPermitted({ scopes }, { principal }) ? [{ id, name }] : []
      }),
    )
    const own = opened.flat()
    return {
      filter: { taskIds: own.map(({ id }) => id) },
      topics: own.map(({ name }) => topicOf(name)),
      onOpened: async (shard) => {
        const { signal } = new AbortController()
        await Promise.all(own.map(({ name }) => repeatIfLost(() => site.task(name).watch(shard), signal)))
      },
    }
  }

/** Returns the notification in the form of the newest version. Each stream converts it to the version of its client. */
export const taskNotification = (task: TaskView): Notification => ({
  method: 'notifications/tasks',
  params: detailed(task, newestRevision),
})

const summary = (task: TaskView): Params => ({ ...timesOf(task), ttlMs: task.ttl, pollIntervalMs: task.poll })

function detailed(task: TaskView, revision: Revision): Result {
  const { inputRequests, result, error } = task
  return {
    ...summary(task),
    inputRequests:
      inputRequests &&
      Object.fromEntries(Object.entries(inputRequests).map(([key, request]) => [key, revision.ask(request)])),
    // What the call would have been answered with.
    result: isObject(result) ? revision.result('tools/call', result) : undefined,
    error: error && { code: revision.error(error.kind).code, message: error.message, data: error.data },
  }
}
