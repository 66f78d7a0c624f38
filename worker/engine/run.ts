import type { CallerContext, Guarded } from '../declarations/caller.ts'
import type { InputRequiredOutcome, Journal, Outcome, ResultOutcome } from '../declarations/outcome.ts'
import { resultGuards } from '../declarations/result-guards.ts'
import type { Server } from '../declarations/server.ts'
import { McpError } from '../protocol/errors.ts'
import { progressToken } from '../protocol/meta.ts'
import type { Params } from '../protocol/types.ts'
import type { Call, CallEnvironment } from './call.ts'
import { contextOf } from './call-context.ts'
import { callerContextOf } from './caller.ts'
import { stepError } from './failure.ts'
import { abortOf, intercept } from './interceptors.ts'
import type { Found, Method, MethodContext, Target } from './methods/method.ts'
import { insufficientScope, lackedScopes } from './required-scopes.ts'
import { resolve } from './resolve.ts'
import { Round } from './round.ts'

/**
 * Runs one step of a call, until it has a result or needs input. A step never waits for a client, so it needs no session, stream or
 * connection: its caller is the loop.
 *
 * @param target what the call names. Default: it is looked up
 * @throws McpError for a JSON-RPC error
 */
export async function run(
  server: Server,
  call: Call,
  journal: Journal,
  environment: CallEnvironment,
  target = resolve(server.declarations, call),
): Promise<Outcome> {
  const { declarations } = server
  const { interceptors } = declarations
  let failure: { readonly thrown: unknown; readonly error: unknown } | undefined
  const errorOf = (thrown: unknown, step = call) => stepError(declarations, step, environment.signal, thrown)
  try {
    const method = target.callIn(call.revision)
    if (!method?.offered(declarations, environment))
      throw new McpError('method_not_found', `Method not found: ${call.method}`)
    progressToken(call.params)
    const checking = checkScopes(call, environment, target)
    if (checking) await checking
    const step = async (params: Params, signal?: AbortSignal): Promise<Outcome> => {
      try {
        if (params === call.params) return await runMethod(server, method, call, journal, environment, target, signal)
        // An interceptor has changed the params.
        const changed = { ...call, params, clientParams: call.params }
        const changedTarget = resolve(declarations, changed)
        checkChanged(target.found, changedTarget.found, params)
        await checkScopes(changed, environment, changedTarget)
        return await runMethod(server, method, changed, journal, environment, changedTarget, signal)
      } catch (thrown) {
        // Reported before interceptors see it: one of them may catch it.
        failure = { thrown, error: errorOf(thrown, { ...call, params }) }
        throw thrown
      }
    }
    const outcome = await (interceptors.length > 0
      ? intercept(interceptors, call, environment.signal, step)
      : step(call.params))
    if (outcome.type === 'result') for (const refuse of resultGuards) await refuse(outcome.result)
    return outcome
  } catch (thrown) {
    throw failure && Object.is(failure.thrown, thrown) ? failure.error : errorOf(thrown)
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
function checkChanged({ entry: before }: Found, { entry, tool }: Found, params: Params): void {
  if (!entry || entry === before) return
  if (entry.rateLimit === before?.rateLimit && !tool?.singleUse) return
  const { name = '', uri = name } = params
  throw new Error(`An interceptor calls "${uri}", which has rateLimit or singleUse: let the client call it`)
}

/** @returns nothing to wait for, for most calls. @throws McpError `insufficient_scope` */
function checkScopes(call: Call, environment: CallEnvironment, target: Target): Promise<void> | undefined {
  const isVisibleTo = (entry: Guarded) => target.isVisible(entry, { caller: callerContextOf(call, environment) })
  return lackedScopes(target, call.principal, environment.seals.open, isVisibleTo)?.then((scopes) => {
    if (scopes.length > 0) throw insufficientScope(scopes)
  })
}

/** @param signal of an interceptor: when it is aborted, the step ends with its reason */
async function runMethod(
  server: Server,
  method: Method,
  call: Call,
  journal: Journal,
  environment: CallEnvironment,
  target: Target,
  signal?: AbortSignal,
): Promise<Outcome> {
  signal?.throwIfAborted()
  const { declarations } = server
  const within = signal ? { ...environment, signal: () => signal } : environment
  const round = new Round(journal, within)
  const callContext = contextOf(call, round, within, declarations)
  const instrumented = declarations.instrument?.(callContext)
  const context = instrumented?.context ?? callContext
  let caller: CallerContext | undefined
  const methodContext: MethodContext = {
    server,
    call,
    target,
    // Most steps need no description of their caller.
    get caller() {
      caller ??= callerContextOf(call, within)
      return caller
    },
    environment: within,
    context,
    instrumented,
    roundEnded: round.ended,
  }
  const answer = async (): Promise<Outcome> => {
    const result = await round.guard.resultIfAwaited(await method.answer(methodContext))
    return { type: 'result', result, cause: methodContext.thrown }
  }
  const ends = [answer(), round.ended]
  if (environment.ended) ends.push(environment.ended)
  if (signal) ends.push(abortOf(signal, environment.signal()))
  try {
    return await Promise.race(ends)
  } finally {
    round.close()
    instrumented?.end()
  }
}
