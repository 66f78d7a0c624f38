import type { ServerEvent } from '../../worker/protocol/changes.ts'
import type { TaskEnded } from '../rpc.ts'
import { declaredScopes } from './call-scopes.ts'
import { endWaiting } from './input-requests.ts'
import type { SessionParts } from './session-parts.ts'

/** See `SessionRpc.changed`. */
type EventDetails = {
  readonly taskEnded: TaskEnded | undefined
  readonly scopes: readonly string[] | undefined
  readonly topics: readonly string[] | undefined
}

/**
 * Sends an event on the standing stream of a session, if its reader may read it.
 *
 * @returns false if the session has ended
 */
export async function deliverEvent(
  session: SessionParts,
  event: ServerEvent,
  { taskEnded, scopes = [], topics }: EventDetails,
): Promise<boolean> {
  // It may be registering right now. One without an id has ended without a trace.
  const hasEnded = () => session.lifetime.isOver || !session.lifetime.id
  if (hasEnded()) return false
  if (topics && !(await session.subscriptions?.hasSubscribed(topics))) return true
  if (hasEnded()) return false
  if (session.streams.takes(scopes, event)) {
    const { declarations } = session.host.server
    const isScoped =
      'resource' in event && declaredScopes(declarations, 'resources/subscribe', { uri: event.resource }).length > 0
    session.streams.sendEvent(event, scopes, isScoped)
  }
  if (taskEnded) {
    const [taskId, problem] = taskEnded
    endWaiting(session, session.ledger.askingFor(taskId), problem)
  }
  // Before it is acknowledged.
  session.streams.flush()
  return true
}
