/** The response to a POST of a session: the replies of its calls, or a stream once a message precedes them or they take too long. */
import { batchText } from '../../worker/engine/batch-answers.ts'
import { drainMicrotasks } from '../../worker/engine/drain-microtasks.ts'
import type { Post, Posted, PostedRefusals } from '../rpc.ts'
import { standingStream } from '../shared/event-log.ts'
import { maxRpcBytes } from '../shared/message-size.ts'
import { holdAwake } from './keep-awake.ts'
import type { PendingPost } from './pending-post.ts'
import { becomeStream, fitted } from './replies.ts'
import type { SessionParts } from './session-parts.ts'

/**
 * Waits until every request of a POST has its reply, or the POST has become a stream. */
export async function respondToPost(session: SessionParts, pending: PendingPost, post: Post): Promise<Posted> {
  const { lifetime } = session
  const { epoch } = lifetime
  await drainMicrotasks(pending.settled)
  const stream = () => {
    if (epoch === lifetime.epoch) becomeStream(session, pending, post.expires)
  }
  const waits = post.streams && !pending.isSettled
  const timer = waits ? setTimeout(stream, lifetime.terms.streamAfterMs) : null
  await pending.settled
  clearTimeout(timer)
  const refusals = await refusalsIn(pending, post)
  const isStream = pending.stream !== undefined
  if (isStream) void holdAwake(session)
  // Calls that end in this turn are not written, and the others are written together.
  if (isStream || pending.replies.length === 0) await drainMicrotasks()
  if (epoch !== lifetime.epoch) return { gone: true }
  return { ...(isStream ? respondWithStream(session, pending) : respondWithReplies(pending, post)), ...refusals }
}

function respondWithStream({ streams, followed }: SessionParts, { stream, revision }: PendingPost): Posted {
  // The stream of an HTTP+SSE session is open, or its Worker reconnects.
  if (stream === undefined || stream === standingStream) return { status: 202 }
  // Its events must be in the log before the Worker has them.
  streams.flush()
  return { stream, ...followed.respond(stream, revision.polling) }
}

function respondWithReplies(pending: PendingPost, { batch }: Post): Posted {
  const [first] = pending.replies
  if (!first) return { status: 202 }
  // The bound on the answers of a batch keeps them below what an RPC returns.
  if (batch) return { status: 200, text: batchText(pending.replies.map(({ text }) => text)) }
  const { status, text, headers } = fitted(pending, first, maxRpcBytes)
  return { status, text, ...(headers && { headers }) }
}

/** Returns the requests of a POST that a limit rejected, once all are counted; `{}` if there are none. */
async function refusalsIn(post: PendingPost, { messages }: Post): Promise<PostedRefusals> {
  const refusals = await post.refusals()
  if (refusals.length === 0) return {}
  const error = refusals.map(({ request, error: { kind, message, data } }) => ({
    index: messages.indexOf(request),
    kind,
    message,
    data,
  }))
  return { refusals: error }
}
