/** The recovery of calls that were running when the object was lost. */
import type { Declarations } from '../../worker/declarations/declarations.ts'
import { McpError } from '../../worker/protocol/errors.ts'
import type { RequestMessage } from '../../worker/protocol/jsonrpc.ts'
import { runStep } from './calls.ts'
import { holdAwake } from './keep-awake.ts'
import type { SessionCall } from './pending-post.ts'
import { fail, restOfPost } from './replies.ts'
import type { SessionParts } from './session-parts.ts'

/** How often a call runs again before it ends with an error. */
const mostRepeats = 2

/** Recovers the calls that were running in the last instance: runs each again, or ends it with an error. */
export function recoverCalls(session: SessionParts): void {
  if (!session.isNew) return
  const expires = session.lifetime.id?.expires ?? 0
  for (const { row, call } of session.ledger.unasked()) {
    const post = restOfPost(call)
    const sessionCall: SessionCall = { ...call, row, principal: undefined, caller: undefined, expires }
    const isSafe = isSafeToRetry(session.host.server.declarations, call.request)
    // Only the client's next request has its principal, so a call of a principal is not run again without one.
    if (isSafe && !call.isPersonal && call.repeats < mostRepeats) {
      session.ledger.rewrite(row, { ...call, repeats: call.repeats + 1 })
      const sentCount = Math.max(call.journal.notificationsSent, session.log.saidBy(row, call.stream))
      runStep(session, post, { ...sessionCall, journal: { ...call.journal, notificationsSent: sentCount } })
      continue
    }
    const data = { reason: 'interrupted', retryable: isSafe }
    const interrupted = new McpError('call_interrupted', 'The call was interrupted', data)
    fail(session, post, call.request.id, interrupted, sessionCall)
  }
  session.isNew = false
  void holdAwake(session)
}

/** Whether a request may run again after it was interrupted: a request that only reads, or a tool whose annotations allow it. */
function isSafeToRetry({ tools }: Declarations, { method, params }: RequestMessage): boolean {
  if (method !== 'tools/call') return true
  const { readOnlyHint, idempotentHint } = tools.get(String(params?.name))?.item.annotations ?? {}
  return readOnlyHint === true || idempotentHint === true
}
