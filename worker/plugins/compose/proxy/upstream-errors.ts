/** The errors that callers receive for what upstreams answer: error codes, HTTP statuses, invalid results, no answer. */

import { type Failure, failureOfStatus } from '../../../client/request-guard.ts'
import { retryAfterMs } from '../../../client/retry.ts'
import type { Refused } from '../../../declarations/upstream-token.ts'
import { type ErrorKind, errorTable, McpError } from '../../../protocol/errors.ts'
import { negotiateVersion } from '../../../protocol/negotiate-version.ts'
import { startOf } from '../../../protocol/well-formed.ts'

const { error: errorInSession } = negotiateVersion('')

/** Returns the kind of an error that a caller can react to. */
export function errorKindOf(code: number, method: string): ErrorKind {
  const isInvalid = code === errorTable.invalid_params.code
  // Versions with sessions have a code for a resource that does not exist, which many servers do not use.
  if (method === 'resources/read' && (isInvalid || code === errorInSession('resource_not_found').code)) {
    return 'resource_not_found'
  }
  if (isInvalid) return 'invalid_params'
  if (Number.isNaN(code)) return 'unavailable'
  if (code === errorTable.header_mismatch.code) return 'header_mismatch'
  return code === errorTable.missing_client_capability.code ? 'missing_client_capability' : 'internal_error'
}

/** Characters of the message of an error that clients receive. */
const maxErrorCharacters = 4000

/** Returns the message of an error that contains texts of an upstream. */
export const bounded = (message: string): string =>
  message.length > maxErrorCharacters ? `${startOf(message, maxErrorCharacters)}…` : message

export const invalidResult = (host: string, method: string, reason: string): McpError =>
  new McpError('unavailable', bounded(`The server at ${host} answered ${method} with an invalid result: ${reason}`))

/** An upstream refused the token of the user. */
export class TokenRefused extends McpError {
  readonly refused: Refused

  constructor(host: string, refused: Refused) {
    super('unavailable', `The server at ${host} refuses the token of the user with HTTP ${refused.status}`)
    this.refused = refused
  }
}

/** An upstream did not respond, or responded with an error status. */
export class UpstreamFailure extends McpError {
  readonly failure: Failure

  constructor(message: string, failure: Failure, data: object, headers?: Readonly<Record<string, string>>) {
    super('unavailable', message, data, headers)
    this.failure = failure
  }
}

/**
 * @param reason a text of this server. The text of what was thrown may be that of another Worker, so it is in the log only
 * @param cause what was thrown
 */
export function noAnswer(host: string, reason: string, cause?: unknown): UpstreamFailure {
  const failure = new UpstreamFailure(`The server at ${host} does not answer`, failureOfStatus(undefined), { reason })
  if (cause !== undefined) failure.cause = cause
  return failure
}

/** Seconds of a `Retry-After` that clients receive. */
const maxRetryAfterSeconds = 86_400

/** @see https://www.rfc-editor.org/rfc/rfc9110#section-5.6.7 */
const isHttpDate = (text: string): boolean =>
  /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/.test(text) && !Number.isNaN(Date.parse(text))

/** Returns the error for a response with an error status that contains no JSON-RPC response to the request, or is temporary. */
export function httpError(
  host: string,
  { status, headers }: Response,
  message: string = messageFor(host, status),
): UpstreamFailure {
  const retryAfter = status === 429 || status === 503 ? headers.get('Retry-After') : null
  const isSeconds = retryAfter !== null && /^\d{1,5}$/.test(retryAfter) && Number(retryAfter) <= maxRetryAfterSeconds
  const data = { reason: `HTTP ${status}`, ...(isSeconds && { retryAfter: Number(retryAfter) }) }
  const sent = retryAfter !== null && (isSeconds || isHttpDate(retryAfter)) ? { 'Retry-After': retryAfter } : undefined
  const failure = failureOfStatus(status, retryAfterMs(headers.get('Retry-After'), Date.now()))
  return new UpstreamFailure(message, failure, data, sent)
}

function messageFor(host: string, status: number): string {
  if (status < 400 || status >= 500) return noAnswer(host, '').message
  return status === 401 || status === 403
    ? `The server at ${host} refuses the request with HTTP ${status}: check what "headers" of proxy() returns for this caller`
    : `The server at ${host} refuses the request with HTTP ${status}`
}
