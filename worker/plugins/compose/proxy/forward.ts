/** Forwards a request to an upstream, with all its rounds of input requests. */

import type { Received } from '../../../client/received.ts'
import type { Awaitable, Context } from '../../../declarations/context.ts'
import type { MethodContext } from '../../../engine/methods/method.ts'
import { McpError } from '../../../protocol/errors.ts'
import type { InputRequest, Params, Result } from '../../../protocol/types.ts'
import { isInputRequired } from './check-results.ts'
import type { Destination } from './find-upstream.ts'
import { interceptPart } from './intercept-part.ts'
import { Notices, type RelayedNotices } from './notices.ts'
import type { Proxied } from './proxied.ts'
import { TokenRefused } from './upstream-errors.ts'

type Requests = Readonly<Record<string, InputRequest>>

/** Rounds of one call in which an upstream may request input. */
const maxRounds = 100
/** Rounds in a row in which an upstream may request no input. */
const maxSilentRounds = 10

/**
 * Forwards a request to an upstream, and input requests of the upstream to the client. Each round of the upstream happens once, however
 * many rounds the call has here.
 *
 * @param upstream params that differ on the upstream
 * @param onAnswered called with the id when the upstream has answered, before it receives anything else of the call; it may be called again.
 * What it throws ends the call
 */
export const forward = (
  context: MethodContext,
  destination: Destination,
  upstream: Params,
  onAnswered: (id: string) => Awaitable<void> = () => {},
): Promise<Result> =>
  interceptPart(destination.proxied.interceptors, context, (inner) => relay(inner, destination, upstream, onAnswered))

async function relay(
  methodContext: MethodContext,
  { proxied, id }: Destination,
  upstream: Params,
  onAnswered: (id: string) => Awaitable<void>,
): Promise<Result> {
  const { context, call } = methodContext
  const { inputResponses: _i, requestState: _r, task: _t, _meta, ...params } = call.params
  let more: Params = {}
  const earlier = { bytes: 0, values: 0 }
  const silent = { rounds: 0 }
  // For all rounds in which the client is not asked.
  const signal = proxied.timed(methodContext)
  await proxied.connect(methodContext, signal)
  for (let round = 1; round <= maxRounds; round += 1) {
    const key = `${id} ${round}`
    const request = { own: { ...params, ...upstream }, more, signal, earlier, silent, onAnswered: () => onAnswered(id) }
    const result = await requestOnce(methodContext, proxied, request, key).catch(async (problem) => {
      if (!(problem instanceof TokenRefused)) throw problem
      // The upstream has not read the request. The user may be asked for another token.
      await proxied.connect(methodContext, signal, problem)
      return requestOnce(methodContext, proxied, request, `${key} again`)
    })
    if (round === 1) await onAnswered(id)
    if (!isInputRequired(result)) return proxied.access.uris.result(result)
    const { inputRequests, requestState } = result
    if (!isSilent(result)) silent.rounds = 0
    const inputResponses = isSilent(result) ? {} : answersTo(context, round, inputRequests)
    if (!inputResponses) return context.requestInput(keyed(round, inputRequests))
    more = { ...(!isSilent(result) && { inputResponses }), ...(requestState !== undefined && { requestState }) }
  }
  throw new McpError('unavailable', `The server at ${proxied.host} still requests input after ${maxRounds} rounds`)
}

/**
 * A request to an upstream. `own`: its params in each round. `more`: those of the first round. `earlier`: what was received in earlier rounds
 * of the call. `silent`: the rounds in a row without an input request. `onAnswered`: called before another round.
 */
type UpstreamRequest = {
  readonly own: Params
  readonly more: Params
  readonly signal: AbortSignal
  readonly earlier: { bytes: number; values: number }
  readonly silent: { rounds: number }
  readonly onAnswered: () => Awaitable<void>
}

/**
 * Sends a request until the upstream requests input or has a result, and relays its notifications. In a later round of the call, returns
 * the result of the earlier one.
 */
async function requestOnce(
  methodContext: MethodContext,
  proxied: Proxied,
  request: UpstreamRequest,
  key: string,
): Promise<Result> {
  const { context } = methodContext
  const received = proxied.receivedOf(methodContext)
  const { bytes, values } = received
  const notices = new Notices(methodContext, proxied)
  let isReplayed = true
  const { result, relayed, read }: Recorded = await context.once(`\0upstream ${key}`, async () => {
    isReplayed = false
    const result = await untilInput(methodContext, proxied, request, notices)
    return {
      result,
      relayed: notices.relayed,
      read: { bytes: received.bytes - bytes, values: received.values - values },
    }
  })
  if (isReplayed) {
    notices.replay(relayed)
    const { earlier } = request
    earlier.bytes += read.bytes
    earlier.values += read.values
    // Calls that one batch continues do not add up what they have received before.
    received.bytes = Math.max(received.bytes, earlier.bytes)
    received.values = Math.max(received.values, earlier.values)
  }
  return result
}

/** `read`: what was received: all rounds together may have as much as one response. */
type Recorded = {
  readonly result: Result
  readonly relayed: RelayedNotices
  readonly read: Pick<Received, 'bytes' | 'values'>
}

/**
 * Sends a request, and again after each round without an input request. Only the last of these rounds is stored. If the token of the user
 * is refused after the first one, returns the round before, which is not repeated.
 *
 * @throws McpError `unavailable` after too many such rounds
 */
async function untilInput(
  methodContext: MethodContext,
  proxied: Proxied,
  { own, more, signal, silent, onAnswered }: UpstreamRequest,
  listener: Notices,
): Promise<Result> {
  const { method } = methodContext.call
  const send = (params: Params) => proxied.request(methodContext, method, params, { signal, listener })
  let result = await send({ ...own, ...more })
  while (isSilent(result)) {
    silent.rounds += 1
    if (silent.rounds > maxSilentRounds) {
      throw new McpError(
        'unavailable',
        `The server at ${proxied.host} answered ${method} more than ${maxSilentRounds} times in a row with a round that requests no input`,
      )
    }
    await onAnswered()
    const { requestState } = result
    try {
      result = await send({ ...own, ...(requestState !== undefined && { requestState }) })
    } catch (problem) {
      if (problem instanceof TokenRefused) return result
      throw problem
    }
  }
  return result
}

const isSilent = (result: Result): boolean => isInputRequired(result) && Object.keys(result.inputRequests).length === 0

/** Returns the same input requests under keys that are unique to this round. */
const keyed = (round: number, requests: Requests): Requests =>
  Object.fromEntries(Object.entries(requests).map(([key, request]) => [`${round} ${key}`, request]))

/** Returns the responses to input requests; `undefined` before they were sent. */
function answersTo(context: Context, round: number, requests: Requests): Params | undefined {
  const answers = Object.keys(requests).map((key) => [key, context.inputResponse(`${round} ${key}`)] as const)
  return answers.some(([, answer]) => answer === undefined) ? undefined : Object.fromEntries(answers)
}
