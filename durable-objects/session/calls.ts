/** The calls of a session: starts them, runs them step by step, ends them, and keeps the object in memory while they run. */
import type { Guarded } from '../../worker/declarations/caller.ts'
import type { Declarations } from '../../worker/declarations/declarations.ts'
import type { BatchAnswers } from '../../worker/engine/batch-answers.ts'
import { callerContextOf } from '../../worker/engine/caller.ts'
import { Cancellation } from '../../worker/engine/cancellation.ts'
import { drainMicrotasks } from '../../worker/engine/drain-microtasks.ts'
import { guardStep } from '../../worker/engine/failure.ts'
import { emptyJournal } from '../../worker/engine/journal.ts'
import type { NegotiatedSession, Target } from '../../worker/engine/methods/method.ts'
import { openContext } from '../../worker/engine/request-context.ts'
import { resolve } from '../../worker/engine/resolve.ts'
import { runCall } from '../../worker/engine/run.ts'
import { serializeResult } from '../../worker/engine/serialize-result.ts'
import { McpError } from '../../worker/protocol/errors.ts'
import {
  isNotification,
  isRequest,
  isRequestId,
  isResponse,
  type Message,
  type NotificationMessage,
  type RequestMessage,
  type ResponseMessage,
  resultText,
} from '../../worker/protocol/jsonrpc.ts'
import { holdsScopes } from '../../worker/protocol/principal.ts'
import { oldestRevision, revisionOf } from '../../worker/protocol/revisions/index.ts'
import type { RequestId, Result } from '../../worker/protocol/types.ts'
import type { Alarms } from '../shared/alarms.ts'
import { type CallLedger, requestKey } from '../shared/call-ledger.ts'
import { type EventLog, standingStream } from '../shared/event-log.ts'
import { rpcLimit, streamLimit } from '../shared/message-size.ts'
import type { CallServices } from './call-services.ts'
import type { InputRequests } from './input-requests.ts'
import type { Lifetime } from './lifetime.ts'
import { PendingPost, restOfPost, type SessionCall, storedCall } from './pending-post.ts'
import type { Replies } from './replies.ts'
import type { Post, Posted } from './rpc.ts'
import type { SessionHost } from './session-host.ts'
import type { SessionStreams } from './streams.ts'

/** How often a call runs again, after its object was lost, before it ends with an error. */
const mostRepeats = 2
/** Milliseconds until the alarm that keeps the object in memory for a call whose POST has been answered with a stream. */
const keepAwakeAfterMs = 20_000
/** An alarm may run for 15 minutes. The next alarm continues a longer call. */
const maxAlarmMs = 14 * 60_000

/** A call that runs in this instance. */
type RunningCall = {
  readonly cancellation: Cancellation
  readonly work: Promise<void>
  readonly post: PendingPost
  readonly call: SessionCall
}

export class Calls {
  readonly #host: SessionHost
  readonly #log: EventLog
  readonly #ledger: CallLedger
  readonly #alarms: Alarms
  readonly #lifetime: Lifetime
  readonly #streams: SessionStreams
  readonly #replies: Replies
  readonly #inputRequests: InputRequests
  readonly #services: CallServices
  /** By the key of their request. */
  readonly #running = new Map<string, RunningCall>()
  /** Whether the instance has not yet recovered the calls of the last one. */
  #isNew = true

  constructor(
    host: SessionHost,
    log: EventLog,
    ledger: CallLedger,
    alarms: Alarms,
    lifetime: Lifetime,
    streams: SessionStreams,
    replies: Replies,
    inputRequests: InputRequests,
    services: CallServices,
  ) {
    this.#host = host
    this.#log = log
    this.#ledger = ledger
    this.#alarms = alarms
    this.#lifetime = lifetime
    this.#streams = streams
    this.#replies = replies
    this.#inputRequests = inputRequests
    this.#services = services
  }

  /** Processes a POST. @param negotiated `undefined` before `initialize` over HTTP+SSE */
  async receive(post: Post, negotiated: NegotiatedSession | undefined): Promise<Posted> {
    const lacks = this.#scopesOf(post.messages)
    if (!holdsScopes(post.principal?.scopes, lacks)) return { lacks }
    const requests = post.messages.filter(isRequest)
    const pending = new PendingPost((negotiated && revisionOf(negotiated.version)) ?? oldestRevision, {
      streams: post.streams,
      unanswered: requests.length,
      batch: post.batch,
      scopes: [...new Set(requests.flatMap((request) => scopesIn(post, request)))],
      stream: post.handshake === undefined ? standingStream : undefined,
    })
    for (const message of post.messages) {
      if (isResponse(message)) this.#resume(message, post, pending.batch)
      else if (isNotification(message)) this.#onNotification(message)
    }
    for (const request of requests) this.#start(pending, request, negotiated, post)
    const posted = await this.#replies.respond(pending, post, () => void this.#holdAwake())
    this.#parkUnlessRunning(pending)
    return posted
  }

  /** Lets the object sleep soon if no call of a POST runs. */
  #parkUnlessRunning({ stream }: PendingPost): void {
    if (stream === undefined) return
    const isRunning = () => [...this.#running.values()].some(({ post }) => post.stream === stream)
    this.#streams.parkUnlessRunning(stream, isRunning)
  }

  /**
   * Returns the scopes that a token needs for the open calls that a POST continues or ends: it answers their input requests, or cancels
   * them.
   */
  #scopesOf(messages: readonly Message[]): string[] {
    const scopes = messages.flatMap((message) => {
      if (isResponse(message)) return isRequestId(message.id) ? this.#inputRequests.scopesOf(message.id) : []
      const id = cancelledBy(message)
      if (id === undefined) return []
      return this.#running.get(requestKey(id))?.call.scopes ?? this.#ledger.scopesToCancel(id)
    })
    return [...new Set(scopes)]
  }

  /** @see https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/cancellation */
  #onNotification(message: NotificationMessage): void {
    if (message.method === 'notifications/roots/list_changed') this.#inputRequests.forgetRoots()
    const id = cancelledBy(message)
    if (id === undefined) return
    this.#abandon(requestKey(id), message.params?.reason)
    this.#inputRequests.cancel(id)
  }

  /** Starts a request of a POST: answers it at once, or creates a call. */
  #start(post: PendingPost, request: RequestMessage, negotiated: NegotiatedSession | undefined, from: Post): void {
    const succeed = (result: Result) =>
      this.#replies.answer(post, request.id, { status: 200, text: resultText(request.id, result) })
    const refuse = (thrown: unknown) => this.#replies.fail(post, request.id, thrown)
    // The ledger does not contain the request: once its POST is acknowledged, the answer is stored.
    const succeedWith = (result: Promise<Result>) =>
      post.delay(result.then(succeed, refuse).catch((problem) => this.#lifetime.abort(problem)))
    try {
      const { declarations } = this.#host.at(from.tenant).server
      if (this.#running.has(requestKey(request.id)) || this.#ledger.has(request.id)) {
        throw new McpError(
          'invalid_request',
          `The id ${JSON.stringify(request.id)} is in use by a request in progress: use another id`,
        )
      }
      const target = resolve(declarations, request)
      const method = target.methodIn(post.revision) ?? target.callIn(post.revision)
      if (method?.requires === 'connection') {
        const counted = this.#count({ ...from, request }, post, target, async () => true)
        if (!counted) return succeed(method.result)
        return succeedWith(
          counted.then((release) => {
            release()
            return method.result
          }),
        )
      }
      if (method?.requires === 'handshake') return succeedWith(this.#services.initialize(method, post, request, from))
      if (!negotiated) throw new McpError('invalid_request', 'The first request must be initialize')
      // Whether the server offers the method of a call is decided when the call starts.
      const isOffered =
        method?.requires === 'session'
          ? method.offered(declarations, { updates: this.#services.updates })
          : method !== undefined
      if (!isOffered) throw new McpError('method_not_found', `Method not found: ${request.method}`)
      this.#services.setOwner(declarations, negotiated, from)
      const scopes = scopesIn(from, request)
      const call = { ...from, request, handshake: negotiated, journal: emptyJournal, scopes }
      this.#run(post, call, target)
    } catch (thrown) {
      refuse(thrown)
    }
  }

  /** Counts a round of a call, if the endpoint has limits. @param resumed cancels a round of a call that continues */
  #count(
    { request, principal, caller, tenant }: Pick<SessionCall, 'request' | 'principal' | 'caller' | 'tenant'>,
    post: PendingPost,
    target: Target,
    sees: (entry: Guarded) => Promise<boolean>,
    resumed?: AbortSignal,
  ): Promise<() => void> | undefined {
    if (caller === undefined) return undefined
    const counting = this.#host.countRoundOf(tenant)?.({
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
      parked: () => this.#ledger.waiting(),
    })
    if (counting) post.count(request, counting)
    return counting
  }

  /**
   * Runs one step of a call. The step ends with a reply, or with input requests on the stream of the call.
   *
   * @param known what the call names. Default: it is looked up
   * @param isResumed the call was counted when it started
   * @param batch of the POST that starts or continues the call
   */
  #run(post: PendingPost, sessionCall: SessionCall, known?: Target, isResumed = false, batch = post.batch): void {
    const { request } = sessionCall
    const cancellation = new Cancellation()
    const { promise, resolve: end } = Promise.withResolvers<void>()
    const key = requestKey(request.id)
    post.calls.add(sessionCall)
    if (post.stream !== undefined) this.#replies.record(sessionCall, post.stream)
    const environment = this.#services.environmentOf(post, sessionCall, cancellation, batch)
    const withContext = async () =>
      this.#services.callOf(post, sessionCall, await openContext(sessionCall.requestContext, environment.seals))
    const step = async () => {
      let release: (() => void) | undefined
      try {
        const { server } = this.#host.at(sessionCall.tenant)
        const target = known ?? resolve(server.declarations, request)
        // The step reports what visibleTo throws.
        const sees = async (entry: Guarded) =>
          target.isVisible(entry, { caller: callerContextOf(await withContext(), environment) }).catch(() => false)
        release = await this.#count(sessionCall, post, target, sees, isResumed ? cancellation.signal : undefined)
        // One after the other, as without a session: one result is in memory before the bound on all responses holds.
        await batch?.nextTurn(promise)
        const call = await withContext()
        if (cancellation.isAborted) return
        // What was decided to count the call is decided again after it has waited.
        if (isResumed || batch) target.decideAgain()
        const method = target.methodIn(post.revision)
        const controls = () =>
          this.#services.controlsOf(sessionCall, server, cancellation.signal, () => callerContextOf(call, environment))
        const outcome =
          method?.requires === 'session'
            ? {
                type: 'result' as const,
                result: await guardStep(server.declarations, call, () => method.answer(call.params, controls())),
              }
            : await runCall(server, call, sessionCall.journal, environment, target)
        if (cancellation.isAborted) return
        if (outcome.type === 'result') {
          const text = serializeResult(request.id, server.declarations, { call, target }, outcome.result, {
            report: this.#host.report,
            limit: post.stream === undefined ? rpcLimit : streamLimit,
          })
          return this.#replies.answer(post, request.id, { status: 200, text }, sessionCall)
        }
        if (!post.streams) {
          throw new McpError('not_acceptable', 'Accept must include text/event-stream')
        }
        this.#inputRequests.send(post, sessionCall, outcome)
      } catch (thrown) {
        if (!cancellation.isAborted) this.#replies.fail(post, request.id, thrown, sessionCall)
      } finally {
        release?.()
        if (this.#running.get(key)?.call === sessionCall) this.#running.delete(key)
        this.#parkUnlessRunning(post)
      }
    }
    // Registered before the step runs, so that its end finds it.
    this.#running.set(key, { cancellation, work: promise, post, call: sessionCall })
    step()
      // Its client would wait for an answer that cannot be sent.
      .catch((problem) => this.#lifetime.abort(problem))
      .finally(end)
  }

  /**
   * Receives a response of the client. If it is the last one that a call waits for, the call continues as part of this POST.
   *
   * @param batch that of the POST, if it is one
   */
  #resume(
    message: ResponseMessage,
    { principal, caller, address, http, expires }: Post,
    batch: BatchAnswers | undefined,
  ): void {
    const answered = this.#inputRequests.answer(message)
    if (!answered) return
    const { row, call } = answered
    const sessionCall = { ...call, row, principal, caller, address, http, expires }
    this.#run(restOfPost(call), sessionCall, undefined, true, batch)
    void this.#holdAwake()
  }

  /** Recovers the calls that were running in the last instance: runs each again, or ends it with an error. */
  recover(): void {
    if (!this.#isNew) return
    const expires = this.#lifetime.id?.expires ?? 0
    for (const stored of this.#ledger.unasked()) {
      const { row, call } = stored
      const post = restOfPost(call)
      const sessionCall = storedCall(stored, expires)
      const isSafe = isSafeToRetry(this.#host.server.declarations, call.request)
      // Only the client's next request has its principal, so a call of a principal is not run again without one.
      if (isSafe && !call.isPersonal && call.repeats < mostRepeats) {
        this.#ledger.rewrite(row, { ...call, repeats: call.repeats + 1 })
        const sentCount = Math.max(call.journal.notificationsSent, this.#log.saidBy(row, call.stream))
        this.#run(post, { ...sessionCall, journal: { ...call.journal, notificationsSent: sentCount } })
        continue
      }
      const data = { reason: 'interrupted', retryable: isSafe }
      const interrupted = new McpError('call_interrupted', 'The call was interrupted', data)
      this.#replies.fail(post, call.request.id, interrupted, sessionCall)
    }
    this.#isNew = false
    void this.#holdAwake()
  }

  /** Ends every running call: one that cannot be dropped is reported. */
  abandonAll(reason: unknown): void {
    for (const key of this.#running.keys()) {
      try {
        this.#abandon(key, reason)
      } catch (problem) {
        this.#host.report(problem)
      }
    }
  }

  /** Ends a running call at once, without a reply, whether or not its handler observes the signal. */
  #abandon(key: string, reason: unknown): void {
    const running = this.#running.get(key)
    if (!running) return
    this.#running.delete(key)
    try {
      this.#replies.drop(running.post, running.call)
    } finally {
      running.cancellation.abort(reason)
      this.#parkUnlessRunning(running.post)
    }
  }

  /** Keeps the object in memory, by an alarm, for calls whose POST has been answered. */
  async #holdAwake(): Promise<void> {
    if (this.#running.size > 0) await drainMicrotasks()
    if (this.#running.size === 0) return
    this.#alarms.hold(Math.min(Date.now() + keepAwakeAfterMs, this.#inputRequests.due))
  }

  /** Runs in the alarm of the session: ends a session that has expired, and sets the next alarm of another one. */
  async onAlarm(): Promise<void> {
    this.#alarms.release()
    const lifetime = this.#lifetime
    const { epoch } = lifetime
    this.recover()
    this.#inputRequests.poll()
    await this.#holdRunning()
    // What ended it, or ends it, sets the next alarm.
    if (epoch !== lifetime.epoch || lifetime.isOver) return
    const due = lifetime.due()
    const now = Date.now()
    // Also while a call runs: no client waits for it.
    if (due <= now) return lifetime.expire(this.#ledger.isOpen)
    const cleanup = this.#log.deleteFinished(now) ? now + this.#host.options.log.maxAgeMs : due
    const next = this.#running.size > 0 ? now + keepAwakeAfterMs : cleanup
    return this.#alarms.set({ expiry: due, next, answers: this.#inputRequests.due })
  }

  /**
   * Keeps the object in memory while calls run, for as long as an alarm may take. No other alarm runs meanwhile, so this function meets every
   * deadline of the session: the earliest one first, including those that are set meanwhile.
   */
  async #holdRunning(): Promise<void> {
    const end = Date.now() + maxAlarmMs
    const lifetime = this.#lifetime
    const { epoch } = lifetime
    for (;;) {
      this.#inputRequests.endOverdue()
      const running = [...this.#running.values()]
      // The client waits for the response, or reads its body.
      const isAwaited = running.some(({ post: { stream } }) => stream === undefined || this.#streams.isRead(stream))
      if (isAwaited) lifetime.markSeen()
      const last = Math.min(end, lifetime.due())
      if (running.length === 0 || last <= Date.now()) return
      const works = Promise.allSettled(running.map(({ work }) => work))
      await this.#alarms.wait(works, Math.min(last, this.#inputRequests.due))
      if (epoch !== lifetime.epoch) return
      if (isAwaited) lifetime.markSeen()
      this.#inputRequests.poll()
    }
  }
}

/** Returns the id of the request that a notification cancels; `undefined` for another message. */
function cancelledBy({ method, params }: RequestMessage | NotificationMessage): RequestId | undefined {
  const id = method === 'notifications/cancelled' ? params?.requestId : undefined
  return isRequestId(id) ? id : undefined
}

/** Returns the scopes that a token needs for a request of a POST. */
const scopesIn = ({ messages, scopes }: Post, request: RequestMessage): readonly string[] =>
  scopes[messages.indexOf(request)] ?? []

/** Whether a request may run again after it was interrupted: a request that only reads, or a tool whose annotations allow it. */
function isSafeToRetry({ tools }: Declarations, { method, params }: RequestMessage): boolean {
  if (method !== 'tools/call') return true
  const { readOnlyHint, idempotentHint } = tools.get(String(params?.name))?.item.annotations ?? {}
  return readOnlyHint === true || idempotentHint === true
}
