/** The lifetime of a session: its id, the options of its endpoint, its expiry, and the tombstone that it leaves. */
import { McpError } from '../../worker/protocol/errors.ts'
import type { Alarms } from '../shared/alarms.ts'
import type { SessionHost } from './session-host.ts'
import { readTerms, type SessionTerms } from './session-terms.ts'
import type { Id, SessionValues } from './session-values.ts'

/** Far more streams, events and input requests than one life has. With a life of a week, ids have 15 digits at most. */
const idsPerMs = 1_000_000
/** Milliseconds that an HTTP+SSE session outlives its stream, in case the Worker dials again. */
const sseGraceMs = 5 * 60_000

/** What the other parts of a session do when it ends. */
export type EndOfSession = {
  /** Ends its calls and streams, at once. */
  stop(): void
  /** Ends its subscriptions. True when it was subscribed to resources, or may have been. */
  deregister(): Promise<boolean>
  /** The storage has been deleted. */
  reset(): void
}

export class Lifetime {
  /** How often the session has ended. */
  epoch = 0
  readonly #ctx: DurableObjectState
  readonly #host: SessionHost
  readonly #values: SessionValues
  readonly #alarms: Alarms
  readonly #end: EndOfSession
  /** The options that its endpoint sent last. */
  #termsText: string | undefined
  #terms: SessionTerms | undefined
  #lastSeenAt = 0
  /** Milliseconds: since when an HTTP+SSE session has been without its stream. */
  #sseDisconnectedAt: number | undefined
  #isExpiryScheduled = false
  #isEnding = false

  constructor(ctx: DurableObjectState, host: SessionHost, values: SessionValues, alarms: Alarms, end: EndOfSession) {
    this.#ctx = ctx
    this.#host = host
    this.#values = values
    this.#alarms = alarms
    this.#end = end
  }

  /** The endpoint sends its options with each request. Alarms use the last ones. */
  setTerms(text: string | undefined): void {
    if (text === undefined || text === this.#termsText) return
    this.#termsText = text
    this.#terms = undefined
    if (this.id) this.#storeTerms()
  }

  #storeTerms(): void {
    const text = this.#termsText
    if (text === undefined || text === this.#values.get('terms')) return
    // Nothing is stored of what is known without it.
    if (text !== this.#host.termsOf(this.name)) this.#values.put('terms', text)
    else if (this.#values.get('terms') !== undefined) this.#values.delete('terms')
  }

  get terms(): SessionTerms {
    this.#terms ??= readTerms(this.#termsText ?? this.#values.get('terms') ?? this.#host.termsOf(this.name))
    return this.#terms
  }

  /** `undefined` until something is stored. */
  get id(): Id | undefined {
    return this.#values.get('id')
  }

  get name(): string {
    // An object that does not know its name is woken by an alarm, which is set once the id is stored.
    return this.#ctx.id.name ?? (this.id as Id).name
  }

  /**
   * Ids up to this one may have been handed out before: an idle session forgets everything after `ttl`, and its client may use it
   * again. What it stores next comes at least a `ttl` later, so the time since `initialize` tells its lives apart.
   */
  get skippedIds(): number {
    const { life: lifetimeMs } = this.#host
    const { ttl } = this.terms
    const ageMs = this.id ? Date.now() + lifetimeMs - this.id.expires : 0
    // Clients see small numbers in a session that was never idle for so long.
    return ageMs < ttl ? 0 : ageMs * idsPerMs
  }

  /**
   * Adds a state object that ends with this session.
   *
   * @param epoch of the session when the call began
   * @throws McpError `session_not_found` when the session has ended since
   */
  addStateObject(name: string, expires: number, epoch: number): void {
    if (epoch !== this.epoch) throw new McpError('session_not_found', 'The session has ended')
    const names = this.#stateObjects
    if (names.includes(name)) return
    this.scheduleExpiry(expires)
    this.#values.put('stateObjects', [...names, name])
  }

  get #stateObjects(): string[] {
    return this.#values.get('stateObjects') ?? []
  }

  get isOver(): boolean {
    return this.#isEnding || this.#values.get('ended') !== undefined
  }

  /** Notes that the client is there: in memory, and rarely on disk, so that an eviction does not make it look idle. */
  markSeen(): void {
    const now = Date.now()
    this.#lastSeenAt = now
    const lastSeenAt = this.#values.get('lastSeenAt')
    if (lastSeenAt !== undefined && now - lastSeenAt > this.terms.ttl / 4) this.#values.put('lastSeenAt', now)
  }

  /** A relay is about to be opened. */
  markConnected(): void {
    this.markSeen()
    this.#sseDisconnectedAt = undefined
  }

  /** An HTTP+SSE session has lost its stream. The Worker dials again, unless it is gone as well. */
  async markDisconnected(): Promise<void> {
    this.#sseDisconnectedAt = Date.now()
    await this.#alarms.add(this.#sseDisconnectedAt + sseGraceMs)
  }

  /** The first row is about to be written: from now on an alarm watches over its removal. */
  scheduleExpiry(expires: number): void {
    if (this.#isExpiryScheduled) return
    this.#isExpiryScheduled = true
    if (this.id) return
    const now = Date.now()
    this.#values.put('id', { name: this.name, expires })
    this.#storeTerms()
    this.#values.put('lastSeenAt', now)
    void this.#alarms.set({ idle: now + this.terms.ttl, expires })
  }

  /** Milliseconds: when this session is over, unless its client is heard of before. */
  due(): number {
    const now = Date.now()
    const isHeld = this.#ctx.getWebSockets().length > 0
    // Noted, so that the stream's end does not make the session look older than it is.
    if (isHeld) this.markSeen()
    const expires = this.id?.expires ?? now
    if (this.#values.get('handshake') !== undefined && !isHeld) {
      this.#sseDisconnectedAt ??= now
      return Math.min(expires, this.#sseDisconnectedAt + sseGraceMs)
    }
    return Math.min(expires, Math.max(this.#lastSeenAt, this.#values.get('lastSeenAt') ?? 0) + this.terms.ttl)
  }

  /**
   * Ends the session.
   *
   * @param expires until when to remember that it is over; `undefined`: its id is known to be worth nothing
   * @param isMissed a client that comes back must hear that it is over
   */
  async finish(expires?: number, isMissed = true): Promise<void> {
    this.epoch += 1
    this.#end.stop()
    // Nothing new is begun while the rest is cleared away, the mark that it has ended included.
    this.#isEnding = true
    const hadSubscriptions = this.#values.get('updatesShard') !== undefined && (await this.#end.deregister())
    const names = this.#stateObjects
    await Promise.all(names.map((name) => this.#host.state(name).deleteAll())).catch(this.#host.report)
    await this.#clear()
    this.#isExpiryScheduled = false
    const leavesMark = expires !== undefined && (isMissed || hadSubscriptions || names.length > 0)
    if (leavesMark) this.#values.put('ended', expires)
    this.#isEnding = false
    if (leavesMark) await this.#alarms.set({ tombstone: Math.max(expires, Date.now() + 1000) })
  }

  /** In the alarm of a session that is over: deletes the tombstone in time. `undefined`: the session is not over. */
  expireTombstone(): Promise<void> | undefined {
    const endedAt = this.#values.get('ended')
    if (endedAt === undefined) return undefined
    return endedAt <= Date.now() ? this.#clear() : this.#alarms.set({ tombstone: endedAt })
  }

  async #clear(): Promise<void> {
    await this.#ctx.storage.deleteAll()
    this.#values.reset()
    this.#end.reset()
  }
}
