/**
 * The Durable Object `McpTask`: one task, which is a call of a tool that continues without a connection. Its handler runs in alarms, so
 * that after a loss of the object a new instance runs it again with the journal: each effect is stored before the handler continues.
 *
 * Besides its version (`schema.ts`), a task stores these values:
 *
 * | key                    | meaning                                                            | lifetime              |
 * |------------------------|--------------------------------------------------------------------|-----------------------|
 * | `call`                 | `TaskCall`: the call, and its principal, sealed                    | until `ttl`, by alarm |
 * | `task`                 | `TaskRecord`: its status, its deadlines, and the receivers of its status | until `ttl`, by alarm |
 * | `journal:<part>`       | input responses and fingerprints of input requests, as JSON        | until it ends         |
 * | `inputRequests:<part>` | open input requests, by key, as JSON                               | until they are answered |
 * | `end:<part>`           | `TaskEnd`: its result or error, as JSON                            | until `ttl`, by alarm |
 *
 * Values that may be large are split into parts: see `split-texts.ts`.
 *
 * | table     | column  | meaning                            | lifetime      |
 * |-----------|---------|------------------------------------|---------------|
 * | `effects` | `key`   | of `ctx.once`                      | until it ends |
 * |           | `value` | its result, as JSON, in an object  |               |
 *
 * Other objects of this class store lists of tasks: see `task-list.ts`.
 */

import { DurableObject } from 'cloudflare:workers'
import { waitAtMost } from '../../worker/engine/wait.ts'
import { Alarms } from '../shared/alarms.ts'
import { Schema } from '../shared/schema.ts'
import { runHandler } from './handler-run.ts'
import { type Answers, answersProblem, takeAnswers } from './input-requests.ts'
import { deleteTask, expiryOf, isAwake, isDue, runInAlarm, schedule } from './lifetime.ts'
import { migrations } from './migrations.ts'
import type {
  ListedTask,
  StartResult,
  TaskCall,
  TaskError,
  TaskListRpc,
  TaskReferences,
  TaskRpc,
  TaskStatus,
  TaskTerms,
  TaskView,
} from './rpc.ts'
import { finishTask, settleRun } from './run-outcomes.ts'
import { Runs } from './runs.ts'
import { StatusPublisher } from './status-publisher.ts'
import { callExpired, errorOf, inputTimedOut } from './task-errors.ts'
import type { TaskHost } from './task-host.ts'
import { TaskList } from './task-list.ts'
import type { TaskParts } from './task-parts.ts'
import { isOver, type TaskRecord, TaskStore } from './task-store.ts'

export type { RunPrincipal, TaskHost } from './task-host.ts'

/** Milliseconds until the alarm that runs the handler again if the object is lost while no alarm holds it. */
const keepAwakeAfterMs = 20_000
/** Milliseconds that a request waits for the end of a run. */
const longPollMs = 20_000

export class Task extends DurableObject implements TaskRpc {
  readonly #schema: Schema
  readonly #task: TaskParts
  readonly #list: TaskList

  constructor(ctx: DurableObjectState, env: Cloudflare.Env, host: TaskHost) {
    super(ctx, env)
    const { storage } = ctx
    this.#schema = new Schema(storage, migrations)
    const alarms = new Alarms(storage)
    this.#list = new TaskList(storage, this.#schema, alarms)
    const store = new TaskStore(storage, this.#schema)
    const { record } = store
    const waitUntil = (work: Promise<unknown>) => ctx.waitUntil(work)
    const task: TaskParts = {
      host,
      storage,
      store,
      alarms,
      record,
      status: new StatusPublisher(host, store, {
        isCurrent: (of) => task.record === of,
        isRunning: () => task.runs.isRunning,
        schedule: (of) => schedule(task, of),
        waitUntil,
      }),
      runs: new Runs(
        store,
        {
          run: (of, signal) => runHandler(task, of, signal),
          storeOutcome: (of, result) => settleRun(task, of, result),
          waitUntil,
        },
        record !== undefined,
      ),
    }
    this.#task = task
  }

  async start(
    call: TaskCall,
    terms: TaskTerms,
    references: TaskReferences,
    answers: Answers,
    isResumed: boolean,
  ): Promise<StartResult> {
    this.#schema.check()
    const task = this.#task
    if (isResumed && !task.record) return { error: errorOf(callExpired()) }
    const record = this.#open(call, terms, references)
    if (record.announced) return { task: task.status.view(record) }
    if (record.status === 'input_required') {
      const invalid = answersProblem(task, answers)
      if (invalid) return { error: errorOf(invalid) }
      takeAnswers(task, record, answers)
    }
    if (record.after > 0) {
      if (!this.#immediateResult(record)) {
        // Deletes what is stored if this instance is lost before the call has an outcome or is a task.
        await task.alarms.set({ expiry: expiryOf(record) })
        await waitAtMost(record.after, task.runs.start(record))
        // Its alarm has deleted it, because the clock has moved.
        if (task.record !== record) return { error: errorOf(callExpired()) }
      }
      // Another request with the same state may have made it a task meanwhile.
      if (record.announced) return { task: task.status.view(record) }
      const result = this.#immediateResult(record)
      if (result) return result
    }
    const now = Date.now()
    // Its time as a task starts now: before, it waited for the answers of its caller.
    const { taskId } = references
    task.store.update(record, { announced: true, taskId, createdAt: now, lastUpdatedAt: now })
    await task.alarms.set({ run: task.runs.isRunning ? now + keepAwakeAfterMs : now, expiry: expiryOf(record) })
    return { task: task.status.view(record) }
  }

  /** Returns the record of the call, and stores it if this is its first request. */
  #open(call: TaskCall, terms: TaskTerms, references: TaskReferences): TaskRecord {
    const task = this.#task
    const now = Date.now()
    const record = task.record ?? {
      ...terms,
      ...references,
      createdAt: now,
      lastUpdatedAt: now,
      status: 'working',
      announced: false,
      failures: 0,
      rounds: 0,
      shards: [],
    }
    if (!task.record) task.store.create(call, record)
    else if (!record.announced) task.store.renewSealed(call)
    task.record = record
    return record
  }

  /**
   * Returns the outcome of a call that ended before it became a task. If its client has a `requestState`, the outcome is stored for as long
   * as that is valid: a client that sends it again gets the same outcome. Otherwise nothing is stored.
   */
  #immediateResult(record: TaskRecord): StartResult | undefined {
    const { store, host } = this.#task
    if (record.status === 'input_required') return { inputRequests: store.inputRequests }
    if (!isOver(record)) return undefined
    const { result, error } = store.end
    if (record.resumableUntil === undefined) this.ctx.waitUntil(deleteTask(this.#task).catch(host.report))
    // A call that is not a task cannot be cancelled, so it ended with one of them.
    return result ? { done: result } : error && { error }
  }

  async get(): Promise<TaskView | undefined> {
    const record = this.#announced
    // The object was lost, and its alarm has not come yet.
    if (record && isDue(record) && !this.#task.runs.isRunning) await schedule(this.#task, record)
    return record && this.#task.status.view(record)
  }

  async scopes(): Promise<readonly string[] | undefined> {
    return this.#announced?.scopes
  }

  async settled(): Promise<TaskView | undefined> {
    await this.get()
    const record = this.#announced
    if (record && isDue(record)) await waitAtMost(longPollMs, this.#task.status.changed)
    return this.#announced && this.#task.status.view(this.#announced)
  }

  async update(answers: Answers): Promise<{ task: TaskView } | { error: TaskError } | undefined> {
    const task = this.#task
    const record = this.#announced
    if (record?.status !== 'input_required') return record && { task: task.status.view(record) }
    const invalid = answersProblem(task, answers)
    if (invalid) return { error: errorOf(invalid) }
    if (takeAnswers(task, record, answers)) await task.alarms.set({ run: Date.now() })
    return { task: task.status.view(record) }
  }

  async cancel(): Promise<{ before: TaskStatus; task: TaskView } | undefined> {
    const record = this.#announced
    if (!record) return undefined
    const before = record.status
    if (!isOver(record)) {
      this.#task.runs.stop(record, 'The task was cancelled')
      await finishTask(this.#task, record, 'cancelled')
    }
    return { before, task: this.#task.status.view(record) }
  }

  async watch(shard: number): Promise<void> {
    const { store, status, runs } = this.#task
    const record = this.#announced
    if (!record) return
    const { shards, undelivered = 0 } = record
    store.update(record, { undelivered, shards: [...new Set([...shards, shard])] })
    status.publish(record)
    // A run that goes on sets the next alarm as it ends, but not after the end of the task.
    if (!runs.isRunning || isOver(record)) await schedule(this.#task, record)
  }

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
    const { record } = task
    if (!record) return this.#list.alarm()
    if (Date.now() >= expiryOf(record)) return deleteTask(task)
    if (record.status === 'input_required' && (record.due ?? 0) <= Date.now()) {
      const error = inputTimedOut()
      task.runs.stop(record, error.message)
      return finishTask(task, record, 'failed', { error: errorOf(error) })
    }
    task.status.redeliver(record)
    return isDue(record) || isAwake(record) ? runInAlarm(task, record) : schedule(task, record)
  }

  /** The record of a task that its client knows and that has not expired. */
  get #announced(): TaskRecord | undefined {
    this.#schema.check()
    const { record } = this.#task
    return record?.announced && Date.now() < expiryOf(record) ? record : undefined
  }
}
