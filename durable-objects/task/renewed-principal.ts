/** The principal of one run of a task, for which `reauthorize` is called again while the run lasts: it may last for hours. */
import type { Context } from '../../worker/declarations/context.ts'
import type { Tool } from '../../worker/declarations/tool.ts'
import { isPermitted } from '../../worker/engine/methods/lists.ts'
import { insufficientScope } from '../../worker/engine/required-scopes.ts'
import { wait } from '../../worker/engine/wait.ts'
import { McpError } from '../../worker/protocol/errors.ts'
import { maxReauthorizeAttempts, reauthorizePauseMs } from './retry-pause.ts'
import type { TaskCall } from './rpc.ts'
import type { TaskHost } from './task-host.ts'

/** Milliseconds for which the principal counts as current. */
const currentMs = 60_000

export class RenewedPrincipal {
  readonly #host: TaskHost
  readonly #stored: TaskCall
  readonly #tool: Tool
  readonly #context: Context
  readonly #signal: AbortSignal
  #since = Date.now()
  #renewing: Promise<void> | undefined

  constructor(host: TaskHost, stored: TaskCall, tool: Tool, context: Context, signal: AbortSignal) {
    this.#host = host
    this.#stored = stored
    this.#tool = tool
    this.#context = context
    this.#signal = signal
  }

  get isCurrent(): boolean {
    return this.#context.principal === undefined || Date.now() - this.#since < currentMs
  }

  /**
   * Sets `ctx.principal` to what `reauthorize` returns. Calls it again later if it throws.
   *
   * @throws McpError when the task must not continue; the reason of the signal when it is aborted
   */
  renew(): Promise<void> {
    this.#renewing ??= this.#renew().finally(() => {
      this.#renewing = undefined
    })
    return this.#renewing
  }

  async #renew(): Promise<void> {
    for (let failures = 1; ; failures += 1) {
      try {
        const { principal } = await this.#host.principalOf(this.#stored)
        if (!isPermitted(this.#tool, { principal })) throw insufficientScope(this.#tool.scopes ?? [])
        Object.assign(this.#context, { principal })
        this.#since = Date.now()
        return
      } catch (problem) {
        if (problem instanceof McpError) throw problem
        this.#host.report(problem)
        if (failures === maxReauthorizeAttempts) throw reauthorizeFailed(failures)
        await wait(reauthorizePauseMs(failures), this.#signal)
      }
    }
  }
}

export const reauthorizeFailed = (failures: number): McpError =>
  new McpError('unavailable', `The task was stopped: reauthorize failed ${failures} times`)
