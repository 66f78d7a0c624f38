/**
 * Tasks of the protocol version 2025-11-25: the client requests a task, and waits for its result.
 *
 * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks
 */
import type { TaskEnded } from '../../../durable-objects/session/rpc.ts'
import type { TaskTerms, TaskView } from '../../../durable-objects/task/rpc.ts'
import type { Context } from '../../declarations/context.ts'
import { toolError } from '../../declarations/result-constructors.ts'
import type { TaskOptions } from '../../declarations/tool.ts'
import type { Answer } from '../../engine/journal.ts'
import { isPermitted } from '../../engine/methods/lists.ts'
import type { MethodContext } from '../../engine/methods/method.ts'
import { encodeBase64 } from '../../protocol/base64.ts'
import { ClientError, McpError, markReported } from '../../protocol/errors.ts'
import { isObject } from '../../protocol/jsonrpc.ts'
import { relatedTaskKey } from '../../protocol/meta.ts'
import { clientKey } from '../../protocol/principal.ts'
import type { InputRequest, Notification, Params, Result } from '../../protocol/types.ts'
import { utf8 } from '../../protocol/utf8.ts'
import { errorIn, newTask, openTaskId, orUnknownTask, type Site, scopesOfTask, taskNamed, timesOf } from './task-ids.ts'
import { settled, waitUntilDue } from './wait-for-task.ts'

export const experimentalCapabilities: Params = { tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } }

/** The purpose that task ids are sealed for. */
export const purpose = 'experimental task'
/** Tasks on one page. The status of each is requested. */
const pageSize = 20

/** Returns how `tools/list` describes the tool's support for tasks. */
export const supportOf = ({ required }: TaskOptions): Params => ({
  execution: { taskSupport: required ? 'required' : 'optional' },
})

/**
 * Starts a task, and answers at once with the task.
 *
 * @param scopes of the tool
 */
export async function callAsTask(
  methodContext: MethodContext,
  scopes: readonly string[],
  terms: TaskTerms,
  site: Site,
): Promise<Result> {
  const { call, environment } = methodContext
  const ttl = Math.min(terms.ttl, ttlIn(call.params.task) ?? terms.ttl)
  const task = await newTask(environment.seals, purpose, scopes)
  const { name, taskId } = task
  const own = { ...task, session: environment.state.session?.name }
  const taskCall = await site.callOf(methodContext, ttl)
  const lister = await listOf({ call, environment })
  // Before the task starts, so that none runs without being listed. A task that does not start is left out of the list.
  if (lister) await site.task(lister).list({ name, taskId }, Date.now() + ttl)
  const startResult = await site.task(name).start(taskCall, { ...terms, after: 0, ttl }, own, {}, false)
  if (!('task' in startResult)) throw new McpError('internal_error', 'The task did not start: call again')
  return { task: taskOf(startResult.task) }
}

/** @throws McpError `invalid_params` for invalid `params.task` */
function ttlIn(task: unknown): number | undefined {
  if (!isObject(task)) throw new McpError('invalid_params', 'params.task must be an object')
  const { ttl } = task
  if (ttl === undefined || (typeof ttl === 'number' && Number.isInteger(ttl) && ttl > 0)) return ttl
  throw new McpError('invalid_params', 'params.task.ttl must be a number of milliseconds')
}

/**
 * Returns the name of the object that lists the caller's tasks: those of its principal, else those of its session. Task ids are sealed for
 * one client of a user, so each client has a list. The platform stores names of objects in plain text, so a principal is hashed.
 */
async function listOf({ call, environment }: Pick<MethodContext, 'call' | 'environment'>): Promise<string | undefined> {
  const { principal } = call
  if (!principal) return environment.state.session && `list ${environment.state.session.name}`
  const owner = clientKey(principal, environment.seals.identity)
  const digest = await crypto.subtle.digest('SHA-256', utf8(owner))
  return `list ${encodeBase64(new Uint8Array(digest))}`
}

export async function getTask(context: MethodContext, site: Site): Promise<Result> {
  return taskOf(await orUnknownTask((await taskNamed(context, purpose, site)).get()))
}

export async function cancelTask(context: MethodContext, site: Site): Promise<Result> {
  const { before, task } = await orUnknownTask((await taskNamed(context, purpose, site)).cancel())
  if (before === 'working' || before === 'input_required') return taskOf(task)
  throw new McpError('invalid_params', `The task has already ended: it is ${statusOf(task)}`)
}

export async function listTasks({ call, environment }: MethodContext, site: Site): Promise<Result> {
  const { cursor } = call.params
  const lister = await listOf({ call, environment })
  const after = cursor === undefined ? 0 : typeof cursor === 'string' && (await environment.seals.open('tasks', cursor))
  if (typeof after !== 'number') throw new McpError('invalid_params', 'Invalid cursor: list again from the first page')
  if (!lister) return { tasks: [] }
  const page = await site.task(lister).listed(after, pageSize)
  const views = await Promise.all(
    page.tasks.map(async ({ name, taskId }) => {
      const task = await openTaskId(environment.seals.open, purpose, taskId)
      if (!task || !isPermitted({ scopes: await scopesOfTask(task, site) }, call)) return undefined
      return site.task(name).get()
    }),
  )
  return {
    tasks: views.flatMap((view) => (view ? [taskOf(view)] : [])),
    nextCursor: page.next === undefined ? undefined : await environment.seals.seal('tasks', page.next),
  }
}

/** Waits until the task has ended, and forwards its input requests to the client. */
export async function taskResult(methodContext: MethodContext, site: Site): Promise<Result> {
  const { call, context, environment } = methodContext
  const task = await taskNamed(methodContext, purpose, site)
  const sinceMs = Date.now()
  for (;;) {
    const view = await settled(task, environment.signal())
    const { taskId, inputRequests, result, error } = view
    if (inputRequests) {
      // Their keys are asked once in this call, but a task may ask one again.
      const questions = Object.entries(inputRequests).map(([key, request]) => ({
        key,
        own: `${view.rounds} ${key}`,
        request,
      }))
      const answers = questions.flatMap(({ key, own }) => {
        const answer = answerTo(context, own)
        return answer ? [[key, answer] as const] : []
      })
      if (answers.length > 0) {
        const updated = await orUnknownTask(task.update(Object.fromEntries(answers)))
        if ('error' in updated) throw errorIn(updated)
      } else {
        // One that ends before the session has stored the question tells the session too early.
        const { session } = environment.state
        if (session) site.endCallsIfOver(task, session.name)
        return context.requestInput(
          Object.fromEntries(questions.map(({ own, request }) => [own, related(request, taskId)])),
        )
      }
    } else if (error) {
      // In a session, the model gets the error.
      if (error.kind === 'missing_client_capability') return relatedResult(toolError(error.message), taskId)
      // The run reported it.
      throw markReported(errorIn({ error }))
    } else if (result) {
      const outputSchema = methodContext.server.declarations.tools.get(view.tool ?? '')?.item.outputSchema
      return relatedResult(call.revision.result('tools/call', result, { outputSchema }), taskId)
    } else if (view.status === 'cancelled') {
      throw new McpError('invalid_params', cancelled)
    } else {
      await waitUntilDue(view, sinceMs, environment.signal())
    }
  }
}

/** Returns the response of the client in the form that the task stores. */
function answerTo(context: Context, key: string): Answer | undefined {
  try {
    const result = context.inputResponse(key)
    return result && { result }
  } catch (error) {
    if (!(error instanceof ClientError)) throw error
    return { error: { code: -32600, message: error.clientMessage } }
  }
}

const cancelled = 'The task was cancelled: it has no result'

/** Returns the error for calls that still wait for input responses for a task that has ended; `undefined` before its end. */
export function overOf({ taskId, status }: TaskView): TaskEnded | undefined {
  if (status === 'working' || status === 'input_required') return undefined
  return [taskId, status === 'cancelled' ? cancelled : 'The task has ended: request its result again']
}

export const statusNotification = (task: TaskView): Notification => ({
  method: 'notifications/tasks/status',
  params: taskOf(task),
})

const taskOf = (task: TaskView): Params => ({
  ...timesOf(task),
  status: statusOf(task),
  ttl: task.ttl,
  pollInterval: task.poll,
})

/** Returns the status of a task: `failed` also for a tool result with `isError`. */
const statusOf = ({ status, result }: TaskView): string => (result?.isError ? 'failed' : status)

const related = ({ method, params = {} }: InputRequest, taskId: string): InputRequest => ({
  method,
  params: { ...params, ...relatedResult(params, taskId) },
})

const relatedResult = <T extends Params>(value: T, taskId: string): T => ({
  ...value,
  _meta: { ...(isObject(value._meta) && value._meta), [relatedTaskKey]: { taskId } },
})
