/**
 * The lifetime of a session: its id, when it expires, its end, and its tombstone.
 * It expires idle for `ttl`, without its HTTP+SSE stream, or together with its id.
 *
 * A session that expires deletes what it stored. Its client may use the sealed id again: that starts another life of the session.
 */
import type { SessionEndEvent } from '../../worker/declarations/client-hooks.ts'
import { storable } from '../../worker/declarations/stored-principal.ts'
import { waitAtMost } from '../../worker/engine/wait.ts'
import { McpError } from '../../worker/protocol/errors.ts'
import type { Alarms } from '../shared/alarms.ts'
import { isLaterUse, lastUse } from '../shared/last-use.ts'
import { replaceAll } from '../shared/replace-all.ts'
import type { SessionOwner } from './rpc.ts'
import type { SessionHost } from './session-host.ts'
import type { Id, SessionValues } from './session-values.ts'

/** Far more streams, events and input requests than a session has in a millisecond. With a life of a week, ids have at most 15 digits. */
const idsPerMs = 1_000_000
/** Milliseconds after `initialize` in which a session that stores nothing counts as new: clients of these see small ids. */
const firstLifeMs = 60_000
/** Milliseconds after which a session ends without its hook. */
const hookTimeoutMs = 10_000

/** Milliseconds for which an HTTP+SSE session outlives its stream, in case the Worker reconnects. */
const sseGraceMs = 5 * 60_000
/** The time of the last use while a stream is open. */
const inUse = Number.POSITIVE_INFINITY

/** What the other parts of a session do when it starts to be stored, and when it ends. */
export type LifetimeHooks = {
  /** Ends its calls and streams, at once. */
  stop(): void
  /** Ends its subscriptions. Returns true if it was, or may have been, subscribed to resources. */
  deregister(): Promise<boolean>
  /** Returns the declared lists; `undefined` without `subscriptions()`. */
  lists(): string | undefined
  /** Called after the storage was deleted. */
  reset(): void
}

export class Lifetime {
  /** How often the session has ended in this instance. */
  epoch = 0
  /** See `completeEnd`. */
  #ending: Promise<void> | undefined
  readonly #ctx: DurableObjectState
  readonly #host: SessionHost
  readonly #values: SessionValues
  readonly #alarms: Alarms
  readonly #hooks: LifetimeHooks
  #name: string | undefined

  constructor(ctx: DurableObjectState, host: SessionHost, values: SessionValues, alarms: Alarms, hooks: LifetimeHooks) {
    this.#ctx = ctx
    this.#host = host
    this.#values = values
    this.#alarms = alarms
    this.#hooks = hooks
  }

  /** Returns `undefined` before anything is stored. */
  get id(): Id | undefined {
    return this.#values.get('id')
  }

  get name(): string {
    // An object that does not know its name is woken by an alarm, which is set once the id is stored.
    this.#name ??= this.#ctx.id.name ?? (this.id as Id).name
    return this.#name
  }

  /**
   * The highest id of a stream, event, call or input request that an earlier life of the session may have used; 0 for a new session. An idle
   * session deletes everything, and its client may use it again, so ids must be above those of an earlier life: the time from `initialize` to
   * the first row of a life distinguishes its lives.
   */
  get skippedIds(): number {
    if (!this.id) return 0
    const { since, expires } = this.id
    const ageMs = since + this.#host.life - expires
    // A deployment may have changed `ttl` since the earlier life, so its current value tells nothing about a session of this age.
    return ageMs < Math.min(this.#host.options.ttl, firstLifeMs) ? 0 : ageMs * idsPerMs
  }

  /**
   * Adds a state object that is deleted with this session.
   *
   * @param epoch the epoch of the session when the call started
   * @throws McpError `session_not_found` when the session has ended since
   */
  addStateObject(name: string, expires: number, epoch: number): void {
    if (epoch !== this.epoch) throw new McpError('session_not_found', 'The session has ended')
    const names = this.#stateObjects
    if (names.includes(name)) return
    this.scheduleExpiry(expires)
    this.#values.put('stateObjects', [...names, name])
  }

  /** Stores the owner of the session, once, for `onSessionEnd`. @param expires see `Post` */
  setOwner(owner: SessionOwner, expires: number): void {
    if (this.#values.get('owner') !== undefined) return
    this.scheduleExpiry(expires)
    this.#values.put('owner', { ...owner, principal: owner.principal && storable(owner.principal) })
  }

  get #stateObjects(): string[] {
    return this.#values.get('stateObjects') ?? []
  }

  get isOver(): boolean {
    return (this.#ending ?? this.#values.get('ended')) !== undefined
  }

  /** Called before the first row is written: sets the alarm that deletes the session. */
  scheduleExpiry(expires: number): void {
    if (this.id) return
    const now = Date.now()
    const lists = this.#hooks.lists()
    this.#values.put('id', { name: this.name, expires, since: now, ...(lists !== undefined && { lists }) })
    const { ttl } = this.#host.options
    const lastSeenAt = lastUse(now, ttl)
    this.#values.put('lastSeenAt', lastSeenAt)
    void this.#alarms.set({ idle: lastSeenAt + ttl, expires })
  }

  /** Records that a stream has opened: the session is in use until the stream closes. */
  markOpened(): void {
    const lastSeenAt = this.#values.get('lastSeenAt')
    if (lastSeenAt !== undefined && lastSeenAt !== inUse) this.#values.put('lastSeenAt', inUse)
  }

  /** Records the time of a request. */
  markSeen(): void {
    const now = Date.now()
    const ttl = this.#host.options.ttl
    const lastSeenAt = this.#values.get('lastSeenAt')
    if (lastSeenAt === undefined || !isLaterUse(now, lastSeenAt, ttl)) return
    if (lastSeenAt === inUse && this.#isHeld) return
    const usedAt = lastUse(now, ttl)
    this.#values.put('lastSeenAt', usedAt)
    // The platform gives up an alarm that has failed several times.
    void this.#alarms.add(usedAt + ttl)
  }

  /** Called before a relay of an HTTP+SSE session is opened. */
  markConnected(): void {
    if (this.#values.get('sseDisconnectedAt') !== undefined) this.#values.delete('sseDisconnectedAt')
  }

  /** Called when an HTTP+SSE session has lost its stream. The Worker reconnects, unless it has stopped as well. */
  async markDisconnected(): Promise<void> {
    const now = Date.now()
    this.#values.put('sseDisconnectedAt', now)
    await this.#alarms.add(now + sseGraceMs)
  }

  /** Returns when the session expires unless another request arrives, in milliseconds since 1970. */
  due(): number {
    const now = Date.now()
    const isHeld = this.#isHeld
    // Noted, so that the stream's end does not make the session look older than it is. A stream whose end was not noted was lost together
    // with the object, at an unknown time until now.
    if (isHeld || this.#values.get('lastSeenAt') === inUse) this.markSeen()
    const expires = this.#values.get('id')?.expires ?? now
    if (this.#values.get('handshake') !== undefined && !isHeld) {
      const disconnectedAt = this.#values.get('sseDisconnectedAt')
      // Without a stored time the object was lost together with the stream. The time survives the eviction of this instance.
      if (disconnectedAt === undefined) this.#values.put('sseDisconnectedAt', now)
      return Math.min(expires, (disconnectedAt ?? now) + sseGraceMs)
    }
    const lastSeenAt = this.#values.get('lastSeenAt') ?? 0
    return Math.min(expires, (lastSeenAt === inUse ? now : lastSeenAt) + this.#host.options.ttl)
  }

  /** Adds an alarm, at the latest when the session expires. */
  addAlarm(at: number): void {
    void this.#alarms.add(Math.min(at, this.due()))
  }

  get #isHeld(): boolean {
    return this.#ctx.getWebSockets().some(({ readyState }) => readyState === WebSocket.OPEN)
  }

  /**
   * Ends a session that expired while it was idle. Its client may use it again, unless `sessions.revive` is false and it has lost data.
   *
   * @param hasCalls whether a call waits for its client
   */
  expire(hasCalls: boolean): Promise<void> {
    if (this.#host.options.revive) return this.finish('expired')
    const isMissed = this.#values.get('logLevel') !== undefined || this.#values.get('missedTimeout') || hasCalls
    return this.finish('expired', this.id?.expires, isMissed)
  }

  /**
   * Ends the session.
   *
   * @param expires milliseconds since 1970: until when the tombstone is stored; `undefined`: without a tombstone, because the session id is
   * known to be invalid, or its client may use it again
   * @param isMissed a returning client must get an error, because it has lost data of the session
   */
  finish(reason: SessionEndEvent['reason'], expires?: number, isMissed = true): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    // No new work starts until everything is deleted.
    this.#ending = promise
    return this.#finish(reason, expires, isMissed).finally(() => {
      this.#ending = undefined
      resolve()
    })
  }

  async #finish(reason: SessionEndEvent['reason'], expires: number | undefined, isMissed: boolean): Promise<void> {
    this.epoch += 1
    const owner = this.#values.get('owner')
    const names = this.#stateObjects
    const registration = this.#values.get('registration')
    // Before others delete what they have of it: `completeEnd` completes the end if this instance is lost meanwhile.
    if (registration || owner || names.length) void this.#attempt(() => this.#values.put('ended', { reason, expires }))
    await this.#attempt(() => this.#hooks.stop())
    const hadSubscriptions = registration && (await this.#hooks.deregister())
    if (owner) await this.#notifyOfEnd(owner, reason)
    // A deployment may have removed the class of states.
    await Promise.all(names.map((name) => this.#attempt(() => this.#host.state(name).deleteAll())))
    await this.#clear(isMissed || hadSubscriptions || names.length ? expires : undefined)
  }

  /** Calls `onSessionEnd`. A failure is reported, so that the session ends. */
  async #notifyOfEnd({ client, principal, tenant }: SessionOwner, reason: SessionEndEvent['reason']): Promise<void> {
    const { at, report } = this.#host
    try {
      const { hooks } = at(tenant).server.declarations
      const called = async () => {
        await hooks?.onSessionEnd?.({ session: { id: this.name }, client, principal, reason })
        return true
      }
      if (await waitAtMost(hookTimeoutMs, called())) return
      report(
        new Error(
          `onSessionEnd of a plugin has not returned after ${hookTimeoutMs / 1000} seconds: the session ends without it`,
        ),
      )
    } catch (problem) {
      report(problem)
    }
  }

  /** Performs a step of the end, starting at once. A failure is reported, so that the session ends. */
  async #attempt(step: () => Promise<void> | void): Promise<void> {
    try {
      await step()
    } catch (problem) {
      this.#host.report(problem)
    }
  }

  /**
   * Ends this instance of the object, not the session, because of a failure after which it cannot continue: what this turn wrote is undone.
   * The streams of its clients reconnect, and the next instance recovers its calls. A session that is ending goes on until it has deleted
   * everything.
   */
  abort(problem: unknown): void {
    if (!this.#ending) this.#abort(problem)
  }

  #abort(problem: unknown): void {
    this.#host.report(problem)
    this.#ctx.abort('The session cannot write to its storage')
  }

  /**
   * Completes an end during which the last instance was lost.
   *
   * @returns a promise that resolves when a session that ends has deleted what it stored, and does not end again; `undefined` while it does
   * not end. A request that arrives when an idle session expires is the first of its next life, so it waits
   */
  completeEnd(): Promise<void> | undefined {
    const ended = this.#values.get('ended')
    if (this.#ending || typeof ended !== 'object') return this.#ending?.then(() => this.completeEnd())
    const ending = this.finish(ended.reason, ended.expires)
    ending.catch((problem) => this.#abort(problem))
    // What begins it fails with it, so that each request attempts it once.
    return ending.then(() => this.completeEnd())
  }

  /** Deletes the tombstone in time, in the alarm of a session that has ended, and what could not be deleted with the session. */
  expireTombstone(): Promise<void> {
    return this.#clear(Number(this.#values.get('ended')))
  }

  /** Deletes everything. @param ended the tombstone that remains until then, if any */
  async #clear(ended = 0): Promise<void> {
    const { storage } = this.#ctx
    if (!(ended > Date.now())) {
      const deleting = storage.deleteAll()
      this.#hooks.reset()
      return deleting
    }
    // For a tombstone that is refused, `abort` ends this instance.
    this.#ending = undefined
    replaceAll(storage, () => {
      this.#hooks.reset()
      this.#values.put('ended', ended)
    })
    await this.#alarms.set({ tombstone: ended })
  }
}
