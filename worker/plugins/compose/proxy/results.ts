import { type Failure, failureOfStatus } from '../../../client/request-guard.ts'
import { retryAfterMs } from '../../../client/retry.ts'
import { maxAnswerBytes } from '../../../protocol/bounded-body.ts'
import { type ErrorKind, errorTable, McpError } from '../../../protocol/errors.ts'
import { isObject } from '../../../protocol/jsonrpc.ts'
import { negotiateVersion } from '../../../protocol/negotiate-version.ts'
import type { InputRequest, Params, Result } from '../../../protocol/types.ts'
import { inputRequestProblem, isBlock, roles } from './input-requests.ts'
import type { Match } from './upstream-response.ts'

const { error: errorInSession } = negotiateVersion('')

/** A result with input requests of the upstream. */
export type InputRequired = {
  readonly resultType: 'input_required'
  readonly inputRequests: Readonly<Record<string, InputRequest>>
  readonly requestState?: string
}

/** A response of an upstream, and the JSON-RPC response in it. */
export type Answered = { readonly response: Response; readonly match: Match }

/**
 * Returns the result in the response of an upstream.
 *
 * @param canBeAsked whether the upstream's protocol version has input requests
 * @throws McpError the error of the upstream; `unavailable` for a response that does not answer the request
 */
export function resultOf(
  { response, match }: Answered,
  method: string,
  canBeAsked: boolean,
  host: string,
): Result | InputRequired {
  const isUnmatched = match.kind === 'foreign' || match.kind === 'none'
  if (isUnmatched && response.status >= 400) throw httpError(host, response)
  if (match.kind === 'foreign') {
    throw new McpError('unavailable', `The server at ${host} answered with the id of another request`)
  }
  if (match.kind === 'too large') {
    throw new McpError(
      'unavailable',
      `The server at ${host} answered ${method} with more than ${maxAnswerBytes} bytes, more than proxy() reads: let it answer in parts`,
    )
  }
  if (match.kind === 'none')
    throw new UpstreamFailure(`The server at ${host} ended its stream without a response`, failureOfStatus(undefined), {
      reason: 'no response',
    })
  if ('result' in match.message) return readResult(method, match.message.result, canBeAsked, host)
  const { code, message, data } = match.message.error
  // The code has no kind for a temporary failure, only the status.
  if (failureOfStatus(response.status).isTemporary) throw httpError(host, response, message)
  throw new McpError(kindOf(code, method), message, data)
}

/** Returns the kind of an error that a caller can react to. */
function kindOf(code: number, method: string): ErrorKind {
  const isInvalid = code === errorTable.invalid_params.code
  // Versions with sessions have a code for a resource that does not exist, which many servers do not use.
  if (method === 'resources/read' && (isInvalid || code === errorInSession('resource_not_found').code)) {
    return 'resource_not_found'
  }
  if (isInvalid) return 'invalid_params'
  if (code === errorTable.header_mismatch.code) return 'header_mismatch'
  return code === errorTable.missing_client_capability.code ? 'missing_client_capability' : 'internal_error'
}

/** Members of each result, the required one first. Only this server reads results of other methods. */
const members: Readonly<Record<string, readonly [string, ...string[]]>> = {
  'tools/call': ['content', 'structuredContent', 'isError'],
  'prompts/get': ['messages', 'description'],
  'resources/read': ['contents', 'ttlMs', 'cacheScope'],
  'completion/complete': ['completion'],
}
const canAsk = new Set(['tools/call', 'prompts/get', 'resources/read'])

export const isInputRequired = (result: Result | InputRequired): result is InputRequired =>
  result.resultType === 'input_required'

/**
 * Reads a result of an upstream: a complete result with the members of its method, or input requests. Other kinds of results, such as
 * tasks, need a capability that this server does not declare.
 *
 * @param canBeAsked whether the upstream's protocol version has input requests
 * @throws McpError `unavailable` for any other value
 */
export function readResult(method: string, params: Params, canBeAsked: boolean, host: string): Result | InputRequired {
  const { resultType = 'complete', _meta } = params
  // Versions with sessions have no kinds of results: there it is a member like any other.
  if (canBeAsked && resultType === 'input_required') return readInputRequired(method, params, host)
  if (canBeAsked && resultType !== 'complete') {
    throw invalidResult(
      host,
      method,
      `its resultType is ${JSON.stringify(resultType)}, which this server did not ask for`,
    )
  }
  const [required, ...others] = members[method] ?? []
  if (!required) return params
  // Some servers leave the content out where there is structured content.
  const value = params[required] ?? (params.structuredContent === undefined ? undefined : [])
  if (required === 'completion' ? !isObject(value) : !(Array.isArray(value) && value.every(isObject))) {
    throw invalidResult(
      host,
      method,
      `"${required}" must be ${required === 'completion' ? 'an object' : 'a list of objects'}`,
    )
  }
  const isRead = required === 'messages' ? isPromptMessage : required === 'contents' ? isResourceContents : undefined
  const index = Array.isArray(value) && isRead ? value.findIndex((each) => !isRead(each)) : -1
  if (index >= 0) throw invalidResult(host, method, `invalid ${required}[${index}]`)
  const content = others.filter((name) => isKept(name, params[name])).map((name) => [name, params[name]])
  return { [required]: value, ...Object.fromEntries(content), ...(isObject(_meta) && { _meta }) }
}

const isPromptMessage = ({ role, content }: Params) => roles.has(role) && isObject(content) && isBlock(content)
const isResourceContents = ({ uri, text, blob }: Params) =>
  typeof uri === 'string' && (typeof text === 'string' || typeof blob === 'string')

function isKept(name: string, value: unknown): boolean {
  if (name === 'ttlMs') return Number.isSafeInteger(value) && Number(value) >= 0
  if (name === 'cacheScope') return value === 'public' || value === 'private'
  return value !== undefined
}

function readInputRequired(method: string, params: Params, host: string): InputRequired {
  const { inputRequests = {}, requestState } = params
  if (!canAsk.has(method)) throw invalidResult(host, method, 'it requests input, which this method does not support')
  if (!isObject(inputRequests)) throw invalidResult(host, method, '"inputRequests" must be an object')
  for (const [key, request] of Object.entries(inputRequests)) {
    const problem = inputRequestProblem(request)
    if (problem !== undefined) throw invalidResult(host, method, `the input request "${key}" ${problem}`)
  }
  if (requestState !== undefined && typeof requestState !== 'string') {
    throw invalidResult(host, method, '"requestState" must be a string')
  }
  return {
    resultType: 'input_required',
    inputRequests: inputRequests as InputRequired['inputRequests'], // each was looked at above
    ...(requestState !== undefined && { requestState }),
  }
}

export const invalidResult = (host: string, method: string, reason: string): McpError =>
  new McpError('unavailable', `The server at ${host} answered ${method} with an invalid result: ${reason}`)

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

/** Returns the error for a response with an error status that contains no JSON-RPC response to the request, or is temporary. */
export function httpError(
  host: string,
  { status, headers }: Response,
  message: string = messageFor(host, status),
): UpstreamFailure {
  const retryAfter = status === 429 || status === 503 ? headers.get('Retry-After') : null
  const isSeconds = retryAfter !== null && /^\d{1,9}$/.test(retryAfter)
  const data = { reason: `HTTP ${status}`, ...(isSeconds && { retryAfter: Number(retryAfter) }) }
  const sent = retryAfter === null ? undefined : { 'Retry-After': retryAfter }
  const failure = failureOfStatus(status, retryAfterMs(headers.get('Retry-After'), Date.now()))
  return new UpstreamFailure(message, failure, data, sent)
}

function messageFor(host: string, status: number): string {
  if (status < 400 || status >= 500) return noAnswer(host, '').message
  return status === 401 || status === 403
    ? `The server at ${host} refuses the request with HTTP ${status}: check what "headers" of proxy() returns for this caller`
    : `The server at ${host} refuses the request with HTTP ${status}`
}
