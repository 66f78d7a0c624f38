/** Configures a circuit breaker. */
export type CircuitBreakerLimits = {
  /** Consecutive failures after which it opens. */
  readonly failures: number
  /** Milliseconds for which it stays open. Then one request tries whether the server answers again. */
  readonly pauseMs: number
}

/**
 * Stops requests to a server that fails, for a while. It opens after a number of consecutive failures. When the pause is over, it lets one
 * request through: a success closes it, a failure opens it for another pause.
 */
export class CircuitBreaker {
  readonly #limits: CircuitBreakerLimits
  #failures = 0
  #openUntilMs = 0

  constructor(limits: CircuitBreakerLimits) {
    this.#limits = limits
  }

  get #isOpen(): boolean {
    return this.#failures >= this.#limits.failures
  }

  /** Returns 0 if a request may be sent, else the milliseconds until the next one may. */
  closedForMs(nowMs: number): number {
    return this.#isOpen ? Math.max(0, this.#openUntilMs - nowMs) : 0
  }

  /** Called before a request that may be sent: after a pause, it is the one that tries. */
  startAttempt(nowMs: number): void {
    // If the caller of the request disconnects, another request may try after a pause.
    if (this.#isOpen) this.#openUntilMs = nowMs + this.#limits.pauseMs
  }

  succeed(): void {
    this.#failures = 0
  }

  fail(nowMs: number): void {
    this.#failures += 1
    if (this.#isOpen) this.#openUntilMs = nowMs + this.#limits.pauseMs
  }
}
