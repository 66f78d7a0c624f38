/**
 * What a stateless client carries between the rounds of a call: the memo, sealed for this call and this principal.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/utilities/multi-round-trip
 */
import type { Call, Seals } from '../engine/call.ts'
import { emptyMemo, isMemo, type Memo, withAnswers } from '../engine/memo.ts'
import { McpError } from '../protocol/errors.ts'
import { isObject } from '../protocol/jsonrpc.ts'

/** The methods that may ask; elsewhere both parameters mean nothing. */
const withRounds = new Set(['tools/call', 'prompts/get', 'resources/read'])

/**
 * What earlier rounds learned, and the answers that came with this one.
 *
 * @throws McpError `invalid_params` when either is not what was handed out
 */
export async function readMemo(call: Call, seals: Seals): Promise<Memo> {
  const { requestState, inputResponses } = call.params
  if (!withRounds.has(call.method)) return emptyMemo
  if (requestState === undefined && inputResponses === undefined) return emptyMemo
  let memo = emptyMemo
  if (requestState !== undefined) {
    const opened = typeof requestState === 'string' ? await seals.open(await purposeOf(call), requestState) : undefined
    if (!isMemo(opened)) {
      throw new McpError('invalid_params', 'params.requestState is not valid for this request: start it again')
    }
    memo = opened
  }
  if (inputResponses === undefined) return memo
  if (!isObject(inputResponses)) throw new McpError('invalid_params', 'params.inputResponses must be an object')
  const answers = Object.entries(inputResponses).map(([key, result]) => [key, { result }])
  return withAnswers(memo, Object.fromEntries(answers))
}

export const sealMemo = async (call: Call, memo: Memo, seals: Seals): Promise<string> =>
  seals.seal(await purposeOf(call), memo)

/** A memo is good for the same method with the same arguments only. */
async function purposeOf({ method, params }: Call): Promise<string> {
  const salient = JSON.stringify([params.name ?? params.uri, sorted(params.arguments)])
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(salient))
  return `memo:${method}:${btoa(String.fromCharCode(...new Uint8Array(digest)))}`
}

/** The same value whatever order a client writes its members in. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (!isObject(value)) return value
  return Object.keys(value)
    .sort()
    .map((key) => [key, sorted(value[key])])
}
