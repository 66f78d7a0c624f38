import { isObject } from '../protocol/jsonrpc.ts'
import type { Result } from '../protocol/types.ts'
import type { Asking } from '../server/around.ts'
import type { Registry } from '../server/server.ts'
import type { Call } from './call.ts'
import { Question } from './question.ts'

export { observe } from './question.ts'

/** Does anything wait for this answer? */
export const isAwaited = (answer: Promise<unknown>): boolean => !(answer instanceof Question) || answer.isAwaited

/**
 * Looks on at every call of a server, outside of what stands around it already.
 *
 * @param begun what to do as a call begins; it returns what to do when that is over, with the engine's `Outcome`
 * or what was thrown: see `isAsleep`
 */
export function watchCalls(registry: Registry, begun: (call: Call) => (came: unknown) => void): void {
  const { around } = registry
  registry.around = (asked, answer) => {
    // What stands around is handed the engine's own.
    const over = begun(asked.call as Call)
    return tellWhenOver(asked, around(asked, answer), over)
  }
}

/**
 * Tells when a round is over: its handler is done, or something came before.
 *
 * @param over handed the engine's `Outcome`, or what was thrown
 * @returns the answer as it is
 */
export function tellWhenOver(
  { blocked }: Asking,
  answered: Promise<Result>,
  over: (came: unknown) => void,
): Promise<Result> {
  Promise.race([answered.then((done) => ({ done })), blocked]).then(over, over)
  return answered
}

/** Ends a round with what `late` throws, for whoever looks on within as well, if that comes before its answer. */
export function unlessLate<A extends Asking>(
  asked: A,
  late: Promise<never>,
  answer: (asked: A) => Promise<Result>,
): Promise<Result> {
  const blocked = Promise.race([asked.blocked, late])
  // Perhaps nobody looks on.
  blocked.catch(() => {})
  return Promise.race([answer({ ...asked, blocked }), late])
}

/** Did the run of a task end because its handler sleeps? */
export const isAsleep = (came: unknown): boolean => isObject(came) && 'wake' in came
