/**
 * The endpoint: all protocol versions on one path. It serves requests without a session itself, and passes those of sessions to a transport.
 */
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
import { errorResponse, idOf, notAllowed } from './error-response.ts'
import type { Host } from './host.ts'
import { answerInitialize } from './initialize.ts'
import { jsonOrStream } from './json-or-stream.ts'
import { rejectMessages } from './reject-messages.ts'
import { readStateless, readWithoutSession, type StatelessCalls } from './stateless/read.ts'
import { runStateless } from './stateless/run.ts'
import type { OpenStream, Transport, Transports } from './transport.ts'

/** POST: the body and the headers decide the protocol version, and whether the request belongs to a session. */
export async function post(
  request: Request,
  host: Host,
  incoming: IncomingRequest,
  { transport, streams }: Transports,
): Promise<Response> {
  const version = boundedHeader(request, 'MCP-Protocol-Version')
  const accept = accepts(boundedHeader(request, 'Accept'))
  await authenticate(request, host, incoming)
  const parsed = await readMessages(request, host.limits)
  const session = request.headers.get('Mcp-Session-Id')
  const classified = classify(parsed, { version, session })
  const reject = (error: McpError, id: RequestId | undefined) =>
    rejectMessages(parsed, error, id, host, incoming, async (messages, access) => {
      if (session !== null) await transport?.refuseResponses({ id: session, messages, batch: false }, access, host)
    })
  if ('refused' in classified) return reject(classified.refused, classified.id)
  const refused = refusedTypes(accept)
  if (refused) return reject(refused, 'message' in parsed ? idOf([parsed.message]) : undefined)
  if ('ignored' in classified) return new Response(null, { status: 202 })
  const access = await decideAccess(messagesOf(classified), host, incoming)
  if (access instanceof Response) return access
  if ('handshake' in classified) return postHandshake(classified.handshake, access, host, transport)
  if ('stateless' in classified) {
    return postStateless(request, classified, accept, access, host, streams.get(classified.stateless.method))
  }
  if (transport && session !== null) return transport.post({ ...classified, id: session }, accept, access, host)
  const calls = readWithoutSession(classified, version, access, host)
  return calls instanceof Response ? calls : serveStateless(request, calls, accept, access, host)
}

/** GET: the standing stream of a session, or the remaining events of a stream after `Last-Event-ID`. */
export async function get(
  request: Request,
  host: Host,
  incoming: IncomingRequest,
  { transport }: Transports,
): Promise<Response> {
  await authenticate(request, host, incoming)
  requireStream(accepts(boundedHeader(request, 'Accept')))
  if (!transport) return notAllowed('POST, OPTIONS')
  const badVersion = unknownVersion(boundedHeader(request, 'MCP-Protocol-Version'))
  if (badVersion) return errorResponse(badVersion)
  const access = await decideAccess([], host, incoming)
  return access instanceof Response ? access : transport.get(request, access, host)
}

/** DELETE: ends a session. */
export async function remove(
  request: Request,
  host: Host,
  incoming: IncomingRequest,
  { transport }: Transports,
): Promise<Response> {
  const principal = await authenticate(request, host, incoming)
  if (!transport) return notAllowed('POST, OPTIONS')
  const badVersion = unknownVersion(boundedHeader(request, 'MCP-Protocol-Version'))
  return badVersion ? errorResponse(badVersion) : transport.remove(request, host, principal)
}

/** A request of a stateless protocol version. */
async function postStateless(
  request: Request,
  classified: Extract<Classified, { stateless: unknown }>,
  accept: AcceptedTypes,
  access: Access,
  host: Host,
  open: OpenStream | undefined,
): Promise<Response> {
  const { stateless: message } = classified
  try {
    const calls = await readStateless(request, classified, access, host)
    const [call] = calls.calls
    if (call && open) return await open(call, request, accept, access, host)
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

async function postHandshake(
  handshake: RequestMessage,
  access: Access,
  host: Host,
  transport: Transport | undefined,
): Promise<Response> {
  try {
    return await answerInitialize(handshake, access, host, transport)
  } catch (thrown) {
    return errorResponse(asMcpError(thrown, host.report), handshake.id)
  }
}

function messagesOf(classified: Exclude<Classified, { refused: McpError } | { ignored: true }>): readonly Message[] {
  if ('messages' in classified) return classified.messages
  return ['stateless' in classified ? classified.stateless : classified.handshake]
}
