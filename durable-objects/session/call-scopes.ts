/** The scopes that a token needs for the requests of a POST, and for the open calls that it continues or ends. */
import { isRequestId, isResponse, type RequestMessage } from '../../worker/protocol/jsonrpc.ts'
import type { RequestId } from '../../worker/protocol/types.ts'
import type { Post } from '../rpc.ts'
import { requestKey } from '../shared/call-ledger.ts'
import type { SessionParts } from './session-parts.ts'

/** Returns the scopes for a request. */
export const scopesIn = ({ messages, scopes }: Post, request: RequestMessage): readonly string[] =>
  scopes[messages.indexOf(request)] ?? []

/** Returns the scopes that a token needs to cancel a call. */
function scopesToCancel(session: SessionParts, id: RequestId): readonly string[] {
  return session.running.get(requestKey(id))?.call.scopes ?? session.ledger.scopesToCancel(id)
}

/**
 * Returns the scopes that a token needs for the open calls that a POST continues or ends: it answers their input requests, or cancels
 * them.
 */
export function scopesOfOpenCalls(session: SessionParts, { messages }: Pick<Post, 'messages'>): string[] {
  const scopes = messages.flatMap((message) => {
    if (isResponse(message)) {
      const { ledger, clientTasks } = session
      return isRequestId(message.id) ? ledger.scopesOf(clientTasks?.questionOf(message.id) ?? message.id) : []
    }
    const id = message.method === 'notifications/cancelled' ? message.params?.requestId : undefined
    return isRequestId(id) ? scopesToCancel(session, id) : []
  })
  return [...new Set(scopes)]
}
