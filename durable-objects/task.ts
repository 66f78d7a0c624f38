/**
 * One task: a call of a tool that outlives every connection. It is run from an alarm, so that an object that was lost runs it
 * again, from what it has learned so far: each effect is written down before its handler goes on.
 *
 * | key          | meaning                                                              | lifetime             |
 * |--------------|----------------------------------------------------------------------|----------------------|
 * | `call`       | `TaskCall`: what is called, and by whom                               | until `ttl`, by alarm |
 * | `task`       | `Kept`: how far it is                                                 | the same             |
 * | `memo`       | answers so far, and what was asked, as JSON                          | until it ends        |
 * | `asks`       | open questions, by key, as JSON                                      | until they are answered |
 * | `end:<part>` | what it came to, as JSON, in parts of a million characters           | until `ttl`          |
 *
 * | table     | column  | meaning                                   | lifetime      |
 * |-----------|---------|-------------------------------------------|---------------|
 * | `effects` | `key`   | of `once`                                 | until it ends |
 * |           | `value` | its result, boxed, as JSON                |               |
 */
import { DurableObject } from 'cloudflare:workers'
import type { Call, Outcome, Seals, World } from '../worker/engine/call.ts'
import { emptyMemo, type Memo, withAnswers } from '../worker/engine/memo.ts'
import { run } from '../worker/engine/run.ts'
import { asMcpError, type ErrorKind, McpError } from '../worker/protocol/errors.ts'
import type { Principal } from '../worker/protocol/principal.ts'
import { newestStateless as revision } from '../worker/protocol/revisions/index.ts'
import type { ClientCapabilities, Implementation, InputRequest, Params, Result } from '../worker/protocol/types.ts'
import type { Context } from '../worker/server/context.ts'
import type { Server } from '../worker/server/server.ts'
import type { StateRpc } from '../worker/server/state.ts'
import type { Tool } from '../worker/server/tool.ts'
import { milliseconds } from '../worker/tasks/duration.ts'
import { Tables } from './tables.ts'

/** What is called, and for whom. */
export type TaskCall = {
  readonly params: Params
  readonly capabilities: ClientCapabilities
  readonly client: Implementation | undefined
  readonly principal: Principal | undefined
}

/** Milliseconds, but for `retries`. */
export type TaskTerms = {
  readonly after: number
  readonly ttl: number
  readonly poll: number
  readonly retries: number
}

export type TaskStatus = 'working' | 'input_required' | 'completed' | 'failed' | 'cancelled'

export type TaskView = {
  readonly status: TaskStatus
  readonly statusMessage: string | undefined
  /** Milliseconds. */
  readonly createdAt: number
  readonly lastUpdatedAt: number
  readonly ttl: number
  readonly poll: number
  readonly inputRequests?: Readonly<Record<string, InputRequest>>
  readonly result?: Result
  readonly error?: TaskError
}

export type TaskError = {
  readonly kind: ErrorKind
  readonly code: number
  readonly message: string
  readonly data?: unknown
}

/** What became of a call before it was time to make a task of it. */
export type Started =
  | { readonly task: TaskView }
  | { readonly done: Result }
  | { readonly asks: Readonly<Record<string, InputRequest>> }
  | { readonly error: TaskError }

/** What the Worker may ask of a task. */
export interface TaskRpc {
  /**
   * Begins, or goes on with, a call.
   *
   * @param answers to what was asked before it was a task
   */
  start(call: TaskCall, terms: TaskTerms, answers: Params): Promise<Started>
  /** `undefined`: there is no such task any more. */
  get(): Promise<TaskView | undefined>
  /** Answers open questions; others are not asked. False: there is no such task any more. */
  update(answers: Params): Promise<boolean>
  /** False: there is no such task any more. */
  cancel(): Promise<boolean>
}

export type TaskHost = {
  readonly server: Server
  seals(principal: Principal | undefined): Seals
  state(name: string): StateRpc
  report(problem: unknown): void
}

type Kept = TaskTerms & {
  readonly createdAt: number
  lastUpdatedAt: number
  status: TaskStatus
  statusMessage?: string | undefined
  /** Its client has heard of it. */
  isTask: boolean
  /** How often its handler has thrown. */
  failures: number
  /** Milliseconds: when it goes on, or its questions have waited too long. */
  due?: number | undefined
}

type End = Pick<TaskView, 'result' | 'error'>
type Ended = { readonly outcome: Outcome } | { readonly wake: number } | { readonly thrown: unknown }
type Running = { readonly abort: AbortController; readonly ended: Promise<void> }

/** An alarm may run for fifteen minutes; longer work is held by the next one. */
const holdFor = 14 * 60_000
/** Milliseconds until the alarm that runs it again if the object is lost. */
const holdAfter = 20_000
/** Milliseconds that are waited for in memory: to be woken costs more. */
const shortly = 10_000
/** Milliseconds between two status messages that are written down. */
const quietFor = 1000
/** Characters of a value in key-value storage. */
const mostInPart = 1_000_000

const schema = 'CREATE TABLE effects (key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;'

export class Task extends DurableObject implements TaskRpc {
  readonly #host: TaskHost
  readonly #effects: Tables
  #task: Kept | undefined
  #running: Running | undefined
  #noted = 0

  constructor(ctx: DurableObjectState, env: never, host: TaskHost) {
    super(ctx, env)
    this.#host = host
    this.#effects = new Tables(ctx.storage.sql, 'effects', schema)
    this.#task = ctx.storage.kv.get<Kept>('task')
  }

  async start(call: TaskCall, terms: TaskTerms, answers: Params): Promise<Started> {
    const now = Date.now()
    if (!this.#task) this.ctx.storage.kv.put('call', call)
    this.#task ??= { ...terms, createdAt: now, lastUpdatedAt: now, status: 'working', isTask: false, failures: 0 }
    const task = this.#task
    if (task.isTask) return { task: this.#view(task) }
    if (task.status === 'input_required') this.#answer(task, answers)
    this.#save(task)
    if (task.after > 0) {
      const { promise: late, resolve } = Promise.withResolvers<void>()
      const timer = setTimeout(resolve, task.after)
      await Promise.race([this.#run(task).ended, late])
      clearTimeout(timer)
      const soon = this.#soon(task)
      if (soon) return soon
    }
    task.isTask = true
    this.#save(task)
    await this.ctx.storage.setAlarm(Math.min(this.#running ? Date.now() + holdAfter : now, this.#expires(task)))
    return { task: this.#view(task) }
  }

  async get(): Promise<TaskView | undefined> {
    const task = this.#known
    // Its object was lost, and its alarm has not come yet.
    if (task?.status === 'working' && !this.#running && (task.due ?? 0) <= Date.now()) await this.#wake(task)
    return task && this.#view(task)
  }

  async update(answers: Params): Promise<boolean> {
    const task = this.#known
    if (!task) return false
    if (task.status === 'input_required' && this.#answer(task, answers)) {
      this.#save(task)
      await this.ctx.storage.setAlarm(Date.now())
    }
    return true
  }

  async cancel(): Promise<boolean> {
    const task = this.#known
    if (!task) return false
    if (!isOver(task)) {
      this.#running?.abort.abort(new Error('The task was cancelled'))
      await this.#finish(task, 'cancelled')
    }
    return true
  }

  override async alarm(): Promise<void> {
    const task = this.#task
    if (!task) return
    if (Date.now() >= this.#expires(task)) return this.#forget()
    if (task.status === 'input_required' && (task.due ?? 0) <= Date.now()) {
      const late = new McpError('interrupted', 'Nobody answered in time', { reason: 'timeout', retryable: true })
      return this.#finish(task, 'failed', { error: errorOf(late) })
    }
    if (task.status === 'working' && (task.due ?? 0) <= Date.now()) {
      const { ended } = this.#run(task)
      const time = Math.min(holdFor, this.#expires(task) - Date.now())
      const { promise: enough, resolve } = Promise.withResolvers<void>()
      const timer = setTimeout(resolve, time)
      await Promise.race([ended, enough])
      clearTimeout(timer)
    }
    await this.#wake(task)
  }

  /** A task that its client may ask about. */
  get #known(): Kept | undefined {
    const task = this.#task
    return task?.isTask && Date.now() < this.#expires(task) ? task : undefined
  }

  #expires({ createdAt, ttl }: Kept): number {
    return createdAt + ttl
  }

  async #wake(task: Kept): Promise<void> {
    if (this.#task !== task) return
    const soon = this.#running ? Date.now() : isOver(task) ? Number.POSITIVE_INFINITY : (task.due ?? Date.now())
    await this.ctx.storage.setAlarm(Math.min(soon, this.#expires(task)))
  }

  // Running

  #run(task: Kept): Running {
    this.#running ??= this.#begin(task)
    return this.#running
  }

  #begin(task: Kept): Running {
    const abort = new AbortController()
    const ended = this.#play(task, abort.signal).then((came) => {
      this.#running = undefined
      // Cancelled, or lapsed: nobody waits for what it came to.
      if (abort.signal.aborted) return undefined
      // Whatever of it still goes on is run again, or not needed.
      abort.abort(new Error('This run of the handler is over'))
      return this.#settle(task, came)
    })
    return { abort, ended }
  }

  /** Runs the handler until it is done, cannot go on without its client, or sleeps. */
  async #play(task: Kept, signal: AbortSignal): Promise<Ended> {
    const { params, capabilities, client, principal } = this.ctx.storage.kv.get('call') as TaskCall
    const { promise: parked, resolve: park } = Promise.withResolvers<Ended>()
    let thrown: { by: unknown } | undefined
    const handled = (tool: Tool): Tool => ({
      ...tool,
      handler: async (input, context) => {
        try {
          return await tool.handler(
            input,
            this.#contextOf(task, context, signal, (wake) => park({ wake })),
          )
        } catch (problem) {
          if (!(problem instanceof McpError)) thrown = { by: problem }
          throw problem
        }
      },
    })
    const world: World = {
      signal: () => signal,
      seals: this.#host.seals(principal),
      state: { object: (name) => this.#host.state(name), session: undefined },
      updates: true,
      notify: () => {},
      effect: (key, value) => {
        this.#effects.create()
        const text = JSON.stringify({ value })
        if (!signal.aborted) this.ctx.storage.sql.exec('INSERT OR REPLACE INTO effects VALUES (?, ?)', key, text)
      },
      disconnect: () => {},
      completed: () => {},
      report: this.#host.report,
    }
    const method = 'tools/call'
    const call: Call = {
      method,
      params,
      revision,
      capabilities,
      client,
      principal,
      session: undefined,
      logLevel: undefined,
    }
    try {
      const playing = run(only(this.#host.server, String(params.name), handled), call, this.#memo(), world)
      const came = await Promise.race([playing.then((outcome): Ended => ({ outcome })), parked])
      return thrown && task.failures < task.retries ? { thrown: thrown.by } : came
    } catch (problem) {
      return { thrown: asMcpError(problem, this.#host.report) }
    }
  }

  async #settle(task: Kept, came: Ended): Promise<void> {
    if ('wake' in came) return this.#rest(task, came.wake)
    if ('thrown' in came) {
      if (came.thrown instanceof McpError) return this.#finish(task, 'failed', { error: errorOf(came.thrown) })
      this.#host.report(came.thrown)
      task.failures += 1
      // Each pause is twice the one before.
      return this.#rest(task, Date.now() + 1000 * 2 ** (task.failures - 1))
    }
    const { outcome } = came
    if ('done' in outcome) return this.#finish(task, 'completed', { result: outcome.done })
    const { kv } = this.ctx.storage
    // Effects are in their table.
    kv.put('memo', JSON.stringify({ ...outcome.memo, effects: {} }))
    kv.put('asks', JSON.stringify(outcome.asks))
    task.due = Date.now() + outcome.patience
    this.#become(task, 'input_required')
    await this.#wake(task)
  }

  async #rest(task: Kept, due: number): Promise<void> {
    task.due = due
    this.#save(task)
    await this.#wake(task)
  }

  #contextOf(task: Kept, context: Context, signal: AbortSignal, park: (wake: number) => void): Context {
    const { once } = context
    let sleeps = 0
    let effects = 0
    let wake = Number.POSITIVE_INFINITY
    /** What runs beside a sleep is not thrown away: its result would be missed. */
    const rest = () => {
      if (effects === 0 && wake < Number.POSITIVE_INFINITY) park(wake)
    }
    const until = async (moment: number | { valueOf(): number }) => {
      sleeps += 1
      const at = await once(`\0sleep ${sleeps}`, () => Number(moment))
      const wait = at - Date.now()
      if (wait <= 0) return
      if (wait <= shortly) return waited(wait, signal)
      wake = Math.min(wake, at)
      setTimeout(rest)
      return new Promise<void>(() => {})
    }
    const own: Pick<Context, 'until' | 'sleep' | 'once' | 'progress'> = {
      until,
      sleep: (duration: number | string) => until(Date.now() + milliseconds(duration, 'The duration of ctx.sleep')),
      once: async (key, effect) => {
        effects += 1
        try {
          return await once(key, effect)
        } finally {
          effects -= 1
          if (wake < Number.POSITIVE_INFINITY) setTimeout(rest)
        }
      },
      progress: (done, total, message) => this.#note(task, message ?? (total ? `${done} of ${total}` : `${done}`)),
    }
    return Object.assign(context, own)
  }

  /** A status message: at once in memory, and now and then on disk. */
  #note(task: Kept, message: string): void {
    if (isOver(task) || this.#task !== task) return
    task.statusMessage = message
    task.lastUpdatedAt = Date.now()
    if (task.lastUpdatedAt - this.#noted < quietFor) return
    this.#noted = task.lastUpdatedAt
    this.#save(task)
  }

  // What is kept

  #memo(): Memo {
    const text = this.ctx.storage.kv.get<string>('memo')
    const memo: Memo = text ? JSON.parse(text) : emptyMemo
    const rows = this.#effects.query<{ key: string; value: string }>('SELECT key, value FROM effects')
    return { ...memo, effects: Object.fromEntries(rows.map(({ key, value }) => [key, JSON.parse(value)])) }
  }

  #asks(): Record<string, InputRequest> {
    return JSON.parse(this.ctx.storage.kv.get<string>('asks') ?? '{}')
  }

  /** Takes answers to open questions. True when none is open any more. */
  #answer(task: Kept, answers: Params): boolean {
    const { kv } = this.ctx.storage
    const asks = this.#asks()
    const given = Object.entries(answers).filter(([key]) => Object.hasOwn(asks, key))
    const boxed = Object.fromEntries(given.map(([key, result]) => [key, { result }]))
    kv.put('memo', JSON.stringify({ ...withAnswers(this.#memo(), boxed), effects: {} }))
    const open = Object.entries(asks).filter(([key]) => !Object.hasOwn(boxed, key))
    kv.put('asks', JSON.stringify(Object.fromEntries(open)))
    if (open.length > 0) return false
    task.due = undefined
    this.#become(task, 'working')
    return true
  }

  #become(task: Kept, status: TaskStatus): void {
    task.status = status
    task.lastUpdatedAt = Date.now()
    this.#save(task)
  }

  #save(task: Kept): void {
    this.ctx.storage.kv.put('task', task)
  }

  /** What a call came to before it was a task. Nothing of it is kept but what it waits for. */
  #soon(task: Kept): Started | undefined {
    if (task.status === 'input_required') return { asks: this.#asks() }
    if (!isOver(task)) return undefined
    const { result, error } = this.#end()
    void this.#forget()
    return result ? { done: result } : { error: error as TaskError }
  }

  async #finish(task: Kept, status: TaskStatus, end: End = {}): Promise<void> {
    const { kv } = this.ctx.storage
    for (const key of ['memo', 'asks']) kv.delete(key)
    if (this.#effects.exist) this.ctx.storage.sql.exec('DELETE FROM effects')
    const text = JSON.stringify(end)
    for (let part = 0; part * mostInPart < text.length; part += 1) {
      kv.put(`end:${part}`, text.slice(part * mostInPart, (part + 1) * mostInPart))
    }
    this.#become(task, status)
    await this.#wake(task)
  }

  #end(): End {
    let text = ''
    for (let part = 0; ; part += 1) {
      const found = this.ctx.storage.kv.get<string>(`end:${part}`)
      if (found === undefined) return JSON.parse(text || '{}')
      text += found
    }
  }

  #view(task: Kept): TaskView {
    const { status, statusMessage, createdAt, lastUpdatedAt, ttl, poll } = task
    const view = { status, statusMessage, createdAt, lastUpdatedAt, ttl, poll }
    if (status === 'input_required') return { ...view, inputRequests: this.#asks() }
    return isOver(task) ? { ...view, ...this.#end() } : view
  }

  async #forget(): Promise<void> {
    this.#running?.abort.abort(new Error('The time of the task is over'))
    this.#task = undefined
    await this.ctx.storage.deleteAll()
    this.#effects.forget()
  }
}

const isOver = ({ status }: Kept): boolean => status !== 'working' && status !== 'input_required'

const errorOf = ({ kind, message, data }: McpError): TaskError => ({
  kind,
  code: revision.error(kind).code,
  message,
  data,
})

/** A server whose tool is run another way, and which makes no tasks. */
function only({ registry }: Server, name: string, handled: (tool: Tool) => Tool): Server {
  const tool = registry.tools.get(name)
  const tools = new Map(registry.tools)
  if (tool) tools.set(name, handled(tool))
  return { registry: { ...registry, tools, methods: new Map() } } as unknown as Server
}

/** @throws the signal's reason when that is aborted before */
export function waited(time: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer)
      reject(signal.reason)
    }
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', stop)
      resolve()
    }, time)
    if (signal.aborted) stop()
    else signal.addEventListener('abort', stop, { once: true })
  })
}
