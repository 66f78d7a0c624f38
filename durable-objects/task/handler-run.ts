/** One run of a task's handler: from its start, with the journal of the previous runs. */
import type { Context, Jsonify } from '../../worker/declarations/context.ts'
import type { RequestContext } from '../../worker/declarations/request-context.ts'
import type { Server } from '../../worker/declarations/server.ts'
import type { Tool } from '../../worker/declarations/tool.ts'
import type { Call, CallEnvironment, Outcome } from '../../worker/engine/call.ts'
import { type Journal, sleepPrefix } from '../../worker/engine/journal.ts'
import { isPermitted } from '../../worker/engine/methods/lists.ts'
import { openContext } from '../../worker/engine/request-context.ts'
import { insufficientScope } from '../../worker/engine/required-scopes.ts'
import { run } from '../../worker/engine/run.ts'
import { asMcpError, McpError } from '../../worker/protocol/errors.ts'
import { newestRevision as revision } from '../../worker/protocol/revisions/index.ts'
import { lostRunsError } from './lost-runs.ts'
import { RenewedPrincipal } from './renewed-principal.ts'
import type { TaskCall } from './rpc.ts'
import type { RunEnd, RunResult } from './runs.ts'
import type { RunPrincipal } from './task-host.ts'
import type { TaskParts } from './task-parts.ts'
import { TaskSleeps } from './task-sleeps.ts'
import type { TaskRecord } from './task-store.ts'

type Parts = Pick<TaskParts, 'host' | 'storage' | 'store' | 'status'>

/** Runs the handler until it returns, needs input, or sleeps. */
export async function runHandler(task: Parts, record: TaskRecord, signal: AbortSignal): Promise<RunResult> {
  const asked = record.status === 'input_required' ? task.store.inputRequests : undefined
  const began = { at: Date.now(), asked, unread: record.unread ?? [] }
  return { began, ...(await endOf(task, record, signal, asked !== undefined)) }
}

/** @param isBeside whether the handler runs beside open input requests */
async function endOf(task: Parts, record: TaskRecord, signal: AbortSignal, isBeside: boolean): Promise<RunEnd> {
  // Read before anything is awaited: what ends the task deletes it meanwhile.
  const { call } = task.store
  const journal = signal.aborted ? withoutAnswers(task.store.journal, record.unread) : task.store.journal
  const stoppedAt = signal.aborted ? (record.stoppedAt ?? Number(record.due) - 1) : undefined
  const thrown = lostRunsError(record)
  if (thrown) return { thrown }
  let runPrincipal: RunPrincipal
  try {
    // A run that is lost at once must have been counted.
    if (record.lostRuns) await task.storage.sync()
    runPrincipal = await task.host.principalOf(call)
  } catch (problem) {
    return problem instanceof McpError ? { thrown: problem } : { reauthorizeError: problem }
  }
  return new HandlerRun(task, record, signal, stoppedAt, isBeside).run(call, journal, runPrincipal)
}

class HandlerRun {
  readonly #task: Parts
  readonly #record: TaskRecord
  readonly #signal: AbortSignal
  /** Ends the run before its handler does. */
  readonly #ended = Promise.withResolvers<Outcome>()
  readonly #sleeps: TaskSleeps
  readonly #runningEffects = new Set<Promise<unknown>>()
  /** Whether the handler has thrown and runs again, so that no effect may start in this run. */
  #isEnding = false
  #hasEnded = false
  #isAsking = false
  #hasBranch = false
  readonly #isBeside: boolean
  readonly #stoppedAt: number | undefined
  /** What the handler threw, unless it chose the error of the call. */
  #thrown: { readonly problem: unknown } | undefined

  /** @param stoppedAt see `TaskRecord`; given if the handler runs because the task has ended while it slept or waited for input */
  constructor(task: Parts, record: TaskRecord, signal: AbortSignal, stoppedAt: number | undefined, isBeside: boolean) {
    this.#isBeside = isBeside
    this.#stoppedAt = stoppedAt
    this.#task = task
    this.#record = record
    this.#signal = signal
    // Only a step that runs awaits it.
    this.#ended.promise.catch(() => {})
    this.#sleeps = new TaskSleeps(signal, (untilMs) => {
      // A round with input requests ends by itself.
      if (!this.#isAsking) this.#ended.resolve({ type: 'suspended', untilMs })
    })
  }

  async run(stored: TaskCall, journal: Journal, { principal, isCurrent }: RunPrincipal): Promise<RunEnd> {
    const { host } = this.#task
    const { params, capabilities, client } = stored
    const endpoint = host.at(stored.tenant)
    const seals = endpoint.seals(principal)
    const tool = endpoint.server.declarations.tools.get(String(params.name))
    const read = async () => {
      const { principal: later } = await host.principalOf(stored)
      if (tool && !isPermitted(tool, { principal: later })) throw insufficientScope(tool.scopes ?? [])
      return later
    }
    const renewed = new RenewedPrincipal(principal, read, this.#signal, host.report)
    const callWith = (requestContext: RequestContext): Call => ({
      method: 'tools/call',
      params,
      revision,
      capabilities,
      client,
      get principal() {
        return renewed.now
      },
      requestContext,
      session: undefined,
      isTask: true,
      logLevel: undefined,
    })
    try {
      const call = callWith(await openContext(stored.requestContext, seals))
      const server = withTool(endpoint.server, String(params.name), (named) =>
        this.#wrap(named, isCurrent, stored, renewed),
      )
      const outcome = await run(server, call, journal, this.#environment(seals, renewed))
      return this.#thrown && this.#canRetry ? { thrown: this.#thrown.problem } : { outcome, hasBranch: this.#hasBranch }
    } catch (problem) {
      return { thrown: asMcpError(problem, host.report) }
    } finally {
      this.#hasEnded = true
      this.#sleeps.end()
    }
  }

  get #canRetry(): boolean {
    return this.#record.failures < this.#record.retries
  }

  #wrap(tool: Tool, isCurrent: boolean, { input }: TaskCall, renewed: RenewedPrincipal): Tool {
    return {
      ...tool,
      // Decided with all that was known of the caller: the schema of a run could be another one.
      ...(input && { inputOf: undefined, input: { jsonSchema: tool.item.inputSchema, check: () => input } }),
      // Decided when the tool was called: the stored claims may be too few to decide again.
      visibleTo: isCurrent ? tool.visibleTo : undefined,
      handler: async (input, context) => {
        try {
          return await tool.handler(input, this.#contextOf(context, renewed))
        } catch (problem) {
          if (!(problem instanceof McpError)) {
            this.#thrown = { problem }
            if (this.#canRetry) await this.#endEffects()
          }
          throw problem
        }
      },
    }
  }

  /** Waits for the effects that run: the next run needs their results. */
  async #endEffects(): Promise<void> {
    while (this.#runningEffects.size > 0) await Promise.allSettled(this.#runningEffects)
    this.#isEnding = true
  }

  /** `once` keeps the task in memory and stores its result, `progress` sets the status message, and `principal` is that of now. */
  #contextOf(context: Context, renewed: RenewedPrincipal): Context {
    const { once } = context
    const taskContext: Pick<Context, 'once' | 'progress'> = {
      once: <T>(key: string, effect: () => T | Promise<T>) => {
        if (String(key).startsWith(sleepPrefix)) return this.#sleeps.during(() => once(key, effect))
        const done: Promise<Jsonify<T>> = this.#sleeps.during(() =>
          once(key, () => {
            if (this.#isEnding) return new Promise<never>(() => {})
            this.#runningEffects.add(done)
            this.#hasBranch ||= this.#isAsking
            return this.#storable(key, effect)
          }),
        )
        const onSettled = () => void this.#runningEffects.delete(done)
        done.then(onSettled, onSettled)
        return done
      },
      progress: (progress, total, message) => {
        const text = message ?? (total ? `${progress} of ${total}` : `${progress}`)
        this.#task.status.setMessage(this.#record, text)
      },
    }
    Object.defineProperty(context, 'principal', { get: () => renewed.now, enumerable: true })
    return Object.assign(context, taskContext)
  }

  /** Ends the run if its principal may not go on. @returns nothing to wait for, for most steps */
  #renew(principal: RenewedPrincipal): Promise<void> | undefined {
    if (principal.isCurrent) return undefined
    return principal.renew().catch((problem) => {
      if (!(problem instanceof McpError)) throw problem
      this.#ended.reject(problem)
      return new Promise<never>(() => {})
    })
  }

  /** Runs an effect. A result that cannot be stored ends the run with an error. */
  async #storable<T>(key: string, effect: () => T | Promise<T>): Promise<T> {
    const value = await effect()
    const error = this.#task.store.effectProblem(key, value)
    if (!error) return value
    this.#ended.reject(error)
    return new Promise<never>(() => {})
  }

  #environment(seals: CallEnvironment['seals'], renewed: RenewedPrincipal): CallEnvironment {
    const { host, store } = this.#task
    return {
      signal: () => this.#signal,
      seals,
      state: { object: (name) => host.state(name), session: undefined },
      updates: true,
      notify: () => {},
      beforeEffect: () => this.#renew(renewed),
      effect: (key, value) => {
        if (this.#signal.aborted) return
        store.putEffect(key, value)
        this.#markProgress()
      },
      // The sleep in which the task ended throws, even if its time is over: the handler must not continue after it.
      now: () => this.#stoppedAt ?? Date.now(),
      inputPromise: () => this.#inputPromise(),
      // In the first round, the client is asked before that.
      ...(this.#isBeside && { waitForBranches: () => new Promise<void>((resolve) => setTimeout(resolve)) }),
      sleep: (untilMs) => this.#sleeps.sleep(untilMs),
      ended: this.#ended.promise,
      closeStream: () => {},
      completed: () => {},
      report: host.report,
    }
  }

  /** See `CallEnvironment.inputPromise`. Requests of a run that only ends are opened again in the next one. */
  #inputPromise(): Promise<never> {
    const signal = this.#signal
    if (!this.#hasEnded) signal.throwIfAborted()
    this.#isAsking = true
    this.#hasBranch ||= this.#runningEffects.size > 0
    return new Promise((_, reject) => {
      signal.addEventListener('abort', () => void (this.#hasEnded || reject(signal.reason)))
    })
  }

  #markProgress(): void {
    if (this.#record.lostRuns) this.#task.store.update(this.#record, { lostRuns: 0 })
  }
}

/** Returns the journal of a run that ends before these answers. */
const withoutAnswers = (journal: Journal, keys: readonly string[] = []): Journal => ({
  ...journal,
  answers: Object.fromEntries(Object.entries(journal.answers).filter(([key]) => !keys.includes(key))),
})

/** Returns a server with one tool wrapped, and without the methods of plugins: the run of a task starts no task. */
function withTool({ declarations }: Pick<Server, 'declarations'>, name: string, wrap: (tool: Tool) => Tool): Server {
  const tool = declarations.tools.get(name)
  const tools = new Map(declarations.tools)
  if (tool) tools.set(name, wrap(tool))
  const overrides = { tools: { value: tools }, methods: { value: new Map() } }
  // A run reads the declarations of its server and nothing else.
  return { declarations: Object.create(declarations, overrides) } as unknown as Server
}
