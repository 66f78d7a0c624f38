/** Options for requests to a server elsewhere, which `proxy()` and `openApiTools()` share. */
import type { Resilience } from '../client/request-guard.ts'
import type { CallerContext } from './caller.ts'
import type { KindsOf } from './check-options.ts'
import { type Duration, milliseconds } from './duration.ts'
import * as kind from './option-kinds.ts'

/** Describes the caller to the option `headers`. It has what `ctx` of a handler has: principal, request context, state and signal. */
export type HeadersContext = Omit<CallerContext, 'protocolVersion'>

/** Configures timeouts, retries and the circuit breaker of requests to another server. */
export type ResilienceOptions = {
  /** Duration of a call, with all its attempts, without the time in which the client responds to input requests. Default: 60 seconds. */
  timeout?: Duration
  /** Duration of one attempt, from the request to the start of its response. Default: the rest of `timeout`. */
  attemptTimeout?: Duration
  /**
   * Number of times that a request is sent again after a temporary failure: no response, or HTTP 408, 429, 502, 503 or 504. Only requests
   * that may be repeated are. The pauses grow exponentially, with jitter; `Retry-After` is honored if the timeout allows it. Default: 2.
   */
  retries?: number
  /**
   * Refuses calls for a while after consecutive failures: no response in time, or HTTP 5xx. Counted in each isolate, for each user,
   * or network of anonymous callers; calls of all are refused when that many different ones fail and no call succeeds in between. `false` never refuses any. Default: `{ failures: 10, pause: '30s' }`.
   */
  circuitBreaker?:
    | false
    | {
        /** Consecutive failures after which calls are refused. Default: 10. */
        readonly failures?: number
        /** Duration for which calls are refused; then one call tries whether the server answers. Default: 30 seconds. */
        readonly pause?: Duration
      }
}

export const resilienceKinds: KindsOf<ResilienceOptions> = {
  timeout: kind.positiveDuration,
  attemptTimeout: kind.positiveDuration,
  retries: kind.size,
  circuitBreaker: [
    (value) => value === false || kind.object()[0](value),
    "false, or an object such as { failures: 10, pause: '30s' }",
    { failures: kind.count, pause: kind.duration },
  ],
}

/** Reads the options, with their defaults. @param owner the function with the options, such as `proxy()` */
export function readResilience(
  owner: string,
  { timeout = 60_000, attemptTimeout, retries = 2, circuitBreaker = {} }: ResilienceOptions,
): Resilience {
  return {
    timeoutMs: milliseconds(timeout, `${owner} timeout`),
    attemptTimeoutMs:
      attemptTimeout === undefined ? undefined : milliseconds(attemptTimeout, `${owner} attemptTimeout`),
    retries,
    circuitBreaker:
      circuitBreaker === false
        ? undefined
        : {
            failures: circuitBreaker.failures ?? 10,
            pauseMs: milliseconds(circuitBreaker.pause ?? 30_000, `${owner} circuitBreaker.pause`),
          },
  }
}
