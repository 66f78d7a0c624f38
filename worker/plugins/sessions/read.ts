/** Reads requests of a session: `Mcp-Session-Id`, and `Last-Event-ID` to resume a stream. */

import { boundedHeader } from '../../http/bounded-header.ts'
import { errorResponse, noBatches, sessionRequired, unknownSession } from '../../http/error-response.ts'
import type { Host } from '../../http/host.ts'
import type { TransportPost } from '../../http/transport.ts'
import { McpError } from '../../protocol/errors.ts'
import { isNotification } from '../../protocol/jsonrpc.ts'
import type { Principal } from '../../protocol/principal.ts'
import { revisionOf } from '../../protocol/revisions/index.ts'
import { openSessionId, type Session } from './session-id.ts'
import { accepted, type SessionPost } from './session-object.ts'

/** A POST to a session. */
export type SessionCalls = { readonly session: Session; readonly post: SessionPost }

/** @param streams whether the client accepts event streams */
export async function readSessionPost(
  { id, messages, batch }: TransportPost,
  streams: boolean,
  host: Host,
  principal: Principal | undefined,
): Promise<SessionCalls | Response> {
  const session = await openSessionId(id, host, principal)
  if (!session) return unknownSession(messages)
  const { handshake } = session
  if (batch && !revisionOf(handshake.version)?.batching) return errorResponse(noBatches(handshake.version))
  const [first] = messages
  // Nothing depends on it, so it wakes no object.
  if (!batch && first && isNotification(first) && first.method === 'notifications/initialized') return accepted()
  return { session, post: { session, messages, batch, streams } }
}

/** Returns the session of a GET or a DELETE. @throws McpError `session_required` without a session id */
export async function readSession(
  request: Request,
  host: Host,
  principal: Principal | undefined,
): Promise<Session | Response> {
  const id = request.headers.get('Mcp-Session-Id')
  if (id === null) throw sessionRequired(`${request.method} is about a session`)
  return (await openSessionId(id, host, principal)) ?? unknownSession([])
}

/** A GET of a session. `after`: the event to continue after; absent: the standing stream, from the next event. */
export type SessionStream = { readonly session: Session; readonly after: string | undefined }

export async function readSessionStream(
  request: Request,
  host: Host,
  principal: Principal | undefined,
): Promise<SessionStream | Response> {
  const session = await readSession(request, host, principal)
  if (session instanceof Response) return session
  const after = boundedHeader(request, 'Last-Event-ID') ?? undefined
  // It becomes part of a URL: see `relayRequest`.
  if (after !== undefined && !/^[0-9.]+$/.test(after)) return unknownEvent(after)
  return { session, after }
}

/** @param after `undefined`: the new stream of a POST, whose responses exceed the limits of its log */
export const unknownEvent = (after: string | undefined): Response =>
  errorResponse(
    after === undefined
      ? new McpError(
          'internal_error',
          'The responses to this POST exceed the log of its stream: send fewer requests in one batch',
        )
      : new McpError(
          'invalid_request',
          `Last-Event-ID ${after} is no longer in the log of this session: open a new stream`,
        ),
  )
