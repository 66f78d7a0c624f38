/** Writes the outcome of a call without a session in the form of its protocol version. */

import type { Declarations } from '../../declarations/declarations.ts'
import type { Outcome, Seals } from '../../engine/call.ts'
import { implementationOf } from '../../engine/methods/discover.ts'
import { serializeResult } from '../../engine/serialize-result.ts'
import { asMcpError } from '../../protocol/errors.ts'
import { errorReply } from '../../protocol/jsonrpc.ts'
import { serverInfoKey } from '../../protocol/meta.ts'
import type { Result } from '../../protocol/types.ts'
import type { Host } from '../host.ts'
import type { HttpAnswer } from '../json-response.ts'
import type { StatelessCall } from './read.ts'
import { type Round, sealRound } from './request-state.ts'

/** @param round the round with this outcome */
export async function outcomeAnswer(
  request: StatelessCall,
  round: Round,
  outcome: Exclude<Outcome, { type: 'suspended' }>,
  seals: Seals,
  host: Host,
): Promise<HttpAnswer> {
  if (outcome.type === 'result') return resultAnswer(request, outcome.result, host)
  const inputRequests = Object.entries(outcome.inputRequests).map(([key, input]) => [
    key,
    request.call.revision.ask(input),
  ])
  const result = {
    resultType: 'input_required',
    inputRequests: Object.fromEntries(inputRequests),
    requestState: await sealRound(request, round, outcome, seals, host),
  }
  return resultAnswer(request, result, host)
}

export function resultAnswer(request: StatelessCall, result: Result, host: Host): HttpAnswer {
  const { message, call } = request
  const { declarations } = host.server
  const sign = call.revision.stateless ? addServerInfo(declarations, call.method) : undefined
  return {
    status: 200,
    text: serializeResult(message.id, declarations, request, result, { report: host.report, sign }),
  }
}

export function errorAnswer({ message, call }: StatelessCall, thrown: unknown, { report }: Host): HttpAnswer {
  const error = asMcpError(thrown, report)
  return errorReply(message.id, error, call.revision.error(error.kind))
}

/** Adds the server to a result: its whole description to that of `server/discover`, its name and version to others. */
const addServerInfo = (declarations: Declarations, method: string) => (result: Result) => {
  const { name, version } = declarations.options
  const info = method === 'server/discover' ? implementationOf(declarations) : { name, version }
  return { ...result, _meta: { ...result._meta, [serverInfoKey]: info } }
}
