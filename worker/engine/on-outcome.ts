import { isObject } from '../protocol/jsonrpc.ts'
import type { Result } from '../protocol/types.ts'
import type { InterceptedCall } from '../server/interceptor.ts'
import type { Registry } from '../server/server.ts'
import type { Call } from './call.ts'
import { Question } from './question.ts'

export { observe } from './question.ts'

/** Does anything wait for this answer? */
export const isAwaited = (answer: Promise<unknown>): boolean => !(answer instanceof Question) || answer.isAwaited

/**
 * Looks on at every call of a server, outside of what stands around it already.
 *
 * @param onStart what to do as a call begins; it returns what to do when that is over, with the engine's `Outcome`
 * or what was thrown: see `isAsleep`
 */
export function onCall(registry: Registry, onStart: (call: Call) => (outcome: unknown) => void): void {
  const { interceptor } = registry
  registry.interceptor = (intercepted, answer) => {
    // What stands around is handed the engine's own.
    const onEnd = onStart(intercepted.call as Call)
    return onOutcome(intercepted, interceptor(intercepted, answer), onEnd)
  }
}

/**
 * Tells when a round is over: its handler is done, or something came before.
 *
 * @param onEnd handed the engine's `Outcome`, or what was thrown
 * @returns the answer as it is
 */
export function onOutcome(
  { blocked }: InterceptedCall,
  answered: Promise<Result>,
  onEnd: (outcome: unknown) => void,
): Promise<Result> {
  Promise.race([answered.then((done) => ({ done })), blocked]).then(onEnd, onEnd)
  return answered
}

/** Ends a round with what `late` throws, for whoever looks on within as well, if that comes before its answer. */
export function withDeadline<A extends InterceptedCall>(
  intercepted: A,
  late: Promise<never>,
  answer: (outer: A) => Promise<Result>,
): Promise<Result> {
  const blocked = Promise.race([intercepted.blocked, late])
  // Perhaps nobody looks on.
  blocked.catch(() => {})
  return Promise.race([answer({ ...intercepted, blocked }), late])
}

/** Did the run of a task end because its handler sleeps? */
export const isSuspended = (outcome: unknown): boolean => isObject(outcome) && 'wake' in outcome
