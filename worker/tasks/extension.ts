/**
 * Tasks as the extension has them, for clients of 2026-07-28.
 *
 * @see https://modelcontextprotocol.io/seps/2663-tasks-extension
 */
import type { TaskView } from '../../durable-objects/task.ts'
import type { TaskTerms } from '../../durable-objects/task-store.ts'
import type { Call } from '../engine/call.ts'
import { longestWait } from '../engine/memo.ts'
import { type Asked, readObject } from '../engine/methods/method.ts'
import { McpError } from '../protocol/errors.ts'
import { isObject } from '../protocol/jsonrpc.ts'
import { clientCapabilitiesKey, metaOf } from '../protocol/meta.ts'
import type { Principal } from '../protocol/principal.ts'
import type { ClientCapabilities, Notification, Params, Result } from '../protocol/types.ts'
import type { Listening } from '../server/server.ts'
import { boxed, known, type Site, taskNamed, timesOf, topicOf } from './site.ts'

export const tasksExtension = 'io.modelcontextprotocol/tasks'

const purpose = 'task'
const declares = ({ extensions }: ClientCapabilities): boolean => extensions?.[tasksExtension] !== undefined

/** Does this request say that its client knows tasks? */
export const knowsTasks = ({ revision, capabilities }: Call): boolean => revision.stateless && declares(capabilities)

export const needsTasks = (): McpError =>
  new McpError('missing_client_capability', `This needs a client that supports ${tasksExtension}`, {
    requiredCapabilities: { extensions: { [tasksExtension]: {} } },
  })

/** Begins a task, or answers at once what is done by then. */
export async function callAsTask({ call, context, world }: Asked, terms: TaskTerms, site: Site): Promise<Result> {
  // What is asked before it is a task is asked by the call: its answers come back here, and go on where they were asked.
  const { name } = await context.once('\0task', () => ({ name: crypto.randomUUID() as string }))
  const answers = readObject(call.params, 'inputResponses')
  for (const key of Object.keys(answers)) context.input(key)
  const taskId = await world.seals.seal(purpose, name, terms.ttl)
  const started = await site
    .task(name)
    .start(
      await site.callOf(call, terms.ttl + longestWait),
      terms,
      { name, taskId, session: undefined },
      boxed(answers),
    )
  if ('done' in started) return started.done
  if ('error' in started) throw new McpError(started.error.kind, started.error.message, started.error.data)
  if ('asks' in started) return context.ask(started.asks)
  return { resultType: 'task', ...summary(started.task) }
}

export async function getTask(asked: Asked, site: Site): Promise<Result> {
  return detailed(await known((await found(asked, site)).get()))
}

export async function updateTask(asked: Asked, site: Site): Promise<Result> {
  const task = await found(asked, site)
  await known(task.update(boxed(readObject(asked.call.params, 'inputResponses'))))
  return {}
}

export async function cancelTask(asked: Asked, site: Site): Promise<Result> {
  await known((await found(asked, site)).cancel())
  return {}
}

/** @throws McpError `missing_client_capability`; `unknown_handle` for what is no task of whoever asks */
async function found(asked: Asked, site: Site) {
  if (!knowsTasks(asked.call)) throw needsTasks()
  return taskNamed(asked, purpose, site)
}

/** What a stream of changes is asked for: the ids of tasks that this caller may ask about. */
export async function listenToTasks(
  params: Params,
  principal: Principal | undefined,
  site: Site,
): Promise<Listening | undefined> {
  const { taskIds } = params.notifications as Params
  if (taskIds === undefined) return undefined
  if (!declares((metaOf(params)?.[clientCapabilitiesKey] ?? {}) as ClientCapabilities)) throw needsTasks()
  if (!(Array.isArray(taskIds) && taskIds.every((id) => typeof id === 'string'))) {
    throw new McpError('invalid_params', 'params.notifications.taskIds must be a list of task ids')
  }
  const seals = site.seals(principal)
  const opened = await Promise.all(taskIds.map(async (id) => ({ id, name: await seals.open(purpose, id) })))
  const own = opened.filter((entry): entry is { id: string; name: string } => typeof entry.name === 'string')
  return {
    filter: { taskIds: own.map(({ id }) => id) },
    topics: own.map(({ name }) => topicOf(name)),
    begun: async (shard) => {
      await Promise.all(own.map(({ name }) => site.task(name).watch(shard)))
    },
  }
}

export const taskNotification = (task: TaskView): Notification => ({
  method: 'notifications/tasks',
  params: detailed(task),
})

const summary = (task: TaskView): Params => ({ ...timesOf(task), ttlMs: task.ttl, pollIntervalMs: task.poll })

function detailed(task: TaskView): Result {
  const { inputRequests, result, error } = task
  return {
    ...summary(task),
    inputRequests,
    // What the call would have been answered with.
    result: isObject(result) ? { resultType: 'complete', ...result } : undefined,
    error: error && { code: error.code, message: error.message, data: error.data },
  }
}
