/**
 * One task: a call of a tool that outlives every connection. It is run from an alarm, so that an object that was lost runs it
 * again, from what it has learned so far: each effect is written down before its handler goes on. What it keeps is in
 * `task-store.ts`. Another object of this class keeps somebody's list of tasks: see `task-list.ts`.
 */

import { DurableObject } from 'cloudflare:workers'
import type { Context } from '../../worker/declarations/context.ts'
import type { Server } from '../../worker/declarations/server.ts'
import type { StateRpc } from '../../worker/declarations/state.ts'
import type { Tool } from '../../worker/declarations/tool.ts'
import type { Call, CallEnvironment, Outcome, Seals } from '../../worker/engine/call.ts'
import { InvalidInputResponse } from '../../worker/engine/invalid-input-response.ts'
import { type Answer, longestWait } from '../../worker/engine/journal.ts'
import { run } from '../../worker/engine/run.ts'
import { asMcpError, McpError } from '../../worker/protocol/errors.ts'
import type { Principal } from '../../worker/protocol/principal.ts'
import { newestStateless as revision } from '../../worker/protocol/revisions/index.ts'
import type { InputRequest } from '../../worker/protocol/types.ts'
import type { ListedTask, StartResult, TaskListRpc, TaskRpc, TaskView } from '../rpc.ts'
import { Schema } from '../shared/schema.ts'
import { TaskList } from '../task-list.ts'
import { TaskSleeps } from './task-sleeps.ts'
import {
  type End,
  type TaskCall,
  type TaskError,
  type TaskRecord,
  type TaskStatus,
  TaskStore,
  type TaskTerms,
} from './task-store.ts'

/** `isCurrent`: `reauthorize` has just returned it. Else it is as it was stored, without most of its claims. */
export type RunPrincipal = { readonly principal: Principal | undefined; readonly isCurrent: boolean }

type Answers = Readonly<Record<string, Answer>>

export type TaskHost = {
  /** The server of the endpoint that admitted a call. */
  serverOf(call: TaskCall): Pick<Server, 'registry'>
  seals(principal: Principal | undefined, identity: string): Seals
  state(name: string): StateRpc
  /**
   * The principal that the next run acts for.
   *
   * @throws McpError when the task may not go on
   */
  principalOf(call: TaskCall): Promise<RunPrincipal>
  /** What is wrong with a client's response to a request; `undefined`: nothing. */
  problemOf(key: string, request: InputRequest, response: unknown): string | undefined
  /** Tells those who listen to this task how it is. */
  publishStatus(task: TaskView, of: Pick<TaskRecord, 'name' | 'session' | 'shards' | 'scopes'>): Promise<void>
  report(problem: unknown): void
}

type RunResult =
  | { readonly outcome: Outcome }
  | { readonly thrown: unknown }
  /** The handler was not run: `reauthorize` threw. */
  | { readonly reauthorizeError: unknown }

type Running = { readonly abort: AbortController; readonly ended: Promise<void> }

/** An alarm may run for fifteen minutes; longer work is held by the next one. */
const holdFor = 14 * 60_000
/** Milliseconds until the alarm that runs it again if the object is lost: while nobody waits in an alarm, and in one. */
const [holdAfter, retryAlarmMs] = [20_000, 3000]
/** How often, one after another, a run may be lost without an effect, a sleep or a question in between. */
const maxLostRuns = 20
/** How often `reauthorize` may throw, one time after another, before the task fails. */
const maxReauthorizeAttempts = 10
/** Characters of a status message. */
const maxStatusCharacters = 10_000
/** Milliseconds between two status messages that are written down. */
const statusSaveIntervalMs = 1000
/** Milliseconds that a call is stored beyond the time at which it can be resumed: requests and alarms may be late. */
const graceMs = 60_000
/** Milliseconds until a status that may not have been delivered is delivered again: the first time, and the most. */
const [firstRedeliveryMs, maxRedeliveryMs] = [10_000, 60 * 60_000]
/** Milliseconds that somebody waits here for the end of a run. */
const longPollMs = 20_000

export class Task extends DurableObject implements TaskRpc {
  readonly #host: TaskHost
  readonly #schema: Schema
  readonly #store: TaskStore
  readonly #list: TaskList
  #task: TaskRecord | undefined
  #running: Running | undefined
  #noted = 0
  /** The last run that began may have been lost before its outcome was stored. */
  #isUnsettled: boolean
  /** Resolves when its status changes, or it falls asleep. */
  #change = Promise.withResolvers<void>()
  /** What is told is told in order. */
  #published = Promise.resolve()
  /** Deliveries of its status that were begun, and how many of them are over. */
  readonly #deliveries = { begun: 0, over: 0 }

  constructor(ctx: DurableObjectState, env: never, host: TaskHost) {
    super(ctx, env)
    this.#host = host
    this.#schema = new Schema(ctx.storage)
    this.#store = new TaskStore(ctx.storage, this.#schema)
    this.#list = new TaskList(ctx.storage, this.#schema)
    this.#task = this.#store.task
    this.#isUnsettled = this.#task !== undefined
  }

  async start(
    call: TaskCall,
    terms: TaskTerms,
    who: Pick<TaskRecord, 'name' | 'taskId' | 'session' | 'scopes'>,
    answers: Answers,
    isResumed: boolean,
  ): Promise<StartResult> {
    this.#schema.check()
    const now = Date.now()
    if (isResumed && !this.#task) return { error: errorOf(lapsed()) }
    const task = this.#task ?? {
      ...terms,
      ...who,
      createdAt: now,
      lastUpdatedAt: now,
      status: 'working',
      announced: false,
      failures: 0,
      rounds: 0,
      shards: [],
    }
    if (!this.#task) this.#store.begin(call, task)
    else if (!task.announced) this.#store.renewPrincipal(call)
    this.#task = task
    if (task.announced) return { task: this.#view(task) }
    if (task.status === 'input_required') {
      const invalid = this.#refuseInvalid(answers)
      if (invalid) return { error: errorOf(invalid) }
      this.#take(task, answers)
    }
    if (task.after > 0) {
      if (!this.#immediateResult(task)) {
        // Deletes what is stored if this instance is lost before the call has an outcome or is a task.
        await this.ctx.storage.setAlarm(expiryOf(task))
        await withTimeout(task.after, this.#run(task).ended)
      }
      // Another request with the same state may have made it a task meanwhile.
      if (task.announced) return { task: this.#view(task) }
      const soon = this.#immediateResult(task)
      if (soon) return soon
    }
    // Its time as a task begins now: before, it waited for its caller's answers.
    Object.assign(task, { announced: true, taskId: who.taskId, createdAt: Date.now(), lastUpdatedAt: Date.now() })
    this.#store.save(task)
    await this.ctx.storage.setAlarm(Math.min(this.#running ? Date.now() + holdAfter : now, expiryOf(task)))
    return { task: this.#view(task) }
  }

  async get(): Promise<TaskView | undefined> {
    const task = this.#known
    // Its object was lost, and its alarm has not come yet.
    if (task && this.#isDue(task) && !this.#running) await this.#wake(task)
    return task && this.#view(task)
  }

  async settled(): Promise<TaskView | undefined> {
    await this.get()
    const task = this.#known
    if (task && this.#isDue(task)) await withTimeout(longPollMs, this.#change.promise)
    return this.#known && this.#view(this.#known)
  }

  async update(answers: Answers): Promise<{ task: TaskView } | { error: TaskError } | undefined> {
    const task = this.#known
    if (task?.status !== 'input_required') return task && { task: this.#view(task) }
    const invalid = this.#refuseInvalid(answers)
    if (invalid) return { error: errorOf(invalid) }
    if (this.#take(task, answers)) await this.ctx.storage.setAlarm(Date.now())
    return { task: this.#view(task) }
  }

  async cancel(): Promise<{ before: TaskStatus; task: TaskView } | undefined> {
    const task = this.#known
    if (!task) return undefined
    const before = task.status
    if (!isOver(task)) {
      this.#stop(task, 'The task was cancelled')
      await this.#finish(task, 'cancelled')
    }
    return { before, task: this.#view(task) }
  }

  async watch(shard: number): Promise<void> {
    const task = this.#known
    if (!task) return
    if (!task.shards.includes(shard)) task.shards = [...task.shards, shard]
    task.undelivered ??= 0
    this.#store.save(task)
    this.#publishStatus(task)
    if (!this.#running) await this.#wake(task)
  }

  // An object of this class that is no task may keep a list of tasks.

  async list(task: ListedTask, expires: number): Promise<void> {
    this.#schema.check()
    return this.#list.list(task, expires)
  }

  async listed(after: number, limit: number): ReturnType<TaskListRpc['listed']> {
    this.#schema.check()
    return this.#list.listed(after, limit)
  }

  override async alarm(): Promise<void> {
    if (await this.#schema.putOffAlarm()) return
    const task = this.#task
    if (!task) return this.#list.alarm()
    if (Date.now() >= expiryOf(task)) return this.#forget()
    if (task.status === 'input_required' && (task.due ?? 0) <= Date.now()) {
      const late = new McpError('interrupted', 'Nobody answered in time', { reason: 'timeout', retryable: true })
      return this.#finish(task, 'failed', { error: errorOf(late) })
    }
    this.#redeliver(task)
    if (!this.#isDue(task)) return this.#wake(task)
    // An alarm that is lost is run again so many times; this one, always.
    await this.ctx.storage.setAlarm(Math.min(Date.now() + retryAlarmMs, expiryOf(task)))
    await withTimeout(Math.min(holdFor, expiryOf(task) - Date.now()), this.#run(task).ended)
    if (this.#running) await this.#wake(task)
  }

  /** A task that its client may ask about. */
  get #known(): TaskRecord | undefined {
    this.#schema.check()
    const task = this.#task
    return task?.announced && Date.now() < expiryOf(task) ? task : undefined
  }

  /** Is it time for its handler to run? */
  #isDue({ status, due = 0 }: TaskRecord): boolean {
    return status === 'working' && due <= Date.now()
  }

  async #wake(task: TaskRecord): Promise<void> {
    if (this.#task !== task) return
    // A finished task needs no alarm before it expires, even while its handler goes on: the alarm could not end the handler.
    const soon = isOver(task) ? Number.POSITIVE_INFINITY : (task.due ?? Date.now())
    await this.ctx.storage.setAlarm(Math.min(soon, redeliveryOf(task), expiryOf(task)))
  }

  // Running

  #run(task: TaskRecord): Running {
    this.#running ??= this.#begin(task)
    return this.#running
  }

  #begin(task: TaskRecord): Running {
    if (this.#isUnsettled) {
      task.lostRuns = (task.lostRuns ?? 0) + 1
      this.#store.save(task)
    }
    this.#isUnsettled = true
    const abort = new AbortController()
    const ended = this.#runHandler(task, abort.signal).then((runResult) => {
      this.#running = undefined
      // Cancelled, or lapsed: nobody waits for what it came to.
      if (abort.signal.aborted) return undefined
      // Whatever of it still goes on is run again, or not needed.
      abort.abort(new Error('This run of the handler is over'))
      return this.#settle(task, runResult).then(() => {
        this.#isUnsettled = false
      })
    })
    return { abort, ended }
  }

  /** Its handler hears of its end: one that sleeps is woken for it. */
  #stop(task: TaskRecord, reason: string): void {
    if (this.#running) return this.#running.abort.abort(new Error(reason))
    if (task.asleep) {
      this.ctx.waitUntil(this.#runHandler(task, AbortSignal.abort(new Error(reason))))
    }
  }

  /** Runs the handler until it is done, cannot go on without its client, or sleeps. */
  async #runHandler(task: TaskRecord, signal: AbortSignal): Promise<RunResult> {
    // Read before anything is awaited: whoever ends the task deletes it meanwhile.
    const { call: stored, journal } = this.#store
    if ((task.lostRuns ?? 0) > maxLostRuns) return { thrown: lostTooOften() }
    const { params, capabilities, client, identity } = stored
    let current: RunPrincipal
    try {
      // A run that is lost at once must have been counted.
      if (task.lostRuns) await this.ctx.storage.sync()
      current = await this.#host.principalOf(stored)
    } catch (problem) {
      return problem instanceof McpError ? { thrown: problem } : { reauthorizeError: problem }
    }
    const { principal, isCurrent } = current
    const { promise: ended, resolve: end, reject: endWith } = Promise.withResolvers<Outcome>()
    // Only a running step looks at it.
    ended.catch(() => {})
    const sleeps = new TaskSleeps(signal, (untilMs) => end({ type: 'suspended', untilMs }))
    let thrown: { by: unknown } | undefined
    const handled = (tool: Tool): Tool => ({
      ...tool,
      // Decided when it was called: the stored claims may be too few to decide again.
      visibleTo: isCurrent ? tool.visibleTo : undefined,
      handler: async (input, context) => {
        try {
          return await tool.handler(
            input,
            this.#contextOf(task, context, sleeps, (error) => {
              endWith(error)
              return new Promise<never>(() => {})
            }),
          )
        } catch (problem) {
          if (!(problem instanceof McpError)) thrown = { by: problem }
          throw problem
        }
      },
    })
    const environment: CallEnvironment = {
      signal: () => signal,
      seals: this.#host.seals(principal, identity),
      state: { object: (name) => this.#host.state(name), session: undefined },
      updates: true,
      notify: () => {},
      effect: (key, value) => {
        if (signal.aborted) return
        this.#store.keepEffect(key, value)
        this.#madeProgress(task)
      },
      now: Date.now,
      sleep: (untilMs) => sleeps.sleep(untilMs),
      ended,
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
      isTask: true,
      logLevel: undefined,
    }
    try {
      const server = withToolHandler(this.#host.serverOf(stored), String(params.name), handled)
      const outcome = await run(server, call, journal, environment)
      return thrown && task.failures < task.retries ? { thrown: thrown.by } : { outcome }
    } catch (problem) {
      return { thrown: asMcpError(problem, this.#host.report) }
    }
  }

  /** What a run came to is stored. What cannot be stored ends the task, so that its handler is not run again. */
  async #settle(task: TaskRecord, runResult: RunResult): Promise<void> {
    try {
      await this.#storeOutcome(task, runResult)
    } catch (problem) {
      this.#host.report(problem)
      if (isOver(task)) throw problem
      const reason = problem instanceof Error ? problem.message : String(problem)
      const error =
        problem instanceof McpError
          ? problem
          : new McpError('internal_error', `The outcome of a run cannot be stored: ${reason}`)
      await this.#finish(task, 'failed', { error: errorOf(error) })
    }
  }

  async #storeOutcome(task: TaskRecord, runResult: RunResult): Promise<void> {
    if ('reauthorizeError' in runResult) return this.#retryReauthorize(task, runResult.reauthorizeError)
    if (task.reauthorizeFailures) removeProblemMessage(task)
    task.reauthorizeFailures = 0
    if ('thrown' in runResult) {
      if (runResult.thrown instanceof InvalidInputResponse) return this.#askAgain(task, runResult.thrown)
      if (runResult.thrown instanceof McpError)
        return this.#finish(task, 'failed', { error: errorOf(runResult.thrown) })
      this.#host.report(runResult.thrown)
      task.failures += 1
      // Each pause is twice the one before.
      return this.#suspendUntil(task, Date.now() + 1000 * 2 ** (task.failures - 1), false)
    }
    const { outcome } = runResult
    if (outcome.type === 'suspended') return this.#suspendUntil(task, outcome.untilMs, true)
    if (outcome.type === 'result') return this.#finish(task, 'completed', { result: outcome.result })
    this.#store.ask(outcome.inputRequests, outcome.journal)
    task.due = Date.now() + outcome.answerTimeoutMs
    if (!task.announced) task.resumableUntil = Math.max(task.resumableUntil ?? 0, Date.now() + longestWait)
    task.rounds += 1
    this.#become(task, 'input_required')
    await this.#wake(task)
  }

  /** The handler could not use an answer: without it, its question is open again. */
  async #askAgain(task: TaskRecord, { key, message }: InvalidInputResponse): Promise<void> {
    this.#store.withdrawAnswer(key)
    Object.assign(task, { statusMessage: message, hasProblemMessage: true })
    await this.#run(task).ended
  }

  async #retryReauthorize(task: TaskRecord, problem: unknown): Promise<void> {
    this.#host.report(problem)
    const failures = (task.reauthorizeFailures ?? 0) + 1
    if (failures === maxReauthorizeAttempts) {
      const message = `The task may not go on: reauthorize failed ${failures} times`
      return this.#finish(task, 'failed', { error: errorOf(new McpError('unavailable', message)) })
    }
    task.reauthorizeFailures = failures
    const pauseMs = Math.min(1000 * 2 ** (failures - 1), 60_000)
    const statusMessage = `reauthorize failed, and is called again in ${pauseMs / 1000} s`
    Object.assign(task, { statusMessage, hasProblemMessage: true })
    return this.#suspendUntil(task, Date.now() + pauseMs, false)
  }

  async #suspendUntil(task: TaskRecord, due: number, isSuspended: boolean): Promise<void> {
    Object.assign(task, { due, asleep: isSuspended, lostRuns: 0 })
    this.#store.save(task)
    this.#changed()
    await this.#wake(task)
  }

  /** @param fail ends the run with an error */
  #contextOf(
    task: TaskRecord,
    context: Context,
    sleeps: TaskSleeps,
    fail: (error: McpError) => Promise<never>,
  ): Context {
    const { once } = context
    const taskContext: Pick<Context, 'once' | 'progress'> = {
      once: (key, effect) =>
        sleeps.during(() =>
          once(key, async () => {
            const value = await effect()
            const error = this.#store.refuseEffect(key, value)
            return error ? fail(error) : value
          }),
        ),
      progress: (done, total, message) =>
        this.#setStatusMessage(task, message ?? (total ? `${done} of ${total}` : `${done}`)),
    }
    return Object.assign(context, taskContext)
  }

  #madeProgress(task: TaskRecord): void {
    if (!task.lostRuns) return
    task.lostRuns = 0
    this.#store.save(task)
  }

  /** A status message: at once in memory, and now and then on disk. */
  #setStatusMessage(task: TaskRecord, message: string): void {
    if (isOver(task) || this.#task !== task) return
    Object.assign(task, { statusMessage: message.slice(0, maxStatusCharacters), hasProblemMessage: false })
    task.lastUpdatedAt = Date.now()
    if (task.lastUpdatedAt - this.#noted < statusSaveIntervalMs) return
    this.#noted = task.lastUpdatedAt
    this.#store.save(task)
    if (task.shards.length > 0) this.#publishStatus(task)
  }

  // How it is

  /** Why answers to open questions cannot be taken. */
  #refuseInvalid(answers: Answers): McpError | undefined {
    for (const [key, answer, request] of this.#store.asked(answers)) {
      const problem = 'result' in answer && this.#host.problemOf(key, request, answer.result)
      if (problem) return new McpError('invalid_params', problem)
    }
    return undefined
  }

  /** Takes answers. True when it goes on. */
  #take(task: TaskRecord, answers: Answers): boolean {
    if (!this.#store.answer(answers)) return false
    task.due = undefined
    removeProblemMessage(task)
    this.#become(task, 'working')
    return true
  }

  #become(task: TaskRecord, status: TaskStatus): void {
    Object.assign(task, { status, lastUpdatedAt: Date.now(), asleep: false, lostRuns: 0 })
    // Stored with the status: an instance that is lost before the delivery leaves it to the next one.
    if (isFollowed(task)) task.undelivered = 0
    this.#store.save(task)
    this.#changed()
    this.#publishStatus(task)
  }

  #changed(): void {
    this.#change.resolve()
    this.#change = Promise.withResolvers()
  }

  get #scopesNow(): readonly string[] | undefined {
    const { call } = this.#store
    return this.#host.serverOf(call).registry.tools.get(String(call.params.name))?.scopes
  }

  #publishStatus(task: TaskRecord): void {
    if (!isFollowed(task)) return
    const view = this.#view(task)
    // One that an older release has stored has the scopes that its tool has now.
    if (task.session) task.scopes ??= this.#scopesNow
    this.#deliveries.begun += 1
    const delivery = this.#deliveries.begun
    this.#published = this.#published
      .then(() => this.#host.publishStatus(view, task))
      .then(
        () => this.#noteDelivery(task, delivery),
        (problem) => {
          this.#host.report(problem)
          return this.#noteDelivery(task, delivery, (task.undelivered ?? 0) + 1)
        },
      )
      .catch(this.#host.report)
    this.ctx.waitUntil(this.#published)
  }

  /**
   * A delivery has ended. A later one has the newer status, so only the last one decides.
   *
   * @param undelivered how often the delivery has failed; left out when it has not
   */
  async #noteDelivery(task: TaskRecord, delivery: number, undelivered?: number): Promise<void> {
    this.#deliveries.over = delivery
    const isLast = delivery === this.#deliveries.begun
    if (!isLast || this.#task !== task || task.undelivered === undelivered) return
    task.undelivered = undelivered
    this.#store.save(task)
    // As long as an alarm holds a run, no other one comes.
    if (this.#running && undelivered !== undefined) {
      setTimeout(() => this.#redeliver(task), redeliveryOf(task) - Date.now())
    }
    // A run that goes on has an alarm, and sets the next one as it ends.
    if (!this.#running || isOver(task)) await this.#wake(task)
  }

  /** Delivers the status again that may not have been delivered, unless a delivery is under way. */
  #redeliver(task: TaskRecord): void {
    const isUnderWay = this.#deliveries.begun > this.#deliveries.over
    if (this.#task === task && task.undelivered !== undefined && !isUnderWay) this.#publishStatus(task)
  }

  /**
   * What a call came to before it was a task. When its client has a `requestState`, the outcome is stored for as long as that is valid: a
   * client that sends it again gets the same outcome. Otherwise nothing is stored.
   */
  #immediateResult(task: TaskRecord): StartResult | undefined {
    if (task.status === 'input_required') return { inputRequests: this.#store.inputRequests }
    if (!isOver(task)) return undefined
    const { result, error } = this.#store.end
    if (task.resumableUntil === undefined) this.ctx.waitUntil(this.#forget().catch(this.#host.report))
    return result ? { done: result } : { error: error as TaskError }
  }

  async #finish(task: TaskRecord, status: TaskStatus, end: End = {}): Promise<void> {
    this.#store.finish(end)
    removeProblemMessage(task)
    this.#become(task, status)
    await this.#wake(task)
  }

  #view(task: TaskRecord): TaskView {
    const { taskId, status, statusMessage, createdAt, lastUpdatedAt, ttl, poll, due, rounds } = task
    const view = { taskId, status, statusMessage, createdAt, lastUpdatedAt, ttl, poll, due, rounds }
    if (status === 'input_required') return { ...view, inputRequests: this.#store.inputRequests }
    return isOver(task) ? { ...view, tool: String(this.#store.call.params.name), ...this.#store.end } : view
  }

  async #forget(): Promise<void> {
    if (this.#task) this.#stop(this.#task, 'The time of the task is over')
    this.#task = undefined
    this.#changed()
    await this.#store.forget()
  }
}

const isOver = ({ status }: TaskRecord): boolean => status !== 'working' && status !== 'input_required'

/** Does a session get its status, or does anybody listen to it? */
const isFollowed = ({ announced, session, shards }: TaskRecord): boolean =>
  announced && (session !== undefined || shards.length > 0)

/** Milliseconds: when a status that may not have been delivered is delivered again. Each pause is twice the one before. */
const redeliveryOf = ({ undelivered }: TaskRecord): number =>
  undelivered === undefined
    ? Number.POSITIVE_INFINITY
    : Date.now() + Math.min(firstRedeliveryMs * 2 ** undelivered, maxRedeliveryMs)

/** A message about a problem must not outlive it. */
function removeProblemMessage(task: TaskRecord): void {
  if (task.hasProblemMessage) Object.assign(task, { statusMessage: undefined, hasProblemMessage: false })
}

const errorOf = ({ kind, message, data }: McpError): TaskError => ({
  kind,
  code: revision.error(kind).code,
  message,
  data,
})

/** Milliseconds: when it is deleted. A call that is no task yet is there for as long as it can be resumed. */
const expiryOf = ({ announced, createdAt, ttl, after, resumableUntil = createdAt }: TaskRecord): number =>
  announced ? createdAt + ttl : resumableUntil + after + graceMs

const lostTooOften = () =>
  new McpError(
    'interrupted',
    `The task was lost ${maxLostRuns} times without progress: do its work in smaller steps, each in ctx.once`,
    {
      reason: 'interrupted',
      retryable: false,
    },
  )

const lapsed = () =>
  new McpError('interrupted', 'The call is over: its answers came too late. Start it again', {
    reason: 'lapsed',
    retryable: false,
  })

/** Waits for something to settle, but no longer than so many milliseconds. */
async function withTimeout(time: number, settles: Promise<unknown>): Promise<void> {
  const { promise: late, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, time)
  await Promise.race([settles, late])
  clearTimeout(timer)
}

/** A server whose tool is run another way, and which makes no tasks. */
function withToolHandler({ registry }: Pick<Server, 'registry'>, name: string, handled: (tool: Tool) => Tool): Server {
  const tool = registry.tools.get(name)
  const tools = new Map(registry.tools)
  if (tool) tools.set(name, handled(tool))
  // Nothing else of a server is used to run a call.
  const own = { tools: { value: tools }, methods: { value: new Map() } }
  return { registry: Object.create(registry, own) } as unknown as Server
}
