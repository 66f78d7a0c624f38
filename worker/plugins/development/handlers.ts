import type { Interceptor } from '../../declarations/interceptor.ts'
import { begin, end, requestWith } from './hops.ts'

/** Measures how long each handler takes. */
export const timeHandlers = (async ({ method, params, session, isTask }, next) => {
  const { name, uri } = params
  const what = [isTask && 'task', method, name ?? uri].filter(Boolean).join(' ')
  const hop = begin('handler', what, requestWith(session?.id, method, params))
  try {
    const outcome = await next()
    end(hop, false)
    return outcome
  } catch (thrown) {
    end(hop, true)
    throw thrown
  }
}) satisfies Interceptor
