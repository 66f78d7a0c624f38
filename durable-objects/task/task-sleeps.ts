/** The sleeps of one run of a task: short ones wait in memory, longer ones suspend the task. */
import { wait } from '../../worker/engine/wait.ts'

/** Milliseconds of a sleep that waits in memory: to wake the object would cost more. */
const maxInMemorySleepMs = 10_000
/** Milliseconds of the longest timer. */
const maxTimerMs = 2 ** 31 - 1

export class TaskSleeps {
  readonly #signal: AbortSignal
  readonly #suspend: (untilMs: number) => void
  /** Ends of the running sleeps. */
  readonly #moments = new Set<{ readonly untilMs: number }>()
  #effects = 0
  /** Whether one of the sleeps is too long to wait in memory. */
  #isLong = false
  #hasRunEnded = false

  /** @param suspend ends the run until a time, in milliseconds since 1970 */
  constructor(signal: AbortSignal, suspend: (untilMs: number) => void) {
    this.#signal = signal
    this.#suspend = suspend
  }

  /** @throws the reason of the signal when it is aborted before the run ends */
  async sleep(untilMs: number): Promise<void> {
    try {
      await this.#sleep(untilMs)
    } catch (reason) {
      // The next run sleeps on: nothing of the handler may continue in this one.
      if (this.#hasRunEnded) return new Promise<never>(() => {})
      throw reason
    }
  }

  /** Called when the run has ended. */
  end(): void {
    this.#hasRunEnded = true
  }

  async #sleep(untilMs: number): Promise<void> {
    this.#signal.throwIfAborted()
    const waitMs = untilMs - Date.now()
    const moment = { untilMs }
    this.#moments.add(moment)
    if (waitMs > maxInMemorySleepMs) {
      this.#isLong = true
      setTimeout(() => this.#suspendWhenIdle())
    }
    // An effect that runs meanwhile keeps the task in memory, perhaps until then: it may even wait for this.
    return wait(Math.min(waitMs, maxTimerMs), this.#signal).finally(() => this.#moments.delete(moment))
  }

  /** Runs an effect. The task is not suspended meanwhile, because the result would be lost. */
  async during<T>(effect: () => Promise<T>): Promise<T> {
    this.#effects += 1
    try {
      return await effect()
    } finally {
      this.#effects -= 1
      if (this.#isLong) setTimeout(() => this.#suspendWhenIdle())
    }
  }

  #suspendWhenIdle(): void {
    if (this.#effects > 0 || !this.#isLong || this.#moments.size === 0) return
    this.#suspend(Math.min(...[...this.#moments].map(({ untilMs }) => untilMs)))
  }
}
