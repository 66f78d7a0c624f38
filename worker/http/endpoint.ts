/**
 * The endpoint: all protocol versions on one path, and the two paths of HTTP+SSE. The folder of its transport reads, runs and answers each
 * request.
 */
import { methodIn } from '../engine/methods/index.ts'
import { type Classified, classify } from '../protocol/classify.ts'
import { asMcpError, type McpError } from '../protocol/errors.ts'
import type { Message, RequestMessage } from '../protocol/jsonrpc.ts'
import type { RequestId } from '../protocol/types.ts'
import { unknownVersion } from '../protocol/unsupported-version.ts'
import type { IncomingRequest } from '../request-hooks.ts'
import { type AcceptedTypes, accepts, refusedTypes, requireStream } from './accept.ts'
import { type Access, authenticate, decideAccess } from './access.ts'
import { readMessages } from './body.ts'
import { boundedHeader } from './bounded-header.ts'
import { errorResponse, idOf, notAllowed, unknownSession } from './error-response.ts'
import type { Host } from './host.ts'
import { readSseMessage, readSsePost } from './http-sse/read.ts'
import { replyToSsePost, replyWithSseStream } from './http-sse/reply.ts'
import { runInSseSession, startSseSession } from './http-sse/run.ts'
import { jsonOrStream } from './json-or-stream.ts'
import { rejectMessages } from './reject-messages.ts'
import { startSession } from './session/initialize.ts'
import { readSession, readSessionPost, readSessionStream } from './session/read.ts'
import { replyFromSession, replyWithStream } from './session/reply.ts'
import { endSession, runInSession } from './session/run.ts'
import { readStateless, readWithoutSession, type StatelessCalls } from './stateless/read.ts'
import { runStateless } from './stateless/run.ts'
import { openSubscription } from './stateless/subscribe.ts'

/** POST: the body and the headers decide the protocol version, and whether the request belongs to a session. */
export async function post(request: Request, host: Host, incoming: IncomingRequest): Promise<Response> {
  const version = boundedHeader(request, 'MCP-Protocol-Version')
  const accept = accepts(boundedHeader(request, 'Accept'))
  const principal = await authenticate(request, host, incoming)
  const parsed = await readMessages(request, host.limits)
  const session = request.headers.get('Mcp-Session-Id')
  const classified = classify(parsed, { version, session })
  const reject = (error: McpError, id: RequestId | undefined) =>
    rejectMessages(parsed, error, id, host, incoming, async (messages) => {
      if (!host.hasSessions || session === null) return undefined
      const calls = await readSessionPost({ messages, batch: false }, { id: session, streams: true }, host, principal)
      return calls instanceof Response ? undefined : calls.post
    })
  if ('refused' in classified) return reject(classified.refused, classified.id)
  const refused = refusedTypes(accept)
  if (refused) return reject(refused, 'message' in parsed ? idOf([parsed.message]) : undefined)
  if ('ignored' in classified) return new Response(null, { status: 202 })
  const access = await decideAccess(messagesOf(classified), host, incoming)
  if (access instanceof Response) return access
  if ('handshake' in classified) return postHandshake(classified.handshake, access, host)
  if ('stateless' in classified) return postStateless(request, classified, accept, access, host)
  if (!host.hasSessions || session === null) {
    const calls = readWithoutSession(classified, version, access, host)
    return calls instanceof Response ? calls : serveStateless(request, calls, accept, access, host)
  }
  const calls = await readSessionPost(classified, { id: session, streams: accept.stream }, host, principal)
  if (calls instanceof Response) return calls
  return replyFromSession(calls, await runInSession(calls, access, host), accept, access, host)
}

/** GET: the standing stream of a session, or the remaining events of a stream after `Last-Event-ID`. */
export async function get(request: Request, host: Host, incoming: IncomingRequest): Promise<Response> {
  const principal = await authenticate(request, host, incoming)
  requireStream(accepts(boundedHeader(request, 'Accept')))
  if (!host.hasSessions) return notAllowed('POST, OPTIONS')
  const badVersion = unknownVersion(boundedHeader(request, 'MCP-Protocol-Version'))
  if (badVersion) return errorResponse(badVersion)
  const access = await decideAccess([], host, incoming)
  if (access instanceof Response) return access
  const stream = await readSessionStream(request, host, principal)
  if (stream instanceof Response) return stream
  return replyWithStream(stream, access, host)
}

/** DELETE: ends a session. */
export async function remove(request: Request, host: Host, incoming: IncomingRequest): Promise<Response> {
  const principal = await authenticate(request, host, incoming)
  if (!host.hasSessions) return notAllowed('POST, OPTIONS')
  const badVersion = unknownVersion(boundedHeader(request, 'MCP-Protocol-Version'))
  if (badVersion) return errorResponse(badVersion)
  const session = await readSession(request, host, principal)
  if (session instanceof Response) return session
  return (await endSession(session, host)) ? new Response(null, { status: 204 }) : unknownSession([])
}

/** GET of HTTP+SSE: opens a session. The first event of its stream contains the URL to post to. */
export async function getSse(request: Request, host: Host, incoming: IncomingRequest): Promise<Response> {
  if (!host.hasSessions) return notAllowed('OPTIONS')
  await authenticate(request, host, incoming)
  const badVersion = unknownVersion(boundedHeader(request, 'MCP-Protocol-Version'))
  if (badVersion) return errorResponse(badVersion)
  const access = await decideAccess([], host, incoming)
  if (access instanceof Response) return access
  return replyWithSseStream(await startSseSession(access, host), access, host)
}

/** POST of HTTP+SSE: one message of a session. */
export async function postSse(request: Request, host: Host, incoming: IncomingRequest): Promise<Response> {
  if (!host.hasSessions) return notAllowed('OPTIONS')
  // Refused as on the other paths, although nothing depends on it.
  boundedHeader(request, 'Accept')
  const principal = await authenticate(request, host, incoming)
  const parsed = await readMessages(request, host.limits)
  const message = readSseMessage(request, parsed)
  if ('refused' in message) {
    return rejectMessages(parsed, message.refused, message.id, host, incoming, async (messages) => {
      const post = await readSsePost(request, messages, host, principal)
      return post instanceof Response ? undefined : post
    })
  }
  const access = await decideAccess([message], host, incoming)
  if (access instanceof Response) return access
  const post = await readSsePost(request, [message], host, principal)
  if (post instanceof Response) return post
  return replyToSsePost(message, await runInSseSession(post, access, host), access)
}

/** A request of a stateless protocol version. */
async function postStateless(
  request: Request,
  classified: Extract<Classified, { stateless: unknown }>,
  accept: AcceptedTypes,
  access: Access,
  host: Host,
): Promise<Response> {
  const { stateless: message, revision } = classified
  try {
    const calls = await readStateless(request, classified, access, host)
    const isSubscription = methodIn(revision, message.method)?.requires === 'stream'
    const [call] = calls.calls
    if (isSubscription && host.listen && call) {
      return await openSubscription(call, request, host.listen, accept, access, host)
    }
    return await serveStateless(request, calls, accept, access, host)
  } catch (thrown) {
    return errorResponse(asMcpError(thrown, host.report), message.id)
  }
}

function serveStateless(
  request: Request,
  calls: StatelessCalls,
  accept: AcceptedTypes,
  access: Access,
  host: Host,
): Promise<Response> {
  return jsonOrStream(runStateless(request, calls, access, host), accept, host.limits)
}

async function postHandshake(handshake: RequestMessage, access: Access, host: Host): Promise<Response> {
  try {
    return await startSession(handshake, access, host)
  } catch (thrown) {
    return errorResponse(asMcpError(thrown, host.report), handshake.id)
  }
}

function messagesOf(classified: Exclude<Classified, { refused: McpError } | { ignored: true }>): readonly Message[] {
  if ('messages' in classified) return classified.messages
  return ['stateless' in classified ? classified.stateless : classified.handshake]
}
