import { env, exports } from 'cloudflare:workers'
import type { KeysRpc } from '../../durable-objects/keys.ts'
import { objectIn, type Placement } from '../../durable-objects/placement.ts'
import { Task, type TaskHost, type TaskRpc, type TaskTerms, type TaskView, waited } from '../../durable-objects/task.ts'
import { parseKeyRing, type Sealer, sealer } from '../auth/seal.ts'
import { isVisible } from '../engine/methods/lists.ts'
import { type Asked, type Method, readObject, readText } from '../engine/methods/method.ts'
import { callTool } from '../engine/methods/tools.ts'
import { McpError } from '../protocol/errors.ts'
import type { Params, Result } from '../protocol/types.ts'
import type { Context } from '../server/context.ts'
import type { Server } from '../server/server.ts'
import type { StateRpc } from '../server/state.ts'
import type { TaskOptions } from '../server/tool.ts'
import { milliseconds } from './duration.ts'
import { knowsTasks, needsTasks, tasksExtension, unknownTask } from './extension.ts'

export type TasksOptions = Placement & {
  /** Names of the exported classes, for a Worker with more than one server. */
  objects?: { task?: string; updates?: string; state?: string }
}

/** A class to export by name, beside those of `serve`. */
export type Tasks = {
  readonly McpTask: new (ctx: DurableObjectState, env: never) => Task
}

/**
 * Lets tools with the option `task` outlive every connection. Called once, after the server's declaration has begun.
 *
 * @example
 * export const { McpTask } = tasks(server)
 * server.tool('report', { description: 'Writes a report', task: true }, async (_, ctx) => {
 *   const pages = await ctx.once('pages', () => collect())
 *   await ctx.sleep('1h')
 *   return ctx.once('report', () => write(pages))
 * })
 *
 * @see https://modelcontextprotocol.io/seps/2663-tasks-extension
 */
export function tasks(server: Server, options: TasksOptions = {}): Tasks {
  const names = { task: 'McpTask', updates: 'McpUpdates', state: 'McpState', ...options.objects }
  const object = <T>(className: string, name: string): T => {
    const found = exported[className]
    if (found) return objectIn(found, name, options)
    throw new McpError('internal_error', `This Worker exports no Durable Object ${className}`)
  }
  const task = (name: string): TaskRpc => object(names.task, `task ${name}`)
  let keyed: Promise<Sealer> | undefined
  const sealed = async () => {
    keyed ??= keyRing(() => object<KeysRpc>(names.updates, 'updates').keys()).then((ring) => sealer(ring))
    keyed.catch(() => (keyed = undefined))
    return keyed
  }
  const host: TaskHost = {
    server,
    seals: (principal) => ({
      seal: async (purpose, value, life = day) => (await sealed()).seal(purpose, principal, value, life),
      open: async (purpose, text) => (await sealed()).open(purpose, principal, text),
    }),
    state: (name) => object<StateRpc>(names.state, name),
    report: (problem) => console.error(problem),
  }
  const { registry } = server
  registry.extensions = { ...registry.extensions, [tasksExtension]: {} }
  const methods: Record<string, Method> = {
    'tools/call': { ...callTool, answer: (asked) => call(asked, task) },
    'tasks/get': about(async (found, { call: { params } }) => {
      const view = await found.get()
      return view && { taskId: params.taskId, ...written(view) }
    }, task),
    'tasks/update': about(async (found, { call: { params } }) => {
      return (await found.update(readObject(params, 'inputResponses'))) ? {} : undefined
    }, task),
    'tasks/cancel': about(async (found) => ((await found.cancel()) ? {} : undefined), task),
  }
  for (const [name, method] of Object.entries(methods)) registry.methods.set(name, method)
  return {
    McpTask: class McpTask extends Task {
      constructor(ctx: DurableObjectState, env: never) {
        super(ctx, env, host)
      }
    },
  }
}

const exported = exports as unknown as Record<string, DurableObjectNamespace | undefined>
const day = 86_400_000
const purpose = 'task'
/** Characters of a call: it is kept as a value, which may have two million bytes. */
const mostKept = 900_000

/** `tools/call`: as a task where the tool and the client want it. */
async function call(asked: Asked, taskOf: (name: string) => TaskRpc): Promise<Result> {
  const { server, call, context, world } = asked
  const tool = server.registry.tools.get(String(call.params.name))
  const options = tool?.task === true ? {} : tool?.task
  if (!options || !(await isVisible(tool as object, { principal: call.principal }))) return inline(asked)
  if (!(call.revision.stateless && knowsTasks(call))) {
    if (options.required && call.revision.stateless) throw needsTasks()
    return inline(asked)
  }
  if (JSON.stringify(call.params).length > mostKept) {
    throw new McpError('invalid_params', `The arguments of a task may have ${mostKept} characters at most`)
  }
  const terms = termsOf(options, String(call.params.name))
  // What is asked before it is a task is asked by the call: its answers come back here, and go on where they were asked.
  const { name } = await context.once('\0task', () => ({ name: crypto.randomUUID() as string }))
  const answers = readObject(call.params, 'inputResponses')
  for (const key of Object.keys(answers)) context.input(key)
  const { params, capabilities, client, principal } = call
  const started = await taskOf(name).start({ params, capabilities, client, principal }, terms, answers)
  if ('done' in started) return started.done
  if ('error' in started) throw new McpError(started.error.kind, started.error.message, started.error.data)
  if ('asks' in started) return context.ask(started.asks)
  const taskId = await world.seals.seal(purpose, name, started.task.createdAt + terms.ttl - Date.now())
  return { resultType: 'task', taskId, ...base(started.task) }
}

/** A call that is no task waits in memory. */
function inline(asked: Asked): Promise<Result> {
  const { context, world } = asked
  const wait = (time: number) => (time > 0 ? waited(time, world.signal()) : Promise.resolve())
  const own: Pick<Context, 'sleep' | 'until'> = {
    sleep: async (duration) => wait(milliseconds(duration, 'The duration of ctx.sleep')),
    until: (moment) => wait(Number(moment) - Date.now()),
  }
  return callTool.answer({ ...asked, context: Object.assign(context, own) })
}

/** A method about a task. What is no task of whoever asks, or not any more, is unknown. */
const about = (
  work: (found: TaskRpc, asked: Asked) => Promise<Params | undefined>,
  taskOf: (name: string) => TaskRpc,
): Method => ({
  named: 'taskId',
  offered: () => true,
  async answer(asked) {
    const { call, world } = asked
    if (!call.revision.stateless) throw new McpError('method_not_found', `Method not found: ${call.method}`)
    if (!knowsTasks(call)) throw needsTasks()
    const name = await world.seals.open(purpose, readText(call.params, 'taskId'))
    const result = typeof name === 'string' ? await work(taskOf(name), asked) : undefined
    if (!result) throw unknownTask()
    return result
  },
})

function termsOf({ after = 0, ttl = day, poll = 1000, retries = 0 }: TaskOptions, tool: string): TaskTerms {
  const read = (name: string, value: number | string) => milliseconds(value, `task.${name} of tool "${tool}"`)
  return { after: read('after', after), ttl: read('ttl', ttl), poll: read('poll', poll), retries }
}

const base = ({ status, statusMessage, createdAt, lastUpdatedAt, ttl, poll }: TaskView): Params => ({
  status,
  statusMessage,
  createdAt: new Date(createdAt).toISOString(),
  lastUpdatedAt: new Date(lastUpdatedAt).toISOString(),
  ttlMs: ttl,
  pollIntervalMs: poll,
})

function written(view: TaskView): Params {
  const { inputRequests, result, error } = view
  return {
    ...base(view),
    inputRequests,
    result: result && withType(result),
    error: error && { code: error.code, message: error.message, data: error.data },
  }
}

/** What the call would have been answered with. */
const withType = (result: Result): Result => ({ resultType: 'complete', ...result })

/** As `serve` finds it: from the secret when there is one; otherwise kept by the Updates object. */
async function keyRing(minted: KeysRpc['keys']) {
  const secret = (env as Record<string, unknown>).EDGEMCP_KEYS
  return typeof secret === 'string' && secret !== '' ? parseKeyRing(secret) : minted()
}
