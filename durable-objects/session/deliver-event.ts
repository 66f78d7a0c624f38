/** Events on the standing stream of a session. Only `subscriptions()` and `tasks()` publish them, and bring this code. */
import type { Guarded } from '../../worker/declarations/caller.ts'
import { resolve } from '../../worker/engine/resolve.ts'
import { eventNotification, type ServerEvent } from '../../worker/protocol/changes.ts'
import { notificationText } from '../../worker/protocol/jsonrpc.ts'
import { defaultLogLevel, includesLevel } from '../../worker/protocol/meta.ts'
import { holdsScopes } from '../../worker/protocol/principal.ts'
import type { TaskEnded } from '../rpc.ts'
import { standingStream } from '../shared/event-log.ts'
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
  const resources = 'resource' in event ? resourcesAt(session, event.resource) : []
  if (takes(session, scopes, event) && mayRead(session, resources)) {
    sendEvent(session, event, scopes, resources.some(isScoped))
  }
  if (taskEnded) {
    const [taskId, problem] = taskEnded
    endWaiting(session, session.ledger.askingFor(taskId), problem)
  }
  // Before it is acknowledged.
  session.streams.flush()
  return true
}

/** Returns the declared resource that has a URI, or those of all upstreams that may have it. */
const resourcesAt = ({ host }: SessionParts, uri: string) =>
  resolve(host.server.declarations, { method: 'resources/subscribe', params: { uri } }).found.entries

const isScoped = ({ scopes = [] }: Guarded): boolean => scopes.length > 0

/** Whether the reader has the scopes of one of these resources. Over HTTP+SSE, no other token can open the stream. */
const mayRead = ({ values }: SessionParts, resources: readonly Guarded[]): boolean =>
  !resources.some(isScoped) ||
  values.get('handshake') !== undefined ||
  resources.some(({ scopes }) => holdsScopes(values.get('reader')?.scopes, scopes))

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
