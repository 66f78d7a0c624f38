/** Forwards a request to an upstream, with all its rounds of input requests. */

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

/** Rounds of one call that an upstream may have. */
const maxRounds = 100

/**
 * Forwards a request to an upstream, and input requests of the upstream to the client. Each round of the upstream happens once, however
 * many rounds the call has here.
 *
 * @param upstream params that differ on the upstream
 * @param onAnswered called with the id when the upstream has answered, before it receives anything else of the call. What it throws ends the
 * call
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
  // For all rounds in which the client is not asked.
  const signal = proxied.timed(methodContext)
  await proxied.connect(methodContext, signal)
  for (let round = 1; round <= maxRounds; round += 1) {
    const sent = { ...params, ...upstream, ...more }
    const key = `${id} ${round}`
    const result = await requestOnce(methodContext, proxied, sent, key, signal).catch(async (problem) => {
      if (!(problem instanceof TokenRefused)) throw problem
      // The upstream has not read the request. The user may be asked for another token.
      await proxied.connect(methodContext, signal, problem)
      return requestOnce(methodContext, proxied, sent, `${key} again`, signal)
    })
    if (round === 1) await onAnswered(id)
    if (!isInputRequired(result)) return proxied.access.uris.result(result)
    const { inputRequests, requestState } = result
    const hasRequests = Object.keys(inputRequests).length > 0
    const inputResponses = hasRequests ? answersTo(context, round, inputRequests) : {}
    if (!inputResponses) return context.requestInput(keyed(round, inputRequests))
    more = { ...(hasRequests && { inputResponses }), ...(requestState !== undefined && { requestState }) }
  }
  throw new McpError('unavailable', `The upstream server still requests input after ${maxRounds} rounds`)
}

/** Sends a request, and relays its notifications; in a later round of the call, returns the result of the earlier one. */
async function requestOnce(
  methodContext: MethodContext,
  proxied: Proxied,
  sent: Params,
  key: string,
  signal: AbortSignal,
): Promise<Result> {
  const { context, call } = methodContext
  const notices = new Notices(methodContext, proxied)
  let isReplayed = true
  const { result, relayed }: { result: Result; relayed: RelayedNotices } = await context.once(
    `\0upstream ${key}`,
    async () => {
      isReplayed = false
      const result = await proxied.request(methodContext, call.method, sent, { signal, listener: notices })
      return { result, relayed: notices.relayed }
    },
  )
  if (isReplayed) notices.replay(relayed)
  return result
}

/** Returns the same input requests under keys that are unique to this round. */
const keyed = (round: number, requests: Requests): Requests =>
  Object.fromEntries(Object.entries(requests).map(([key, request]) => [`${round} ${key}`, request]))

/** Returns the responses to input requests; `undefined` before they were sent. */
function answersTo(context: Context, round: number, requests: Requests): Params | undefined {
  const answers = Object.keys(requests).map((key) => [key, context.inputResponse(`${round} ${key}`)] as const)
  return answers.some(([, answer]) => answer === undefined) ? undefined : Object.fromEntries(answers)
}
