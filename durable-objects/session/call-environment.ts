/** The environment of a call in its session: the call in the form of the engine, and the services for its handler. */
import type { RequestContext } from '../../worker/declarations/request-context.ts'
import type { Call, CallEnvironment } from '../../worker/engine/call.ts'
import type { Cancellation } from '../../worker/engine/cancellation.ts'
import { wait } from '../../worker/engine/wait.ts'
import { notificationText } from '../../worker/protocol/jsonrpc.ts'
import { defaultLogLevel } from '../../worker/protocol/meta.ts'
import type { PendingPost, SessionCall } from './pending-post.ts'
import { httpRequestFrom } from './posted-request.ts'
import { notify, release } from './replies.ts'
import type { SessionParts } from './session-parts.ts'

/** @param requestContext that of the call, unsealed */
export const callOf = (
  { values }: Pick<SessionParts, 'values'>,
  { revision }: PendingPost,
  { request, handshake, principal, session, admitted, http, address }: SessionCall,
  requestContext: RequestContext,
): Call => ({
  method: request.method,
  params: request.params ?? {},
  revision,
  capabilities: revision.client(handshake.capabilities),
  client: handshake.client,
  principal,
  requestContext,
  request: httpRequestFrom(http, address),
  session: { id: session },
  admitted,
  requestId: request.id,
  logLevel: values.get('logLevel') ?? defaultLogLevel,
})

/** @param cancellation once it is aborted, the call sends nothing */
export function environmentOf(
  session: SessionParts,
  post: PendingPost,
  call: SessionCall,
  cancellation: Cancellation,
  batch: object | undefined,
): CallEnvironment {
  const { principal, identity, expires } = call
  const { epoch } = session.lifetime
  const send: CallEnvironment['notify'] = (notification, sentCount) => {
    const written = post.revision.notification(notification)
    if (written && !cancellation.isAborted) notify(session, post, notificationText(written), call, sentCount)
  }
  return {
    signal: () => cancellation.signal,
    post: batch ?? post,
    seals: session.host.seals(principal, identity),
    state: {
      object: session.host.state,
      session: {
        name: session.lifetime.name,
        expires,
        addStateObject: (state) => session.lifetime.addStateObject(state, expires, epoch),
      },
    },
    updates: session.registration.isOffered,
    canFollowTasks: session.clientTasks !== undefined,
    known: ({ method }) => (method === 'roots/list' ? session.values.get('roots') : undefined),
    notify: send,
    now: Date.now,
    sleep: (untilMs) => wait(untilMs - Date.now(), cancellation.signal),
    closeStream: (retry) => {
      if (!cancellation.isAborted) release(session, post, expires, retry)
    },
    completed(question, sentCount, id = elicitationId(call.row, question)) {
      const params = { elicitationId: id }
      send({ method: 'notifications/elicitation/complete', params }, sentCount)
    },
    report: session.host.report,
  }
}

/** Returns a name of an elicitation that is unique in the session, and never reused. */
export const elicitationId = (row: number | undefined, key: string) => `${row}-${key}`
