import { BoundedMap } from '../protocol/bounded-map.ts'
import { CircuitBreaker, type CircuitBreakerLimits } from './circuit-breaker.ts'

/** Callers whose failures are counted: those without one since their last success are not. */
const maxCallers = 1000

/**
 * The circuit breakers of one server: one for each caller, so that a caller whose requests fail stops no other one, and one for all. That
 * one opens when the requests of several different parties have failed, and none has succeeded in between.
 */
export class CircuitBreakers {
  readonly #limits: CircuitBreakerLimits
  readonly #all: CircuitBreaker
  readonly #own = new BoundedMap<string, CircuitBreaker>({ maxEntries: maxCallers })
  /** Parties that failed since the last success. */
  readonly #failed = new Set<string>()

  /**
   * @param limits of each caller
   * @param parties that open the breaker for all: at least two, because one must not be enough
   */
  constructor(limits: CircuitBreakerLimits, parties: number = limits.failures) {
    this.#limits = limits
    this.#all = new CircuitBreaker({ ...limits, failures: Math.max(2, parties) })
  }

  /** Returns 0 if a request may be sent, else the milliseconds until the next one may. */
  closedForMs(caller: string, nowMs: number): number {
    return Math.max(this.#all.closedForMs(nowMs), this.#own.peek(caller)?.closedForMs(nowMs) ?? 0)
  }

  /** Called before a request that may be sent: after a pause, it is the one that tries. */
  startAttempt(caller: string, nowMs: number): void {
    this.#all.startAttempt(nowMs)
    this.#own.peek(caller)?.startAttempt(nowMs)
  }

  succeed(caller: string): void {
    this.#all.succeed()
    this.#failed.clear()
    this.#own.delete(caller)
  }

  /** @param party who is at fault if the server is not. Default: the caller */
  fail(caller: string, nowMs: number, party = caller): void {
    const own = this.#own.get(caller) ?? new CircuitBreaker(this.#limits)
    own.fail(nowMs)
    this.#own.set(caller, own)
    if (this.#all.isOpen) return this.#all.fail(nowMs)
    if (this.#failed.has(party)) return
    this.#failed.add(party)
    this.#all.fail(nowMs)
  }
}
