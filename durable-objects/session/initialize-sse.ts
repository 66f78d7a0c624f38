/** `initialize` of a session over HTTP+SSE, which its object answers. The Worker answers that of other sessions. */
import { callerOf } from '../../worker/engine/caller.ts'
import { notifyOfClient } from '../../worker/engine/methods/initialize.ts'
import type { InitializeMethod } from '../../worker/engine/methods/method.ts'
import { openContext } from '../../worker/engine/request-context.ts'
import { McpError } from '../../worker/protocol/errors.ts'
import type { RequestMessage } from '../../worker/protocol/jsonrpc.ts'
import { revisionOf } from '../../worker/protocol/revisions/index.ts'
import type { Result } from '../../worker/protocol/types.ts'
import type { Post } from '../rpc.ts'
import type { PendingPost } from './pending-post.ts'
import { httpRequestFrom } from './posted-request.ts'
import type { SessionParts } from './session-parts.ts'

/**
 * Stores the handshake last, in one turn with the response: if the object is lost before, or anything fails, the client may initialize again.
 *
 * @throws McpError `invalid_request` for a session that is initialized; `session_not_found` for one that ended meanwhile
 */
export async function initializeSse(
  method: InitializeMethod,
  session: SessionParts,
  { revision }: PendingPost,
  request: RequestMessage,
  from: Post,
): Promise<Result> {
  const { epoch } = session.lifetime
  const check = () => {
    if (epoch !== session.lifetime.epoch) throw new McpError('session_not_found', 'The session has ended')
    if (from.handshake || session.values.get('handshake')) {
      throw new McpError('invalid_request', 'This session is already initialized')
    }
  }
  check()
  const negotiated = method.negotiate(request.params)
  const { declarations } = session.host.serverFor(from.admitted)
  const agreed = revisionOf(negotiated.version) ?? revision
  const { principal, identity, http, address, admitted, expires } = from
  const caller = callerOf({
    principal,
    client: negotiated.client,
    capabilities: agreed.client(negotiated.capabilities),
    requestContext: await openContext(from.requestContext, session.host.seals(principal, identity)),
    request: httpRequestFrom(http, address),
    protocolVersion: agreed.date,
  })
  await notifyOfClient(declarations, agreed, caller, from.session)
  const features = { updates: session.registration.isOffered, hasSessions: true }
  const result = await method.answer(declarations, agreed, features, caller)
  // After each wait, the stream may have been closed, or another request may have initialized the session.
  check()
  // A client that has the response misses no change. After a failure, the next POST repeats the registration.
  await session.subscriptions?.listen(principal).catch(session.host.report)
  check()
  session.values.put('handshake', negotiated)
  if (declarations.hooks?.onSessionEnd) {
    session.lifetime.setOwner({ client: negotiated.client, principal, admitted }, expires)
  }
  return result
}
