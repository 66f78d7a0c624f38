/** The open input requests of the calls of a session: answered by the client, timed out, or cancelled. */

import type { InputRequiredOutcome } from '../../worker/declarations/outcome.ts'
import type { Answer } from '../../worker/engine/journal.ts'
import { readRootsResult } from '../../worker/engine/read-input-response.ts'
import { fingerprint, rootsRequest } from '../../worker/engine/request-input.ts'
import { McpError } from '../../worker/protocol/errors.ts'
import { isObject, isResponse, type Message, notificationText, requestText } from '../../worker/protocol/jsonrpc.ts'
import type { RequestId } from '../../worker/protocol/types.ts'
import type { TaskEnded } from '../rpc.ts'
import type { StoredCall } from '../shared/call-ledger.ts'
import { elicitationId } from './call-environment.ts'
import type { PendingPost, SessionCall } from './pending-post.ts'
import {
  fail,
  ledgerCallOf,
  type RepliesContext,
  recordCall,
  requestAnswered,
  restOfPost,
  streamOf,
} from './replies.ts'
import type { SessionParts } from './session-parts.ts'

type Context = RepliesContext & Pick<SessionParts, 'values' | 'clientTasks'>

/** Sends the input requests of a call on its stream. While the call waits for the responses, only its row exists. */
export function askClient(
  session: Context,
  post: PendingPost,
  call: SessionCall,
  { inputRequests, journal, answerTimeoutMs }: InputRequiredOutcome,
): void {
  const stream = streamOf(session, post, call.expires)
  const row = recordCall(session, call, stream)
  const due = Date.now() + answerTimeoutMs
  session.ledger.rewrite(row, ledgerCallOf({ ...call, journal }, stream), due)
  const ids = session.ledger.ask(row, Object.keys(inputRequests))
  void session.alarms.add(due)
  for (const [name, ask] of Object.entries(inputRequests)) {
    const { elicitationId: id = elicitationId(row, name) } = ask.params ?? {}
    const written = post.revision.ask(ask, String(id))
    const requestId = ids.get(name)
    if (isObject(ask.params?.task) && requestId !== undefined) session.clientTasks?.expect(requestId)
    if (written && requestId !== undefined)
      session.streams.sendMessage(stream, requestText(requestId, written.method, written.params))
  }
  // A call must not wait for the response to a request that its client never receives.
  session.streams.flush()
}

/**
 * Receives a response of the client, which may answer an input request.
 *
 * @returns the call that continues, if this was the last response that it waited for
 */
export function takeAnswer(session: Context, received: Message): StoredCall | undefined {
  const message = session.clientTasks ? session.clientTasks.read(received) : received
  if (!message) return undefined
  if (!isResponse(message) || message.id === undefined || message.id === null) return undefined
  const answer: Answer = 'result' in message ? { result: message.result } : { error: message.error }
  // The alarm for them may not have come yet.
  endOverdue(session)
  storeRoots(session, message.id, answer)
  const answered = session.ledger.answer(message.id, answer)
  // A call that ends in this turn is deleted, and its response is not written.
  session.streams.flushSoon()
  if (!answered?.problem) return answered
  const { row, call, problem } = answered
  cancelInputRequests(session, call.stream, session.ledger.end(row), problem.message)
  fail(session, restOfPost(call), call.request.id, problem)
  return undefined
}

/** Stores the roots of a client that sends `notifications/roots/list_changed`, so that later calls need not request them. */
function storeRoots(session: Context, id: RequestId, answer: Answer): void {
  if (!('result' in answer && readRootsResult(answer.result))) return
  const question = session.ledger.question(id)
  const print = question?.call.journal.requestFingerprints[question.key]
  const isAboutRoots = print !== undefined && print === fingerprint(rootsRequest)
  if (!isAboutRoots || question?.call.handshake.capabilities.roots?.listChanged !== true) return
  // Roots that are too large to store are requested again.
  if (session.values.fits(answer)) session.values.put('roots', answer)
  else session.values.delete('roots')
}

/** Cancels a call that waits for answers. */
export function cancelWaiting(session: Context, request: RequestId): void {
  const cancelled = session.ledger.cancel(request)
  if (!cancelled) return
  const { stream } = cancelled
  cancelInputRequests(session, stream, cancelled.questions, 'The client cancelled the call')
  requestAnswered(session, stream)
}

/** Ends calls whose input requests have timed out. */
export function endOverdue(session: Context): void {
  endWaiting(session, session.ledger.overdue(Date.now()), 'Timed out waiting for input')
}

/** Ends the calls that wait for responses on behalf of a task. */
export function endAsking(session: Context, [taskId, problem]: TaskEnded): void {
  endWaiting(session, session.ledger.askingFor(taskId), problem)
}

/** Ends calls that wait for responses. */
function endWaiting(session: Context, calls: Iterable<StoredCall>, problem: string): void {
  for (const { row, call } of calls) {
    const late = new McpError('call_interrupted', problem, { reason: 'timeout', retryable: true })
    if (!session.streams.isOpen(call.stream)) session.values.put('missedTimeout', true)
    cancelInputRequests(session, call.stream, session.ledger.end(row), late.message)
    const sessionCall = { ...call, row, principal: undefined, caller: undefined, expires: 0 }
    fail(session, restOfPost(call), call.request.id, late, sessionCall)
  }
}

function cancelInputRequests(session: Context, stream: number, ids: readonly string[], reason: string): void {
  for (const requestId of ids) {
    if (session.clientTasks?.cancel(requestId, stream)) continue
    const params = { requestId, reason }
    session.streams.send(stream, notificationText({ method: 'notifications/cancelled', params }))
  }
}
