/**
 * The messages that the calls of a session send: notifications and replies. They go into the response to their POST or, once a message must
 * be sent before the last reply, on a stream.
 */
import { toolError } from '../../worker/declarations/result-constructors.ts'
import { batchText } from '../../worker/engine/batch-answers.ts'
import { drainMicrotasks } from '../../worker/engine/drain-microtasks.ts'
import { InvalidInputResponse } from '../../worker/engine/invalid-input-response.ts'
import { asMcpError, McpError } from '../../worker/protocol/errors.ts'
import { errorReply, resultText } from '../../worker/protocol/jsonrpc.ts'
import type { RequestId } from '../../worker/protocol/types.ts'
import type { CallLedger } from '../shared/call-ledger.ts'
import { standingStream } from '../shared/event-log.ts'
import { maxRowBytes, maxRpcBytes, tooLarge } from '../shared/message-size.ts'
import type { Lifetime } from './lifetime.ts'
import { ledgerCallOf, type PendingPost, type Reply, type SessionCall } from './pending-post.ts'
import type { Post, Posted } from './rpc.ts'
import type { SessionHost } from './session-host.ts'
import type { SessionStreams } from './streams.ts'

export class Replies {
  readonly #host: Pick<SessionHost, 'options' | 'report'>
  readonly #ledger: CallLedger
  readonly #lifetime: Lifetime
  readonly #streams: SessionStreams

  constructor(
    host: Pick<SessionHost, 'options' | 'report'>,
    ledger: CallLedger,
    lifetime: Lifetime,
    streams: SessionStreams,
  ) {
    this.#host = host
    this.#ledger = ledger
    this.#lifetime = lifetime
    this.#streams = streams
  }

  /** Sends the reply of a call. Writes all changes of the reply in one turn. */
  answer(post: PendingPost, id: RequestId, reply: Reply, call?: SessionCall): void {
    const { stream } = post
    this.#delete(post, call)
    const identified = { ...reply, id }
    const fitting = post.batch?.fit(identified, post.revision) ?? identified
    if (stream === undefined) return post.addReply(fitting)
    this.#streams.sendMessage(stream, fitted(post, fitting, maxRowBytes).text)
    this.requestAnswered(stream)
  }

  fail(post: PendingPost, id: RequestId, thrown: unknown, call?: SessionCall): void {
    const error = asMcpError(thrown, this.#host.report)
    // The client has answered the input request, and repeats no call: only a result reaches the model.
    const isForModel = error instanceof InvalidInputResponse && call?.request.method === 'tools/call'
    const reply = isForModel
      ? { status: 200, text: resultText(id, toolError(error.message)) }
      : errorReply(id, error, post.revision.error(error.kind))
    this.answer(post, id, reply, call)
  }

  /** Ends a call without a reply. */
  drop(post: PendingPost, call: SessionCall): void {
    this.#delete(post, call)
    if (post.stream === undefined) post.addReply(undefined)
    else this.requestAnswered(post.stream)
  }

  /** @param sentCount the number of notifications of the call so far, with this one */
  notify(post: PendingPost, text: string, call: SessionCall, sentCount: number): void {
    if (!post.streams) return
    this.#streams.send(this.streamOf(post, call.expires), text, { said: [call.row ?? null, sentCount] })
  }

  /** Returns the stream of a POST, and opens it if the POST was silent. */
  streamOf(post: PendingPost, expires: number): number {
    if (post.stream !== undefined) return post.stream
    // Before anything is written: the POST can still be answered without a stream.
    for (const call of post.calls) this.#ledger.check(ledgerCallOf(call, 0))
    this.#lifetime.scheduleExpiry(expires)
    const stream = this.#streams.begin(post.unanswered, post.scopes)
    post.switchToStream(stream)
    for (const call of post.calls) this.record(call, stream)
    for (const reply of post.replies) this.#streams.sendMessage(stream, fitted(post, reply, maxRowBytes).text)
    return stream
  }

  /** Stores a call with a stream before it sends anything. Returns its row. */
  record(call: SessionCall, stream: number): number {
    call.row ??= this.#ledger.begin(ledgerCallOf(call, stream))
    return call.row
  }

  #delete(post: PendingPost, call: SessionCall | undefined): void {
    if (!call) return
    post.calls.delete(call)
    if (call.row !== undefined) this.#ledger.end(call.row)
  }

  /** Records that a request of a stream has its reply, or will never have one. */
  requestAnswered(stream: number): void {
    const now = Date.now()
    // One alarm deletes all streams that are too old by then.
    if (this.#streams.requestAnswered(stream, now)) this.#lifetime.addAlarm(now + this.#host.options.log.maxAgeMs)
  }

  /** Closes the connection, while the call continues: the client reconnects for the remaining events. */
  release(post: PendingPost, expires: number, retry?: number): void {
    // Over HTTP+SSE, the client cannot reconnect: the session ends with its stream.
    if (!post.revision.polling || !post.streams || post.stream === standingStream) return
    this.#streams.release(this.streamOf(post, expires), retry)
  }

  /**
   * Waits until every request of a POST has its reply, or the POST has become a stream, because a message precedes the replies or they take
   * too long.
   *
   * @param onStream called when the response is a stream
   */
  async respond(pending: PendingPost, post: Post, onStream: () => void): Promise<Posted> {
    const lifetime = this.#lifetime
    const { epoch } = lifetime
    await drainMicrotasks(pending.settled)
    // A call that is too large for a stream stays silent, and is answered in one response.
    const stream = () => {
      if (epoch !== lifetime.epoch) return
      try {
        this.streamOf(pending, post.expires)
      } catch (problem) {
        if (!(problem instanceof McpError)) lifetime.abort(problem)
      }
    }
    const waits = post.streams && !pending.isSettled
    const timer = waits ? setTimeout(stream, this.#host.options.streamAfterMs) : null
    await pending.settled
    clearTimeout(timer)
    const refusals = (await pending.refusals()).map(({ request, error: { kind, message, data } }) => ({
      index: post.messages.indexOf(request),
      kind,
      message,
      data,
    }))
    const isStream = pending.stream !== undefined
    if (isStream) onStream()
    // Calls that end in this turn are not written, and the others are written together.
    if (isStream || pending.replies.length === 0) await drainMicrotasks()
    if (epoch !== lifetime.epoch) return { gone: true }
    const posted = isStream ? this.#respondWithStream(pending, post) : respondWithReplies(pending, post)
    return { ...posted, ...(refusals.length > 0 && { refusals }) }
  }

  #respondWithStream({ stream, revision }: PendingPost, { bodyUntil }: Post): Posted {
    // The stream of an HTTP+SSE session is open, or its Worker reconnects.
    if (stream === undefined || stream === standingStream) return { status: 202 }
    return { stream, ...this.#streams.respond(stream, { polling: revision.polling, bodyUntil }) }
  }
}

function respondWithReplies(pending: PendingPost, { batch }: Post): Posted {
  const [first] = pending.replies
  if (!first) return { status: 202 }
  // The bound on the answers of a batch keeps them below what an RPC returns.
  if (batch) return { status: 200, text: batchText(pending.replies.map(({ text }) => text)) }
  const { status, text, headers } = fitted(pending, first, maxRpcBytes)
  return { status, text, ...(headers && { headers }) }
}

/** Returns the reply or, if it is too large, an error that states its size. */
function fitted<R extends Reply & { id: RequestId }>(post: PendingPost, reply: R, maxBytes: number): Reply {
  const error = tooLarge('The result', reply.text, maxBytes)
  return error ? errorReply(reply.id, error, post.revision.error(error.kind)) : reply
}
