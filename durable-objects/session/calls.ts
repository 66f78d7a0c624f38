/** The calls of a session: starts them, and runs them step by step. */
import type { CallerContext, Guarded } from '../../worker/declarations/caller.ts'
import type { Server } from '../../worker/declarations/server.ts'
import type { BatchAnswers } from '../../worker/engine/batch-answers.ts'
import { callerContextOf } from '../../worker/engine/caller.ts'
import { Cancellation } from '../../worker/engine/cancellation.ts'
import { guardStep } from '../../worker/engine/failure.ts'
import { emptyJournal } from '../../worker/engine/journal.ts'
import type { NegotiatedSession, SessionControls, Target } from '../../worker/engine/methods/method.ts'
import { openContext } from '../../worker/engine/request-context.ts'
import { resolve } from '../../worker/engine/resolve.ts'
import { runCall } from '../../worker/engine/run.ts'
import { serializeResult } from '../../worker/engine/serialize-result.ts'
import { McpError } from '../../worker/protocol/errors.ts'
import { type Message, type RequestMessage, resultText } from '../../worker/protocol/jsonrpc.ts'
import type { Result } from '../../worker/protocol/types.ts'
import type { Post } from '../rpc.ts'
import { requestKey } from '../shared/call-ledger.ts'
import { rpcLimit, streamLimit } from '../shared/message-size.ts'
import { callOf, environmentOf } from './call-environment.ts'
import { scopesIn } from './call-scopes.ts'
import { initializeSse } from './initialize-sse.ts'
import { askClient, takeAnswer } from './input-requests.ts'
import { holdAwake } from './keep-awake.ts'
import type { PendingPost, SessionCall } from './pending-post.ts'
import { answer, fail, recordCall, restOfPost } from './replies.ts'
import type { SessionParts } from './session-parts.ts'

/** Starts a request of a POST: answers it at once, or creates a call. */
export function startCall(
  session: SessionParts,
  post: PendingPost,
  request: RequestMessage,
  negotiated: NegotiatedSession | undefined,
  from: Post,
): void {
  const succeed = (result: Result) =>
    answer(session, post, request.id, { status: 200, text: resultText(request.id, result) })
  const refuse = (thrown: unknown) => fail(session, post, request.id, thrown)
  // The ledger does not contain the request: once its POST is acknowledged, the answer is stored.
  const succeedWith = (result: Promise<Result>) =>
    post.delay(result.then(succeed, refuse).catch((problem) => session.lifetime.abort(problem)))
  try {
    const { declarations } = session.host.serverFor(from.admitted)
    if (session.running.has(requestKey(request.id)) || session.ledger.has(request.id)) {
      throw new McpError(
        'invalid_request',
        `The id ${JSON.stringify(request.id)} is in use by a request in progress: use another id`,
      )
    }
    const target = resolve(declarations, request)
    const method = target.methodIn(post.revision) ?? target.callIn(post.revision)
    if (method?.requires === 'connection') {
      const counted = count(session, { ...from, request }, post, target, async () => true)
      if (!counted) return succeed(method.result)
      return succeedWith(
        counted.then((release) => {
          release()
          return method.result
        }),
      )
    }
    if (method?.requires === 'handshake') return succeedWith(initializeSse(method, session, post, request, from))
    if (!negotiated) throw new McpError('invalid_request', 'The first request must be initialize')
    // Whether the server offers the method of a call is decided when the call starts.
    const isOffered =
      method?.requires === 'session'
        ? method.offered(declarations, { updates: session.registration.isOffered })
        : method !== undefined
    if (!isOffered) throw new McpError('method_not_found', `Method not found: ${request.method}`)
    if (declarations.hooks?.onSessionEnd) setOwner(session, negotiated, from)
    const scopes = scopesIn(from, request)
    runStep(
      session,
      post,
      { ...from, request, handshake: negotiated, journal: emptyJournal, scopes },
      false,
      post.batch,
      target,
    )
  } catch (thrown) {
    refuse(thrown)
  }
}

function setOwner(session: SessionParts, { client }: NegotiatedSession, from: Post): void {
  const { principal, admitted, expires } = from
  session.lifetime.setOwner({ client, principal, admitted }, expires)
}

/**
 * @param caller returns the caller
 * @param signal when it is aborted, the call ends without a change
 */
function controlsOf(
  session: SessionParts,
  call: SessionCall,
  { declarations: { hooks } }: Server,
  signal: AbortSignal,
  caller: () => CallerContext,
): SessionControls {
  const unsubscribed = async (uri: string) => {
    try {
      await hooks?.onUnsubscribe?.({ ...caller(), uri })
    } catch (problem) {
      session.host.report(problem)
    }
  }
  return {
    setLogLevel(level) {
      session.lifetime.scheduleExpiry(call.expires)
      session.values.put('logLevel', level)
    },
    async subscribe(uri) {
      const subscription = {
        onSubscribe: async () => hooks?.onSubscribe?.({ ...caller(), uri }),
        onUnsubscribe: () => unsubscribed(uri),
      }
      await session.subscriptions?.subscribe(uri, call, signal, caller(), subscription)
    },
    async unsubscribe(uri) {
      await session.subscriptions?.unsubscribe(uri, call)
      if (hooks?.onUnsubscribe) await unsubscribed(uri)
    },
  }
}

/** Counts a round of a call, if the endpoint has limits. @param resumed cancels a round of a call that continues */
function count(
  session: SessionParts,
  { request, principal, caller, admitted }: Pick<SessionCall, 'request' | 'principal' | 'caller' | 'admitted'>,
  post: PendingPost,
  target: Target,
  sees: (entry: Guarded) => Promise<boolean>,
  resumed?: AbortSignal,
): Promise<() => void> | undefined {
  if (caller === undefined) return undefined
  const counting = session.host.countRoundOf(admitted)?.({
    params: request.params,
    principal,
    entries: target.found.entries,
    caller,
    post,
    isResumed: resumed !== undefined,
    sees,
    signal: () => resumed ?? new AbortController().signal,
    // Handlers of a session run on after their call was cancelled, until they return.
    endsWithSignal: false,
    parked: () => session.ledger.waiting(),
  })
  if (counting) post.count(request, counting)
  return counting
}

/**
 * Runs one step of a call. The step ends with a reply, or with input requests on the stream of the call.
 *
 * @param isResumed the call was counted when it started
 * @param batch of the POST that starts or continues the call
 * @param known what the call names. Default: it is looked up
 */
export function runStep(
  session: SessionParts,
  post: PendingPost,
  sessionCall: SessionCall,
  isResumed = false,
  batch = post.batch,
  known?: Target,
): void {
  const { request } = sessionCall
  const cancellation = new Cancellation()
  const { promise, resolve: end } = Promise.withResolvers<void>()
  const key = requestKey(request.id)
  post.calls.add(sessionCall)
  if (post.stream !== undefined) recordCall(session, sessionCall, post.stream)
  const environment = environmentOf(session, post, sessionCall, cancellation, batch)
  const withContext = async () =>
    callOf(session, post, sessionCall, await openContext(sessionCall.requestContext, environment.seals))
  const step = async () => {
    let release: (() => void) | undefined
    try {
      const server = session.host.serverFor(sessionCall.admitted)
      const target = known ?? resolve(server.declarations, request)
      // The step reports what visibleTo throws.
      const sees = async (entry: Guarded) =>
        target.isVisible(entry, { caller: callerContextOf(await withContext(), environment) }).catch(() => false)
      release = await count(session, sessionCall, post, target, sees, isResumed ? cancellation.signal : undefined)
      // One after the other, as without a session: one result is in memory before the bound on all responses holds.
      await batch?.nextTurn(promise)
      const call = await withContext()
      if (cancellation.isAborted) return
      // What was decided to count the call is decided again after it has waited.
      if (isResumed || batch) target.decideAgain()
      const method = target.methodIn(post.revision)
      const outcome =
        method?.requires === 'session'
          ? {
              type: 'result' as const,
              result: await guardStep(server.declarations, call, () =>
                method.answer(
                  call.params,
                  controlsOf(session, sessionCall, server, cancellation.signal, () =>
                    callerContextOf(call, environment),
                  ),
                ),
              ),
            }
          : await runCall(server, call, sessionCall.journal, environment, target)
      if (cancellation.isAborted) return
      if (outcome.type === 'result') {
        const text = serializeResult(request.id, server.declarations, { call, target }, outcome.result, {
          report: session.host.report,
          limit: post.stream === undefined ? rpcLimit : streamLimit,
        })
        return answer(session, post, request.id, { status: 200, text }, sessionCall)
      }
      if (!post.streams) {
        throw new McpError('not_acceptable', 'Accept must include text/event-stream')
      }
      askClient(session, post, sessionCall, outcome)
    } catch (thrown) {
      if (!cancellation.isAborted) fail(session, post, request.id, thrown, sessionCall)
    } finally {
      release?.()
      if (session.running.get(key)?.call === sessionCall) session.running.delete(key)
    }
  }
  // Registered before the step runs, so that its end finds it.
  session.running.set(key, { cancellation, work: promise, post, call: sessionCall })
  step()
    // Its client would wait for an answer that cannot be sent.
    .catch((problem) => session.lifetime.abort(problem))
    .finally(end)
}

/**
 * Receives a response of the client. If it is the last one that a call waits for, the call continues as part of this POST.
 *
 * @param batch that of the POST, if it is one
 */
export function resumeCall(
  session: SessionParts,
  message: Message,
  { principal, caller, admitted, address, http, expires }: Post,
  batch: BatchAnswers | undefined,
): void {
  const answered = takeAnswer(session, message)
  if (!answered) return
  const { row, call } = answered
  runStep(session, restOfPost(call), { ...call, row, principal, caller, admitted, address, http, expires }, true, batch)
  void holdAwake(session)
}
