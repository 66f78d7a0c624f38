/** The runs of a task's handler: one at a time, each counted until its outcome is stored. */
import type { Outcome } from '../../worker/engine/call.ts'
import type { InputRequest } from '../../worker/protocol/types.ts'
import { isOver, type TaskRecord, type TaskStore } from './task-store.ts'

export type RunResult = { readonly began: RunStart } & RunEnd

/** What the task was when a run began. `asked`: its open input requests, if it ran beside them. */
export type RunStart = {
  readonly at: number
  readonly asked: Readonly<Record<string, InputRequest>> | undefined
  readonly unread: readonly string[]
}

export type RunEnd =
  /** `hasBranch`: effects ran beside an input request, so the handler may come further without its response. */
  | { readonly outcome: Outcome; readonly hasBranch: boolean }
  | { readonly thrown: unknown }
  /** The handler did not run: `reauthorize` threw. */
  | { readonly reauthorizeError: unknown }

/** What other parts of a task do in a run. */
export type RunSteps = {
  /** Runs the handler from its start, with the journal. */
  run(record: TaskRecord, signal: AbortSignal): Promise<RunResult>
  /** Stores the outcome of a run. */
  storeOutcome(record: TaskRecord, result: RunResult): Promise<void>
  waitUntil(work: Promise<unknown>): void
}

export class Runs {
  readonly #store: TaskStore
  readonly #steps: RunSteps
  #current: { readonly abort: AbortController; readonly ended: Promise<void> } | undefined
  /** The last run that was started may have been lost before its outcome was stored. */
  #isUnsettled: boolean

  /** @param isUnsettled the task was stored by an earlier instance, which may have been lost in a run */
  constructor(store: TaskStore, steps: RunSteps, isUnsettled: boolean) {
    this.#store = store
    this.#steps = steps
    this.#isUnsettled = isUnsettled
  }

  get isRunning(): boolean {
    return this.#current !== undefined
  }

  /** Starts a run unless one is running. Resolves when the outcome of the run is stored. */
  start(record: TaskRecord): Promise<void> {
    if (!this.#current) {
      if (this.#isUnsettled) this.#store.update(record, { lostRuns: (record.lostRuns ?? 0) + 1 })
      this.#isUnsettled = true
      const abort = new AbortController()
      this.#current = { abort, ended: this.#run(record, abort) }
    }
    return this.#current.ended
  }

  async #run(record: TaskRecord, abort: AbortController): Promise<void> {
    const result = await this.#steps.run(record, abort.signal)
    this.#current = undefined
    // The task was cancelled or has expired: its outcome is stored already, or not needed.
    if (abort.signal.aborted) return
    // The next run repeats what still runs of this one, or does not need it.
    abort.abort(new Error('This run of the handler has ended'))
    await this.#steps.storeOutcome(record, result)
    this.#isUnsettled = false
  }

  /** Aborts the signal of the handler. Runs a handler for that which sleeps, or has requested input. */
  stop(record: TaskRecord, reason: string): void {
    if (this.#current) return this.#current.abort.abort(new Error(reason))
    // Its journal is deleted.
    if (isOver(record)) return
    if (record.asleep || record.unread || record.status === 'input_required')
      this.#steps.waitUntil(this.#steps.run(record, AbortSignal.abort(new Error(reason))))
  }
}
