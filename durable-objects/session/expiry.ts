/** When a session expires: idle for `ttl`, without its HTTP+SSE stream, or together with its id. */
import type { Alarms } from '../shared/alarms.ts'
import { isLaterUse, lastUse } from '../shared/last-use.ts'
import type { SessionValues } from './session-values.ts'

/** Milliseconds for which an HTTP+SSE session outlives its stream, in case the Worker reconnects. */
const sseGraceMs = 5 * 60_000

/** The time of the last use while a stream is open. */
const inUse = Number.POSITIVE_INFINITY

export class Expiry {
  readonly #ctx: DurableObjectState
  readonly #values: SessionValues
  readonly #alarms: Alarms
  readonly #ttl: () => number

  /** @param ttl returns the milliseconds after which an idle session expires */
  constructor(ctx: DurableObjectState, values: SessionValues, alarms: Alarms, ttl: () => number) {
    this.#ctx = ctx
    this.#values = values
    this.#alarms = alarms
    this.#ttl = ttl
  }

  /** Sets the alarm of a session that starts to be stored. @param expires milliseconds since 1970: the expiry of its id */
  schedule(now: number, expires: number): void {
    const ttl = this.#ttl()
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
    const ttl = this.#ttl()
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
      // Without a stored time the object was lost together with the stream. The time survives the eviction of this instance.
      if (this.#values.get('sseDisconnectedAt') === undefined) this.#values.put('sseDisconnectedAt', now)
      return Math.min(expires, (this.#values.get('sseDisconnectedAt') ?? now) + sseGraceMs)
    }
    const lastSeenAt = this.#values.get('lastSeenAt') ?? 0
    return Math.min(expires, (lastSeenAt === inUse ? now : lastSeenAt) + this.#ttl())
  }

  get #isHeld(): boolean {
    return this.#ctx.getWebSockets().some(({ readyState }) => readyState === WebSocket.OPEN)
  }
}
