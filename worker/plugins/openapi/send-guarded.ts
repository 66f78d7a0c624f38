/** Sends a request to an API: within its timeout, again if it may be repeated, and not while the circuit breaker is open. */
import {
  errorAnswer,
  type Failure,
  failureOfStatus,
  fetchWithin,
  isTimeoutError,
  type RequestGuard,
  type Resilience,
} from '../../client/request-guard.ts'
import { retryAfterMs } from '../../client/retry.ts'
import type { Context } from '../../declarations/context.ts'
import { reportIn } from '../../engine/call-context.ts'
import { wait } from '../../engine/wait.ts'
import { type BodyBytes, BoundedBody, type ReadBytes, readBody } from '../../protocol/bounded-body.ts'
import { ByteBuffer } from '../../protocol/byte-buffer.ts'
import { McpError, ToolError } from '../../protocol/errors.ts'
import { fetchSameOrigin, type Target, UnfollowedRedirect } from './same-origin.ts'

/** A response that was read. */
export type Answer = BodyBytes & {
  readonly status: number
  readonly ok: boolean
  /** The media type in lower case, without parameters. */
  readonly mimeType: string
  /** The charset of the media type, which `TextDecoder` may not know. */
  readonly charset: string | undefined
  /** The header `WWW-Authenticate`. */
  readonly challenge: string | null
}

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

/** The response began, and was not complete in time. */
class SlowAnswer extends Error {}

function failureIn(problem: unknown): Failure | undefined {
  if (problem instanceof FailedAnswer) return problem.failure
  if (problem instanceof NoAnswer) return failureOfStatus(undefined)
  // The API answers: another request may be quicker, and the same one would take as long again.
  return problem instanceof UnfollowedRedirect || problem instanceof SlowAnswer ? errorAnswer : undefined
}

/** Reads a body: see `readBody`. One of too many pieces counts as too large. @param read counts its bytes */
async function readPieces(body: Response['body'], read: ReadBytes): Promise<BodyBytes> {
  try {
    return await readBody(body && new BoundedBody(body, read).stream, read.maxBytes)
  } catch (problem) {
    if (read.bytes <= read.maxBytes) throw problem
    return { bytes: new ByteBuffer(), length: read.bytes }
  }
}

/** @see https://www.rfc-editor.org/rfc/rfc9110#section-9.2.2 */
const idempotent = new Set(['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE', 'TRACE'])

/**
 * @param caller see `GuardedRequest`
 * @param received counts the bytes of all attempts
 * @throws ToolError while the circuit breaker is open, without a response in time, and for a redirect that is not followed; the reason of
 * the caller's signal
 */
export async function sendGuarded(
  guard: RequestGuard,
  { timeoutMs, attemptTimeoutMs }: Resilience,
  target: Target,
  request: { readonly method: string; readonly headers: Headers; readonly body: string | Blob | null },
  caller: string,
  ctx: Pick<Context, 'signal'>,
  received: ReadBytes,
): Promise<Answer> {
  const { host } = target.url
  const untilMs = Date.now() + timeoutMs
  const signal = AbortSignal.any([ctx.signal, AbortSignal.timeout(timeoutMs)])
  const fetchTimed = fetchWithin((href, init) => fetch(href, init), attemptTimeoutMs)
  const attempt = async (): Promise<Answer> => {
    let hasStarted = false
    const answer = await send(() => {
      hasStarted = true
    }).catch((problem) => {
      ctx.signal.throwIfAborted()
      if (problem instanceof UnfollowedRedirect) throw problem
      if (hasStarted && isTimeoutError(problem)) {
        throw new SlowAnswer(`${host} did not complete its response within ${timeoutMs} ms`, { cause: problem })
      }
      throw new NoAnswer(`${host} does not answer`, { cause: problem })
    })
    const failure = failureOfStatus(answer.status, answer.retryAfterMs)
    if (failure.isTemporary || failure.isOutage) throw new FailedAnswer(answer, failure)
    return answer
  }
  const send = async (onResponse: () => void) => {
    const response = await fetchSameOrigin(target, { ...request, signal }, fetchTimed)
    onResponse()
    const { status, ok, headers } = response
    const body = await readPieces(response.body, received)
    const contentType = headers.get('Content-Type') ?? ''
    const [type = ''] = contentType.split(';')
    const mimeType = type.trim().toLowerCase()
    const [, charset] = /;\s*charset="?([^\s;"]+)/i.exec(contentType) ?? []
    const challenge = headers.get('WWW-Authenticate')
    return {
      status,
      ok,
      mimeType,
      charset,
      challenge,
      ...body,
      retryAfterMs: retryAfterMs(headers.get('Retry-After'), Date.now()),
    }
  }
  return guard
    .run(attempt, {
      caller,
      isSafeToRetry: () => idempotent.has(request.method.toUpperCase()),
      untilMs,
      failureOf: failureIn,
      wait: (ms) => wait(ms, ctx.signal),
    })
    .catch((problem) => {
      ctx.signal.throwIfAborted()
      if (problem instanceof FailedAnswer) return problem.answer
      const isUnreachable = [NoAnswer, SlowAnswer, UnfollowedRedirect].some((kind) => problem instanceof kind)
      // A slow API and an open circuit breaker are no mistakes of the server. A wrong `baseUrl` is.
      if (isUnreachable && !isTimeoutError(problem.cause)) reportIn(ctx, problem)
      throw isUnreachable || problem instanceof McpError ? new ToolError(problem.message, { cause: problem }) : problem
    })
}
