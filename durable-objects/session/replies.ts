/**
 * The messages that the calls of a session send: notifications and replies. They go into the response to their POST or, once a message must
 * be sent before the last reply, on a stream.
 */
import { toolError } from '../../worker/declarations/result-constructors.ts'
import { InvalidInputResponse } from '../../worker/engine/invalid-input-response.ts'
import { asMcpError, McpError } from '../../worker/protocol/errors.ts'
import { errorReply, resultText } from '../../worker/protocol/jsonrpc.ts'
import { oldestRevision, revisionOf } from '../../worker/protocol/revisions/index.ts'
import type { RequestId } from '../../worker/protocol/types.ts'
import type { LedgerCall } from '../shared/call-ledger.ts'
import { standingStream } from '../shared/event-log.ts'
import { maxRowBytes, tooLarge } from '../shared/message-size.ts'
import { PendingPost, type Reply, type SessionCall } from './pending-post.ts'
import type { SessionParts } from './session-parts.ts'

/** What replies need of the other parts of a session. */
export type RepliesContext = Pick<
  SessionParts,
  'host' | 'log' | 'ledger' | 'streams' | 'followed' | 'lifetime' | 'alarms'
>

/** Sends the reply of a call. Writes all changes of the reply in one turn. */
export function answer(
  session: RepliesContext,
  post: PendingPost,
  id: RequestId,
  reply: Reply,
  call?: SessionCall,
): void {
  const { stream } = post
  forgetCall(session, post, call)
  const identified = { ...reply, id }
  const fitting = post.batch?.fit(identified, post.revision) ?? identified
  if (stream === undefined) return post.addReply(fitting)
  session.streams.sendMessage(stream, fitted(post, fitting, maxRowBytes).text)
  requestAnswered(session, stream)
}

export function fail(
  session: RepliesContext,
  post: PendingPost,
  id: RequestId,
  thrown: unknown,
  call?: SessionCall,
): void {
  const error = asMcpError(thrown, session.host.report)
  // The client has answered the input request, and repeats no call: only a result reaches the model.
  const isForModel = error instanceof InvalidInputResponse && call?.request.method === 'tools/call'
  const reply = isForModel
    ? { status: 200, text: resultText(id, toolError(error.message)) }
    : errorReply(id, error, post.revision.error(error.kind))
  answer(session, post, id, reply, call)
}

/** Ends a call without a reply. */
export function drop(session: RepliesContext, post: PendingPost, call: SessionCall): void {
  forgetCall(session, post, call)
  if (post.stream === undefined) post.addReply(undefined)
  else requestAnswered(session, post.stream)
}

/** @param sentCount the number of notifications of the call so far, with this one */
export function notify(
  session: RepliesContext,
  post: PendingPost,
  text: string,
  call: SessionCall,
  sentCount: number,
): void {
  if (!post.streams) return
  session.streams.send(streamOf(session, post, call.expires), text, { said: [call.row ?? null, sentCount] })
}

/** Returns the stream of a POST, and opens it if the POST was silent. */
export function streamOf(session: RepliesContext, post: PendingPost, expires: number): number {
  if (post.stream !== undefined) return post.stream
  // Before anything is written: the POST can still be answered without a stream.
  for (const call of post.calls) session.ledger.check(ledgerCallOf(call, 0))
  session.lifetime.scheduleExpiry(expires)
  const stream = session.log.open(post.unanswered, Date.now(), post.scopes)
  session.followed.begin(stream)
  post.switchToStream(stream)
  for (const sessionCall of post.calls) recordCall(session, sessionCall, stream)
  for (const reply of post.replies) session.streams.sendMessage(stream, fitted(post, reply, maxRowBytes).text)
  return stream
}

/** Turns the POST of a call into a stream. A call that is too large for a stream stays silent, and is answered in one response. */
export function becomeStream(session: RepliesContext, post: PendingPost, expires: number): void {
  try {
    streamOf(session, post, expires)
  } catch (problem) {
    if (!(problem instanceof McpError)) session.lifetime.abort(problem)
  }
}

/** Stores a call with a stream before it sends anything. Returns its row. */
export function recordCall(session: RepliesContext, call: SessionCall, stream: number): number {
  call.row ??= session.ledger.begin(ledgerCallOf(call, stream))
  return call.row
}

function forgetCall(session: RepliesContext, post: PendingPost, call: SessionCall | undefined): void {
  if (!call) return
  post.calls.delete(call)
  if (call.row !== undefined) session.ledger.end(call.row)
}

/** Records that a request of a stream has its reply, or will never have one. The last one ends the stream. */
export function requestAnswered(session: RepliesContext, stream: number): void {
  const now = Date.now()
  if (stream === standingStream || !session.log.requestAnswered(stream, now)) return
  session.streams.complete(stream)
  // One alarm deletes all streams that are too old by then.
  void session.alarms.add(Math.min(now + session.lifetime.terms.log.maxAgeMs, session.lifetime.expiry.due()))
}

/** Closes the connection, while the call continues: the client reconnects for the remaining events. */
export function release(session: RepliesContext, post: PendingPost, expires: number, retry?: number): void {
  // Over HTTP+SSE, the client cannot reconnect: the session ends with its stream.
  if (!post.revision.polling || !post.streams || post.stream === standingStream) return
  session.streams.release(streamOf(session, post, expires), retry)
}

/** Returns the stored form of a call, without its principal. */
export const ledgerCallOf = (
  { request, handshake, session, identity, principal, requestContext, admitted, scopes = [], journal }: SessionCall,
  stream: number,
): LedgerCall => ({
  request,
  stream,
  journal,
  handshake,
  session,
  identity,
  isPersonal: principal !== undefined,
  admitted,
  ...(requestContext && { requestContext }),
  ...(scopes.length > 0 && { scopes }),
  repeats: 0,
})

/** Returns the reply or, if it is too large, an error that states its size. */
export function fitted<R extends Reply & { id: RequestId }>(post: PendingPost, reply: R, maxBytes: number): Reply {
  const error = tooLarge('The result', reply.text, maxBytes)
  return error ? errorReply(reply.id, error, post.revision.error(error.kind)) : reply
}

/** Returns the remaining part of a POST that has been answered with a stream. */
export const restOfPost = ({ handshake, stream }: LedgerCall): PendingPost =>
  new PendingPost(revisionOf(handshake.version) ?? oldestRevision, { streams: true, unanswered: 1, stream })
