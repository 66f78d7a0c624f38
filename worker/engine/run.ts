import type { Declarations } from '../declarations/declarations.ts'
import type { InputRequiredOutcome, Journal, Outcome, ResultOutcome } from '../declarations/outcome.ts'
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
  let failure: { readonly thrown: unknown; readonly error: unknown } | undefined
  const errorOf = (thrown: unknown, step = call) =>
    failure && Object.is(failure.thrown, thrown)
      ? failure.error
      : stepError(declarations, step, environment.signal, thrown)
  try {
    // Reported before interceptors see it: one of them may catch it.
    const onThrown = (thrown: unknown, step: Call) => {
      failure = { thrown, error: errorOf(thrown, step) }
    }
    return await runIntercepted(server, call, journal, environment, onThrown)
  } catch (thrown) {
    throw errorOf(thrown)
  }
}

async function runIntercepted(
  server: Server,
  call: Call,
  journal: Journal,
  environment: CallEnvironment,
  onThrown: (thrown: unknown, step: Call) => void,
): Promise<Outcome> {
  const { declarations } = server
  const method = methodOf(declarations, call)
  if (!method?.offered(declarations, environment))
    throw new McpError('method_not_found', `Method not found: ${call.method}`)
  progressToken(call.params)
  const checking = checkScopes(declarations, call, environment)
  if (checking) await checking
  const step = async (params: Params, signal?: AbortSignal): Promise<Outcome> => {
    if (params === call.params) return runMethod(server, method, call, journal, environment, signal)
    const changed = { ...call, params, clientParams: call.params }
    // An interceptor has changed the params.
    checkChangedCall(declarations, call, changed)
    await checkScopes(declarations, changed, environment)
    return runMethod(server, method, changed, journal, environment, signal)
  }
  const { interceptors } = declarations
  if (interceptors.length === 0) return step(call.params)
  return intercept(interceptors, call, environment.signal, async (params, signal) => {
    try {
      return await step(params, signal)
    } catch (thrown) {
      onThrown(thrown, { ...call, params })
      throw thrown
    }
  })
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
  const caller = () => callerContextOf(call, environment)
  const lacked = lackedScopes(declarations, call.principal, call, environment.seals.open, caller)
  if (lacked instanceof Promise) return lacked.then(rejectWithout)
  rejectWithout(lacked)
  return undefined
}

function rejectWithout(scopes: readonly string[]): void {
  if (scopes.length > 0) throw insufficientScope(scopes)
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
  const callContext = new CallContext(call, round, within, declarations.options.jsonSchema)
  const instrumented = declarations.instrument?.(callContext)
  const context = instrumented?.context ?? callContext
  const methodContext: MethodContext = {
    server,
    call,
    get caller() {
      return callerContextOf(call, within)
    },
    environment: within,
    context,
    instrumented,
    roundEnded: round.ended,
  }
  const returned = method
    .answer(methodContext)
    .then((result) => round.guard.resultIfAwaited(result))
    .then((result): Outcome => ({ type: 'result', result, cause: methodContext.thrown }))
  const ends = [environment.ended ?? [], signal ? abortOf(signal, environment.signal()) : []].flat()
  try {
    return await Promise.race([returned, round.ended, ...ends])
  } finally {
    round.close()
    instrumented?.end()
  }
}
