/** The sleeps of one run of a task: short ones wait in memory, longer ones suspend the task. */
import { wait } from '../../worker/engine/wait.ts'

/** Milliseconds that are waited for in memory: to be woken costs more. */
const maxInMemorySleepMs = 10_000
/** The longest that a timer takes. */
const maxTimerMs = 2 ** 31 - 1

export class TaskSleeps {
  readonly #signal: AbortSignal
  readonly #suspend: (untilMs: number) => void
  /** Moments of the sleeps that are not over, one for each. */
  readonly #moments = new Set<{ readonly untilMs: number }>()
  #effects = 0
  /** One of the sleeps is too long to be waited for in memory. */
  #isLong = false

  /** @param suspend ends the run until a moment, in milliseconds since 1970 */
  constructor(signal: AbortSignal, suspend: (untilMs: number) => void) {
    this.#signal = signal
    this.#suspend = suspend
  }

  /** @throws the reason of the signal when it is aborted */
  async sleep(untilMs: number): Promise<void> {
    this.#signal.throwIfAborted()
    const waitMs = untilMs - Date.now()
    const moment = { untilMs }
    this.#moments.add(moment)
    if (waitMs <= maxInMemorySleepMs) {
      return wait(waitMs, this.#signal).finally(() => this.#moments.delete(moment))
    }
    this.#isLong = true
    setTimeout(() => this.#suspendWhenIdle())
    // An effect that runs meanwhile keeps the task in memory, perhaps until then: it may even wait for this.
    return new Promise<void>((resolve) => {
      const onOver = () => {
        this.#moments.delete(moment)
        resolve()
      }
      const timer = setTimeout(onOver, Math.min(waitMs, maxTimerMs))
      this.#signal.addEventListener('abort', () => clearTimeout(timer), { once: true })
    })
  }

  /** Runs an effect. The task is not suspended meanwhile: the result would be missed. */
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
