/**
 * HTTP+SSE of 2024-11-05: a GET opens a session with its stream, each POST has one message. Responses to calls arrive on the stream.
 *
 * @see https://modelcontextprotocol.io/specification/2024-11-05/basic/transports#http-with-sse
 */
import { type Access, authenticate, decideAccess } from '../../http/access.ts'
import { readMessages } from '../../http/body.ts'
import { boundedHeader } from '../../http/bounded-header.ts'
import { errorResponse, idOf, unknownSession } from '../../http/error-response.ts'
import type { Host } from '../../http/host.ts'
import { rejectMessages } from '../../http/reject-messages.ts'
import { openRelay } from '../../http/relay.ts'
import { McpError } from '../../protocol/errors.ts'
import type { Message, Parsed } from '../../protocol/jsonrpc.ts'
import type { Principal } from '../../protocol/principal.ts'
import type { RequestId } from '../../protocol/types.ts'
import { unknownVersion } from '../../protocol/unsupported-version.ts'
import type { IncomingRequest } from '../../request-hooks.ts'
import { namedBy, openSession, type SessionContent, sealSession, sessionLifeMs } from './sealed-session.ts'
import { accepted, postToSession, relayRequest, type SessionPost, sessionObject } from './session-object.ts'

/** The purpose that its session ids are sealed for. */
const purpose = 'sse'

/** GET: opens a session. The first event of its stream contains the URL to post to. */
export async function getSse(request: Request, host: Host, incoming: IncomingRequest): Promise<Response> {
  await authenticate(request, host, incoming)
  const badVersion = unknownVersion(boundedHeader(request, 'MCP-Protocol-Version'))
  if (badVersion) return errorResponse(badVersion)
  const access = await decideAccess([], host, incoming)
  return access instanceof Response ? access : openSseSession(access, host)
}

async function openSseSession({ principal, credential }: Access, host: Host): Promise<Response> {
  const content = { expires: Date.now() + sessionLifeMs }
  const id = await sealSession(purpose, content, host, principal)
  const { name, expires } = namedBy(id, content)
  const settings = { sse: '1', relay: crypto.randomUUID(), expires: String(expires) }
  return openRelay({
    ...host.limits,
    dial: (after, again) => sessionObject(host, name).fetch(relayRequest(settings, after, again)),
    notifyOnClose: true,
    // The session ends with its stream.
    maxStreamAgeMs: Number.POSITIVE_INFINITY,
    credential,
    firstFrame: `event: endpoint\ndata: ${host.paths.messages}?session=${encodeURIComponent(id)}\n\n`,
  })
}

/** POST: one message of a session. */
export async function postSse(request: Request, host: Host, incoming: IncomingRequest): Promise<Response> {
  // Refused as on the other paths, although nothing depends on it.
  boundedHeader(request, 'Accept')
  const principal = await authenticate(request, host, incoming)
  const parsed = await readMessages(request, host.limits)
  const message = readSseMessage(request, parsed)
  if ('refused' in message) {
    return rejectMessages(parsed, message.refused, message.id, host, incoming, async (messages, access) => {
      const post = await readSsePost(request, messages, host, principal)
      if (!(post instanceof Response)) await postToSession(post, access, host)
    })
  }
  const access = await decideAccess([message], host, incoming)
  if (access instanceof Response) return access
  const post = await readSsePost(request, [message], host, principal)
  if (post instanceof Response) return post
  const posted = await postToSession(post, access, host)
  if ('lacks' in posted) return access.rejectForScopes(posted.lacks)
  return 'gone' in posted ? unknownSession([message]) : accepted()
}

/** @returns the error for a body that is not one message, and for a version that this server does not speak */
function readSseMessage(request: Request, parsed: Parsed): Message | { refused: McpError; id?: RequestId | undefined } {
  if ('malformed' in parsed) return { refused: parsed.malformed, id: parsed.id }
  if ('batch' in parsed) return { refused: new McpError('invalid_request', 'This transport has no batches') }
  const { message } = parsed
  // 2024-11-05 has no such header. A client that sends it all the same must name a version that this server speaks.
  const badVersion = unknownVersion(boundedHeader(request, 'MCP-Protocol-Version'))
  return badVersion ? { refused: badVersion, id: idOf([message]) } : message
}

/** Reads the session of a POST, in the query of the URL that the stream named. */
async function readSsePost(
  request: Request,
  messages: Message[],
  host: Host,
  principal: Principal | undefined,
): Promise<SessionPost | Response> {
  const id = new URL(request.url).searchParams.get('session')
  if (id === null) {
    const error = new McpError('session_required', 'Missing query parameter session: open the stream with GET first')
    return errorResponse(error, idOf(messages))
  }
  const session = await openSession<SessionContent>(purpose, id, host, principal)
  if (!session) return unknownSession(messages)
  // The object remembers what `initialize` said.
  return { session, messages, batch: false, streams: true }
}
