/** Sends a request to an API: within its timeout, again if it may be repeated, and not while the circuit breaker is open. */
import {
  errorAnswer,
  type Failure,
  failureOfStatus,
  fetchWithin,
  type RequestGuard,
  type Resilience,
} from '../../client/request-guard.ts'
import { retryAfterMs } from '../../client/retry.ts'
import type { Context } from '../../declarations/context.ts'
import { wait } from '../../engine/wait.ts'
import { maxAnswerBytes, readBodyText } from '../../protocol/bounded-body.ts'
import { McpError } from '../../protocol/errors.ts'
import { fetchSameOrigin, UnfollowedRedirect } from './same-origin.ts'

/** A response that was read. `length`: bytes of its body. */
type Answer = { readonly status: number; readonly ok: boolean; readonly text: string; readonly length: number }

/** A response with a status that says nothing about the operation itself. */
class FailedAnswer extends Error {
  readonly answer: Answer
  readonly failure: Failure

  constructor(answer: Answer, failure: Failure) {
    super()
    this.answer = answer
    this.failure = failure
  }
}

class NoAnswer extends Error {}

function failureIn(problem: unknown): Failure | undefined {
  if (problem instanceof FailedAnswer) return problem.failure
  if (problem instanceof NoAnswer) return failureOfStatus(undefined)
  return problem instanceof UnfollowedRedirect ? errorAnswer : undefined
}

/** @see https://www.rfc-editor.org/rfc/rfc9110#section-9.2.2 */
const idempotent = new Set(['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE', 'TRACE'])

/**
 * @throws Error while the circuit breaker is open, and without a response in time; UnfollowedRedirect; the reason of the caller's signal
 */
export async function sendGuarded(
  guard: RequestGuard,
  { timeoutMs, attemptTimeoutMs }: Resilience,
  url: URL,
  request: { readonly method: string; readonly headers: Headers; readonly body: string | null },
  ctx: Pick<Context, 'signal'>,
): Promise<Answer> {
  const untilMs = Date.now() + timeoutMs
  const signal = AbortSignal.any([ctx.signal, AbortSignal.timeout(timeoutMs)])
  const fetchTimed = fetchWithin((href, init) => fetch(href, init), attemptTimeoutMs)
  const attempt = async (): Promise<Answer> => {
    const answer = await send().catch((problem) => {
      ctx.signal.throwIfAborted()
      if (problem instanceof UnfollowedRedirect) throw problem
      throw new NoAnswer(`${url.host} does not answer`, { cause: problem })
    })
    const failure = failureOfStatus(answer.status, answer.retryAfterMs)
    if (failure.isTemporary || failure.isOutage) throw new FailedAnswer(answer, failure)
    return answer
  }
  const send = async () => {
    const response = await fetchSameOrigin(url, { ...request, signal }, fetchTimed)
    const { status, ok, headers } = response
    const body = await readBodyText(response.body, maxAnswerBytes)
    return { status, ok, ...body, retryAfterMs: retryAfterMs(headers.get('Retry-After'), Date.now()) }
  }
  return guard
    .run(attempt, {
      isSafeToRetry: () => idempotent.has(request.method.toUpperCase()),
      untilMs,
      failureOf: failureIn,
      wait: (ms) => wait(ms, signal),
    })
    .catch((problem) => {
      ctx.signal.throwIfAborted()
      if (problem instanceof FailedAnswer) return problem.answer
      // The result of a tool, which the model reads, rather than an error of the request.
      throw problem instanceof McpError ? new Error(problem.message) : problem
    })
}
