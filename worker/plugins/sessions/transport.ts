/** The transport of sessions: it reads a request, calls the Durable Object of its session, and writes the response. */
import { unknownSession } from '../../http/error-response.ts'
import type { Transport, TransportPost } from '../../http/transport.ts'
import { getSse, postSse } from './http-sse.ts'
import { readSession, readSessionPost, readSessionStream } from './read.ts'
import { replyFromSession, replyWithStream } from './reply.ts'
import { endSession } from './run.ts'
import { namedBy } from './sealed-session.ts'
import { openSessionId, sealSessionId } from './session-id.ts'
import { postToSession } from './session-object.ts'

/** Serves the requests of sessions. */
export const transport: Transport = {
  async start(handshake, host, principal) {
    const id = await sealSessionId(handshake, host, principal)
    return { name: namedBy(id, {}).name, headers: { 'Mcp-Session-Id': id } }
  },
  async handshakeOf(id, host, principal) {
    return (await openSessionId(id, host, principal))?.handshake
  },
  async post(post: TransportPost, accept, access, host) {
    const calls = await readSessionPost(post, accept.stream, host, access.principal)
    if (calls instanceof Response) return calls
    return replyFromSession(calls, await postToSession(calls.post, access, host), accept, access, host)
  },
  async refuseResponses(post, access, host) {
    const calls = await readSessionPost(post, true, host, access.principal)
    if (!(calls instanceof Response)) await postToSession(calls.post, access, host)
  },
  async get(request, access, host) {
    const stream = await readSessionStream(request, host, access.principal)
    return stream instanceof Response ? stream : replyWithStream(stream, access, host)
  },
  async remove(request, host, principal) {
    const session = await readSession(request, host, principal)
    if (session instanceof Response) return session
    return (await endSession(session, host)) ? new Response(null, { status: 204 }) : unknownSession([])
  },
  routes: ({ sse, messages }) => [
    { path: sse, method: 'GET', handle: (request, host, incoming) => getSse(request, host, incoming) },
    { path: messages, method: 'POST', handle: (request, host, incoming) => postSse(request, host, incoming) },
  ],
}
