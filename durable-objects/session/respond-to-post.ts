/** The response to a POST of a session: the replies of its calls, or a stream once a message precedes them or they take too long. */
import { batchText } from '../../worker/engine/batch-answers.ts'
import { drainMicrotasks } from '../../worker/engine/drain-microtasks.ts'
import type { Post, Posted, PostedRefusals } from '../rpc.ts'
import { maxRpcBytes } from '../shared/message-size.ts'
import { holdAwake } from './keep-awake.ts'
import type { PendingPost } from './pending-post.ts'
import { becomeStream, fitted } from './replies.ts'
import type { SessionParts } from './session-parts.ts'

/** Waits until every request of a POST has its reply, or the POST has become a stream. */
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
  if (epoch !== lifetime.epoch) return { gone: true }
  return pending.stream === undefined
    ? respondWithReplies(pending, post)
    : respondWithStream(session, pending, post, pending.stream)
}

async function respondWithStream(
  session: SessionParts,
  pending: PendingPost,
  post: Post,
  stream: number,
): Promise<Posted> {
  // The calls and events of this turn are written together.
  await drainMicrotasks()
  session.streams.flush()
  void holdAwake(session)
  return {
    stream,
    ...session.followed.respond(stream, pending.revision.polling, post.follows),
    ...(await refusalsIn(pending, post)),
  }
}

async function respondWithReplies(pending: PendingPost, post: Post): Promise<Posted> {
  const [first] = pending.replies
  if (!first) return { status: 202 }
  const refusals = await refusalsIn(pending, post)
  if (!post.batch) {
    const { status, text, headers } = fitted(pending, first, maxRpcBytes)
    return { status, text, ...(headers && { headers }), ...refusals }
  }
  // The bound on the answers of a batch keeps them below what an RPC returns.
  return { status: 200, text: batchText(pending.replies.map(({ text }) => text)), ...refusals }
}

/** Returns the requests of a POST that a limit rejected, once all are counted; `{}` if there are none. */
export async function refusalsIn(post: PendingPost, { messages }: Post): Promise<PostedRefusals> {
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
