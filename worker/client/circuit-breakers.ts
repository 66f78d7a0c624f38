import { BoundedMap } from '../protocol/bounded-map.ts'
import { CircuitBreaker, type CircuitBreakerLimits } from './circuit-breaker.ts'

/** Callers whose failures are counted: those without one since their last success are not. */
const maxCallers = 1000

/**
 * The circuit breakers of one server: one for each caller, so that a caller whose requests fail stops no other one, and one for all. That
 * one opens when the requests of several different parties have failed, and none has succeeded in between. After a pause, the parties try
 * one after the other, each once: a success closes it, and it opens again when as many of them have failed.
 */
export class CircuitBreakers {
  readonly #limits: CircuitBreakerLimits
  readonly #parties: number
  readonly #own = new BoundedMap<string, CircuitBreaker>({ maxEntries: maxCallers })
  /** Parties that failed since the last success, or since it opened. */
  readonly #failed = new Set<string>()
  /** Whether requests of all are refused, but for those that try. */
  #isOpen = false
  #openUntilMs = 0
  /** The party that tries. If its request never ends, another one tries after a pause. */
  #trial: { readonly party: string; readonly untilMs: number } | undefined
  /** Parties that have tried, with the time until which they wait for others to try. */
  #tried = new BoundedMap<string, number>({ maxEntries: maxCallers })

  /**
   * @param limits of each caller
   * @param parties that open the breaker for all: at least two, because one must not be enough
   */
  constructor(limits: CircuitBreakerLimits, parties: number = limits.failures) {
    this.#limits = limits
    this.#parties = Math.max(2, parties)
  }

  /**
   * Returns 0 if a request may be sent, else the milliseconds until the next one may.
   *
   * @param party who is at fault if the server is not. Default: the caller
   */
  closedForMs(caller: string, nowMs: number, party = caller): number {
    const untilMs = this.#isOpen
      ? Math.max(this.#openUntilMs, this.#trial?.untilMs ?? 0, this.#tried.peek(party) ?? 0)
      : 0
    return Math.max(0, untilMs - nowMs, this.#own.peek(caller)?.closedForMs(nowMs) ?? 0)
  }

  /** Called before a request that may be sent: after a pause, it is the one that tries. */
  startAttempt(caller: string, nowMs: number, party = caller): void {
    if (this.#isOpen) {
      this.#trial = { party, untilMs: nowMs + this.#limits.pauseMs }
      this.#tried.set(party, nowMs + 2 * this.#limits.pauseMs)
    }
    this.#own.peek(caller)?.startAttempt(nowMs)
  }

  succeed(caller: string): void {
    this.#isOpen = false
    this.#restart()
    this.#own.delete(caller)
  }

  fail(caller: string, nowMs: number, party = caller): void {
    const own = this.#own.get(caller) ?? new CircuitBreaker(this.#limits)
    own.fail(nowMs)
    this.#own.set(caller, own)
    this.cancel(party, nowMs)
    this.#failed.add(party)
    if (this.#failed.size < this.#parties) return
    this.#isOpen = true
    this.#openUntilMs = nowMs + this.#limits.pauseMs
    this.#restart()
  }

  /** Called when a request ends without telling whether the server answers: another party may try. */
  cancel(party: string, nowMs: number): void {
    if (this.#trial?.party !== party) return
    this.#trial = undefined
    this.#tried.set(party, nowMs + this.#limits.pauseMs)
  }

  #restart(): void {
    this.#failed.clear()
    this.#tried = new BoundedMap({ maxEntries: maxCallers })
    this.#trial = undefined
  }
}
