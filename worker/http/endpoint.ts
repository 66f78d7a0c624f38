/** The endpoint: every revision of the protocol on one path. */

import { classify, unknownVersion } from '../protocol/classify.ts'
import { McpError } from '../protocol/errors.ts'
import { isRequest, isResponse, type Message, messagesIn } from '../protocol/jsonrpc.ts'
import { defaultRevision, revisionOf } from '../protocol/revisions/index.ts'
import type { RequestId } from '../protocol/types.ts'
import type { IncomingRequest } from '../request-hooks.ts'
import { accepts } from './accept.ts'
import { authenticate, rejectIfForbidden } from './access.ts'
import { readMessages } from './body.ts'
import { errorResponse, idOf, noBatches, notAllowed, sessionRequired } from './error-response.ts'
import type { Host } from './host.ts'
import { endSession, postToSession, startSession, streamSession } from './sessions.ts'
import { serveStateless, serveWithoutSession } from './stateless.ts'

/** POST: read, recognise the revision, hand on. */
export async function post(request: Request, host: Host, incoming: IncomingRequest): Promise<Response> {
  const principal = await authenticate(request, host, incoming)
  const accept = accepts(request.headers.get('Accept'))
  const parsed = await readMessages(request, host.limits)
  const signs = {
    version: request.headers.get('MCP-Protocol-Version'),
    session: request.headers.get('Mcp-Session-Id'),
  }
  const recognised = classify(parsed, signs)
  if ('refused' in recognised) return refuse(recognised.refused, recognised.id)
  if (!accept.json && !accept.stream) {
    const error = new McpError('not_acceptable', 'Accept must include application/json or text/event-stream')
    return refuse(error, 'message' in parsed ? idOf([parsed.message]) : undefined)
  }
  if ('ignored' in recognised) return new Response(null, { status: 202 })
  const posted =
    'messages' in recognised
      ? recognised.messages
      : ['stateless' in recognised ? recognised.stateless : recognised.handshake]
  const forbidden = await rejectIfForbidden(posted, host, incoming)
  if (forbidden) return forbidden
  const caller = host.limit?.callerOf?.(incoming)
  const counting = { caller, incoming }
  if ('stateless' in recognised) return serveStateless(request, host, principal, accept, recognised, counting)
  if ('handshake' in recognised) return startSession(recognised.handshake, host, principal)
  const { messages, batch } = recognised
  if (!host.objects || signs.session === null) return postWithoutSession(messages, batch)
  return postToSession(messages, { batch, session: signs.session, forms: accept, caller }, host, incoming)

  /** Refuses the request before its messages are looked up. The audit log names their methods all the same. */
  function refuse(error: McpError, id: RequestId | undefined): Response {
    incoming.messages = messagesIn(parsed)
    incoming.rejection = error
    return errorResponse(error, id)
  }

  /** Serves requests of older clients without a session id, each on its own, as if nothing had been agreed on. */
  async function postWithoutSession(messages: Message[], batch: boolean): Promise<Response> {
    const revision = revisionOf(signs.version ?? '') ?? defaultRevision
    if (batch && !revision.batching) return errorResponse(noBatches(revision.date))
    if (messages.some(isResponse)) {
      if (host.objects) return errorResponse(sessionRequired('a response answers a request of the server in a session'))
      return errorResponse(new McpError('invalid_request', 'This server has no sessions, so it waits for no response'))
    }
    const requests = messages.filter(isRequest)
    if (requests.length === 0) return new Response(null, { status: 202 })
    return serveWithoutSession(request, host, principal, accept, { requests, batch, revision }, counting)
  }
}

/** GET: the session's own stream, or the rest of one that broke. */
export async function get(request: Request, host: Host, incoming: IncomingRequest): Promise<Response> {
  await authenticate(request, host, incoming)
  if (!accepts(request.headers.get('Accept')).stream) {
    throw new McpError('not_acceptable', 'Accept must include text/event-stream')
  }
  if (!host.objects) return notAllowed('POST, OPTIONS')
  const badVersion = unknownVersion(request.headers.get('MCP-Protocol-Version'))
  if (badVersion) return errorResponse(badVersion)
  return (await rejectIfForbidden([], host, incoming)) ?? streamSession(request, host, incoming)
}

/** DELETE: ends a session. */
export async function remove(request: Request, host: Host, incoming: IncomingRequest): Promise<Response> {
  const principal = await authenticate(request, host, incoming)
  if (!host.objects) return notAllowed('POST, OPTIONS')
  const badVersion = unknownVersion(request.headers.get('MCP-Protocol-Version'))
  return badVersion ? errorResponse(badVersion) : endSession(request, host, principal)
}
