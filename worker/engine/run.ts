import type { CallerContext, Guarded } from '../declarations/caller.ts'
import type { Context } from '../declarations/context.ts'
import type { Declarations, Instrumented } from '../declarations/declarations.ts'
import type { InputRequiredOutcome, Journal, Outcome, ResultOutcome } from '../declarations/outcome.ts'
import { refusePendingContent } from '../declarations/pending-content.ts'
import type { Server } from '../declarations/server.ts'
import { McpError } from '../protocol/errors.ts'
import { progressToken } from '../protocol/meta.ts'
import type { Params } from '../protocol/types.ts'
import type { Call, CallEnvironment } from './call.ts'
import { CallContext } from './call-context.ts'
import { callerContextOf } from './caller.ts'
import { stepError } from './failure.ts'
import { abortOf, intercept } from './interceptors.ts'
import { callMethod, declaredMethod } from './methods/index.ts'
import { isVisible } from './methods/lists.ts'
import type { Method, MethodContext } from './methods/method.ts'
import { entryOf, insufficientScope, lackedScopes } from './required-scopes.ts'
import { Round } from './round.ts'

/** Returns the method of a call, if its protocol version has it. Methods of plugins come first. */
export const methodOf = (declarations: Declarations, { method, revision }: Call): Method | undefined =>
  declaredMethod(declarations, method) ?? (revision.requests.has(method) ? callMethod(method) : undefined)

/**
 * Runs one step of a call, until it has a result or needs input. A step never waits for a client, so it needs no session, stream or
 * connection: its caller is the loop.
 *
 * @throws McpError for a JSON-RPC error
 */
export async function run(
  server: Server,
  call: Call,
  journal: Journal,
  environment: CallEnvironment,
): Promise<Outcome> {
  const { declarations } = server
  if (declarations.interceptors.length > 0) return runIntercepted(server, call, journal, environment)
  try {
    const method = checkedMethod(declarations, call, environment)
    const checking = checkScopes(declarations, call, environment)
    if (checking) await checking
    const outcome = await runMethod(server, method, call, journal, environment)
    const refusing = refusePending(outcome)
    if (refusing) await refusing
    return outcome
  } catch (thrown) {
    throw stepError(declarations, call, environment.signal, thrown)
  }
}

/** @returns nothing to wait for, for most results: see `refusePendingContent` */
const refusePending = (outcome: Outcome): Promise<never> | undefined =>
  outcome.type === 'result' ? refusePendingContent(outcome.result) : undefined

/** @throws McpError `method_not_found`, and `invalid_params` for an invalid progress token */
function checkedMethod(declarations: Declarations, call: Call, environment: CallEnvironment): Method {
  const method = methodOf(declarations, call)
  if (!method?.offered(declarations, environment))
    throw new McpError('method_not_found', `Method not found: ${call.method}`)
  progressToken(call.params)
  return method
}

/** Runs a step inside the interceptors of the server. */
async function runIntercepted(
  server: Server,
  call: Call,
  journal: Journal,
  environment: CallEnvironment,
): Promise<Outcome> {
  const { declarations } = server
  let failure: { readonly thrown: unknown; readonly error: unknown } | undefined
  const errorOf = (thrown: unknown, step = call) =>
    failure && Object.is(failure.thrown, thrown)
      ? failure.error
      : stepError(declarations, step, environment.signal, thrown)
  try {
    const method = checkedMethod(declarations, call, environment)
    await checkScopes(declarations, call, environment)
    const step = stepOf(server, method, call, journal, environment)
    const outcome = await intercept(declarations.interceptors, call, environment.signal, async (params, signal) => {
      try {
        return await step(params, signal)
      } catch (thrown) {
        // Reported before interceptors see it: one of them may catch it.
        failure = { thrown, error: errorOf(thrown, { ...call, params }) }
        throw thrown
      }
    })
    const refusing = refusePending(outcome)
    if (refusing) await refusing
    return outcome
  } catch (thrown) {
    throw errorOf(thrown)
  }
}

/** Returns the innermost step, which runs the method with the params of the last interceptor. */
function stepOf(server: Server, method: Method, call: Call, journal: Journal, environment: CallEnvironment) {
  const { declarations } = server
  return async (params: Params, signal?: AbortSignal): Promise<Outcome> => {
    if (params === call.params) return runMethod(server, method, call, journal, environment, signal)
    const changed = { ...call, params, clientParams: call.params }
    // An interceptor has changed the params.
    checkChangedCall(declarations, call, changed)
    await checkScopes(declarations, changed, environment)
    return runMethod(server, method, changed, journal, environment, signal)
  }
}

/** Runs a step of a call that is not a task, and so is never suspended. */
export async function runCall(...args: Parameters<typeof run>): Promise<ResultOutcome | InputRequiredOutcome> {
  const outcome = await run(...args)
  if (outcome.type === 'suspended')
    throw new Error('An interceptor suspended a call that is not a task: return a result')
  return outcome
}

/**
 * Checks a call that interceptors have changed: limits and `singleUse` are those of the call of the client.
 *
 * @throws Error when an interceptor calls another entry that has any
 */
function checkChangedCall(declarations: Declarations, call: Call, changed: Call): void {
  const entry = entryOf(declarations, changed.method, changed.params)
  const before = entryOf(declarations, call.method, call.params)
  if (!entry || entry === before) return
  if (entry.rateLimit === before?.rateLimit && !('singleUse' in entry && entry.singleUse)) return
  const { name = '', uri = name } = changed.params
  throw new Error(`An interceptor calls "${uri}", and would bypass its rateLimit or singleUse: let the client call it`)
}

/** @returns nothing to wait for, for most calls. @throws McpError `insufficient_scope` */
function checkScopes(declarations: Declarations, call: Call, environment: CallEnvironment): Promise<void> | undefined {
  const isVisibleTo = (entry: Guarded) => isVisible(entry, { caller: callerContextOf(call, environment) })
  const lacked = lackedScopes(declarations, call.principal, call, environment.seals.open, isVisibleTo)
  if (lacked instanceof Promise) return lacked.then(rejectWithout)
  rejectWithout(lacked)
  return undefined
}

function rejectWithout(scopes: readonly string[]): void {
  if (scopes.length > 0) throw insufficientScope(scopes)
}

class StepContext implements MethodContext {
  readonly server: Server
  readonly call: Call
  readonly environment: CallEnvironment
  readonly context: Context
  readonly instrumented: Instrumented | undefined
  readonly roundEnded: Promise<Outcome>
  thrown: unknown
  #caller: CallerContext | undefined

  constructor(
    server: Server,
    call: Call,
    environment: CallEnvironment,
    context: Context,
    instrumented: Instrumented | undefined,
    roundEnded: Promise<Outcome>,
  ) {
    this.server = server
    this.call = call
    this.environment = environment
    this.context = context
    this.instrumented = instrumented
    this.roundEnded = roundEnded
  }

  /** Most steps need no description of their caller. */
  get caller(): CallerContext {
    this.#caller ??= callerContextOf(this.call, this.environment)
    return this.#caller
  }
}

async function answerOf(method: Method, context: StepContext, { guard }: Round): Promise<Outcome> {
  const result = await guard.resultIfAwaited(await method.answer(context))
  return { type: 'result', result, cause: context.thrown }
}

/** @param signal of an interceptor: when it is aborted, the step ends with its reason */
async function runMethod(
  server: Server,
  method: Method,
  call: Call,
  journal: Journal,
  environment: CallEnvironment,
  signal?: AbortSignal,
): Promise<Outcome> {
  signal?.throwIfAborted()
  const { declarations } = server
  const within = signal ? { ...environment, signal: () => signal } : environment
  const round = new Round(journal, within)
  const callContext = new CallContext(call, round, within, declarations)
  const instrumented = declarations.instrument?.(callContext)
  const context = instrumented?.context ?? callContext
  const methodContext = new StepContext(server, call, within, context, instrumented, round.ended)
  const ends = [answerOf(method, methodContext, round), round.ended]
  if (environment.ended) ends.push(environment.ended)
  if (signal) ends.push(abortOf(signal, environment.signal()))
  try {
    return await Promise.race(ends)
  } finally {
    round.close()
    instrumented?.end()
  }
}
