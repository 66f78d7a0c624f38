/**
 * The HTTP+SSE transport: one stream that is the session, and a second endpoint to post to.
 *
 * @see https://modelcontextprotocol.io/specification/2024-11-05/basic/transports#http-with-sse
 */

import { bounds } from '../protocol/bounds.ts'
import { unknownVersion } from '../protocol/classify.ts'
import { McpError } from '../protocol/errors.ts'
import { messagesIn } from '../protocol/jsonrpc.ts'
import type { RequestId } from '../protocol/types.ts'
import type { IncomingRequest } from '../request-hooks.ts'
import { authenticate, refusedScopes, rejectIfForbidden } from './access.ts'
import { readMessages } from './body.ts'
import { errorResponse, idOf, notAllowed } from './error-response.ts'
import type { Host } from './host.ts'
import { openRelay } from './relay.ts'
import { accepted, feedRequest, keepRefusals, scopesOfEach, sessionLife, unknownSession } from './sessions.ts'

const purpose = 'sse'

type SseSession = { name: string; expires: number }

/** GET: opens a session. Its first event says where to post. */
export async function openSse(request: Request, host: Host, incoming: IncomingRequest): Promise<Response> {
  if (!host.objects) return notAllowed('OPTIONS')
  const principal = await authenticate(request, host, incoming)
  const badVersion = unknownVersion(request.headers.get('MCP-Protocol-Version'))
  if (badVersion) return errorResponse(badVersion)
  const forbidden = await rejectIfForbidden([], host, incoming)
  if (forbidden) return forbidden
  const session: SseSession = { name: crypto.randomUUID(), expires: Date.now() + sessionLife }
  const id = await (await host.sealer()).seal(purpose, principal, session, sessionLife)
  const { objects } = host
  const terms = host.termsOf(session.name)
  const settings = { sse: '1', relay: crypto.randomUUID(), terms, expires: String(session.expires) }
  return openRelay({
    ...host.limits,
    dial: (after, again) => objects.session(session.name).fetch(feedRequest(settings, after, again)),
    notifyOnClose: true,
    firstFrame: `event: endpoint\ndata: ${host.paths.messages}?session=${encodeURIComponent(id)}\n\n`,
  })
}

/** POST: one message of such a session. The answer comes on its stream. */
export async function postSse(request: Request, host: Host, incoming: IncomingRequest): Promise<Response> {
  if (!host.objects) return notAllowed('OPTIONS')
  const principal = await authenticate(request, host, incoming)
  const parsed = await readMessages(request, host.limits)
  if ('malformed' in parsed) return refuse(parsed.malformed, parsed.id)
  if ('batch' in parsed) return refuse(new McpError('invalid_request', 'This transport has no batches'))
  const messages = [parsed.message]
  // 2024-11-05 has no such header. A client that sends one all the same must not name a version that nobody speaks.
  const badVersion = unknownVersion(request.headers.get('MCP-Protocol-Version'))
  if (badVersion) return refuse(badVersion, idOf(messages))
  const forbidden = await rejectIfForbidden(messages, host, incoming)
  if (forbidden) return forbidden
  const id = new URL(request.url).searchParams.get('session')
  if (id === null) {
    const error = new McpError('session_required', 'Missing query parameter session: GET the stream first')
    return errorResponse(error, idOf(messages))
  }
  if (id.length > bounds.sessionIdCharacters) return unknownSession(messages)
  const session = (await (await host.sealer()).open(purpose, principal, id)) as SseSession | undefined
  if (!session) return unknownSession(messages)
  const { name, expires } = session
  const { identity, admitted } = host
  const caller = host.limit?.callerOf?.(incoming)
  const posted = await host.objects.session(name).post({
    messages,
    scopes: await scopesOfEach(messages, host, principal),
    batch: false,
    handshake: undefined,
    principal,
    caller,
    address: incoming.request.headers.get('CF-Connecting-IP') ?? undefined,
    session: id,
    identity,
    admitted,
    terms: host.termsOf(name),
    expires,
    streams: true,
  })
  if ('lacks' in posted) return refusedScopes(posted.lacks, host, incoming)
  if ('gone' in posted) return unknownSession(messages)
  keepRefusals(incoming, messages, posted)
  return accepted()

  /** Refuses the request before its messages are looked up. The audit log names their methods all the same. */
  function refuse(error: McpError, requestId?: RequestId): Response {
    incoming.messages = messagesIn(parsed)
    incoming.rejection = error
    return errorResponse(error, requestId)
  }
}
