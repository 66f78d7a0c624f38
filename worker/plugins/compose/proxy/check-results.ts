/** Validates results of upstreams: complete ones of each method, and input requests. */

import { failureOfStatus } from '../../../client/request-guard.ts'
import { type Kinds, preview } from '../../../declarations/check-options.ts'
import { readForeignBlock } from '../../../declarations/content.ts'
import * as kind from '../../../declarations/option-kinds.ts'
import { ofContents, readOptional } from '../../../declarations/optional-members.ts'
import * as bounds from '../../../protocol/bounds.ts'
import { McpError } from '../../../protocol/errors.ts'
import { hasMoreValues } from '../../../protocol/json-size.ts'
import { jsonText } from '../../../protocol/json-text.ts'
import { isObject } from '../../../protocol/jsonrpc.ts'
import { roles } from '../../../protocol/roles.ts'
import type { InputRequest, Params, Result } from '../../../protocol/types.ts'
import { InvalidInputRequest, readInputRequest, withoutTask } from './check-input-requests.ts'
import type { Match } from './match-response.ts'
import { mendValue } from './mend-values.ts'
import { bounded, errorKindOf, httpError, invalidResult, UpstreamFailure } from './upstream-errors.ts'

/** A result with input requests of the upstream. */
export type InputRequired = {
  readonly resultType: 'input_required'
  readonly inputRequests: Readonly<Record<string, InputRequest>>
  readonly requestState?: string
}

/** Characters of its `data`, as JSON. Larger ones are left out. */
const maxDataCharacters = 65_536

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
  if (match.kind === 'too large') throw tooLarge(host, method, match)
  if (match.kind === 'none' && match.problem !== undefined) {
    const type = response.headers.get('Content-Type') ?? 'no Content-Type'
    throw new McpError(
      'unavailable',
      bounded(`The server at ${host} answered ${method} without a JSON-RPC response: ${match.problem} (${type})`),
    )
  }
  if (match.kind === 'none')
    throw new UpstreamFailure(`The server at ${host} ended its stream without a response`, failureOfStatus(undefined), {
      reason: 'no response',
    })
  if ('result' in match.message) return readResult(method, match.message.result, canBeAsked, host)
  const { code, ...error } = match.message.error
  const message = bounded(error.message)
  const data = JSON.stringify(error.data ?? null).length > maxDataCharacters ? undefined : error.data
  // The code has no kind for a temporary failure, only the status.
  if (failureOfStatus(response.status).isTemporary) throw httpError(host, response, message)
  throw new McpError(errorKindOf(code, method), message, data)
}

/** Returns the error for a response of which not all is read. */
export const tooLarge = (host: string, method: string, { bound }: Extract<Match, { kind: 'too large' }>): McpError =>
  new McpError(
    'unavailable',
    `The server at ${host} answered ${method} with more than ${bound} for one POST, more than proxy() reads: let it send less`,
  )

class InvalidMember extends Error {}

const readMembers = (value: Params, kinds: Kinds, path = ''): Params =>
  readOptional(value, kinds, 'the result', path, InvalidMember)

const readBlock = (block: Params, path: string): Params =>
  readForeignBlock(mendValue(block), 'the result', path, InvalidMember)

const inMessage: Kinds = {
  role: kind.required([(value) => roles.has(value), "'user' or 'assistant'"]),
  content: kind.required(kind.object()),
}

/** A read message has an object as content. */
function readMessage(message: Params, path: string): Params {
  const { role, content } = readMembers(message, inMessage, path)
  return { role, content: readBlock(isObject(content) ? content : {}, `${path}content.`) }
}

const inContents: Kinds = { ...ofContents, uri: kind.required(kind.string) }

function readContents(contents: Params, path: string): Params {
  const read = readMembers(mendValue(contents), inContents, path)
  if (read.text === undefined && read.blob === undefined) {
    throw new InvalidMember(`"${path.slice(0, -1)}" of the result must have a "text" or a "blob"`)
  }
  return read
}

type Member = {
  /** The required member, which is a list of objects. */
  readonly required: 'content' | 'messages' | 'contents'
  readonly read: (each: Params, path: string) => Params
  /** Kinds of the other members. */
  readonly others: Kinds
}

/** Members of each result. Only this server reads results of other methods. */
const members: Readonly<Record<string, Member>> = {
  'tools/call': {
    required: 'content',
    read: readBlock,
    others: { isError: kind.flag, structuredContent: kind.anything },
  },
  'prompts/get': { required: 'messages', read: readMessage, others: { description: kind.string } },
  'resources/read': { required: 'contents', read: readContents, others: {} },
}

const ofCompletion: Kinds = {
  completion: kind.required(kind.object({ values: kind.required(kind.strings), total: kind.size, hasMore: kind.flag })),
}

/** Returns at most as many values as clients accept. */
function readCompletion(params: Params): Result {
  const { completion } = readMembers(params, ofCompletion)
  const { values, total, hasMore }: Params = isObject(completion) ? completion : {}
  const all = Array.isArray(values) ? values : []
  const isCut = all.length > bounds.completionValues
  const more = isCut || hasMore
  return {
    completion: {
      values: all.slice(0, bounds.completionValues),
      ...(total !== undefined && { total }),
      ...(more !== undefined && { hasMore: more }),
    },
  }
}

/** `ttlMs` and `cacheScope` are hints: invalid ones are left out. */
function cachingOf({ ttlMs, cacheScope }: Params): Params {
  return {
    ...(Number.isSafeInteger(ttlMs) && Number(ttlMs) >= 0 && { ttlMs }),
    ...((cacheScope === 'public' || cacheScope === 'private') && { cacheScope }),
  }
}

function readListed(params: Params, { required, read, others }: Member, canBeAsked: boolean): Result {
  const { structuredContent } = params
  const hasStructured = required === 'content' && structuredContent !== undefined
  // Some servers leave the content out where there is structured content.
  const value = params[required] ?? (hasStructured ? [] : undefined)
  if (!Array.isArray(value) || !value.every(isObject))
    throw new InvalidMember(`"${required}" must be a list of objects`)
  const found = value.map((each, index) => read(each, `${required}[${index}].`))
  const given = Object.keys(others).filter((name) => params[name] !== undefined)
  const kept = readMembers(Object.fromEntries(given.map((name) => [name, params[name]])), others)
  // A value of any type is structured content for versions without sessions.
  if (hasStructured && structuredContent === null && canBeAsked) kept.structuredContent = null
  // For clients and models that read content only.
  const isTextOnly = found.length === 0 && (kept.structuredContent ?? undefined) !== undefined
  if (isTextOnly) found.push({ type: 'text', text: JSON.stringify(kept.structuredContent) })
  return { [required]: found, ...kept, ...(required === 'contents' && cachingOf(params)) }
}

const canAsk = new Set(['tools/call', 'prompts/get', 'resources/read'])

export const isInputRequired = (result: Result | InputRequired): result is InputRequired =>
  result.resultType === 'input_required'

/**
 * Reads a result of an upstream: a complete result with the members of its method, or input requests. Other kinds of results, such as
 * tasks, need a capability that this server does not declare.
 *
 * Members that are `null` are left out, as in own results. A value that JSON cannot carry on, such as the number of `1e400`, is an error.
 *
 * @param canBeAsked whether the upstream's protocol version has input requests
 * @throws McpError `unavailable` for any other value; it names the member
 */
export function readResult(method: string, params: Params, canBeAsked: boolean, host: string): Result | InputRequired {
  const { _meta } = params
  const resultType = params.resultType ?? 'complete'
  // Versions with sessions have no kinds of results: there it is a member like any other.
  const isRequest = canBeAsked && resultType === 'input_required'
  if (canBeAsked && !isRequest && resultType !== 'complete') {
    throw invalidResult(host, method, `its resultType is ${preview(resultType)}, which this server did not ask for`)
  }
  const member = members[method]
  if (!isRequest && !member && method !== 'completion/complete') return params
  try {
    jsonText(params, 'it has', InvalidMember)
    if (isRequest) return readInputRequired(method, params, host)
    const read = member ? readListed(params, member, canBeAsked) : readCompletion(params)
    return isObject(_meta) ? withoutTask({ ...read, _meta }) : read
  } catch (problem) {
    const isInvalid = problem instanceof InvalidMember || problem instanceof InvalidInputRequest
    throw isInvalid ? invalidResult(host, method, problem.message) : problem
  }
}

/** Values of the input requests of one result: a client shows them to its user, or gives them to a model. */
const maxInputValues = 25_000

/** Characters of the key of an input request: it reaches the client with the number of the round. */
const maxKeyCharacters = bounds.nameCharacters - 4

function readInputRequired(method: string, params: Params, host: string): InputRequired {
  const inputRequests = params.inputRequests ?? {}
  const requestState = params.requestState ?? undefined
  if (!canAsk.has(method)) throw invalidResult(host, method, 'it requests input, which this method does not support')
  if (!isObject(inputRequests)) throw invalidResult(host, method, '"inputRequests" must be an object')
  const keys = Object.keys(inputRequests)
  if (keys.length > bounds.inputResponses || keys.some((key) => key.length > maxKeyCharacters)) {
    const reason = `"inputRequests" must have at most ${bounds.inputResponses} members, with names of at most ${maxKeyCharacters} characters`
    throw invalidResult(host, method, reason)
  }
  if (hasMoreValues(inputRequests, maxInputValues)) {
    throw invalidResult(host, method, `"inputRequests" must have at most ${maxInputValues} values`)
  }
  if (requestState !== undefined && typeof requestState !== 'string') {
    throw invalidResult(host, method, '"requestState" must be a string')
  }
  if (requestState !== undefined && requestState.length > bounds.requestStateCharacters) {
    throw invalidResult(host, method, `"requestState" must have at most ${bounds.requestStateCharacters} characters`)
  }
  const read = Object.fromEntries(
    Object.entries(inputRequests).map(([key, each]) => [key, readInputRequest(key, each)]),
  )
  return {
    resultType: 'input_required',
    inputRequests: read as InputRequired['inputRequests'], // each was read above
    ...(requestState !== undefined && { requestState }),
  }
}
