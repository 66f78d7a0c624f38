/** The status of a task: stores it, sends it to its session and to clients that listen, and lets requests wait for it. */

import type { InputRequest } from '../../worker/protocol/types.ts'
import { startOf } from '../../worker/protocol/well-formed.ts'
import { redeliveryOf } from './redelivery.ts'
import type { TaskStatus, TaskView } from './rpc.ts'
import type { TaskHost } from './task-host.ts'
import { isOver, type TaskRecord, type TaskStore } from './task-store.ts'

/** Characters of a status message. */
const maxStatusCharacters = 10_000
/** Milliseconds between two status messages that are stored. */
const statusSaveIntervalMs = 1000

/** What the publisher needs of the other parts of a task. */
export type StatusContext = {
  /** False once the task was deleted. */
  isCurrent(record: TaskRecord): boolean
  isRunning(): boolean
  /** Sets the alarm. */
  schedule(record: TaskRecord): Promise<void>
  waitUntil(work: Promise<unknown>): void
}

export class StatusPublisher {
  readonly #host: TaskHost
  readonly #store: TaskStore
  readonly #context: StatusContext
  #messageSavedAt = 0
  /** Resolves when the status changes, or when the handler starts to sleep. */
  #changed = Promise.withResolvers<void>()
  /** Deliveries are made one after another, in the order of the changes. */
  #delivered = Promise.resolve()
  /** Started and ended deliveries of the status. */
  readonly #deliveries = { started: 0, over: 0 }

  constructor(host: TaskHost, store: TaskStore, context: StatusContext) {
    this.#host = host
    this.#store = store
    this.#context = context
  }

  /** Resolves when the status changes, or when the handler starts to sleep. */
  get changed(): Promise<void> {
    return this.#changed.promise
  }

  /** Resolves `changed`. */
  notifyWaiting(): void {
    this.#changed.resolve()
    this.#changed = Promise.withResolvers()
  }

  /**
   * Stores and publishes a new status. If the storage refuses a write, nothing changes: a status that a client has seen is stored.
   *
   * @param change stores what belongs to the status, in the same transaction, and changes the next record
   */
  setStatus(record: TaskRecord, status: TaskStatus, change: (next: TaskRecord) => void): void {
    const next: TaskRecord = { ...record, status, lastUpdatedAt: Date.now(), asleep: false, lostRuns: 0 }
    // Stored with the status: if the instance is lost before the delivery, the next one delivers it.
    if (hasReaders(record)) next.undelivered = 0
    this.#store.transaction(() => {
      change(next)
      this.#store.save(next)
    })
    Object.assign(record, next)
    this.notifyWaiting()
    this.publish(record)
  }

  /** Sets the status message: at once in memory, and at intervals in storage. */
  setMessage(record: TaskRecord, message: string): void {
    if (isOver(record) || !this.#context.isCurrent(record)) return
    Object.assign(record, { statusMessage: startOf(message, maxStatusCharacters), hasProblemMessage: false })
    record.lastUpdatedAt = Date.now()
    if (record.lastUpdatedAt - this.#messageSavedAt < statusSaveIntervalMs) return
    this.#messageSavedAt = record.lastUpdatedAt
    this.#store.save(record)
    if (record.shards.length > 0) this.publish(record)
  }

  /** Sends the status to the session of the task and to clients that listen. */
  publish(record: TaskRecord): void {
    if (!hasReaders(record)) return
    const view = this.view(record)
    this.#deliveries.started += 1
    const delivery = this.#deliveries.started
    this.#delivered = this.#delivered
      .then(() => this.#host.publishStatus(view, record))
      .then(
        () => this.#onDelivery(record, delivery),
        (problem) => {
          this.#host.report(problem)
          return this.#onDelivery(record, delivery, (record.undelivered ?? 0) + 1)
        },
      )
      .catch(this.#host.report)
    this.#context.waitUntil(this.#delivered)
  }

  /** Sends a status again that may not have been delivered, unless a delivery is running. */
  redeliver(record: TaskRecord): void {
    const isUnderWay = this.#deliveries.started > this.#deliveries.over
    if (this.#context.isCurrent(record) && record.undelivered !== undefined && !isUnderWay) this.publish(record)
  }

  /** Returns the task as its client sees it. */
  view(record: TaskRecord): TaskView {
    const { taskId, status, statusMessage, createdAt, lastUpdatedAt, ttl, poll, due, rounds } = record
    const view = { taskId, status, statusMessage, createdAt, lastUpdatedAt, ttl, poll, due, rounds }
    if (status === 'input_required') {
      const { inputRequests } = this.#store
      // A message about a problem says why the task asks again.
      return { ...view, ...(!record.hasProblemMessage && { statusMessage: waitingFor(inputRequests) }), inputRequests }
    }
    return isOver(record) ? { ...view, tool: String(this.#store.call.params.name), ...this.#store.end } : view
  }

  /**
   * Records the end of a delivery. A later delivery has the newer status, so only the last one decides.
   *
   * @param undelivered the number of failed deliveries. Default: none failed
   */
  async #onDelivery(record: TaskRecord, delivery: number, undelivered?: number): Promise<void> {
    this.#deliveries.over = delivery
    const isLast = delivery === this.#deliveries.started
    if (!isLast || !this.#context.isCurrent(record) || record.undelivered === undelivered) return
    this.#store.update(record, { undelivered })
    // While an alarm holds a run, no other alarm comes.
    if (this.#context.isRunning() && undelivered !== undefined) {
      setTimeout(() => this.redeliver(record), redeliveryOf(record) - Date.now())
    }
    // A run that goes on has an alarm, and sets the next one as it ends.
    if (!this.#context.isRunning() || isOver(record)) await this.#context.schedule(record)
  }
}

/** Describes what a task waits for. */
function waitingFor(inputRequests: Readonly<Record<string, InputRequest>>): string {
  const subjects = Object.values(inputRequests).map(({ method, params }) =>
    method === 'elicitation/create' ? params.message : method === 'roots/list' ? 'roots' : 'a message of the model',
  )
  return startOf(`Waiting for input: ${subjects.join('; ')}`, maxStatusCharacters)
}

/** Whether a session receives the status, or a client listens to it. */
const hasReaders = ({ announced, session, shards }: TaskRecord): boolean =>
  announced && (session !== undefined || shards.length > 0)
