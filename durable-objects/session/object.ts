/**
 * One session of a client that speaks a revision with sessions: its open calls, its streams, what it subscribed to.
 *
 * An object that was only ever asked quick questions has stored nothing. Besides the tables of `event-log.ts` and
 * `call-ledger.ts`, and its version (`schema.ts`), it keeps in key-value storage:
 *
 * | key         | meaning                                                     | lifetime                           |
 * |-------------|-------------------------------------------------------------|------------------------------------|
 * | `handshake` | what was agreed on, `null` before, of sessions over HTTP+SSE | the session                        |
 * | `roots`     | what the client last said its folders are, if it tells of changes | until it does, or the session ends |
 * | `logLevel` | the least severe log line the client wants                  | the session                        |
 * | `missedTimeout` | a question's time was over when nobody was there to hear it | the session                        |
 * | `updatesShard` | the shard of the Updates objects it is registered with      | the session                        |
 * | `terms`     | `SessionTerms` of its endpoint as a text, if its class has others | the session                   |
 * | `subscribedScopes` | scopes of what it has subscribed to                         | until a stream is opened without them |
 * | `reader`    | `Reader`: which scopes the token has that opened the standing stream | the session               |
 * | `taskScopes` | scopes of tasks whose status was sent on the standing stream | until it is opened without them    |
 * | `lastSeenAt` | milliseconds: roughly when the client last asked something  | the session                        |
 * | `id`        | `Id`: what is known of the session's id                      | the session                        |
 * | `stateObjects` | names of the objects that keep its handlers' state          | the session                        |
 * | `ended`     | tombstone: `expires` of a session that is over              | until then, by alarm               |
 *
 * A session that its client ended leaves the tombstone. One that lapsed leaves it only if a client that comes back would
 * miss something without being told: subscriptions, a log level, a question it was asked, what its handlers remember.
 * Otherwise nothing remains: a client may use its id again, and ids of streams, events and input requests go on above those that it knows.
 */

import { DurableObject } from 'cloudflare:workers'
import { serializeResult } from '../../worker/engine/answer-text.ts'
import { readRoots } from '../../worker/engine/answers.ts'
import type { Call, CallEnvironment, Seals } from '../../worker/engine/call.ts'
import { fingerprint, rootsRequest } from '../../worker/engine/context.ts'
import { drainMicrotasks } from '../../worker/engine/drain-microtasks.ts'
import { initializeResult, type NegotiatedSession, parseInitialize } from '../../worker/engine/handshake.ts'
import { type Answer, emptyJournal } from '../../worker/engine/journal.ts'
import { readText } from '../../worker/engine/methods/method.ts'
import { hasResources } from '../../worker/engine/methods/resources.ts'
import { isSafeToRetry } from '../../worker/engine/retry-policy.ts'
import { runCall } from '../../worker/engine/run.ts'
import { entryOf } from '../../worker/engine/scopes.ts'
import { readSubscription } from '../../worker/engine/subscribing.ts'
import { closeCode } from '../../worker/http/relay-messages.ts'
import { BoundedMap } from '../../worker/protocol/bounded-map.ts'
import {
  eventNotification,
  listChanges,
  type Recipients,
  type ServerEvent,
  topicsFor,
} from '../../worker/protocol/changes.ts'
import { asMcpError, McpError, tooManyRequests } from '../../worker/protocol/errors.ts'
import {
  errorText,
  isNotification,
  isRequest,
  isRequestId,
  isResponse,
  type Message,
  notificationText,
  type RequestMessage,
  requestText,
  resultText,
} from '../../worker/protocol/jsonrpc.ts'
import { isLogLevel } from '../../worker/protocol/meta.ts'
import { holdsScopes, type Principal, principalKey } from '../../worker/protocol/principal.ts'
import { oldestRevision, revisionOf } from '../../worker/protocol/revisions/index.ts'
import type { LogLevel, Params, RequestId, Result } from '../../worker/protocol/types.ts'
import { logLevels } from '../../worker/protocol/types.ts'
import type { EnterCall } from '../../worker/server/call-attempt.ts'
import type { Admitted } from '../../worker/server/endpoints.ts'
import type { Server } from '../../worker/server/server.ts'
import type { StateRpc } from '../../worker/server/state.ts'
import type {
  Admission,
  Consumed,
  Opening,
  Post,
  Posted,
  PostedRefusals,
  SessionRpc,
  TaskEnded,
  UpdatesRpc,
} from '../rpc.ts'
import { CallLedger, type LedgerCall, requestKey } from '../shared/call-ledger.ts'
import { EventLog, readEventId, standingStream } from '../shared/event-log.ts'
import { maxRowBytes, maxRpcBytes, tooLarge } from '../shared/message-size.ts'
import { Schema } from '../shared/schema.ts'
import { Values } from '../shared/values.ts'
import { PendingPost, type Reply, type SessionCall } from './pending-post.ts'
import { RequestStateStore } from './request-state-store.ts'
import { sessionAddress } from './session-address.ts'
import { readTerms, type SessionTerms } from './session-terms.ts'
import { isOverSse, SessionStreams } from './streams.ts'

/** What a session needs from the server it belongs to. */
export type SessionHost = {
  readonly server: Server
  /** Milliseconds from `initialize` until a session's id is worth nothing, however much it is used. */
  readonly life: number
  /** `SessionTerms` of a session of this class's own endpoint, by its name, as a text. */
  termsOf(name: string): string
  seals(principal: Principal | undefined, identity: string): Seals
  state(name: string): StateRpc
  /** The name under which the Worker exports the class. */
  readonly className: string
  updatesAt(shard: number): UpdatesRpc
  /**
   * Counts a round of a call by the limits of the endpoint that admitted it; `undefined`: it has none.
   *
   * @throws McpError when this class cannot know them
   */
  enterOf(admitted: Admitted | undefined): EnterCall | undefined
  /** @throws McpError when the endpoint that admitted a call serves another server than that of this class */
  checkServer(admitted: Admitted | undefined): void
  report(problem: unknown): void
}

/** Milliseconds until the alarm that holds the object awake for a call whose POST has been answered with a stream. */
const keepAwakeAfterMs = 20_000
/** Far more streams, events and input requests than one life has. With a life of a week, ids have 15 digits at most. */
const idsPerMs = 1_000_000
/** How often a call is run again before its interruption is admitted. */
const mostRepeats = 2
/** Milliseconds that an HTTP+SSE session outlives its stream, in case the Worker dials again. */
const sseGraceMs = 5 * 60_000
/** An alarm may run for fifteen minutes; a longer call is held by the next one. */
const maxAlarmMs = 14 * 60_000

/** `name`: the object's own, which one that is born by an alarm may not know. `expires`: milliseconds. */
type Id = { name: string; expires: number }

/** Who reads the standing stream: see `Opening.relay`. */
type Reader = { relay: string; scopes: readonly string[] }

type Running = { abort: AbortController; work: Promise<void>; exchange: PendingPost; job: SessionCall }

export class Session extends DurableObject implements SessionRpc {
  readonly #host: SessionHost
  readonly #schema: Schema
  readonly #log: EventLog
  readonly #relays: SessionStreams
  readonly #ledger: CallLedger
  readonly #rounds: RequestStateStore
  readonly #values: Values
  readonly #running = new Map<string, Running>()
  /** Milliseconds: since when an HTTP+SSE session has been without its stream. */
  #sseDisconnectedAt: number | undefined
  /** Settles when the last change of subscriptions that was begun is done. */
  #subscribing: Promise<void> = Promise.resolve()
  /** Resolves when a deadline is set. */
  #deadlineSet = Promise.withResolvers<void>()
  #lastSeenAt = 0
  #isExpiryScheduled = false
  #isEnding = false
  /** Scopes of the tokens that were admitted and have not opened their relay, by relay. */
  readonly #admitted = new BoundedMap<string, readonly string[]>({ maxEntries: 100 })
  /** Changes that it has got: one whose delivery was answered late is delivered again. */
  readonly #deliveries = new BoundedMap<string, true>({ maxEntries: 100 })
  /** The options that its endpoint sent last. */
  #termsText: string | undefined
  #termsNow: SessionTerms | undefined
  /** How often it has ended. */
  #epoch = 0
  #isNew = true

  constructor(ctx: DurableObjectState, env: never, host: SessionHost) {
    super(ctx, env)
    this.#host = host
    this.#schema = new Schema(ctx.storage)
    this.#log = new EventLog(
      ctx.storage.sql,
      () => this.#terms.log,
      () => this.#skippedIds,
    )
    this.#relays = new SessionStreams(ctx, this.#log)
    this.#rounds = new RequestStateStore(ctx.storage, this.#schema)
    this.#values = new Values(ctx.storage.kv, this.#schema)
    this.#ledger = new CallLedger(ctx.storage.sql, () => this.#skippedIds)
  }

  async post(post: Post): Promise<Posted> {
    this.#schema.check()
    if (this.#isOver()) return { gone: true }
    const overSse = post.handshake === undefined
    if (overSse && !this.#id) return { gone: true }
    this.#setTerms(post.terms)
    this.#recover()
    this.#markSeen()
    const negotiated = post.handshake ?? this.#values.get<NegotiatedSession | null>('handshake') ?? undefined
    const revision = negotiated && revisionOf(negotiated.version)
    const lacks = this.#scopesOfOpenCalls(post)
    if (!holdsScopes(post.principal?.scopes, lacks)) return { lacks }

    for (const message of post.messages) {
      if (isResponse(message)) this.#onMessage(message, post)
      else if (isNotification(message)) this.#onNotification(message.method, message.params)
    }
    const requests = post.messages.filter(isRequest)
    if (requests.length === 0) return { status: 202 }

    const pending = new PendingPost(revision ?? oldestRevision, {
      streams: post.streams,
      unanswered: requests.length,
      batch: post.batch,
      scopes: [...new Set(requests.flatMap((request) => this.#scopesIn(post, request)))],
      stream: overSse ? standingStream : undefined,
    })
    for (const request of requests) this.#start(pending, request, negotiated, post)
    if (overSse) {
      void this.#holdAwake()
      return { status: 202, ...(await refusalsIn(pending, post)) }
    }
    const lifetimeMs = this.#epoch
    await drainMicrotasks(() => pending.isSettled)
    const waits = post.streams && !pending.isSettled
    const timer = waits ? setTimeout(() => this.#becomeStream(pending, post.expires), this.#terms.streamAfterMs) : null
    await pending.settled
    clearTimeout(timer)
    if (lifetimeMs !== this.#epoch) return { gone: true }
    if (pending.stream !== undefined) {
      void this.#holdAwake()
      return { stream: pending.stream, ...(await refusalsIn(pending, post)) }
    }
    const [first] = pending.replies
    if (!first) return { status: 202 }
    const refusals = await refusalsIn(pending, post)
    if (!post.batch) {
      const { status, text, headers } = fitted(pending, first, maxRpcBytes)
      return { status, text, ...(headers && { headers }), ...refusals }
    }
    // The bound on the answers of a batch keeps them below what an RPC returns.
    return { status: 200, text: `[${pending.replies.map(({ text }) => text).join(',')}]`, ...refusals }
  }

  async end(expires: number): Promise<boolean> {
    this.#schema.check()
    if (this.#isOver()) return false
    await this.#finish(expires)
    return true
  }

  async changed(
    event: ServerEvent,
    taskEnded?: TaskEnded,
    scopes: readonly string[] = [],
    delivery?: string,
  ): Promise<boolean> {
    this.#schema.check()
    // It may be registering right now. One without an id has ended without a trace.
    if (this.#isOver() || !this.#id) return false
    if (delivery !== undefined && this.#deliveries.has(delivery)) return true
    const isTold = scopes.length === 0 || holdsScopes(this.#values.get<Reader>('reader')?.scopes, scopes)
    if (isTold && this.#log.find(standingStream)) {
      const isScoped = 'resource' in event && this.#scopesOf('resources/subscribe', { uri: event.resource }).length > 0
      const scoped = scopes.length > 0 ? 'task' : isScoped ? 'resource' : undefined
      if (scopes.length > 0) this.#values.put('taskScopes', [...new Set([...this.#taskScopes, ...scopes])])
      this.#relays.send(standingStream, notificationText(eventNotification(event)), { scoped })
    }
    if (taskEnded) {
      const [taskId, problem] = taskEnded
      this.#endWaiting(this.#ledger.askingFor(taskId), problem)
    }
    if (delivery !== undefined) this.#deliveries.set(delivery, true)
    return true
  }

  async admit({ terms, expires, issuer, tenant, scopes, after, relay }: Opening): Promise<Admission> {
    this.#schema.check()
    if (this.#isOver()) return { gone: true }
    this.#setTerms(terms)
    this.#recover()
    this.#markSeen()
    const isRevoked = await this.#dropSubscriptionsWithout(scopes)
    this.#log.deleteFinished(Date.now())
    const id = after === undefined ? undefined : readEventId(after)
    const lacks = id ? this.#log.scopesOf(id.stream) : []
    if (!holdsScopes(scopes, lacks)) return { lacks }
    if (relay !== undefined) this.#admitted.set(relay, scopes)
    if (!id || id.stream === standingStream) this.#restrictReader(scopes)
    const isListening = this.#values.get('updatesShard') !== undefined
    if (after !== undefined && !isRevoked && !isListening) return { admitted: true }
    this.#scheduleExpiry(expires)
    return (await this.#listen(issuer === undefined ? {} : { issuer, tenant })) ? { admitted: true } : { gone: true }
  }

  /**
   * Opens a relay: `?after=<event id>` goes on after an event, `?stream=<number>` starts a stream; without either it is the
   * standing stream from now on. `?admitted`: the Worker has called `admit`. `terms`: see `Opening`. `relay`, `again`, `polling`, `sse`: see
   * `StreamOptions`. Nothing in the URL may be secret, because platforms log it.
   */
  override async fetch(request: Request): Promise<Response> {
    this.#schema.check()
    const { searchParams } = new URL(request.url)
    const after = searchParams.get('after')
    const stream = searchParams.get('stream')
    const overSse = searchParams.has('sse')
    const options = {
      relay: searchParams.get('relay') ?? '',
      again: searchParams.has('again'),
      polling: searchParams.has('polling'),
      overSse,
    }
    if (this.#isOver()) return new Response(null, { status: 404 })
    this.#setTerms(searchParams.get('terms') ?? undefined)
    this.#recover()
    this.#markSeen()
    this.#sseDisconnectedAt = undefined
    if (after) {
      this.#log.deleteFinished(Date.now())
      const resumed = this.#relays.resume(after, { ...options, polling: false })
      if (resumed?.webSocket && readEventId(after)?.stream === standingStream) this.#setReader(options.relay)
      if (resumed) return resumed
      // The session cannot go on without its stream.
      if (overSse) await this.#finish()
      return new Response(null, { status: 400 })
    }
    if (stream) {
      const start = this.#log.onFrom({ stream: Number(stream), seq: 0 }, true)
      return start ? this.#relays.open(start, options) : new Response(null, { status: 400 })
    }
    this.#scheduleExpiry(Number(searchParams.get('expires')))
    if (overSse && this.#values.get('handshake') === undefined) this.#values.put('handshake', null)
    const isListening = overSse || searchParams.has('admitted') || (await this.#listen())
    if (!isListening) return new Response(null, { status: 404 })
    // Whoever dialled may be gone: a socket without another end would hold this session for ever.
    if (request.signal.aborted) return new Response(null, { status: 408 })
    this.#log.openStanding()
    this.#setReader(options.relay)
    const { last } = this.#log.find(standingStream) as { last: number }
    return this.#relays.open({ stream: standingStream, seq: last }, options)
  }

  // An object of this class that is no session may stand for one state of a stateless call.

  async put(text: string, expires: number): Promise<void> {
    this.#schema.check()
    return this.#rounds.put(text, expires)
  }

  async get(): Promise<string | undefined> {
    this.#schema.check()
    return this.#rounds.get()
  }

  async consume(use: string, expires: number, isLate?: boolean): Promise<Consumed> {
    this.#schema.check()
    return this.#rounds.consume(use, expires, isLate)
  }

  async extend(): Promise<void> {
    this.#schema.check()
    return this.#rounds.extend()
  }

  override async webSocketClose(socket: WebSocket, code: number): Promise<void> {
    this.#schema.check()
    if (this.#isOver() || !this.#id) return
    if (!isOverSse(socket)) return this.#markSeen()
    // Over HTTP+SSE the stream is the session.
    // Its id means nothing without the stream's handshake, so nothing has to remember that it is over.
    if (code === closeCode.clientGone) return this.#finish()
    if (this.#relays.isOpen(standingStream)) return
    // The Worker dials again, unless it is gone as well.
    this.#sseDisconnectedAt = Date.now()
    await this.#wakeBy(this.#sseDisconnectedAt + sseGraceMs)
  }

  override async alarm(): Promise<void> {
    if (await this.#schema.putOffAlarm()) return
    const endedAt = this.#values.get<number>('ended')
    if (endedAt !== undefined) return endedAt <= Date.now() ? this.#clear() : this.ctx.storage.setAlarm(endedAt)
    this.#recover()
    await this.#holdRunning()
    if (this.#isOver()) return
    const due = this.#due()
    // However long a call of it runs: nobody waits for it.
    if (due <= Date.now()) {
      return this.#finish(
        this.#id?.expires,
        this.#values.get('logLevel') !== undefined || this.#values.get('missedTimeout') || this.#ledger.isOpen,
      )
    }
    const now = Date.now()
    const cleanup = this.#log.deleteFinished(now) ? now + this.#terms.log.maxAgeMs : due
    const hold = this.#running.size > 0 ? now + keepAwakeAfterMs : cleanup
    return this.ctx.storage.setAlarm(Math.min(due, hold, this.#ledger.due))
  }

  /**
   * Keeps the object in memory while calls run, for as long as an alarm may take. No other alarm runs meanwhile, so every
   * deadline of the session is met here: the earliest one wins, also when it is set only now.
   */
  async #holdRunning(): Promise<void> {
    const end = Date.now() + maxAlarmMs
    for (;;) {
      this.#endOverdue()
      const last = Math.min(end, this.#due())
      const works = [...this.#running.values()].map((running) => running.work)
      if (works.length === 0 || last <= Date.now()) return
      const next = Math.min(last, this.#ledger.due)
      const { promise: isDue, resolve } = Promise.withResolvers<void>()
      const timer = setTimeout(resolve, Math.max(0, next - Date.now()))
      await Promise.race([Promise.allSettled(works), isDue, this.#deadlineSet.promise])
      clearTimeout(timer)
      if (this.#isOver()) return
    }
  }

  /** Ends calls whose input requests nobody answered in time. */
  #endOverdue(): void {
    this.#endWaiting(this.#ledger.overdue(Date.now()), 'Nobody answered in time')
  }

  #endWaiting(calls: readonly { row: number; call: LedgerCall }[], problem: string): void {
    for (const { row, call } of calls) {
      const late = new McpError('interrupted', problem, { reason: 'timeout', retryable: true })
      if (!this.#relays.isOpen(call.stream)) this.#values.put('missedTimeout', true)
      this.#cancelQuestions(call.stream, this.#ledger.end(row), late.message)
      this.#fail(exchangeOn(call), call.request.id, late, {
        ...call,
        row,
        principal: undefined,
        caller: undefined,
        expires: 0,
      })
    }
  }

  /** Milliseconds: when this session is over, unless its client is heard of before. */
  #due(): number {
    const now = Date.now()
    const isHeld = this.ctx.getWebSockets().length > 0
    // Noted, so that the stream's end does not make the session look older than it is.
    if (isHeld) this.#markSeen()
    const expires = this.#id?.expires ?? now
    if (this.#values.get('handshake') !== undefined && !isHeld) {
      this.#sseDisconnectedAt ??= now
      return Math.min(expires, this.#sseDisconnectedAt + sseGraceMs)
    }
    return Math.min(expires, Math.max(this.#lastSeenAt, this.#values.get<number>('lastSeenAt') ?? 0) + this.#terms.ttl)
  }

  // Calls

  #start(pending: PendingPost, request: RequestMessage, negotiated: NegotiatedSession | undefined, post: Post): void {
    const answer = (result: Result) =>
      this.#answer(pending, request.id, { status: 200, text: resultText(request.id, result) })
    try {
      this.#host.checkServer(post.admitted)
      if (this.#running.has(requestKey(request.id)) || this.#ledger.has(request.id)) {
        throw new McpError('invalid_request', `The id ${JSON.stringify(request.id)} belongs to a request in progress`)
      }
      if (request.method === 'ping') {
        const counted = this.#count({ ...post, request }, pending)
        if (!counted) return answer({})
        return void counted
          .then((release) => {
            release()
            answer({})
          })
          .catch((thrown) => this.#fail(pending, request.id, thrown))
      }
      if (request.method === 'initialize') {
        const fail = (thrown: unknown) => this.#fail(pending, request.id, thrown)
        return void this.#initialize(pending, request, post).then(answer, fail)
      }
      if (!negotiated) throw new McpError('invalid_request', 'The first request must be initialize')
      const { method } = request
      const { server } = this.#host
      const isKnown = pending.revision.requests.has(method) || server.registry.methods.has(method)
      if (!isKnown || (method.endsWith('subscribe') && !(this.#hasUpdates && hasResources(server.registry)))) {
        throw new McpError('method_not_found', `Method not found: ${method}`)
      }
      this.#work(pending, {
        ...post,
        request,
        handshake: negotiated,
        journal: emptyJournal,
        scopes: this.#scopesIn(post, request),
      })
    } catch (thrown) {
      this.#fail(pending, request.id, thrown)
    }
  }

  async #initialize(pending: PendingPost, request: RequestMessage, post: Post): Promise<Result> {
    if (post.handshake || this.#values.get('handshake')) {
      throw new McpError('invalid_request', 'This session is initialized already')
    }
    const negotiated = parseInitialize(request.params)
    const revision = revisionOf(negotiated.version) ?? pending.revision
    this.#values.put('handshake', negotiated)
    // What fails now is done when its client next subscribes or, if it never does, not missed.
    await this.#listen(post.principal).catch(this.#host.report)
    return initializeResult(this.#host.server.registry, revision, { updates: this.#hasUpdates }, post.principal)
  }

  /** What a session does itself. What they wait for may outlast it. */
  readonly #ownMethods: Record<string, (params: Params, call: SessionCall, signal: AbortSignal) => Promise<Result>> = {
    'logging/setLevel': async ({ level }, { expires }) => {
      if (!isLogLevel(level))
        throw new McpError('invalid_params', `params.level must be one of ${logLevels.join(', ')}`)
      this.#scheduleExpiry(expires)
      this.#values.put('logLevel', level)
      return {}
    },
    'resources/subscribe': async (params, { principal, address, expires, scopes = [] }, signal) => {
      const uri = await readSubscription(this.#host.server.registry, { principal }, params)
      signal.throwIfAborted()
      this.#scheduleExpiry(expires)
      const topics = topicsFor([{ resource: uri }], principal ?? {})
      const hasRoom = await this.#oneByOne(async () => {
        const isThere = await this.#listen(principal)
        if (scopes.length > 0)
          this.#values.put('subscribedScopes', [...new Set([...this.#subscribedScopes, ...scopes])])
        const subscriber = { principal: principalKey(principal), address }
        return !isThere || (await this.#updates?.subscribe(this.#address, topics, subscriber)) !== false
      })
      if (hasRoom) return {}
      const problem = 'Too many subscriptions: unsubscribe from a resource, or wait 60 seconds, then try again'
      throw tooManyRequests(problem, 60, 'subscriptions')
    },
    'resources/unsubscribe': async (params, { principal }) => {
      if (this.#values.get('updatesShard') !== undefined) await this.#listen(principal)
      const topics = topicsFor([{ resource: readText(params, 'uri') }], principal ?? {})
      await this.#updates?.unsubscribe(this.#address, topics)
      return {}
    },
  }

  /** Counts a round of a call, if the endpoint has limits. @param resumed what cancels a round of a call that goes on */
  #count(
    { request, caller, admitted }: Pick<SessionCall, 'request' | 'caller' | 'admitted'>,
    post: PendingPost,
    resumed?: AbortSignal,
  ): Promise<() => void> | undefined {
    if (caller === undefined) return undefined
    const { method, params = {} } = request
    const counting = this.#host.enterOf(admitted)?.({
      method,
      params,
      caller,
      post,
      isResumed: resumed !== undefined,
      signal: () => resumed ?? new AbortController().signal,
      // Handlers of a session run on after their call was cancelled, until they return.
      endsWithSignal: false,
      parked: () => this.#ledger.waiting(),
    })
    if (counting) post.count(request, counting)
    return counting
  }

  /**
   * Takes one step of a call. It ends with an answer, or parked with questions on its stream.
   *
   * @param isResumed it was counted when it began
   */
  #work(post: PendingPost, sessionCall: SessionCall, isResumed = false): void {
    const { server } = this.#host
    const { revision } = post
    const { request, handshake: negotiated, principal, session, identity, admitted, expires } = sessionCall
    const abort = new AbortController()
    const lifetimeMs = this.#epoch
    const key = requestKey(request.id)
    post.calls.add(sessionCall)
    if (post.stream !== undefined) this.#recordCall(sessionCall, post.stream)
    const call: Call = {
      method: request.method,
      params: request.params ?? {},
      revision,
      capabilities: revision.client(negotiated.capabilities),
      client: negotiated.client,
      principal,
      session: { id: session },
      admitted,
      requestId: request.id,
      logLevel: this.#values.get<LogLevel>('logLevel') ?? 'info',
    }
    const notify: CallEnvironment['notify'] = (notification, sentCount) => {
      const written = revision.notification(notification)
      if (written && !abort.signal.aborted) this.#notify(post, notificationText(written), sessionCall, sentCount)
    }
    const environment: CallEnvironment = {
      signal: () => abort.signal,
      seals: this.#host.seals(principal, identity),
      state: {
        object: this.#host.state,
        session: { name: this.#name, expires, keep: (state) => this.#keep(state, expires, lifetimeMs) },
      },
      updates: this.#hasUpdates,
      known: ({ method }) => (method === 'roots/list' ? this.#values.get<Answer>('roots') : undefined),
      notify,
      disconnect: (retry) => {
        if (!abort.signal.aborted) this.#release(post, expires, retry)
      },
      completed(question, sentCount) {
        const params = { elicitationId: elicitationId(sessionCall.row, question) }
        notify({ method: 'notifications/elicitation/complete', params }, sentCount)
      },
      report: this.#host.report,
    }
    const step = async () => {
      let release: (() => void) | undefined
      try {
        const entering = this.#count(sessionCall, post, isResumed ? abort.signal : undefined)
        if (entering) release = await entering
        if (abort.signal.aborted) return
        const own = this.#ownMethods[request.method]
        const outcome = own
          ? { type: 'result' as const, result: await own(call.params, sessionCall, abort.signal) }
          : await runCall(server, call, sessionCall.journal, environment)
        if (abort.signal.aborted) return
        if (outcome.type === 'result') {
          const text = serializeResult(request.id, server.registry, call, outcome.result)
          return this.#answer(post, request.id, { status: 200, text }, sessionCall)
        }
        if (!post.streams) {
          throw new McpError('not_acceptable', 'Accept must include text/event-stream')
        }
        const stream = this.#streamOf(post, expires)
        const row = sessionCall.row as number
        const due = Date.now() + outcome.answerTimeoutMs
        this.#ledger.rewrite(row, ledgerCallOf({ ...sessionCall, journal: outcome.journal }, stream), due)
        const ids = this.#ledger.ask(row, Object.keys(outcome.inputRequests))
        void this.#wakeBy(due)
        for (const [name, ask] of Object.entries(outcome.inputRequests)) {
          const written = revision.ask(ask, elicitationId(row, name))
          if (written)
            this.#relays.sendMessage(stream, requestText(ids.get(name) as string, written.method, written.params))
        }
      } catch (thrown) {
        if (!abort.signal.aborted) this.#fail(post, request.id, thrown, sessionCall)
      } finally {
        release?.()
        if (this.#running.get(key)?.job === sessionCall) this.#running.delete(key)
      }
    }
    // Registered before the step runs, so that its end finds it.
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#running.set(key, { abort, work: promise, exchange: post, job: sessionCall })
    step().finally(resolve)
  }

  /** What a token needs for a request of a POST. */
  #scopesIn({ messages, scopes }: Post, request: RequestMessage): readonly string[] {
    return scopes?.[messages.indexOf(request)] ?? this.#scopesOf(request.method, request.params)
  }

  /** What takes scopes is decided when it is declared. */
  #scopesOf(method: string, params: Params = {}): readonly string[] {
    return entryOf(this.#host.server.registry, method, params)?.scopes ?? []
  }

  /** What a token needs for the calls of this session that a POST goes on with or ends: it answers their input requests or cancels them. */
  #scopesOfOpenCalls({ messages }: Post): string[] {
    const scopes = messages.flatMap((message) => {
      if (isResponse(message)) return isRequestId(message.id) ? this.#ledger.scopesOf(message.id) : []
      return message.method === 'notifications/cancelled' ? this.#scopesToCancel(message.params?.requestId) : []
    })
    return [...new Set(scopes)]
  }

  #scopesToCancel(id: unknown): readonly string[] {
    if (!isRequestId(id)) return []
    return this.#running.get(requestKey(id))?.job.scopes ?? this.#ledger.scopesToCancel(id)
  }

  /** A response of the client: the answer to a question, or nothing of ours. */
  #onMessage(message: Message, post: Post): void {
    if (!isResponse(message) || message.id === undefined || message.id === null) return
    const answer: Answer = 'result' in message ? { result: message.result } : { error: message.error }
    // The alarm for them may not have come yet.
    this.#endOverdue()
    this.#storeRoots(message.id, answer)
    const answered = this.#ledger.answer(message.id, answer)
    if (!answered) return
    const { row, call, problem } = answered
    if (problem) {
      this.#cancelQuestions(call.stream, this.#ledger.end(row), problem.message)
      return this.#fail(exchangeOn(call), call.request.id, problem)
    }
    const { principal, caller, admitted, expires } = post
    this.#work(exchangeOn(call), { ...call, row, principal, caller, admitted, expires }, true)
    void this.#holdAwake()
  }

  /** Stores the roots of a client that sends `notifications/roots/list_changed`: later calls do not ask for them. */
  #storeRoots(id: RequestId, answer: Answer): void {
    if (!('result' in answer && readRoots(answer.result))) return
    const question = this.#ledger.question(id)
    const print = question?.call.journal.requestFingerprints[question.key]
    const isAboutRoots = print !== undefined && print === fingerprint(rootsRequest)
    if (!isAboutRoots || question?.call.handshake.capabilities.roots?.listChanged !== true) return
    // Roots that are too large are asked for again.
    if (this.#values.fits(answer)) this.#values.put('roots', answer)
    else this.#values.delete('roots')
  }

  /** A new instance finds calls that were running in the last one: each is run again, or ends with an error. */
  #recover(): void {
    if (!this.#isNew) return
    this.#isNew = false
    const expires = this.#id?.expires ?? 0
    for (const { row, call } of this.#ledger.unasked()) {
      const post = exchangeOn(call)
      const sessionCall: SessionCall = { ...call, row, principal: undefined, caller: undefined, expires }
      const isSafe = isSafeToRetry(this.#host.server.registry, call.request)
      // Who asked is known to the client's next request only, so what was asked by somebody is not run for nobody.
      if (isSafe && !call.isPersonal && call.repeats < mostRepeats) {
        this.#ledger.rewrite(row, { ...call, repeats: call.repeats + 1 })
        const sentCount = Math.max(call.journal.notificationsSent, this.#log.saidBy(row, call.stream))
        this.#work(post, { ...sessionCall, journal: { ...call.journal, notificationsSent: sentCount } })
        continue
      }
      const data = { reason: 'interrupted', retryable: isSafe }
      this.#fail(post, call.request.id, new McpError('interrupted', 'The call was interrupted', data), sessionCall)
    }
    void this.#holdAwake()
  }

  #onNotification(method: string, params: Params | undefined): void {
    if (method === 'notifications/cancelled') this.#cancel(params)
    if (method === 'notifications/roots/list_changed') this.#values.delete('roots')
  }

  /** @see https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/cancellation */
  #cancel(params: Params | undefined): void {
    const id = params?.requestId
    if (!isRequestId(id)) return
    this.#abandon(requestKey(id), params?.reason)
    const cancelled = this.#ledger.cancel(id)
    if (!cancelled) return
    const { stream } = cancelled
    this.#cancelQuestions(stream, cancelled.questions, 'The request that asked was cancelled')
    this.#requestAnswered(stream)
  }

  #cancelQuestions(stream: number, questions: readonly string[], reason: string): void {
    for (const requestId of questions) {
      const params = { requestId, reason }
      this.#relays.send(stream, notificationText({ method: 'notifications/cancelled', params }))
    }
  }

  // What goes out

  /** Everything an answer changes is written in one turn. */
  #answer(post: PendingPost, id: RequestId, reply: Reply, call?: SessionCall): void {
    const { stream } = post
    this.#forgetCall(post, call)
    if (stream === undefined) return post.addReply({ ...reply, id })
    this.#relays.sendMessage(stream, fitted(post, { ...reply, id }, maxRowBytes).text)
    this.#requestAnswered(stream)
  }

  #fail(post: PendingPost, id: RequestId, thrown: unknown, call?: SessionCall): void {
    const error = asMcpError(thrown, this.#host.report)
    const numbers = post.revision.error(error.kind)
    const reply = { status: numbers.status, text: errorText(id, error, numbers), headers: error.headers }
    this.#answer(post, id, reply, call)
  }

  /** Ends a running call without an answer, at once, whether its handler listens or not. */
  #abandon(key: string, reason: unknown): void {
    const running = this.#running.get(key)
    if (!running) return
    const { abort, exchange: post, job: call } = running
    this.#running.delete(key)
    this.#forgetCall(post, call)
    if (post.stream === undefined) post.addReply(undefined)
    else this.#requestAnswered(post.stream)
    abort.abort(reason)
  }

  #notify(post: PendingPost, text: string, call: SessionCall, sentCount: number): void {
    if (post.streams)
      this.#relays.send(this.#streamOf(post, call.expires), text, { said: [call.row as number, sentCount] })
  }

  /** The exchange's stream, opened now if it was silent so far. */
  #streamOf(post: PendingPost, expires: number): number {
    if (post.stream !== undefined) return post.stream
    // Before anything is written: the exchange can still be answered without a stream.
    for (const call of post.calls) this.#ledger.check(ledgerCallOf(call, 0))
    this.#scheduleExpiry(expires)
    const stream = this.#log.open(post.unanswered, Date.now(), post.scopes)
    post.switchToStream(stream)
    for (const sessionCall of post.calls) this.#recordCall(sessionCall, stream)
    for (const reply of post.replies) this.#relays.sendMessage(stream, fitted(post, reply, maxRowBytes).text)
    return stream
  }

  /** A call that is too large for a stream stays silent, and is answered in one response. */
  #becomeStream(post: PendingPost, expires: number): void {
    try {
      this.#streamOf(post, expires)
    } catch (problem) {
      if (!(problem instanceof McpError)) this.#host.report(problem)
    }
  }

  /** A call with a stream is written down before it says anything. */
  #recordCall(call: SessionCall, stream: number): void {
    call.row ??= this.#ledger.begin(ledgerCallOf(call, stream))
  }

  #forgetCall(post: PendingPost, call: SessionCall | undefined): void {
    if (!call) return
    post.calls.delete(call)
    if (call.row !== undefined) this.#ledger.end(call.row)
  }

  #requestAnswered(stream: number): void {
    const now = Date.now()
    if (stream === standingStream || !this.#log.settle(stream, now)) return
    this.#relays.complete(stream)
    // One alarm deletes all streams that are too old by then.
    void this.#wakeBy(Math.min(now + this.#terms.log.maxAgeMs, this.#due()))
  }

  /** The connection ends, the call goes on: the client comes back for the rest. */
  #release(post: PendingPost, expires: number, retry?: number): void {
    // Over HTTP+SSE there is no way back: the stream is the session.
    if (!post.revision.polling || !post.streams || post.stream === standingStream) return
    this.#relays.release(this.#streamOf(post, expires), retry)
  }

  /**
   * Registers this session for list changes, once. Written down afterwards: what failed half-way is done again. False when the session
   * ended meanwhile.
   */
  async #listen(scope: Recipients = {}): Promise<boolean> {
    const { shard: own } = this.#terms
    if (own === undefined || this.#values.get('updatesShard') !== undefined) return true
    const lifetimeMs = this.#epoch
    await this.#host.updatesAt(own).subscribe(this.#address, topicsFor(listChanges, scope))
    if (lifetimeMs !== this.#epoch) {
      await this.#deregister()
      return false
    }
    this.#values.put('updatesShard', own)
    return true
  }

  /** What its subscriptions take. */
  get #subscribedScopes(): string[] {
    return this.#values.get<string[]>('subscribedScopes') ?? []
  }

  /**
   * Ends the subscriptions of the session when a token opens a stream that lacks a scope of one of them, and erases what
   * they brought. True when it did.
   */
  #dropSubscriptionsWithout(scopes: readonly string[]): Promise<boolean> {
    return this.#oneByOne(async () => {
      if (holdsScopes(scopes, this.#subscribedScopes)) return false
      // A failure fails the request: what is still registered must not be forgotten.
      await this.#updates?.leave(this.#address)
      this.#log.eraseScoped('resource')
      this.#values.delete('subscribedScopes')
      this.#values.delete('updatesShard')
      return true
    })
  }

  /** Scopes of the tasks whose status the standing stream has. */
  get #taskScopes(): string[] {
    return this.#values.get<string[]>('taskScopes') ?? []
  }

  /**
   * A token is about to open the standing stream: erases the status of tasks that it lacks the scopes of. Until the stream is open, it
   * gets only what the new reader and the one before may read.
   */
  #restrictReader(scopes: readonly string[]): void {
    if (!holdsScopes(scopes, this.#taskScopes)) {
      this.#log.eraseScoped('task')
      this.#values.delete('taskScopes')
    }
    const reader = this.#values.get<Reader>('reader')
    if (!reader || holdsScopes(scopes, reader.scopes)) return
    this.#values.put('reader', { ...reader, scopes: reader.scopes.filter((scope) => scopes.includes(scope)) })
  }

  /** Writes down which scopes the token has that has opened the standing stream. One that dials again has those it had. */
  #setReader(relay: string): void {
    const reader = this.#values.get<Reader>('reader')
    const scopes = this.#admitted.get(relay) ?? (reader?.relay === relay ? reader.scopes : [])
    this.#admitted.delete(relay)
    if (scopes.length > 0) this.#values.put('reader', { relay, scopes } satisfies Reader)
    else if (reader) this.#values.delete('reader')
  }

  /** Changes subscriptions one after the other, so that what is registered and the scopes it takes agree. */
  #oneByOne<T>(change: () => Promise<T>): Promise<T> {
    const changed = this.#subscribing.then(change)
    this.#subscribing = changed.then(
      () => {},
      () => {},
    )
    return changed
  }

  /** Where it is registered, or would be. More shards later do not move it. */
  get #updates(): UpdatesRpc | undefined {
    const shard = this.#values.get<number>('updatesShard') ?? this.#terms.shard
    return shard === undefined ? undefined : this.#host.updatesAt(shard)
  }

  // Life and death

  /** The endpoint sends its options with each request. Alarms use the last ones. */
  #setTerms(text: string | undefined): void {
    if (text === undefined || text === this.#termsText) return
    this.#termsText = text
    this.#termsNow = undefined
    if (this.#id) this.#storeTerms()
  }

  #storeTerms(): void {
    const text = this.#termsText
    if (text === undefined || text === this.#values.get('terms')) return
    // Nothing is stored of what is known without it.
    if (text !== this.#host.termsOf(this.#name)) this.#values.put('terms', text)
    else if (this.#values.get('terms') !== undefined) this.#values.delete('terms')
  }

  get #terms(): SessionTerms {
    this.#termsNow ??= readTerms(this.#termsText ?? this.#values.get<string>('terms') ?? this.#host.termsOf(this.#name))
    return this.#termsNow
  }

  /** Its endpoint has `updates`. */
  get #hasUpdates(): boolean {
    return this.#terms.shard !== undefined
  }

  /** `undefined` until something is stored. */
  get #id(): Id | undefined {
    return this.#values.get<Id>('id')
  }

  get #name(): string {
    return this.ctx.id.name ?? (this.#id as Id).name
  }

  /** How Updates objects call it: they notify the sessions of several classes. */
  get #address(): string {
    return sessionAddress(this.#host.className, this.#name)
  }

  /**
   * Ids up to this one may have been handed out before: an idle session forgets everything after `ttl`, and its client may use it
   * again. What it stores next comes at least a `ttl` later, so the time since `initialize` tells its lives apart.
   */
  get #skippedIds(): number {
    const { life: lifetimeMs } = this.#host
    const { ttl } = this.#terms
    const ageMs = this.#id ? Date.now() + lifetimeMs - this.#id.expires : 0
    // Clients see small numbers in a session that was never idle for so long.
    return ageMs < ttl ? 0 : ageMs * idsPerMs
  }

  /** The end of this session is the end of this state. */
  #keep(state: string, expires: number, lifetimeMs: number): void {
    if (lifetimeMs !== this.#epoch) throw new McpError('session_not_found', 'The session has ended')
    const uris = this.#values.get<string[]>('stateObjects') ?? []
    if (uris.includes(state)) return
    this.#scheduleExpiry(expires)
    this.#values.put('stateObjects', [...uris, state])
  }

  #isOver(): boolean {
    return this.#isEnding || this.#values.get('ended') !== undefined
  }

  /** Notes that the client is there: in memory, and rarely on disk, so that an eviction does not make it look idle. */
  #markSeen(): void {
    const now = Date.now()
    this.#lastSeenAt = now
    const lastSeenAt = this.#values.get<number>('lastSeenAt')
    if (lastSeenAt !== undefined && now - lastSeenAt > this.#terms.ttl / 4) this.#values.put('lastSeenAt', now)
  }

  /** The first row is about to be written: from now on an alarm watches over its removal. */
  #scheduleExpiry(expires: number): void {
    if (this.#isExpiryScheduled) return
    this.#isExpiryScheduled = true
    if (this.#id) return
    const now = Date.now()
    this.#values.put('id', { name: this.#name, expires } satisfies Id)
    this.#storeTerms()
    this.#values.put('lastSeenAt', now)
    void this.ctx.storage.setAlarm(Math.min(now + this.#terms.ttl, expires))
  }

  /** The alarm may be set to something earlier, such as holding a call. */
  async #wakeBy(time: number): Promise<void> {
    this.#deadlineSet.resolve()
    this.#deadlineSet = Promise.withResolvers()
    const due = await this.ctx.storage.getAlarm()
    if (due === null || due > time) await this.ctx.storage.setAlarm(time)
  }

  /** Calls whose POST has been answered run on in an alarm: nothing else keeps an object in memory. */
  async #holdAwake(): Promise<void> {
    if (this.#running.size > 0) await drainMicrotasks(() => this.#running.size === 0)
    if (this.#running.size > 0)
      void this.ctx.storage.setAlarm(Math.min(Date.now() + keepAwakeAfterMs, this.#ledger.due))
  }

  /**
   * @param expires until when to remember that it is over; `undefined`: its id is known to be worth nothing
   * @param isMissed a client that comes back must hear that it is over
   */
  async #finish(expires?: number, isMissed = true): Promise<void> {
    this.#epoch += 1
    for (const key of this.#running.keys()) this.#abandon(key, new Error('The session has ended'))
    this.#relays.completeAll()
    // Nothing new is begun while the rest is cleared away, the mark that it has ended included.
    this.#isEnding = true
    const hadSubscriptions = this.#values.get('updatesShard') !== undefined && (await this.#deregister())
    const uris = this.#values.get<string[]>('stateObjects') ?? []
    await Promise.all(uris.map((name) => this.#host.state(name).forget())).catch(this.#host.report)
    await this.#clear()
    this.#isExpiryScheduled = false
    const leavesMark = expires !== undefined && (isMissed || hadSubscriptions || uris.length > 0)
    if (leavesMark) this.#values.put('ended', expires)
    this.#isEnding = false
    if (leavesMark) await this.ctx.storage.setAlarm(Math.max(expires, Date.now() + 1000))
  }

  async #clear(): Promise<void> {
    await this.ctx.storage.deleteAll()
    this.#schema.forget()
    this.#values.reset()
    this.#log.tables.forget()
    this.#ledger.tables.forget()
  }

  /** True when it was subscribed to resources, or may have been. */
  async #deregister(): Promise<boolean> {
    try {
      return (await this.#updates?.leave(this.#address)) ?? false
    } catch (problem) {
      this.#host.report(problem)
      return true
    }
  }
}

/** What the ledger keeps of a call. Who asked is not written down. */
const ledgerCallOf = (
  { request, handshake: negotiated, session, identity, principal, scopes = [], journal }: SessionCall,
  stream: number,
): LedgerCall => ({
  request,
  stream,
  journal,
  handshake: negotiated,
  session,
  identity,
  isPersonal: principal !== undefined,
  ...(scopes.length > 0 && { scopes }),
  repeats: 0,
})

/** The reply, or an error in its place that says how large it is. */
function fitted<R extends Reply & { id: RequestId }>(post: PendingPost, reply: R, maxBytes: number): Reply {
  const error = tooLarge('The result', reply.text, maxBytes)
  if (!error) return reply
  const numbers = post.revision.error(error.kind)
  return { status: numbers.status, text: errorText(reply.id, error, numbers) }
}

/** Names a question in its session, for good. */
const elicitationId = (row: number | undefined, key: string) => `${row}-${key}`

/** What a POST's answer says of the requests that a limit refused, once all of them are counted: nothing, if there are none. */
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

/** The rest of an exchange whose POST has been answered with a stream. */
const exchangeOn = ({ handshake: negotiated, stream }: LedgerCall): PendingPost =>
  new PendingPost(revisionOf(negotiated.version) ?? oldestRevision, { streams: true, unanswered: 1, stream })
