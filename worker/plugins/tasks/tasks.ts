/** `tasks()`: runs tools with the option `task` in Durable Objects. */

import { ClientTasksPart } from '../../../durable-objects/session/added-parts.ts'
import type { SessionRpc } from '../../../durable-objects/session/rpc.ts'
import type { SubscriptionsRpc } from '../../../durable-objects/subscriptions/rpc.ts'
import { ClientTasks } from '../../../durable-objects/task/client-tasks.ts'
import { Task, type TaskHost } from '../../../durable-objects/task/object.ts'
import type { TaskRpc } from '../../../durable-objects/task/rpc.ts'
import { toolError } from '../../declarations/result-constructors.ts'
import type { Checked } from '../../declarations/schema.ts'
import type { TaskOptions, Tool } from '../../declarations/tool.ts'
import { cacheableResults } from '../../engine/methods/lists.ts'
import type { Method, MethodContext } from '../../engine/methods/method.ts'
import { callTool, checkInput, listTools } from '../../engine/methods/tools.ts'
import { storeContext } from '../../engine/request-context.ts'
import type { Plugin, Runtime } from '../../plugin.ts'
import { shardName } from '../../protocol/changes.ts'
import { McpError } from '../../protocol/errors.ts'
import { hasExperimentalTasks } from '../../protocol/revisions/experimental-tasks.ts'
import type { Result } from '../../protocol/types.ts'
import { problemOf } from './check-input-responses.ts'
import { openTaskId, type Site, scopesOfTask, topicOf } from './task-ids.ts'
import { principalOf, sealPrincipal } from './task-principal.ts'
import { checkCallSize, notificationSizeError } from './task-size.ts'
import { termsOf } from './task-terms.ts'
import * as experimental from './tasks-2025-11.ts'
import * as extended from './tasks-extension.ts'

/** Types the Durable Object class that a Worker exports as `McpTask`. */
export interface TaskClass {
  new (ctx: DurableObjectState, env: Cloudflare.Env): Task
}

/**
 * Creates a plugin that runs tools with the option `task` in Durable Objects. A task continues without a connection, and sleeps without
 * being in memory.
 *
 * @see https://modelcontextprotocol.io/seps/2663-tasks-extension
 * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks
 *
 * @example
 * const worker = serve(server, { plugins: [tasks()] })
 * export default worker
 * export const { McpTask } = worker
 * server.tool('report', { description: 'Write a report', task: true }, async (_, ctx) => {
 *   const pages = await ctx.once('pages', () => collect())
 *   await ctx.sleep('overnight', '8h')
 *   return ctx.once('report', () => write(pages))
 * })
 */
export function tasks(): Plugin<{ readonly McpTask: TaskClass }> {
  return {
    name: 'tasks',
    provide: (runtime) => ({
      sessionPart: new ClientTasksPart(ClientTasks),
      subscriptionTopics: extended.taskTopics(siteOf(runtime)),
    }),
    extensions: { [extended.tasksExtension]: {} },
    methods: (runtime) => methodsOf(siteOf(runtime)),
    capabilities: (revision) => (hasExperimentalTasks(revision) ? experimental.experimentalCapabilities : {}),
    objects: {
      McpTask: (runtime) => {
        const host = hostOf(runtime)
        return class McpTask extends Task {
          constructor(ctx: DurableObjectState, env: Cloudflare.Env) {
            super(ctx, env, host)
          }
        }
      },
    },
  }
}

/** Returns what the methods of tasks need. */
const siteOf = ({ object, seals, tenant, auth, waitUntil }: Runtime): Site => ({
  task: (name) => object<TaskRpc>('McpTask', `task ${name}`),
  endCallsIfOver(task, session) {
    const check = async () => {
      const [view, scopes] = await Promise.all([task.get(), task.scopes()])
      const ended = view && experimental.overOf(view)
      if (ended) {
        const status = experimental.statusNotification(view)
        await object<SessionRpc>('McpSession', session).changed(status, ended, scopes)
      }
    }
    waitUntil(check())
  },
  async callOf(context, lifeMs) {
    const { call, environment, target } = context
    const { params: changed, clientParams, capabilities, client, principal } = call
    // Interceptors change the params again in each run.
    const params = clientParams ?? changed
    if (params.name !== target.found.tool?.item.name) {
      throw new Error('An interceptor cannot start a task of another tool: keep the name that the client called')
    }
    const input = await decidedInput(context)
    checkCallSize({ params, capabilities, client }, input)
    const sealed = await sealPrincipal(principal, await auth(), seals(undefined), lifeMs)
    return {
      params,
      capabilities,
      client,
      principal: sealed,
      requestContext: await storeContext(call.requestContext, environment.seals, lifeMs),
      tenant,
      ...(input && { input }),
    }
  },
})

/**
 * Validates arguments whose validity depends on the caller: a run of the task knows less of it. `undefined` if each run can validate what
 * the client sent.
 */
async function decidedInput(context: MethodContext): Promise<Checked | undefined> {
  const { call, target } = context
  const { tool } = target.found
  // An interceptor may change the params by caller.
  return tool && (tool.inputOf || call.clientParams) ? checkInput(tool, context) : undefined
}

/** Returns what the Durable Objects of tasks need. */
function hostOf({ object, at, report }: Runtime): TaskHost {
  return {
    at,
    state: (name) => object('McpState', name),
    problemOf,
    async principalOf(call) {
      const { auth, seals } = at(call.tenant)
      return principalOf(call, await auth(), seals(undefined))
    },
    async publishStatus(task, { name, session, shards, scopes }) {
      if (session) {
        await object<SessionRpc>('McpSession', session).changed(
          experimental.statusNotification(task),
          experimental.overOf(task),
          scopes,
        )
      }
      if (shards.length === 0) return
      const notification = extended.taskNotification(task)
      const tooLarge = notificationSizeError(notification, task)
      if (tooLarge) return report(tooLarge)
      // Changes with the same first topic are coalesced. The unique topic prevents that.
      const topics = [crypto.randomUUID(), topicOf(name)]
      const shardOf = (shard: number) =>
        object<SubscriptionsRpc>('McpSubscriptions', shardName(shard)).publish(notification, topics, 1)
      await Promise.all(shards.map(shardOf))
    },
    report,
  }
}

type Work = (context: MethodContext, site: Site) => Promise<Result>

/** Returns `tools/call` and `tools/list` of servers with tasks, and the methods about tasks. */
function methodsOf(site: Site): ReturnType<NonNullable<Plugin['methods']>> {
  return {
    'tools/call': (inner = callTool) => ({ ...inner, answer: (context) => call(context, site, inner) }),
    'tools/list': (inner = listTools) => ({ ...inner, answer: (context) => list(context, inner) }),
    'tasks/get': () => either(extended.getTask, experimental.getTask),
    'tasks/update': () => either(extended.updateTask),
    'tasks/cancel': () => either(extended.cancelTask, experimental.cancelTask),
    'tasks/result': () => either(undefined, experimental.taskResult),
    'tasks/list': () => either(undefined, experimental.listTasks),
  }

  /** Returns a method about tasks that answers in the form of the client's protocol version. */
  function either(stateless: Work | undefined, inSessions?: Work): Method {
    return {
      ...(stateless && { named: 'taskId' }),
      offered: () => true,
      // Whoever asks for a task, answers or cancels it needs the scopes of the call that began it.
      async scopes({ taskId }, open) {
        if (typeof taskId !== 'string') return []
        const ids = [extended.purpose, experimental.purpose].map((purpose) => openTaskId(open, purpose, taskId))
        const task = (await Promise.all(ids)).find((opened) => opened !== undefined)
        return task ? scopesOfTask(task, site) : []
      },
      async answer(context) {
        const { revision, method } = context.call
        const work = revision.stateless ? stateless : hasExperimentalTasks(revision) ? inSessions : undefined
        if (!work) throw new McpError('method_not_found', `Method not found: ${method}`)
        return work(context, site)
      },
    }
  }
}

const taskOptions = (tool: Tool | undefined): TaskOptions | undefined =>
  tool?.task === true ? {} : tool?.task || undefined

/** Answers `tools/call`: with a task, if the tool and the client support it. */
async function call(context: MethodContext, site: Site, calls: Method): Promise<Result> {
  const { call, target } = context
  const { name, task } = call.params
  const { tool } = target.found
  if (!tool || !(await target.isVisible(tool, context))) return calls.answer(context)
  const options = taskOptions(tool)
  const { scopes = [] } = tool
  if (hasExperimentalTasks(call.revision)) {
    if (options && task !== undefined) return experimental.callAsTask(context, scopes, termsOf(options, tool), site)
    if (task !== undefined)
      throw new McpError('method_not_found', `The tool "${name}" does not run as a task: call it without params.task`)
    if (options?.required) {
      throw new McpError('method_not_found', `The tool "${name}" runs only as a task: call it with params.task`)
    }
    return calls.answer(context)
  }
  if (options && call.revision.stateless) {
    if (options.required && !extended.knowsTasks(call)) throw extended.needsTasks()
    const { task, isResumed } = await extended.begin(context, scopes)
    return task ? extended.callAsTask(context, task, isResumed, termsOf(options, tool), site) : calls.answer(context)
  }
  if (!options?.required) return calls.answer(context)
  // Older versions have no error code for this: the model gets an error result.
  return toolError(`The tool "${name}" runs only as a task, and this client does not support tasks`)
}

/** Answers `tools/list`: in 2025-11-25, tools state their support for tasks. */
async function list(context: MethodContext, listMethod: Method): Promise<Result> {
  const listed = await listMethod.answer(context)
  if (!hasExperimentalTasks(context.call.revision)) return listed
  const known = listsWithTasks.get(listed)
  if (known) return known
  const { tools } = context.server.declarations
  // Every method of tools/list returns a list of tools.
  const items = (listed.tools as Tool['item'][]).map((item) => {
    const options = taskOptions(tools.get(item.name))
    return options ? { ...item, ...experimental.supportOf(options) } : item
  })
  // A copy, because clients of all protocol versions may share the list.
  const result = { ...listed, tools: items }
  if (cacheableResults.has(listed)) {
    cacheableResults.add(result)
    listsWithTasks.set(listed, result)
  }
  return result
}

/** Lists that state the support for tasks, by the list without it. */
const listsWithTasks = new WeakMap<Result, Result>()
