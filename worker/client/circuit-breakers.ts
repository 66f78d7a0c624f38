import { BoundedMap } from '../protocol/bounded-map.ts'
import { CircuitBreaker, type CircuitBreakerLimits } from './circuit-breaker.ts'

/** Credentials whose failures are counted: those without one since their last success are not. */
const maxCredentials = 1000

/**
 * The circuit breakers of one server: one for each credential, so that a caller whose requests fail stops no other one, and one for all. That
 * one counts each credential once, until it succeeds, so it opens when different credentials fail in a row.
 */
export class CircuitBreakers {
  readonly #limits: CircuitBreakerLimits
  readonly #all: CircuitBreaker
  readonly #own = new BoundedMap<string, CircuitBreaker>({ maxEntries: maxCredentials })

  constructor(limits: CircuitBreakerLimits) {
    this.#limits = limits
    // One credential must not be enough.
    this.#all = new CircuitBreaker({ ...limits, failures: Math.max(2, limits.failures) })
  }

  /** Returns 0 if a request may be sent, else the milliseconds until the next one may. */
  closedForMs(credential: string, nowMs: number): number {
    return Math.max(this.#all.closedForMs(nowMs), this.#own.peek(credential)?.closedForMs(nowMs) ?? 0)
  }

  /** Called before a request that may be sent: after a pause, it is the one that tries. */
  startAttempt(credential: string, nowMs: number): void {
    this.#all.startAttempt(nowMs)
    this.#own.peek(credential)?.startAttempt(nowMs)
  }

  succeed(credential: string): void {
    this.#all.succeed()
    this.#own.delete(credential)
  }

  fail(credential: string, nowMs: number): void {
    const known = this.#own.get(credential)
    const own = known ?? new CircuitBreaker(this.#limits)
    own.fail(nowMs)
    this.#own.set(credential, own)
    if (!known || this.#all.isOpen) this.#all.fail(nowMs)
  }
}
