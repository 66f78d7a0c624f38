/** Events on the standing stream of a session. Only `subscriptions()` and `tasks()` publish them, and bring this code. */
import { eventNotification, type ServerEvent } from '../../worker/protocol/changes.ts'
import { notificationText } from '../../worker/protocol/jsonrpc.ts'
import { defaultLogLevel, includesLevel } from '../../worker/protocol/meta.ts'
import { holdsScopes } from '../../worker/protocol/principal.ts'
import type { TaskEnded } from '../rpc.ts'
import { standingStream } from '../shared/event-log.ts'
import { declaredScopes } from './call-scopes.ts'
import { endWaiting } from './input-requests.ts'
import type { SessionParts } from './session-parts.ts'

/** See `SessionRpc.changed`. */
export type EventDetails = {
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
  if (takes(session, scopes, event)) {
    const { declarations } = session.host.server
    const isScoped =
      'resource' in event && declaredScopes(declarations, 'resources/subscribe', { uri: event.resource }).length > 0
    sendEvent(session, event, scopes, isScoped)
  }
  if (taskEnded) {
    const [taskId, problem] = taskEnded
    endWaiting(session, session.ledger.askingFor(taskId), problem)
  }
  // Before it is acknowledged.
  session.streams.flush()
  return true
}

/**
 * Whether the standing stream is open, its reader has these scopes and, for a log message, the log level of the client includes its level.
 */
function takes({ values, log }: SessionParts, scopes: readonly string[], event: ServerEvent): boolean {
  if ('method' in event && event.method === 'notifications/message') {
    if (!includesLevel(values.get('logLevel') ?? defaultLogLevel, event.params.level)) return false
  }
  const isReadable = scopes.length === 0 || holdsScopes(values.get('reader')?.scopes, scopes)
  return isReadable && log.find(standingStream) !== undefined
}

/**
 * Sends an event on the standing stream.
 *
 * @param taskScopes the scopes of the task whose status it is; empty without scopes
 * @param isScopedResource whether it is about a resource with scopes
 */
export function sendEvent(
  { values, streams }: SessionParts,
  event: ServerEvent,
  taskScopes: readonly string[],
  isScopedResource: boolean,
): void {
  const scoped = taskScopes.length > 0 ? 'task' : isScopedResource ? 'resource' : undefined
  if (scoped === 'task') values.put('taskScopes', [...new Set([...(values.get('taskScopes') ?? []), ...taskScopes])])
  streams.send(standingStream, notificationText(eventNotification(event)), { scoped })
}
