/** The open input requests of the calls of a session: answered by the client, timed out, or cancelled. */

import type { InputRequiredOutcome } from '../../worker/declarations/outcome.ts'
import type { Answer } from '../../worker/engine/journal.ts'
import { readRootsResult } from '../../worker/engine/read-input-response.ts'
import { fingerprint, rootsRequest } from '../../worker/engine/request-input.ts'
import { McpError } from '../../worker/protocol/errors.ts'
import { isObject, notificationText, type ResponseMessage, requestText } from '../../worker/protocol/jsonrpc.ts'
import type { RequestId } from '../../worker/protocol/types.ts'
import type { Alarms } from '../shared/alarms.ts'
import type { CallLedger, StoredCall } from '../shared/call-ledger.ts'
import type { AddedTasks } from './added-parts.ts'
import { ledgerCallOf, type PendingPost, restOfPost, type SessionCall, storedCall } from './pending-post.ts'
import type { Replies } from './replies.ts'
import type { TaskEnded } from './rpc.ts'
import type { SessionValues } from './session-values.ts'
import type { SessionStreams } from './streams.ts'

export class InputRequests {
  readonly #values: SessionValues
  readonly #ledger: CallLedger
  readonly #alarms: Alarms
  readonly #streams: SessionStreams
  readonly #replies: Replies
  readonly #tasks: AddedTasks | undefined

  constructor(
    values: SessionValues,
    ledger: CallLedger,
    alarms: Alarms,
    streams: SessionStreams,
    replies: Replies,
    tasks: AddedTasks | undefined,
  ) {
    this.#values = values
    this.#ledger = ledger
    this.#alarms = alarms
    this.#streams = streams
    this.#replies = replies
    this.#tasks = tasks
  }

  /** Sends the input requests of a call on its stream. While the call waits for the responses, only its row exists. */
  send(post: PendingPost, call: SessionCall, { inputRequests, journal, answerTimeoutMs }: InputRequiredOutcome): void {
    const stream = this.#replies.streamOf(post, call.expires)
    const row = this.#replies.record(call, stream)
    const due = Date.now() + answerTimeoutMs
    this.#ledger.rewrite(row, ledgerCallOf({ ...call, journal }, stream), due)
    const ids = this.#ledger.ask(row, Object.keys(inputRequests))
    void this.#alarms.add(due)
    for (const [name, ask] of Object.entries(inputRequests)) {
      const { elicitationId: id = elicitationId(row, name) } = ask.params ?? {}
      const written = post.revision.ask(ask, String(id))
      const requestId = ids.get(name)
      if (isObject(ask.params?.task) && requestId !== undefined) this.#tasks?.expect(requestId)
      if (written && requestId !== undefined)
        this.#streams.sendMessage(stream, requestText(requestId, written.method, written.params))
    }
    // A call must not wait for the response to a request that its client never receives.
    this.#streams.flush()
  }

  /** Milliseconds since 1970: when the first one times out, or the next request about a client's task is due. */
  get due(): number {
    return Math.min(this.#ledger.due, this.#tasks?.due ?? Number.POSITIVE_INFINITY)
  }

  /** Returns the scopes that a token needs for a response. */
  scopesOf(id: RequestId): readonly string[] {
    return this.#ledger.scopesOf(this.#tasks?.questionOf(id) ?? id)
  }

  /**
   * Receives a response of the client, which may answer an input request.
   *
   * @returns the call that continues, if this was the last response that it waited for
   */
  answer(received: ResponseMessage): StoredCall | undefined {
    const message = this.#tasks ? this.#tasks.read(received) : received
    if (message?.id === undefined || message.id === null) return undefined
    const answer: Answer = 'result' in message ? { result: message.result } : { error: message.error }
    // The alarm for them may not have come yet.
    this.endOverdue()
    this.#storeRoots(message.id, answer)
    const answered = this.#ledger.answer(message.id, answer)
    // A call that ends in this turn is deleted, and its response is not written.
    this.#streams.flushSoon()
    if (!answered?.problem) return answered
    this.#fail(answered, answered.problem)
    return undefined
  }

  /** Stores the roots of a client that sends `notifications/roots/list_changed`, so that later calls need not request them. */
  #storeRoots(id: RequestId, answer: Answer): void {
    if (!('result' in answer && readRootsResult(answer.result))) return
    const question = this.#ledger.question(id)
    const print = question?.call.journal.requestFingerprints[question.key]
    const isAboutRoots = print !== undefined && print === fingerprint(rootsRequest)
    if (!isAboutRoots || question?.call.handshake.capabilities.roots?.listChanged !== true) return
    // Roots that are too large to store are requested again.
    if (this.#values.fits(answer)) this.#values.put('roots', answer)
    else this.#values.delete('roots')
  }

  /** Called when the roots of the client have changed. */
  forgetRoots(): void {
    this.#values.delete('roots')
  }

  /** Cancels a call that waits for answers. */
  cancel(request: RequestId): void {
    const cancelled = this.#ledger.cancel(request)
    if (!cancelled) return
    this.#cancelInputRequests(cancelled.stream, cancelled.questions, 'The client cancelled the call')
    this.#replies.requestAnswered(cancelled.stream)
  }

  /** Ends calls whose input requests have timed out. */
  endOverdue(): void {
    this.#end(this.#ledger.overdue(Date.now()), 'Timed out waiting for input')
  }

  /** Sends the requests about tasks of the client that are due. */
  poll(): void {
    this.#tasks?.poll()
  }

  /** Ends the calls that wait for responses on behalf of a task. */
  endAsking([taskId, problem]: TaskEnded): void {
    this.#end(this.#ledger.askingFor(taskId), problem)
  }

  /** Ends calls that wait for responses. */
  #end(calls: Iterable<StoredCall>, problem: string): void {
    for (const waiting of calls) {
      if (!this.#streams.isOpen(waiting.call.stream)) this.#values.put('missedTimeout', true)
      this.#fail(waiting, new McpError('call_interrupted', problem, { reason: 'timeout', retryable: true }))
    }
  }

  #fail(waiting: StoredCall, problem: McpError): void {
    const { row, call } = waiting
    this.#cancelInputRequests(call.stream, this.#ledger.end(row), problem.message)
    this.#replies.fail(restOfPost(call), call.request.id, problem, storedCall(waiting))
  }

  /** Tells the client that it need not answer. */
  #cancelInputRequests(stream: number, ids: readonly string[], reason: string): void {
    for (const requestId of ids) {
      if (this.#tasks?.cancel(requestId, stream)) continue
      const params = { requestId, reason }
      this.#streams.send(stream, notificationText({ method: 'notifications/cancelled', params }))
    }
  }
}

/** Returns a name of an elicitation that is unique in the session, and never reused. */
export const elicitationId = (row: number | undefined, key: string) => `${row}-${key}`
