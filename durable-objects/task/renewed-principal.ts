/** The principal of one run of a task, for which `reauthorize` is called again while the run lasts: it may last for hours. */
import { wait } from '../../worker/engine/wait.ts'
import { McpError } from '../../worker/protocol/errors.ts'
import type { Principal } from '../../worker/protocol/principal.ts'
import { maxReauthorizeAttempts, reauthorizePauseMs } from './retry-pause.ts'

/** Milliseconds for which the principal counts as current. */
const currentMs = 60_000

export class RenewedPrincipal {
  #now: Principal | undefined
  readonly #read: () => Promise<Principal | undefined>
  readonly #signal: AbortSignal
  readonly #report: (problem: unknown) => void
  #since = Date.now()
  #renewing: Promise<void> | undefined

  /**
   * @param now that of the start of the run; absent for an anonymous caller
   * @param read returns it as it is later. @throws McpError when the task must not continue
   * @param signal of the run
   */
  constructor(
    now: Principal | undefined,
    read: () => Promise<Principal | undefined>,
    signal: AbortSignal,
    report: (problem: unknown) => void,
  ) {
    this.#now = now
    this.#read = read
    this.#signal = signal
    this.#report = report
  }

  get now(): Principal | undefined {
    return this.#now
  }

  /** A handler whose task is cancelled or has expired cleans up. */
  get isCurrent(): boolean {
    return this.#now === undefined || this.#signal.aborted || Date.now() - this.#since < currentMs
  }

  /**
   * Reads the principal again, and later once more if that fails.
   *
   * @throws McpError when the task must not continue; the reason of the signal when it is aborted
   */
  renew(): Promise<void> {
    this.#renewing ??= Promise.race([this.#renew(), abortOf(this.#signal)]).finally(() => {
      this.#renewing = undefined
    })
    return this.#renewing
  }

  async #renew(): Promise<void> {
    for (let failures = 1; ; failures += 1) {
      try {
        this.#now = await this.#read()
        this.#since = Date.now()
        return
      } catch (problem) {
        if (problem instanceof McpError) throw problem
        this.#report(problem)
        if (failures === maxReauthorizeAttempts) throw reauthorizeFailed(failures)
        await wait(reauthorizePauseMs(failures), this.#signal)
      }
    }
  }
}

function abortOf(signal: AbortSignal): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>()
  signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  return promise
}

export const reauthorizeFailed = (failures: number): McpError =>
  new McpError('unavailable', `The task was stopped: reauthorize failed ${failures} times`)
