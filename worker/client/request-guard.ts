import { serverUnavailable } from '../protocol/errors.ts'
import { CircuitBreakers } from './circuit-breakers.ts'
import { withRetries } from './retry.ts'

/** Configures requests to one server elsewhere. */
export type Resilience = {
  /** Milliseconds of a call, with all its attempts. */
  readonly timeoutMs: number
  /** Milliseconds from a request to the start of its response; `undefined`: as long as the call may take. */
  readonly attemptTimeoutMs: number | undefined
  /** Number of times that a request which may be repeated is sent again. */
  readonly retries: number
  /** When calls are refused, for each caller and for all; `undefined`: never. */
  readonly circuitBreaker: { readonly failures: number; readonly pauseMs: number } | undefined
}

/** Describes a failure of another server. */
export type Failure = {
  /** Whether the request may succeed when it is sent again. */
  readonly isTemporary: boolean
  /** Whether the server is at fault, so that the circuit breaker counts the failure. */
  readonly isOutage: boolean
  /** Milliseconds that the server asked to wait. */
  readonly retryAfterMs?: number | undefined
}

/** Describes one request to a guard. */
export type GuardedRequest = {
  /** Names the caller: a user or a network. Its failures stop its own requests. */
  readonly caller: string
  /** Returns whether it may be sent again, after a failure. */
  readonly isSafeToRetry: () => boolean
  /** Whether its success, or an error that is an answer, shows that the server answers. Default: true. */
  readonly isProof?: boolean
  /** Time, in milliseconds since 1970, after which nothing is sent. */
  readonly untilMs: number
  /** Returns a description of a failure, `errorAnswer` for an error that is an answer; `undefined` for a cancelled request. */
  readonly failureOf: (problem: unknown) => Failure | undefined
  /** Waits. @throws when the caller has cancelled the request */
  readonly wait: (ms: number) => Promise<void>
}

/** Describes an error that the server answered: it is not at fault, and would answer the same again. */
export const errorAnswer: Failure = { isTemporary: false, isOutage: false }

const temporaryStatuses = new Set([408, 429, 502, 503, 504])

/** Describes a failure by its HTTP status. @param status `undefined` without a response */
export const failureOfStatus = (status: number | undefined, retryAfterMs?: number): Failure => ({
  isTemporary: status === undefined || temporaryStatuses.has(status),
  isOutage: status === undefined || status >= 500,
  retryAfterMs,
})

/** Sends requests to one server with retries and circuit breakers. */
export class RequestGuard {
  readonly #host: string
  readonly #retries: number
  readonly #breakers: CircuitBreakers | undefined

  /** @param host for errors */
  constructor(host: string, { retries, circuitBreaker }: Resilience) {
    this.#host = host
    this.#retries = retries
    this.#breakers = circuitBreaker && new CircuitBreakers(circuitBreaker)
  }

  /** @throws McpError `unavailable` while a circuit breaker is open; the failure of the last attempt */
  run<T>(attempt: () => Promise<T>, request: GuardedRequest): Promise<T> {
    return withRetries(() => this.#attempt(attempt, request), {
      ...request,
      retries: this.#retries,
      temporary: (problem) => {
        const failure = request.failureOf(problem)
        return failure?.isTemporary ? failure : undefined
      },
    })
  }

  async #attempt<T>(attempt: () => Promise<T>, { caller, failureOf, isProof = true }: GuardedRequest): Promise<T> {
    const closedForMs = this.#breakers?.closedForMs(caller, Date.now()) ?? 0
    if (closedForMs > 0) throw serverUnavailable(this.#host, Math.ceil(closedForMs / 1000))
    if (isProof) this.#breakers?.startAttempt(caller, Date.now())
    try {
      const result = await attempt()
      if (isProof) this.#breakers?.succeed(caller)
      return result
    } catch (problem) {
      const failure = failureOf(problem)
      if (failure?.isOutage) this.#breakers?.fail(caller, Date.now())
      else if (failure && isProof) this.#breakers?.succeed(caller)
      else if (isProof) this.#breakers?.cancel(caller, Date.now())
      throw problem
    }
  }
}

/** Whether a request ended because its time was over. */
export const isTimeoutError = (thrown: unknown): boolean => thrown instanceof Error && thrown.name === 'TimeoutError'

type Fetch = (url: string, init: RequestInit) => Promise<Response>

/** Returns a `fetch` that rejects when a response does not start in time. @param ms `undefined`: no limit */
export function fetchWithin(fetch: Fetch, ms: number | undefined): Fetch {
  if (ms === undefined) return fetch
  return async (url, init) => {
    const late = new AbortController()
    const timer = setTimeout(() => late.abort(new DOMException(`No response within ${ms} ms`, 'TimeoutError')), ms)
    const signals = [late.signal, init.signal ?? []].flat()
    try {
      return await fetch(url, { ...init, signal: AbortSignal.any(signals) })
    } finally {
      clearTimeout(timer)
    }
  }
}
