/** Runs the steps of calls inside interceptors. */

import type { CallInfo, Interceptor, Next } from '../declarations/interceptor.ts'
import type { Outcome } from '../declarations/outcome.ts'
import { emptyContext } from '../declarations/request-context.ts'
import { isObject } from '../protocol/jsonrpc.ts'
import type { Params } from '../protocol/types.ts'
import type { Call } from './call.ts'

/** Runs the innermost step. @param signal of the interceptor around it. Default: that of the call */
type Step = (params: Params, signal: AbortSignal | undefined) => Promise<Outcome>

/** The signal is made when an interceptor reads it: most calls end before anything could abort them. */
export const infoOf = (
  {
    method,
    revision,
    principal,
    requestContext = emptyContext,
    request,
    client,
    session,
    isTask = false,
  }: Pick<Call, 'method' | 'revision' | 'principal'> & Partial<Call>,
  params: Params,
  signal: () => AbortSignal,
): CallInfo => ({
  method,
  params,
  protocolVersion: revision.date,
  principal,
  requestContext,
  request,
  client,
  session,
  isTask,
  get signal() {
    return signal()
  },
})

/** The params of the innermost step, by the descriptions that interceptors of the call got. */
const innermost = new WeakMap<CallInfo, { params: Params }>()

/** Returns the params with which a call ran: those of the last interceptor that changed them. @param info as an interceptor of it got it */
export const paramsOfRun = (info: CallInfo): Params => (innermost.get(info) ?? info).params

const outcomeTypes = new Set<unknown>(['result', 'input_required', 'suspended'] satisfies Outcome['type'][])

/** @param interceptors outermost first */
export function intercept(
  interceptors: readonly Interceptor[],
  call: Call,
  signalOfCall: () => AbortSignal,
  step: Step,
): Promise<Outcome> {
  const last = { params: call.params }
  const runFrom = async (index: number, params: Params, signal: AbortSignal | undefined): Promise<Outcome> => {
    const interceptor = interceptors[index]
    if (!interceptor) {
      last.params = params
      return step(params, signal)
    }
    let isCalled = false
    const next: Next = async (changed = params, { signal: inner = signal } = {}) => {
      if (isCalled) throw new Error('An interceptor called next() twice: call it once')
      isCalled = true
      return runFrom(index + 1, changed, inner)
    }
    const info = infoOf(call, params, () => signal ?? signalOfCall())
    innermost.set(info, last)
    const outcome = await interceptor(info, next)
    if (outcomeTypes.has(outcome?.type) && (outcome.type !== 'result' || isObject(outcome.result))) return outcome
    throw new Error(
      `An interceptor of ${call.method} returned no outcome: return that of next(), or { type: 'result', result }`,
    )
  }
  return runFrom(0, call.params, undefined)
}

/**
 * Rejects with the reason with which an interceptor aborts its signal. A call that its client cancels ends when its handler returns: until
 * then it counts as running.
 */
export const abortOf = (signal: AbortSignal, ofCall: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    const end = () => {
      if (!ofCall.aborted) reject(signal.reason)
    }
    if (signal.aborted) end()
    else signal.addEventListener('abort', end, { once: true })
  })
