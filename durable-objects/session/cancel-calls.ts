/** Cancellation: ends running calls without a reply. */
import type { RequestId } from '../../worker/protocol/types.ts'
import { requestKey } from '../shared/call-ledger.ts'
import { cancelWaiting } from './input-requests.ts'
import { drop } from './replies.ts'
import type { SessionParts } from './session-parts.ts'

/** @see https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/cancellation */
export function cancelCall(session: SessionParts, id: RequestId, reason: unknown): void {
  abandon(session, requestKey(id), reason)
  cancelWaiting(session, id)
}

/** Ends every running call: one that cannot be dropped is reported. */
export function abandonAll(session: SessionParts, reason: unknown): void {
  for (const key of session.running.keys()) {
    try {
      abandon(session, key, reason)
    } catch (problem) {
      session.host.report(problem)
    }
  }
}

/** Ends a running call at once, without a reply, whether or not its handler observes the signal. */
function abandon(session: SessionParts, key: string, reason: unknown): void {
  const running = session.running.get(key)
  if (!running) return
  session.running.delete(key)
  try {
    drop(session, running.post, running.call)
  } finally {
    running.cancellation.abort(reason)
  }
}
