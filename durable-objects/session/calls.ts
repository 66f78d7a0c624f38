/** The calls of a session: started, run step by step, recovered after the object was lost, and cancelled. */

import type { Registry } from '../../worker/declarations/server.ts'
import { serializeResult } from '../../worker/engine/answer-text.ts'
import { drainMicrotasks } from '../../worker/engine/drain-microtasks.ts'
import { initializeResult, type NegotiatedSession, parseInitialize } from '../../worker/engine/handshake.ts'
import { emptyJournal } from '../../worker/engine/journal.ts'
import { hasResources } from '../../worker/engine/methods/resources.ts'
import { isSafeToRetry } from '../../worker/engine/retry-policy.ts'
import { runCall } from '../../worker/engine/run.ts'
import { McpError } from '../../worker/protocol/errors.ts'
import { type Message, type RequestMessage, resultText } from '../../worker/protocol/jsonrpc.ts'
import { isLogLevel } from '../../worker/protocol/meta.ts'
import { revisionOf } from '../../worker/protocol/revisions/index.ts'
import { logLevels, type Params, type RequestId, type Result } from '../../worker/protocol/types.ts'
import type { Post } from '../rpc.ts'
import { requestKey } from '../shared/call-ledger.ts'
import { callOf, environmentOf } from './call-environment.ts'
import { scopesIn } from './call-scopes.ts'
import { askClient, cancelWaiting, endOverdue, takeAnswer } from './input-requests.ts'
import type { PendingPost, SessionCall } from './pending-post.ts'
import { hasSubscriptions } from './registration.ts'
import { answer, drop, fail, recordCall, restOfPost } from './replies.ts'
import type { SessionMethod, SessionParts } from './session-parts.ts'

/** Milliseconds until the alarm that holds the object awake for a call whose POST has been answered with a stream. */
export const keepAwakeAfterMs = 20_000
/** How often a call is run again before its interruption is admitted. */
const mostRepeats = 2
/** An alarm may run for fifteen minutes; a longer call is held by the next one. */
const maxAlarmMs = 14 * 60_000

/** Starts a request of a POST: it is answered at once, or it becomes a call. */
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
  try {
    const { registry } = session.host.serverFor(from.admitted)
    if (session.running.has(requestKey(request.id)) || session.ledger.has(request.id)) {
      throw new McpError('invalid_request', `The id ${JSON.stringify(request.id)} belongs to a request in progress`)
    }
    if (request.method === 'ping') {
      const counted = count(session, { ...from, request }, post)
      if (!counted) return succeed({})
      return void counted
        .then((release) => {
          release()
          succeed({})
        })
        .catch(refuse)
    }
    if (request.method === 'initialize') return void initialize(session, post, request, from).then(succeed, refuse)
    if (!negotiated) throw new McpError('invalid_request', 'The first request must be initialize')
    checkMethod(session, registry, request.method, post)
    const scopes = scopesIn(from, request, registry)
    work(session, post, { ...from, request, handshake: negotiated, journal: emptyJournal, scopes })
  } catch (thrown) {
    refuse(thrown)
  }
}

/** @throws McpError `method_not_found` */
function checkMethod(session: SessionParts, registry: Registry, method: string, { revision }: PendingPost): void {
  const isKnown = revision.requests.has(method) || registry.methods.has(method)
  if (!isKnown || (method.endsWith('subscribe') && !(hasSubscriptions(session) && hasResources(registry)))) {
    throw new McpError('method_not_found', `Method not found: ${method}`)
  }
}

async function initialize(
  session: SessionParts,
  { revision }: PendingPost,
  request: RequestMessage,
  from: Post,
): Promise<Result> {
  if (from.handshake || session.values.get('handshake')) {
    throw new McpError('invalid_request', 'This session is initialized already')
  }
  const negotiated = parseInitialize(request.params)
  session.values.put('handshake', negotiated)
  // What fails now is done when its client next subscribes or, if it never does, not missed.
  await session.subscriptions?.listen(from.principal).catch(session.host.report)
  const features = { updates: hasSubscriptions(session) }
  return initializeResult(
    session.host.serverFor(from.admitted).registry,
    revisionOf(negotiated.version) ?? revision,
    features,
    from.principal,
  )
}

async function setLevel(session: SessionParts, { level }: Params, { expires }: SessionCall): Promise<Result> {
  if (!isLogLevel(level)) throw new McpError('invalid_params', `params.level must be one of ${logLevels.join(', ')}`)
  session.lifetime.scheduleExpiry(expires)
  session.values.put('logLevel', level)
  return {}
}

/** A method that the session runs itself. */
const ownMethod = (session: SessionParts, method: string): SessionMethod | undefined =>
  method === 'logging/setLevel'
    ? (params, call) => setLevel(session, params, call)
    : session.subscriptions?.methods[method]

/** Counts a round of a call, if the endpoint has limits. @param resumed what cancels a round of a call that goes on */
function count(
  session: SessionParts,
  { request, caller, admitted }: Pick<SessionCall, 'request' | 'caller' | 'admitted'>,
  post: PendingPost,
  resumed?: AbortSignal,
): Promise<() => void> | undefined {
  if (caller === undefined) return undefined
  const { method, params = {} } = request
  const counting = session.host.enterOf(admitted)?.({
    method,
    params,
    caller,
    post,
    isResumed: resumed !== undefined,
    signal: () => resumed ?? new AbortController().signal,
    // Handlers of a session run on after their call was cancelled, until they return.
    endsWithSignal: false,
    parked: () => session.ledger.waiting(),
  })
  if (counting) post.count(request, counting)
  return counting
}

/**
 * Takes one step of a call. It ends with an answer, or parked with questions on its stream.
 *
 * @param isResumed it was counted when it began
 */
function work(session: SessionParts, post: PendingPost, sessionCall: SessionCall, isResumed = false): void {
  const { request } = sessionCall
  const abort = new AbortController()
  const key = requestKey(request.id)
  post.calls.add(sessionCall)
  if (post.stream !== undefined) recordCall(session, sessionCall, post.stream)
  const call = callOf(session, post, sessionCall)
  const environment = environmentOf(session, post, sessionCall, abort.signal)
  const step = async () => {
    let release: (() => void) | undefined
    try {
      const entering = count(session, sessionCall, post, isResumed ? abort.signal : undefined)
      if (entering) release = await entering
      if (abort.signal.aborted) return
      const server = session.host.serverFor(sessionCall.admitted)
      const own = ownMethod(session, request.method)
      const outcome = own
        ? { type: 'result' as const, result: await own(call.params, sessionCall, abort.signal) }
        : await runCall(server, call, sessionCall.journal, environment)
      if (abort.signal.aborted) return
      if (outcome.type === 'result') {
        const text = serializeResult(request.id, server.registry, call, outcome.result)
        return answer(session, post, request.id, { status: 200, text }, sessionCall)
      }
      if (!post.streams) {
        throw new McpError('not_acceptable', 'Accept must include text/event-stream')
      }
      askClient(session, post, sessionCall, outcome)
    } catch (thrown) {
      if (!abort.signal.aborted) fail(session, post, request.id, thrown, sessionCall)
    } finally {
      release?.()
      if (session.running.get(key)?.call === sessionCall) session.running.delete(key)
    }
  }
  // Registered before the step runs, so that its end finds it.
  const { promise, resolve } = Promise.withResolvers<void>()
  session.running.set(key, { abort, work: promise, post, call: sessionCall })
  step().finally(resolve)
}

/** Takes a response of the client. When it is the last answer that a call waits for, the call goes on, for this POST. */
export function resumeCall(
  session: SessionParts,
  message: Message,
  { principal, caller, admitted, expires }: Post,
): void {
  const answered = takeAnswer(session, message)
  if (!answered) return
  const { row, call } = answered
  work(session, restOfPost(call), { ...call, row, principal, caller, admitted, expires }, true)
  void holdAwake(session)
}

/** A new instance finds calls that were running in the last one: each is run again, or ends with an error. */
export function recoverCalls(session: SessionParts): void {
  if (!session.isNew) return
  session.isNew = false
  const expires = session.lifetime.id?.expires ?? 0
  for (const { row, call } of session.ledger.unasked()) {
    const post = restOfPost(call)
    const sessionCall: SessionCall = { ...call, row, principal: undefined, caller: undefined, expires }
    const isSafe = isSafeToRetry(session.host.server.registry, call.request)
    // Who asked is known to the client's next request only, so what was asked by somebody is not run for nobody.
    if (isSafe && !call.isPersonal && call.repeats < mostRepeats) {
      session.ledger.rewrite(row, { ...call, repeats: call.repeats + 1 })
      const sentCount = Math.max(call.journal.notificationsSent, session.log.saidBy(row, call.stream))
      work(session, post, { ...sessionCall, journal: { ...call.journal, notificationsSent: sentCount } })
      continue
    }
    const data = { reason: 'interrupted', retryable: isSafe }
    const interrupted = new McpError('interrupted', 'The call was interrupted', data)
    fail(session, post, call.request.id, interrupted, sessionCall)
  }
  void holdAwake(session)
}

/** @see https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/cancellation */
export function cancelCall(session: SessionParts, id: RequestId, reason: unknown): void {
  abandon(session, requestKey(id), reason)
  cancelWaiting(session, id)
}

export function abandonAll(session: SessionParts, reason: unknown): void {
  for (const key of session.running.keys()) abandon(session, key, reason)
}

/** Ends a running call without an answer, at once, whether its handler listens or not. */
function abandon(session: SessionParts, key: string, reason: unknown): void {
  const running = session.running.get(key)
  if (!running) return
  session.running.delete(key)
  drop(session, running.post, running.call)
  running.abort.abort(reason)
}

/** What a token needs to cancel a call. */
export function scopesToCancel(session: SessionParts, id: RequestId): readonly string[] {
  return session.running.get(requestKey(id))?.call.scopes ?? session.ledger.scopesToCancel(id)
}

/** Calls whose POST has been answered run on in an alarm: nothing else keeps an object in memory. */
export async function holdAwake(session: SessionParts): Promise<void> {
  if (session.running.size > 0) await drainMicrotasks(() => session.running.size === 0)
  if (session.running.size > 0)
    void session.alarms.set({ hold: Date.now() + keepAwakeAfterMs, answers: session.ledger.due })
}

/**
 * Keeps the object in memory while calls run, for as long as an alarm may take. No other alarm runs meanwhile, so every
 * deadline of the session is met here: the earliest one wins, also when it is set only now.
 */
export async function holdRunning(session: SessionParts): Promise<void> {
  const end = Date.now() + maxAlarmMs
  for (;;) {
    endOverdue(session)
    const last = Math.min(end, session.lifetime.due())
    const works = [...session.running.values()].map((running) => running.work)
    if (works.length === 0 || last <= Date.now()) return
    await session.alarms.wait(Promise.allSettled(works), Math.min(last, session.ledger.due))
    if (session.lifetime.isOver) return
  }
}
