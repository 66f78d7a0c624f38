import type { Call } from '../engine/call.ts'
import type { Watch } from '../server/context.ts'
import { begin, end, requestWith } from './hops.ts'

/** Whoever looks on, and how long it takes. */
export const watchHandlers =
  (watch: Watch): Watch =>
  (given, context) => {
    const watched = watch(given, context)
    // What watches is handed the engine's own.
    const { method, params, session, isTask } = given as Call
    const { name, uri } = params
    const what = [isTask && 'task', method, name ?? uri].filter(Boolean).join(' ')
    const hop = begin('handler', what, requestWith(session?.id, method, params))
    return {
      ...watched,
      context: watched?.context ?? context,
      end(came) {
        end(hop, came instanceof Error)
        watched?.end(came)
      },
    }
  }
