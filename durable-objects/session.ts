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
 * | `level`     | the least severe log line the client wants                  | the session                        |
 * | `unheard`   | a question's time was over when nobody was there to hear it | the session                        |
 * | `listening` | the shard of the Updates objects it is registered with      | the session                        |
 * | `terms`     | `SessionTerms` of its endpoint as a text, if its class has others | the session                   |
 * | `takes`     | scopes of what it has subscribed to                         | until a stream is opened without them |
 * | `reader`    | `Reader`: which scopes the token has that opened the standing stream | the session               |
 * | `told`      | scopes of tasks whose status was sent on the standing stream | until it is opened without them    |
 * | `seen`      | milliseconds: roughly when the client last asked something  | the session                        |
 * | `id`        | `Id`: what is known of the session's id                      | the session                        |
 * | `keeps`     | names of the objects that keep its handlers' state          | the session                        |
 * | `ended`     | tombstone: `expires` of a session that is over              | until then, by alarm               |
 *
 * A session that its client ended leaves the tombstone. One that lapsed leaves it only if a client that comes back would
 * miss something without being told: subscriptions, a log level, a question it was asked, what its handlers remember.
 * Otherwise nothing remains: a client may use its id again, and ids of streams, events and input requests go on above those that it knows.
 */
import { DurableObject } from 'cloudflare:workers'
import { answerText } from '../worker/engine/answer-text.ts'
import { readRoots } from '../worker/engine/answers.ts'
import { atOnce } from '../worker/engine/at-once.ts'
import type { Call, Seals, World } from '../worker/engine/call.ts'
import { fingerprint, rootsRequest } from '../worker/engine/context.ts'
import { type Handshake, readHandshake, welcome } from '../worker/engine/handshake.ts'
import { type Answer, emptyMemo } from '../worker/engine/memo.ts'
import { readText } from '../worker/engine/methods/method.ts'
import { hasResources } from '../worker/engine/methods/resources.ts'
import { isRepeatable } from '../worker/engine/repeating.ts'
import { run } from '../worker/engine/run.ts'
import { entryOf } from '../worker/engine/scopes.ts'
import { readSubscription } from '../worker/engine/subscribing.ts'
import { clientGone } from '../worker/http/feed-codes.ts'
import { BoundedMap } from '../worker/protocol/bounded-map.ts'
import { listChanges, type News, newsNotification, type Recipients, topicsFor } from '../worker/protocol/changes.ts'
import { asMcpError, type ErrorKind, McpError, tooManyRequests } from '../worker/protocol/errors.ts'
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
} from '../worker/protocol/jsonrpc.ts'
import { isLogLevel } from '../worker/protocol/meta.ts'
import { holdsScopes, type Principal, principalKey } from '../worker/protocol/principal.ts'
import { oldestRevision, revisionOf } from '../worker/protocol/revisions/index.ts'
import type { LogLevel, Params, RequestId, Result } from '../worker/protocol/types.ts'
import { logLevels } from '../worker/protocol/types.ts'
import type { EnterCall } from '../worker/server/call-attempt.ts'
import type { Admitted } from '../worker/server/endpoints.ts'
import type { Server } from '../worker/server/server.ts'
import type { StateRpc } from '../worker/server/state.ts'
import { CallLedger, type LedgerCall, requestKey } from './call-ledger.ts'
import { EventLog, readEventId, standingStream } from './event-log.ts'
import { Exchange, type Job, type Reply } from './exchange.ts'
import { Feeds, isOverSse } from './feeds.ts'
import { maxRowBytes, maxRpcBytes, tooLarge } from './message-size.ts'
import { type Claim, type RoundRpc, Rounds } from './rounds.ts'
import { Schema } from './schema.ts'
import { sessionAddress } from './session-address.ts'
import { readTerms, type SessionTerms } from './session-terms.ts'
import type { UpdatesRpc } from './updates.ts'
import { Values } from './values.ts'

/** One POST, as the Worker hands it on. The session's id has been unsealed, the principal is this request's. */
export type Post = {
  messages: Message[]
  /** What a token needs for each of them. A Worker of an older release leaves it out. */
  scopes?: readonly (readonly string[])[]
  /** They came as an array, so the answer is one. */
  batch: boolean
  /** What the session's id says; `undefined` over HTTP+SSE, where the object remembers it. */
  handshake: Handshake | undefined
  principal: Principal | undefined
  /** Whom limits count its calls for; `undefined`: the server has no limits. */
  caller: string | undefined
  /** The IP address of the client. A Worker of an older release leaves it out. */
  address?: string | undefined
  /** What `ctx.session` says. */
  session: string
  /** Of the endpoint that was asked: one class may keep the sessions of several. */
  identity: string
  /** What the endpoint says that admitted it. A Worker of an older release leaves it out. */
  admitted?: Admitted
  /** `SessionTerms` of the endpoint, as a text. A Worker of an older release leaves it out. */
  terms?: string
  /** Milliseconds: when the session's id is worth nothing. */
  expires: number
  /** The client takes streams. */
  streams: boolean
}

export type Posted =
  /** `undefined` text: nothing to say. */
  | ({ status: number; text?: string; headers?: Readonly<Record<string, string>> | undefined } & PostedRefusals)
  /** The answer is on this stream: open a feed. */
  | ({ stream: number } & PostedRefusals)
  /** There is no such session. */
  | { gone: true }
  /** It answers an input request of a call that took these scopes, or cancels the call, and its token lacks one of them. */
  | { lacks: readonly string[] }

/** The requests of the POST that a limit refused, by their place among its messages. Their errors are in the answer as well. */
export type PostedRefusals = {
  refusals?: readonly {
    readonly index: number
    readonly kind: ErrorKind
    readonly message: string
    readonly data: unknown
  }[]
}

/** A GET for a stream of a session whose client is signed in. */
export type Opening = {
  /** `SessionTerms` of the endpoint, as a text. A Worker of an older release leaves it out. */
  terms?: string
  /** Milliseconds: when the session's id is worth nothing. */
  expires: number
  /** Of the tenant. A Worker of an older release leaves it out: then the stream gets the changes for everybody. */
  issuer?: string
  tenant: string | undefined
  scopes: readonly string[]
  /** The event id to continue from; `undefined` for the standing stream from now on. */
  after: string | undefined
  /** Names the feed that is opened next. A Worker of an older release leaves it out. */
  feed?: string
}

/** `lacks`: the scopes of the stream, if the token lacks one of them. */
export type Admission = { gone: true } | { lacks: readonly string[] } | { admitted: true }

/** What the Worker may ask of a session. */
export interface SessionRpc extends RoundRpc {
  post(post: Post): Promise<Posted>
  /** Ends the session. False when it was over already. */
  end(expires: number): Promise<boolean>
  /**
   * What this session registered for, or is to hear. False when the session is over: it is not to be told again.
   *
   * @param scopes what a token needs to read of it, beyond those of the resource that it names
   * @param over a task that asks no more, by `taskId` in the params of calls that wait for answers to it, and what they are told
   * @param delivery names one delivery, of which every call after the first one does nothing
   */
  changed(news: News, over?: Over, scopes?: readonly string[], delivery?: string): Promise<boolean>
  /** Checks who opens a stream, before its feed is opened. Claims must not be in the URL of that request: URLs are logged. */
  admit(opening: Opening): Promise<Admission>
  /** Opens a feed. */
  fetch(request: Request): Promise<Response>
}

export type Over = readonly [taskId: string, problem: string]

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
const holdAfter = 20_000
/** Far more streams, events and input requests than one life has. With a life of a week, ids have 15 digits at most. */
const idsPerMs = 1_000_000
/** How often a call is run again before its interruption is admitted. */
const mostRepeats = 2
/** Milliseconds that an HTTP+SSE session outlives its stream, in case the Worker dials again. */
const aloneFor = 5 * 60_000
/** An alarm may run for fifteen minutes; a longer call is held by the next one. */
const holdFor = 14 * 60_000

/** `name`: the object's own, which one that is born by an alarm may not know. `expires`: milliseconds. */
type Id = { name: string; expires: number }

/** Who reads the standing stream: see `Opening.feed`. */
type Reader = { feed: string; scopes: readonly string[] }

type Running = { abort: AbortController; work: Promise<void>; exchange: Exchange; job: Job }

export class Session extends DurableObject implements SessionRpc {
  readonly #host: SessionHost
  readonly #schema: Schema
  readonly #log: EventLog
  readonly #feeds: Feeds
  readonly #ledger: CallLedger
  readonly #rounds: Rounds
  readonly #values: Values
  readonly #running = new Map<string, Running>()
  /** Milliseconds: since when an HTTP+SSE session has been without its stream. */
  #aloneSince: number | undefined
  /** Settles when the last change of subscriptions that was begun is done. */
  #subscribing: Promise<void> = Promise.resolve()
  /** Resolves when a deadline is set. */
  #deadlineSet = Promise.withResolvers<void>()
  #seen = 0
  #armed = false
  #isEnding = false
  /** Scopes of the tokens that were admitted and have not opened their feed, by feed. */
  readonly #admitted = new BoundedMap<string, readonly string[]>({ maxEntries: 100 })
  /** Changes that it has got: one whose delivery was answered late is delivered again. */
  readonly #deliveries = new BoundedMap<string, true>({ maxEntries: 100 })
  /** The options that its endpoint sent last. */
  #termsText: string | undefined
  #termsNow: SessionTerms | undefined
  /** How often it has ended. */
  #life = 0
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
    this.#feeds = new Feeds(ctx, this.#log)
    this.#rounds = new Rounds(ctx.storage, this.#schema)
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
    this.#touch()
    const handshake = post.handshake ?? this.#values.get<Handshake | null>('handshake') ?? undefined
    const revision = handshake && revisionOf(handshake.version)
    const lacks = this.#scopesOfOpenCalls(post)
    if (!holdsScopes(post.principal?.scopes, lacks)) return { lacks }

    for (const message of post.messages) {
      if (isResponse(message)) this.#receive(message, post)
      else if (isNotification(message)) this.#hear(message.method, message.params)
    }
    const requests = post.messages.filter(isRequest)
    if (requests.length === 0) return { status: 202 }

    const exchange = new Exchange(revision ?? oldestRevision, {
      streams: post.streams,
      unanswered: requests.length,
      batch: post.batch,
      scopes: [...new Set(requests.flatMap((request) => this.#scopesIn(post, request)))],
      stream: overSse ? standingStream : undefined,
    })
    for (const request of requests) this.#start(exchange, request, handshake, post)
    if (overSse) {
      void this.#holdAwake()
      return { status: 202, ...(await refusalsIn(exchange, post)) }
    }
    const life = this.#life
    await atOnce(() => exchange.isSettled)
    const waits = post.streams && !exchange.isSettled
    const timer = waits ? setTimeout(() => this.#becomeStream(exchange, post.expires), this.#terms.streamAfterMs) : null
    await exchange.settled
    clearTimeout(timer)
    if (life !== this.#life) return { gone: true }
    if (exchange.stream !== undefined) {
      void this.#holdAwake()
      return { stream: exchange.stream, ...(await refusalsIn(exchange, post)) }
    }
    const [first] = exchange.replies
    if (!first) return { status: 202 }
    const refusals = await refusalsIn(exchange, post)
    if (!post.batch) {
      const { status, text, headers } = fitted(exchange, first, maxRpcBytes)
      return { status, text, ...(headers && { headers }), ...refusals }
    }
    // The bound on the answers of a batch keeps them below what an RPC returns.
    return { status: 200, text: `[${exchange.replies.map(({ text }) => text).join(',')}]`, ...refusals }
  }

  async end(expires: number): Promise<boolean> {
    this.#schema.check()
    if (this.#isOver()) return false
    await this.#finish(expires)
    return true
  }

  async changed(news: News, over?: Over, scopes: readonly string[] = [], delivery?: string): Promise<boolean> {
    this.#schema.check()
    // It may be registering right now. One without an id has ended without a trace.
    if (this.#isOver() || !this.#id) return false
    if (delivery !== undefined && this.#deliveries.has(delivery)) return true
    const isTold = scopes.length === 0 || holdsScopes(this.#values.get<Reader>('reader')?.scopes, scopes)
    if (isTold && this.#log.find(standingStream)) {
      const isScoped = 'resource' in news && this.#scopesOf('resources/subscribe', { uri: news.resource }).length > 0
      const scoped = scopes.length > 0 ? 'task' : isScoped ? 'resource' : undefined
      if (scopes.length > 0) this.#values.put('told', [...new Set([...this.#told, ...scopes])])
      this.#feeds.send(standingStream, notificationText(newsNotification(news)), { scoped })
    }
    if (over) {
      const [taskId, problem] = over
      this.#endWaiting(this.#ledger.askingFor(taskId), problem)
    }
    if (delivery !== undefined) this.#deliveries.set(delivery, true)
    return true
  }

  async admit({ terms, expires, issuer, tenant, scopes, after, feed }: Opening): Promise<Admission> {
    this.#schema.check()
    if (this.#isOver()) return { gone: true }
    this.#setTerms(terms)
    this.#recover()
    this.#touch()
    const isRevoked = await this.#permit(scopes)
    this.#log.deleteFinished(Date.now())
    const id = after === undefined ? undefined : readEventId(after)
    const lacks = id ? this.#log.scopesOf(id.stream) : []
    if (!holdsScopes(scopes, lacks)) return { lacks }
    if (feed !== undefined) this.#admitted.set(feed, scopes)
    if (!id || id.stream === standingStream) this.#restrictReader(scopes)
    const isListening = this.#values.get('listening') !== undefined
    if (after !== undefined && !isRevoked && !isListening) return { admitted: true }
    this.#arm(expires)
    return (await this.#listen(issuer === undefined ? {} : { issuer, tenant })) ? { admitted: true } : { gone: true }
  }

  /**
   * Opens a feed: `?after=<event id>` goes on after an event, `?stream=<number>` starts a stream; without either it is the
   * standing stream from now on. `?admitted`: the Worker has called `admit`. `terms`: see `Opening`. `feed`, `again`, `polling`, `sse`: see
   * `FeedOptions`. Nothing in the URL may be secret, because platforms log it.
   */
  override async fetch(request: Request): Promise<Response> {
    this.#schema.check()
    const { searchParams } = new URL(request.url)
    const after = searchParams.get('after')
    const stream = searchParams.get('stream')
    const overSse = searchParams.has('sse')
    const options = {
      feed: searchParams.get('feed') ?? '',
      again: searchParams.has('again'),
      polling: searchParams.has('polling'),
      overSse,
    }
    if (this.#isOver()) return new Response(null, { status: 404 })
    this.#setTerms(searchParams.get('terms') ?? undefined)
    this.#recover()
    this.#touch()
    this.#aloneSince = undefined
    if (after) {
      this.#log.deleteFinished(Date.now())
      const resumed = this.#feeds.resume(after, { ...options, polling: false })
      if (resumed?.webSocket && readEventId(after)?.stream === standingStream) this.#setReader(options.feed)
      if (resumed) return resumed
      // The session cannot go on without its stream.
      if (overSse) await this.#finish()
      return new Response(null, { status: 400 })
    }
    if (stream) {
      const start = this.#log.onFrom({ stream: Number(stream), seq: 0 }, true)
      return start ? this.#feeds.open(start, options) : new Response(null, { status: 400 })
    }
    this.#arm(Number(searchParams.get('expires')))
    if (overSse && this.#values.get('handshake') === undefined) this.#values.put('handshake', null)
    const isListening = overSse || searchParams.has('admitted') || (await this.#listen())
    if (!isListening) return new Response(null, { status: 404 })
    // Whoever dialled may be gone: a socket without another end would hold this session for ever.
    if (request.signal.aborted) return new Response(null, { status: 408 })
    this.#log.openStanding()
    this.#setReader(options.feed)
    const { last } = this.#log.find(standingStream) as { last: number }
    return this.#feeds.open({ stream: standingStream, seq: last }, options)
  }

  // An object of this class that is no session may stand for one state of a stateless call.

  async keep(text: string, expires: number): Promise<void> {
    this.#schema.check()
    return this.#rounds.keep(text, expires)
  }

  async kept(): Promise<string | undefined> {
    this.#schema.check()
    return this.#rounds.kept()
  }

  async claim(use: string, expires: number, isLate?: boolean): Promise<Claim> {
    this.#schema.check()
    return this.#rounds.claim(use, expires, isLate)
  }

  async extend(): Promise<void> {
    this.#schema.check()
    return this.#rounds.extend()
  }

  override async webSocketClose(socket: WebSocket, code: number): Promise<void> {
    this.#schema.check()
    if (this.#isOver() || !this.#id) return
    if (!isOverSse(socket)) return this.#touch()
    // Over HTTP+SSE the stream is the session.
    // Its id means nothing without the stream's handshake, so nothing has to remember that it is over.
    if (code === clientGone) return this.#finish()
    if (this.#feeds.isOpen(standingStream)) return
    // The Worker dials again, unless it is gone as well.
    this.#aloneSince = Date.now()
    await this.#wakeBy(this.#aloneSince + aloneFor)
  }

  override async alarm(): Promise<void> {
    if (await this.#schema.putOffAlarm()) return
    const ended = this.#values.get<number>('ended')
    if (ended !== undefined) return ended <= Date.now() ? this.#clear() : this.ctx.storage.setAlarm(ended)
    this.#recover()
    await this.#holdRunning()
    if (this.#isOver()) return
    const due = this.#due()
    // However long a call of it runs: nobody waits for it.
    if (due <= Date.now()) {
      return this.#finish(
        this.#id?.expires,
        this.#values.get('level') !== undefined || this.#values.get('unheard') || this.#ledger.isOpen,
      )
    }
    const now = Date.now()
    const cleanup = this.#log.deleteFinished(now) ? now + this.#terms.log.maxAgeMs : due
    const hold = this.#running.size > 0 ? now + holdAfter : cleanup
    return this.ctx.storage.setAlarm(Math.min(due, hold, this.#ledger.due))
  }

  /**
   * Keeps the object in memory while calls run, for as long as an alarm may take. No other alarm runs meanwhile, so every
   * deadline of the session is met here: the earliest one wins, also when it is set only now.
   */
  async #holdRunning(): Promise<void> {
    const end = Date.now() + holdFor
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
      if (!this.#feeds.isOpen(call.stream)) this.#values.put('unheard', true)
      this.#withdraw(call.stream, this.#ledger.end(row), late.message)
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
    if (isHeld) this.#touch()
    const expires = this.#id?.expires ?? now
    if (this.#values.get('handshake') !== undefined && !isHeld) {
      this.#aloneSince ??= now
      return Math.min(expires, this.#aloneSince + aloneFor)
    }
    return Math.min(expires, Math.max(this.#seen, this.#values.get<number>('seen') ?? 0) + this.#terms.ttl)
  }

  // Calls

  #start(exchange: Exchange, request: RequestMessage, handshake: Handshake | undefined, post: Post): void {
    const answer = (result: Result) =>
      this.#answer(exchange, request.id, { status: 200, text: resultText(request.id, result) })
    try {
      this.#host.checkServer(post.admitted)
      if (this.#running.has(requestKey(request.id)) || this.#ledger.has(request.id)) {
        throw new McpError('invalid_request', `The id ${JSON.stringify(request.id)} belongs to a request in progress`)
      }
      if (request.method === 'ping') {
        const counted = this.#count({ ...post, request }, exchange)
        if (!counted) return answer({})
        return void counted
          .then((release) => {
            release()
            answer({})
          })
          .catch((thrown) => this.#fail(exchange, request.id, thrown))
      }
      if (request.method === 'initialize') {
        const fail = (thrown: unknown) => this.#fail(exchange, request.id, thrown)
        return void this.#initialize(exchange, request, post).then(answer, fail)
      }
      if (!handshake) throw new McpError('invalid_request', 'The first request must be initialize')
      const { method } = request
      const { server } = this.#host
      const isKnown = exchange.revision.requests.has(method) || server.registry.methods.has(method)
      if (!isKnown || (method.endsWith('subscribe') && !(this.#hasUpdates && hasResources(server.registry)))) {
        throw new McpError('method_not_found', `Method not found: ${method}`)
      }
      this.#work(exchange, { ...post, request, handshake, memo: emptyMemo, scopes: this.#scopesIn(post, request) })
    } catch (thrown) {
      this.#fail(exchange, request.id, thrown)
    }
  }

  async #initialize(exchange: Exchange, request: RequestMessage, post: Post): Promise<Result> {
    if (post.handshake || this.#values.get('handshake')) {
      throw new McpError('invalid_request', 'This session is initialized already')
    }
    const handshake = readHandshake(request.params)
    const revision = revisionOf(handshake.version) ?? exchange.revision
    this.#values.put('handshake', handshake)
    // What fails now is done when its client next subscribes or, if it never does, not missed.
    await this.#listen(post.principal).catch(this.#host.report)
    return welcome(this.#host.server.registry, revision, { updates: this.#hasUpdates }, post.principal)
  }

  /** What a session does itself. What they wait for may outlast it. */
  readonly #ownMethods: Record<string, (params: Params, job: Job, signal: AbortSignal) => Promise<Result>> = {
    'logging/setLevel': async ({ level }, { expires }) => {
      if (!isLogLevel(level))
        throw new McpError('invalid_params', `params.level must be one of ${logLevels.join(', ')}`)
      this.#arm(expires)
      this.#values.put('level', level)
      return {}
    },
    'resources/subscribe': async (params, { principal, address, expires, scopes = [] }, signal) => {
      const uri = await readSubscription(this.#host.server.registry, { principal }, params)
      signal.throwIfAborted()
      this.#arm(expires)
      const topics = topicsFor([{ resource: uri }], principal ?? {})
      const hasRoom = await this.#oneByOne(async () => {
        const isThere = await this.#listen(principal)
        if (scopes.length > 0) this.#values.put('takes', [...new Set([...this.#takes, ...scopes])])
        const subscriber = { principal: principalKey(principal), address }
        return !isThere || (await this.#updates?.subscribe(this.#address, topics, subscriber)) !== false
      })
      if (hasRoom) return {}
      const problem = 'Too many subscriptions: unsubscribe from a resource, or wait 60 seconds, then try again'
      throw tooManyRequests(problem, 60, 'subscriptions')
    },
    'resources/unsubscribe': async (params, { principal }) => {
      if (this.#values.get('listening') !== undefined) await this.#listen(principal)
      const topics = topicsFor([{ resource: readText(params, 'uri') }], principal ?? {})
      await this.#updates?.unsubscribe(this.#address, topics)
      return {}
    },
  }

  /** Counts a round of a call, if the endpoint has limits. @param resumed what cancels a round of a call that goes on */
  #count(
    { request, caller, admitted }: Pick<Job, 'request' | 'caller' | 'admitted'>,
    exchange: Exchange,
    resumed?: AbortSignal,
  ): Promise<() => void> | undefined {
    if (caller === undefined) return undefined
    const { method, params = {} } = request
    const counting = this.#host.enterOf(admitted)?.({
      method,
      params,
      caller,
      post: exchange,
      isResumed: resumed !== undefined,
      signal: () => resumed ?? new AbortController().signal,
      // Handlers of a session run on after their call was cancelled, until they return.
      endsWithSignal: false,
      parked: () => this.#ledger.waiting(),
    })
    if (counting) exchange.count(request, counting)
    return counting
  }

  /**
   * Takes one step of a call. It ends with an answer, or parked with questions on its stream.
   *
   * @param isResumed it was counted when it began
   */
  #work(exchange: Exchange, job: Job, isResumed = false): void {
    const { server } = this.#host
    const { revision } = exchange
    const { request, handshake, principal, session, identity, admitted, expires } = job
    const abort = new AbortController()
    const life = this.#life
    const key = requestKey(request.id)
    exchange.jobs.add(job)
    if (exchange.stream !== undefined) this.#enter(job, exchange.stream)
    const call: Call = {
      method: request.method,
      params: request.params ?? {},
      revision,
      capabilities: revision.client(handshake.capabilities),
      client: handshake.client,
      principal,
      session: { id: session },
      admitted,
      requestId: request.id,
      logLevel: this.#values.get<LogLevel>('level') ?? 'info',
    }
    const notify: World['notify'] = (notification, said) => {
      const written = revision.notification(notification)
      if (written && !abort.signal.aborted) this.#say(exchange, notificationText(written), job, said)
    }
    const world: World = {
      signal: () => abort.signal,
      seals: this.#host.seals(principal, identity),
      state: {
        object: this.#host.state,
        session: { name: this.#name, expires, keep: (state) => this.#keep(state, expires, life) },
      },
      updates: this.#hasUpdates,
      known: ({ method }) => (method === 'roots/list' ? this.#values.get<Answer>('roots') : undefined),
      notify,
      disconnect: (retry) => {
        if (!abort.signal.aborted) this.#release(exchange, expires, retry)
      },
      completed(question, said) {
        const params = { elicitationId: elicitationId(job.row, question) }
        notify({ method: 'notifications/elicitation/complete', params }, said)
      },
      report: this.#host.report,
    }
    const step = async () => {
      let release: (() => void) | undefined
      try {
        const entering = this.#count(job, exchange, isResumed ? abort.signal : undefined)
        if (entering) release = await entering
        if (abort.signal.aborted) return
        const own = this.#ownMethods[request.method]
        const outcome = own
          ? { done: await own(call.params, job, abort.signal) }
          : await run(server, call, job.memo, world)
        if (abort.signal.aborted) return
        if ('done' in outcome) {
          const text = answerText(request.id, server.registry, call, outcome.done)
          return this.#answer(exchange, request.id, { status: 200, text }, job)
        }
        if (!exchange.streams) {
          throw new McpError('not_acceptable', 'Accept must include text/event-stream')
        }
        const stream = this.#streamOf(exchange, expires)
        const row = job.row as number
        const due = Date.now() + outcome.patience
        this.#ledger.rewrite(row, ledgerCallOf({ ...job, memo: outcome.memo }, stream), due)
        const ids = this.#ledger.ask(row, Object.keys(outcome.asks))
        void this.#wakeBy(due)
        for (const [name, ask] of Object.entries(outcome.asks)) {
          const written = revision.ask(ask, elicitationId(row, name))
          if (written)
            this.#feeds.sendMessage(stream, requestText(ids.get(name) as string, written.method, written.params))
        }
      } catch (thrown) {
        if (!abort.signal.aborted) this.#fail(exchange, request.id, thrown, job)
      } finally {
        release?.()
        if (this.#running.get(key)?.job === job) this.#running.delete(key)
      }
    }
    // Registered before the step runs, so that its end finds it.
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#running.set(key, { abort, work: promise, exchange, job })
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
  #receive(message: Message, post: Post): void {
    if (!isResponse(message) || message.id === undefined || message.id === null) return
    const answer: Answer = 'result' in message ? { result: message.result } : { error: message.error }
    // The alarm for them may not have come yet.
    this.#endOverdue()
    this.#storeRoots(message.id, answer)
    const answered = this.#ledger.answer(message.id, answer)
    if (!answered) return
    const { row, call, problem } = answered
    if (problem) {
      this.#withdraw(call.stream, this.#ledger.end(row), problem.message)
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
    const print = question?.call.memo.asked[question.key]
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
      const exchange = exchangeOn(call)
      const job: Job = { ...call, row, principal: undefined, caller: undefined, expires }
      const isSafe = isRepeatable(this.#host.server.registry, call.request)
      // Who asked is known to the client's next request only, so what was asked by somebody is not run for nobody.
      if (isSafe && !call.isPersonal && call.repeats < mostRepeats) {
        this.#ledger.rewrite(row, { ...call, repeats: call.repeats + 1 })
        const said = Math.max(call.memo.said, this.#log.saidBy(row, call.stream))
        this.#work(exchange, { ...job, memo: { ...call.memo, said } })
        continue
      }
      const data = { reason: 'interrupted', retryable: isSafe }
      this.#fail(exchange, call.request.id, new McpError('interrupted', 'The call was interrupted', data), job)
    }
    void this.#holdAwake()
  }

  #hear(method: string, params: Params | undefined): void {
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
    this.#withdraw(stream, cancelled.questions, 'The request that asked was cancelled')
    this.#settle(stream)
  }

  #withdraw(stream: number, questions: readonly string[], reason: string): void {
    for (const requestId of questions) {
      const params = { requestId, reason }
      this.#feeds.send(stream, notificationText({ method: 'notifications/cancelled', params }))
    }
  }

  // What goes out

  /** Everything an answer changes is written in one turn. */
  #answer(exchange: Exchange, id: RequestId, reply: Reply, job?: Job): void {
    const { stream } = exchange
    this.#leave(exchange, job)
    if (stream === undefined) return exchange.keep({ ...reply, id })
    this.#feeds.sendMessage(stream, fitted(exchange, { ...reply, id }, maxRowBytes).text)
    this.#settle(stream)
  }

  #fail(exchange: Exchange, id: RequestId, thrown: unknown, job?: Job): void {
    const error = asMcpError(thrown, this.#host.report)
    const numbers = exchange.revision.error(error.kind)
    const reply = { status: numbers.status, text: errorText(id, error, numbers), headers: error.headers }
    this.#answer(exchange, id, reply, job)
  }

  /** Ends a running call without an answer, at once, whether its handler listens or not. */
  #abandon(key: string, reason: unknown): void {
    const running = this.#running.get(key)
    if (!running) return
    const { abort, exchange, job } = running
    this.#running.delete(key)
    this.#leave(exchange, job)
    if (exchange.stream === undefined) exchange.keep(undefined)
    else this.#settle(exchange.stream)
    abort.abort(reason)
  }

  #say(exchange: Exchange, text: string, job: Job, said: number): void {
    if (exchange.streams)
      this.#feeds.send(this.#streamOf(exchange, job.expires), text, { said: [job.row as number, said] })
  }

  /** The exchange's stream, opened now if it was silent so far. */
  #streamOf(exchange: Exchange, expires: number): number {
    if (exchange.stream !== undefined) return exchange.stream
    // Before anything is written: the exchange can still be answered without a stream.
    for (const job of exchange.jobs) this.#ledger.check(ledgerCallOf(job, 0))
    this.#arm(expires)
    const stream = this.#log.open(exchange.unanswered, Date.now(), exchange.scopes)
    exchange.become(stream)
    for (const job of exchange.jobs) this.#enter(job, stream)
    for (const reply of exchange.replies) this.#feeds.sendMessage(stream, fitted(exchange, reply, maxRowBytes).text)
    return stream
  }

  /** A call that is too large for a stream stays silent, and is answered in one response. */
  #becomeStream(exchange: Exchange, expires: number): void {
    try {
      this.#streamOf(exchange, expires)
    } catch (problem) {
      if (!(problem instanceof McpError)) this.#host.report(problem)
    }
  }

  /** A call with a stream is written down before it says anything. */
  #enter(job: Job, stream: number): void {
    job.row ??= this.#ledger.begin(ledgerCallOf(job, stream))
  }

  #leave(exchange: Exchange, job: Job | undefined): void {
    if (!job) return
    exchange.jobs.delete(job)
    if (job.row !== undefined) this.#ledger.end(job.row)
  }

  #settle(stream: number): void {
    const now = Date.now()
    if (stream === standingStream || !this.#log.settle(stream, now)) return
    this.#feeds.complete(stream)
    // One alarm deletes all streams that are too old by then.
    void this.#wakeBy(Math.min(now + this.#terms.log.maxAgeMs, this.#due()))
  }

  /** The connection ends, the call goes on: the client comes back for the rest. */
  #release(exchange: Exchange, expires: number, retry?: number): void {
    // Over HTTP+SSE there is no way back: the stream is the session.
    if (!exchange.revision.polling || !exchange.streams || exchange.stream === standingStream) return
    this.#feeds.release(this.#streamOf(exchange, expires), retry)
  }

  /**
   * Registers this session for list changes, once. Written down afterwards: what failed half-way is done again. False when the session
   * ended meanwhile.
   */
  async #listen(scope: Recipients = {}): Promise<boolean> {
    const { shard: own } = this.#terms
    if (own === undefined || this.#values.get('listening') !== undefined) return true
    const life = this.#life
    await this.#host.updatesAt(own).subscribe(this.#address, topicsFor(listChanges, scope))
    if (life !== this.#life) {
      await this.#deregister()
      return false
    }
    this.#values.put('listening', own)
    return true
  }

  /** What its subscriptions take. */
  get #takes(): string[] {
    return this.#values.get<string[]>('takes') ?? []
  }

  /**
   * Ends the subscriptions of the session when a token opens a stream that lacks a scope of one of them, and erases what
   * they brought. True when it did.
   */
  #permit(scopes: readonly string[]): Promise<boolean> {
    return this.#oneByOne(async () => {
      if (holdsScopes(scopes, this.#takes)) return false
      // A failure fails the request: what is still registered must not be forgotten.
      await this.#updates?.leave(this.#address)
      this.#log.eraseScoped('resource')
      this.#values.delete('takes')
      this.#values.delete('listening')
      return true
    })
  }

  /** Scopes of the tasks whose status the standing stream has. */
  get #told(): string[] {
    return this.#values.get<string[]>('told') ?? []
  }

  /**
   * A token is about to open the standing stream: erases the status of tasks that it lacks the scopes of. Until the stream is open, it
   * gets only what the new reader and the one before may read.
   */
  #restrictReader(scopes: readonly string[]): void {
    if (!holdsScopes(scopes, this.#told)) {
      this.#log.eraseScoped('task')
      this.#values.delete('told')
    }
    const reader = this.#values.get<Reader>('reader')
    if (!reader || holdsScopes(scopes, reader.scopes)) return
    this.#values.put('reader', { ...reader, scopes: reader.scopes.filter((scope) => scopes.includes(scope)) })
  }

  /** Writes down which scopes the token has that has opened the standing stream. One that dials again has those it had. */
  #setReader(feed: string): void {
    const reader = this.#values.get<Reader>('reader')
    const scopes = this.#admitted.get(feed) ?? (reader?.feed === feed ? reader.scopes : [])
    this.#admitted.delete(feed)
    if (scopes.length > 0) this.#values.put('reader', { feed, scopes } satisfies Reader)
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
    const shard = this.#values.get<number>('listening') ?? this.#terms.shard
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
    const { life } = this.#host
    const { ttl } = this.#terms
    const ageMs = this.#id ? Date.now() + life - this.#id.expires : 0
    // Clients see small numbers in a session that was never idle for so long.
    return ageMs < ttl ? 0 : ageMs * idsPerMs
  }

  /** The end of this session is the end of this state. */
  #keep(state: string, expires: number, life: number): void {
    if (life !== this.#life) throw new McpError('session_not_found', 'The session has ended')
    const kept = this.#values.get<string[]>('keeps') ?? []
    if (kept.includes(state)) return
    this.#arm(expires)
    this.#values.put('keeps', [...kept, state])
  }

  #isOver(): boolean {
    return this.#isEnding || this.#values.get('ended') !== undefined
  }

  /** Notes that the client is there: in memory, and rarely on disk, so that an eviction does not make it look idle. */
  #touch(): void {
    const now = Date.now()
    this.#seen = now
    const seen = this.#values.get<number>('seen')
    if (seen !== undefined && now - seen > this.#terms.ttl / 4) this.#values.put('seen', now)
  }

  /** The first row is about to be written: from now on an alarm watches over its removal. */
  #arm(expires: number): void {
    if (this.#armed) return
    this.#armed = true
    if (this.#id) return
    const now = Date.now()
    this.#values.put('id', { name: this.#name, expires } satisfies Id)
    this.#storeTerms()
    this.#values.put('seen', now)
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
    if (this.#running.size > 0) await atOnce(() => this.#running.size === 0)
    if (this.#running.size > 0) void this.ctx.storage.setAlarm(Math.min(Date.now() + holdAfter, this.#ledger.due))
  }

  /**
   * @param expires until when to remember that it is over; `undefined`: its id is known to be worth nothing
   * @param isMissed a client that comes back must hear that it is over
   */
  async #finish(expires?: number, isMissed = true): Promise<void> {
    this.#life += 1
    for (const key of this.#running.keys()) this.#abandon(key, new Error('The session has ended'))
    this.#feeds.completeAll()
    // Nothing new is begun while the rest is cleared away, the mark that it has ended included.
    this.#isEnding = true
    const hadSubscriptions = this.#values.get('listening') !== undefined && (await this.#deregister())
    const kept = this.#values.get<string[]>('keeps') ?? []
    await Promise.all(kept.map((name) => this.#host.state(name).forget())).catch(this.#host.report)
    await this.#clear()
    this.#armed = false
    const leavesMark = expires !== undefined && (isMissed || hadSubscriptions || kept.length > 0)
    if (leavesMark) this.#values.put('ended', expires)
    this.#isEnding = false
    if (leavesMark) await this.ctx.storage.setAlarm(Math.max(expires, Date.now() + 1000))
  }

  async #clear(): Promise<void> {
    await this.ctx.storage.deleteAll()
    this.#schema.forget()
    this.#values.forget()
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
  { request, handshake, session, identity, principal, scopes = [], memo }: Job,
  stream: number,
): LedgerCall => ({
  request,
  stream,
  memo,
  handshake,
  session,
  identity,
  isPersonal: principal !== undefined,
  ...(scopes.length > 0 && { scopes }),
  repeats: 0,
})

/** The reply, or an error in its place that says how large it is. */
function fitted<R extends Reply & { id: RequestId }>(exchange: Exchange, reply: R, maxBytes: number): Reply {
  const error = tooLarge('The result', reply.text, maxBytes)
  if (!error) return reply
  const numbers = exchange.revision.error(error.kind)
  return { status: numbers.status, text: errorText(reply.id, error, numbers) }
}

/** Names a question in its session, for good. */
const elicitationId = (row: number | undefined, key: string) => `${row}-${key}`

/** What a POST's answer says of the requests that a limit refused, once all of them are counted: nothing, if there are none. */
async function refusalsIn(exchange: Exchange, { messages }: Post): Promise<PostedRefusals> {
  const refusals = await exchange.refusals()
  if (refusals.length === 0) return {}
  const told = refusals.map(({ request, error: { kind, message, data } }) => ({
    index: messages.indexOf(request),
    kind,
    message,
    data,
  }))
  return { refusals: told }
}

/** The rest of an exchange whose POST has been answered with a stream. */
const exchangeOn = ({ handshake, stream }: LedgerCall): Exchange =>
  new Exchange(revisionOf(handshake.version) ?? oldestRevision, { streams: true, unanswered: 1, stream })
