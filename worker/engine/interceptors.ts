/** Runs the steps of calls within interceptors. */
import type { Params, Result } from '../protocol/types.ts'
import type { CallInfo, Interceptor, Next } from '../server/interceptor.ts'
import type { Outcome } from '../server/outcome.ts'
import type { Call } from './call.ts'
import type { MethodContext } from './methods/method.ts'

/** Runs what is innermost. @param signal of the interceptor around it; left out: that of the call */
type Step = (params: Params, signal: AbortSignal | undefined) => Promise<Outcome>

const callKey = Symbol('call')
const signalKey = Symbol('signal')

class InterceptedCall implements CallInfo {
  readonly params: Params
  // No private members: an interceptor of a mounted server gets an object that inherits from this one.
  readonly [callKey]: Call
  readonly [signalKey]: () => AbortSignal

  constructor(call: Call, params: Params, signal: () => AbortSignal) {
    this[callKey] = call
    this.params = params
    this[signalKey] = signal
  }

  get method() {
    return this[callKey].method
  }

  get protocolVersion() {
    return this[callKey].revision.date
  }

  get principal() {
    return this[callKey].principal
  }

  get client() {
    return this[callKey].client
  }

  get session() {
    return this[callKey].session
  }

  get isTask() {
    return this[callKey].isTask === true
  }

  get admitted() {
    return this[callKey].admitted
  }

  /** Made when an interceptor reads it: most calls end before anything could abort them. */
  get signal() {
    return this[signalKey]()
  }
}

const outcomeTypes = new Set<unknown>(['result', 'input_required', 'suspended'] satisfies Outcome['type'][])

/** @param interceptors the first one is outermost */
export function intercept(
  interceptors: readonly Interceptor[],
  call: Call,
  signalOfCall: () => AbortSignal,
  step: Step,
): Promise<Outcome> {
  const runFrom = async (index: number, params: Params, signal: AbortSignal | undefined): Promise<Outcome> => {
    const interceptor = interceptors[index]
    if (!interceptor) return step(params, signal)
    let isCalled = false
    const next: Next = async (changed = params, { signal: inner = signal } = {}) => {
      if (isCalled) throw new Error('An interceptor called next() twice: call it once')
      isCalled = true
      return runFrom(index + 1, changed, inner)
    }
    const outcome = await interceptor(new InterceptedCall(call, params, () => signal ?? signalOfCall()), next)
    if (outcomeTypes.has(outcome?.type)) return outcome
    throw new Error(
      `An interceptor of ${call.method} returned no outcome: return what next() resolves to, or { type: 'result', result }`,
    )
  }
  return runFrom(0, call.params, undefined)
}

/** Interceptors around a part of a step: what a method asks of an upstream. The step has ended when they return no result. */
export async function interceptPart(
  interceptors: readonly Interceptor[],
  methodContext: MethodContext,
  answer: (methodContext: MethodContext) => Promise<Result>,
): Promise<Result> {
  const { call, environment, blocked } = methodContext
  const outcome = await intercept(interceptors, call, environment.signal, (params, signal) => {
    const context = signal ? { ...methodContext.context, signal } : methodContext.context
    const answered = answer({ ...methodContext, context, call: { ...call, params } })
    return Promise.race([answered.then((result) => ({ type: 'result' as const, result })), blocked])
  })
  return outcome.type === 'result' ? outcome.result : new Promise<never>(() => {})
}
