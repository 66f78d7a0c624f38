/** Runs a call of a `singleUse` tool once for each request state, however often a client sends it. */
import type { RequestStateRpc } from '../../../durable-objects/store/rpc.ts'
import { maxAnswerTimeoutMs } from '../../engine/journal.ts'
import { McpError } from '../../protocol/errors.ts'
import type { Params } from '../../protocol/types.ts'
import type { Host } from '../host.ts'
import type { HttpAnswer } from '../json-response.ts'
import { canonicalHash, invalidState, type Round } from './request-state.ts'

/** Milliseconds between two extensions of the lease of the Worker that answers a state. */
const leaseRenewalMs = 8000

/**
 * Runs a round, or returns its stored outcome: a client that lost the response gets the same one.
 *
 * @throws McpError `request_state_used` when the state was used with other responses; `call_interrupted` with `retryable: true` while the
 * first request with it still runs
 */
export function answerOnce(
  { name, answers, isLate = false }: Required<Pick<Round, 'name' | 'answers'>> & Pick<Round, 'isLate'>,
  host: Host,
  work: () => Promise<HttpAnswer>,
): Promise<HttpAnswer> {
  const answering = consumeAndAnswer(host.requestState(name), { answers, isLate }, work, host.report)
  // Also for a client that has disconnected: it will send the request again.
  host.waitUntil(answering.catch(() => {}))
  return answering
}

async function consumeAndAnswer(
  state: RequestStateRpc,
  { answers, isLate }: { answers: Params; isLate: boolean },
  work: () => Promise<HttpAnswer>,
  report: Host['report'],
): Promise<HttpAnswer> {
  const expires = Date.now() + maxAnswerTimeoutMs
  const claim = await state.consume(await canonicalHash(answers), expires, isLate)
  switch (claim.is) {
    case 'first': {
      const renewal = setInterval(() => state.extend().catch(report), leaseRenewalMs)
      try {
        const answer = await work()
        // The effects of the call are done: when its answer cannot be stored, the client gets it all the same, once.
        await state.put(JSON.stringify(answer), expires).catch(report)
        return answer
      } finally {
        clearInterval(renewal)
      }
    }
    case 'answered':
      return JSON.parse(claim.text)
    case 'late':
      throw invalidState()
    case 'working':
      throw new McpError(
        'call_interrupted',
        'The call is still in progress: send the same request again for its outcome',
        {
          reason: 'in_progress',
          retryable: true,
        },
      )
    case 'lost':
      throw new McpError('call_interrupted', 'The call was interrupted', { reason: 'interrupted', retryable: false })
    case 'other':
      throw new McpError('request_state_used', 'This requestState was already used with other answers: call again', {
        reason: 'used',
      })
  }
}
