import type { Interceptor } from '../../../declarations/interceptor.ts'
import { abortOf, intercept } from '../../../engine/interceptors.ts'
import type { MethodContext } from '../../../engine/methods/method.ts'
import type { Result } from '../../../protocol/types.ts'

/** Runs interceptors around a part of a step: the request of a method to an upstream. If they return no result, the step ends. */
export async function interceptPart(
  interceptors: readonly Interceptor[],
  methodContext: MethodContext,
  answer: (methodContext: MethodContext) => Promise<Result>,
): Promise<Result> {
  const { call, environment, roundEnded } = methodContext
  const outcome = await intercept(interceptors, call, environment.signal, (params, signal) => {
    if (params.name !== call.params.name || params.uri !== call.params.uri) {
      throw new Error(
        'An interceptor of a mounted server cannot call another entry of an upstream: keep the name that the client called',
      )
    }
    const context = signal ? { ...methodContext.context, signal } : methodContext.context
    const answered = answer({ ...methodContext, context, call: { ...call, params } })
    const ends = signal ? [abortOf(signal, environment.signal())] : []
    return Promise.race([...ends, answered.then((result) => ({ type: 'result' as const, result })), roundEnded])
  })
  return outcome.type === 'result' ? outcome.result : new Promise<never>(() => {})
}
