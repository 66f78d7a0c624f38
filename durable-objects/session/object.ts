/**
 * The Durable Object `McpSession`: one session of a client, with its open calls, its streams and its subscriptions. Protocol versions with
 * sessions only.
 *
 * Other objects of this class store values that belong to no session: see `store/object.ts`.
 *
 * An object whose requests were all answered at once has stored nothing. Besides the tables of `event-log.ts`, `call-ledger.ts`
 * and `task/client-tasks.ts`, and its version (`schema.ts`), it stores these values:
 *
 * | key         | meaning                                                     | lifetime                           |
 * |-------------|-------------------------------------------------------------|------------------------------------|
 * | `handshake` | `NegotiatedSession` of a session over HTTP+SSE, `null` before `initialize` | the session         |
 * | `roots`     | latest roots of a client that notifies of changes           | until that notification, or the session ends |
 * | `logLevel`  | least severe level of log messages for the client           | the session                        |
 * | `missedTimeout` | an input request timed out while the client was disconnected | the session                   |
 * | `registration` | `shard`: number of the Subscriptions object where it is registered | the session            |
 * | `subscribedScopes` | scopes of the resources that it has subscribed to    | until a stream is opened without them |
 * | `reader`    | `Reader`: scopes of the token that opened the standing stream | the session                      |
 * | `taskScopes` | scopes of tasks whose status was sent on the standing stream | until it is opened without them  |
 * | `lastSeenAt` | milliseconds since 1970: the last request is older, see `last-use.ts`; `Infinity` while a stream is open | the session |
 * | `sseDisconnectedAt` | milliseconds since 1970: when a session over HTTP+SSE lost its stream | until the stream is resumed |
 * | `id`        | `Id`: name and expiry of the session id, and known lists    | the session                        |
 * | `owner`     | `SessionOwner`, if a plugin has `onSessionEnd`              | the session                        |
 * | `stateObjects` | names of the objects that store the state of its handlers | the session                       |
 * | `ended`     | tombstone: `expires` of a session that has ended; `Ending` while it ends | until then, by alarm  |
 *
 * A session that its client ended leaves the tombstone. A session that expired leaves nothing: a client may use its id again, and ids of
 * streams, events and input requests continue above those that the client knows. Without `sessions.revive`, it leaves the tombstone if a
 * returning client would miss something: subscriptions, a log level, an input request, state of handlers.
 */

import { BoundedMap } from '../../worker/protocol/bounded-map.ts'
import type { ServerEvent } from '../../worker/protocol/changes.ts'
import * as closeCode from '../../worker/protocol/close-code.ts'
import { memoizeLast } from '../../worker/protocol/memoize-last.ts'
import type { Principal } from '../../worker/protocol/principal.ts'
import { Alarms } from '../shared/alarms.ts'
import { CallLedger } from '../shared/call-ledger.ts'
import { EventLog, standingStream } from '../shared/event-log.ts'
import { guarded } from '../shared/guarded.ts'
import { Values } from '../shared/values.ts'
import { Store } from '../store/object.ts'
import type { AddedParts, AddedSubscriptions, AddedTasks } from './added-parts.ts'
import { CallServices } from './call-services.ts'
import { Calls } from './calls.ts'
import { InputRequests } from './input-requests.ts'
import { Lifetime } from './lifetime.ts'
import { Registration } from './registration.ts'
import { Replies } from './replies.ts'
import type { Admission, Opening, Post, Posted, PostedSession, SessionRpc, TaskEnded } from './rpc.ts'
import type { SessionHost } from './session-host.ts'
import type { SessionValues } from './session-values.ts'
import { isOverSse, SessionStreams } from './streams.ts'

/** An entry of the object: see `Session.#handle`. */
type Entry<T> = {
  /** Answers for a session that has ended. */
  over(): Promise<T> | T
  /** Whether the client sent a request: it uses the session, and continues the calls of an instance that was lost. */
  isRequest?: boolean
  /** Whether the entry waits until an end in progress is complete. Default: true. An event is not for the next life of the session. */
  waits?: boolean
}

export class Session extends Store implements SessionRpc {
  readonly #values: SessionValues
  readonly #lifetime: Lifetime
  readonly #streams: SessionStreams
  readonly #registration: Registration
  readonly #subscriptions: AddedSubscriptions | undefined
  readonly #tasks: AddedTasks | undefined
  readonly #inputRequests: InputRequests
  readonly #calls: Calls
  /** Deliveries that this session has received: a delivery that was acknowledged late is repeated. */
  readonly #deliveries = new BoundedMap<string, true>({ maxEntries: 100 })
  readonly #readSession = memoizeLast((text): PostedSession => JSON.parse(text))

  constructor(ctx: DurableObjectState, env: Cloudflare.Env, host: SessionHost, added: AddedParts) {
    super(ctx, env)
    const { storage } = ctx
    const abort = (problem: unknown) => lifetime.abort(problem)
    const schema = guarded(this.schema, abort)
    const sql = guarded(storage.sql, abort)
    const values: SessionValues = new Values(guarded(storage.kv, abort), schema)
    const alarms = new Alarms(storage)
    const lifetime = new Lifetime(ctx, host, values, alarms, {
      stop: () => {
        this.#calls.abandonAll(new Error('The session has ended'))
        streams.completeAll()
      },
      deregister: () => registration.deregister(),
      lists: () => subscriptions?.lists,
      reset: () => {
        for (const stored of [values, schema, log, ledger, tasks]) stored?.reset()
        alarms.release()
      },
    })
    const skippedIds = () => lifetime.skippedIds
    const log = new EventLog(sql, () => host.options.log, skippedIds)
    const ledger = new CallLedger(sql, skippedIds)
    const streams = new SessionStreams(ctx, values, log, ledger, host.options.keepAliveMs)
    const registration = new Registration(host, values, log, lifetime, added.subscriptions?.shardOf)
    const own = { host, values, lifetime, streams }
    const subscriptions = added.subscriptions && new added.subscriptions.Subscriptions(own, registration)
    const tasks = added.clientTasks && new added.clientTasks.ClientTasks(own, sql, ledger, alarms)
    const replies = new Replies(host, ledger, lifetime, streams)
    const inputRequests = new InputRequests(values, ledger, alarms, streams, replies, tasks)
    const services = new CallServices(host, values, lifetime, replies, subscriptions, tasks !== undefined)
    this.#values = values
    this.#lifetime = lifetime
    this.#streams = streams
    this.#registration = registration
    this.#subscriptions = subscriptions
    this.#tasks = tasks
    this.#inputRequests = inputRequests
    this.#calls = new Calls(host, log, ledger, alarms, lifetime, streams, replies, inputRequests, services)
  }

  /**
   * Every entry of the object goes through this: nothing is done with what a newer release stored, or for a session that has ended, and what
   * was written is stored before the entry is answered.
   */
  async #handle<T>({ over, isRequest = false, waits = true }: Entry<T>, act: () => Promise<T> | T): Promise<T> {
    this.schema.check()
    const lifetime = this.#lifetime
    const ending = waits ? lifetime.completeEnd() : undefined
    if (ending) await ending
    if (lifetime.isOver) return over()
    if (isRequest) {
      this.#calls.recover()
      lifetime.markSeen()
    }
    const answer = await act()
    this.#streams.flush()
    return answer
  }

  async post(request: string, session: string, principal: Principal | undefined): Promise<Posted | string> {
    const post: Post = { ...JSON.parse(request), ...this.#readSession(session), principal }
    const posted: Posted = await this.#handle({ over: gone, isRequest: true }, () => {
      const overSse = post.handshake === undefined
      if (overSse && !this.#lifetime.id) return gone()
      if (overSse) void this.#subscriptions?.listenAgain(principal)
      return this.#calls.receive(post, post.handshake ?? this.#values.get('handshake') ?? undefined)
    })
    const isPlain = 'text' in posted && posted.status === 200 && !posted.headers && !posted.refusals
    return isPlain ? (posted.text ?? '') : posted
  }

  end(expires: number): Promise<boolean> {
    return this.#handle({ over: no }, async () => {
      await this.#lifetime.finish('deleted', expires)
      return true
    })
  }

  changed(
    event: ServerEvent,
    taskEnded?: TaskEnded,
    scopes?: readonly string[],
    delivery?: string,
    topics?: readonly string[],
  ): Promise<boolean> {
    return this.#once(delivery, async () => {
      const isThere = (await (this.#subscriptions ?? this.#tasks)?.deliver({ event, scopes, topics })) ?? false
      if (isThere && taskEnded) this.#inputRequests.endAsking(taskEnded)
      return isThere
    })
  }

  missed(uris: readonly string[], delivery: string): Promise<boolean> {
    return this.#once(delivery, async () => (await this.#subscriptions?.deliverAll(uris)) ?? false)
  }

  /** Makes a delivery that this session has not received. Returns false if the session has ended. */
  async #once(delivery: string | undefined, deliver: () => Promise<boolean>): Promise<boolean> {
    if (delivery && this.#deliveries.has(delivery)) return true
    const isThere = await this.#handle({ over: no, waits: false }, deliver)
    if (isThere && delivery) this.#deliveries.set(delivery, true)
    return isThere
  }

  admit(opening: Opening): Promise<Admission> {
    const { expires, scopes, after, relay, owner } = opening
    return this.#handle<Admission>({ over: gone, isRequest: true }, async () => {
      const { epoch } = this.#lifetime
      if (owner) this.#lifetime.setOwner(owner, expires)
      await (this.#subscriptions ?? this.#registration).dropWithout(scopes)
      if (epoch !== this.#lifetime.epoch) return gone()
      const lacks = this.#streams.admit(scopes, after, relay)
      if (lacks) return { lacks }
      if (after !== undefined) return { admitted: true }
      this.#lifetime.scheduleExpiry(expires)
      const isThere = await this.#subscriptions?.listen(opening)
      return isThere === false ? gone() : { admitted: true }
    })
  }

  /**
   * Opens a relay. `?after=<event id>` continues after an event, `?stream=<number>` starts a stream; without either, it opens the standing
   * stream from the next event. `?admitted`: the Worker has called `admit`, and calls it again for 412, if this instance does not
   * know the token, or the stream needs other scopes now. `relay`, `again`, `primes`, `sse`: see
   * `StreamOptions`. The URL must not contain secrets, because platforms log it.
   */
  override fetch(request: Request): Promise<Response> {
    const query = new URL(request.url).searchParams
    return this.#handle({ over: () => withStatus(404), isRequest: true }, () => this.#open(query, request.signal))
  }

  async #open(query: URLSearchParams, signal: AbortSignal): Promise<Response> {
    const after = query.get('after')
    const stream = query.get('stream')
    const options = streamOptionsIn(query)
    const { overSse } = options
    if (overSse) this.#lifetime.markConnected()
    const isAdmitted = query.has('admitted')
    if (isAdmitted && !this.#streams.isAdmitted(options.relay, after ?? undefined)) return withStatus(412)
    if (after) {
      const resumed = this.#streams.resume(after, options)
      if (resumed) return this.#announcing(resumed, overSse)
      // The session cannot continue without its stream.
      if (overSse) await this.#lifetime.finish('disconnected')
      return withStatus(400)
    }
    if (stream) return this.#streams.openPost(Number(stream), options)
    this.#lifetime.scheduleExpiry(Number(query.get('expires')))
    if (overSse && this.#values.get('handshake') === undefined) this.#values.put('handshake', null)
    if (!(overSse || isAdmitted) && (await this.#subscriptions?.listen()) === false) return withStatus(404)
    // The Worker may have disconnected: a socket without another end would keep this session forever.
    if (signal.aborted) return withStatus(408)
    const isFirst = !this.#streams.hasStanding
    const opened = this.#streams.openStanding(options)
    // Its client knows the lists as they were in an earlier life.
    if (isFirst && this.#lifetime.skippedIds > 0) this.#subscriptions?.announceLists()
    return this.#announcing(opened, overSse)
  }

  /** Sends the lists that a deployment has changed on the standing stream, once it is open: a deployment closes all sockets. */
  #announcing(opened: Response, isOverSse: boolean): Response {
    if (!isOverSse && this.#streams.isOpen(standingStream)) this.#lifetime.markOpened()
    this.#subscriptions?.announceChangedLists()
    return opened
  }

  override webSocketClose(socket: WebSocket, code: number): Promise<void> {
    return this.#handle({ over() {}, waits: false }, () => {
      const lifetime = this.#lifetime
      if (!lifetime.id) return
      if (!isOverSse(socket)) return lifetime.markSeen()
      // Over HTTP+SSE, the session ends with its stream.
      // Its id is invalid without the handshake of the stream, so it needs no tombstone.
      if (code === closeCode.clientGone) return lifetime.finish('disconnected')
      if (!this.#streams.isOpen(standingStream)) return lifetime.markDisconnected()
    })
  }

  override async alarm(): Promise<void> {
    if (await this.schema.putOffAlarm()) return
    return this.#handle({ over: () => this.#lifetime.expireTombstone() }, () =>
      // An object without it stores no session.
      this.#lifetime.id ? this.#calls.onAlarm() : super.alarm(),
    )
  }
}

const gone = (): { gone: true } => ({ gone: true })
const no = () => false
const withStatus = (status: number) => new Response(null, { status })

const streamOptionsIn = (query: URLSearchParams) => ({
  relay: query.get('relay') ?? '',
  again: query.has('again'),
  primes: query.has('primes'),
  overSse: query.has('sse'),
})
