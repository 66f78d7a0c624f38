/**
 * What a stateless client carries between the rounds of a call: the memo, sealed for this call and this principal.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr
 */
import type { RoundRpc } from '../../durable-objects/rounds.ts'
import type { Call, Outcome, Seals } from '../engine/call.ts'
import { emptyMemo, isMemo, longestWait, type Memo, withAnswers } from '../engine/memo.ts'
import { isSingle } from '../engine/repeating.ts'
import { encodeBase64 } from '../protocol/base64.ts'
import { McpError } from '../protocol/errors.ts'
import { isObject } from '../protocol/jsonrpc.ts'
import type { Params } from '../protocol/types.ts'
import { utf8 } from '../protocol/utf8.ts'
import type { Host } from './host.ts'
import type { Answer } from './reply.ts'

/** The methods that may ask; elsewhere both parameters mean nothing. */
const withRounds = new Set(['tools/call', 'prompts/get', 'resources/read'])

/** Characters of a memo that a client is given to carry; a longer one is kept for it. */
const mostCarried = 64 * 1024

/** What is sealed: the memo, or the name it is kept under; and, of a call that is single, this state's own name. */
type Carried = { memo?: Memo; kept?: string; name?: string }

/** One round: what was learned before, and, of a call that is single, its state's name and what it was used with. */
export type Round = { memo: Memo; name?: string; answers?: Params }

type Asking = Extract<Outcome, { asks: unknown }>

/**
 * What earlier rounds learned, and the answers that came with this one.
 *
 * @throws McpError `invalid_params` when either is not what was handed out
 */
export async function readRound(call: Call, seals: Seals, host: Host): Promise<Round> {
  const { requestState, inputResponses = {} } = call.params
  if (!withRounds.has(call.method)) return { memo: emptyMemo }
  if (!isObject(inputResponses)) throw new McpError('invalid_params', 'params.inputResponses must be an object')
  const single = isSingle(host.server.registry, call)
  if (requestState === undefined) {
    // What nobody asked for could be used any number of times.
    return { memo: single ? emptyMemo : answeredBy(emptyMemo, inputResponses) }
  }
  const { memo, name } = await open(call, requestState, seals, host)
  // What has been answered stays answered.
  const isNew = ([key]: [string, unknown]) =>
    !Object.hasOwn(memo.answers, key) && (!single || Object.hasOwn(memo.asked, key))
  const answers: Params = Object.fromEntries(Object.entries(inputResponses).filter(isNew))
  const round = { memo: answeredBy(memo, answers), name }
  return name !== undefined && Object.keys(answers).length > 0 ? { ...round, answers } : round
}

const answeredBy = (memo: Memo, answers: Params) =>
  withAnswers(memo, Object.fromEntries(Object.entries(answers).map(([key, result]) => [key, { result }])))

async function open(call: Call, state: unknown, seals: Seals, host: Host): Promise<{ memo: Memo; name?: string }> {
  const opened = typeof state === 'string' ? await seals.open(await purposeOf(call), state) : undefined
  const { memo, kept, name } = (opened ?? {}) as Carried
  const found = kept === undefined ? memo : JSON.parse((await host.round(kept).kept()) ?? 'null')
  if (isMemo(found)) return { memo: found, name }
  throw new McpError('invalid_params', 'params.requestState is not valid for this request: start it again')
}

/** @param round the one that has this outcome */
export async function sealRound(
  call: Call,
  round: Round,
  { memo, patience }: Asking,
  seals: Seals,
  host: Host,
): Promise<string> {
  // Asked again is not asked anew: two states with names of their own would be used twice.
  const name = round.answers ? undefined : round.name
  const carried: Carried = isSingle(host.server.registry, call) ? { name: name ?? crypto.randomUUID() } : {}
  const text = JSON.stringify(memo)
  if (text.length > mostCarried) {
    carried.kept = crypto.randomUUID()
    await host.round(carried.kept).keep(text, Date.now() + longestWait)
  } else carried.memo = memo
  return seals.seal(await purposeOf(call), carried, patience)
}

/**
 * Answers a round of a call that is single once, however often it is sent: whoever lost the answer gets the same.
 *
 * @throws McpError `state_used` when the state was used with other answers
 */
export function answerOnce(name: string, answers: Params, host: Host, work: () => Promise<Answer>): Promise<Answer> {
  const answering = claimAndAnswer(host.round(name), answers, work, host.report)
  // Also for a client that has gone: it will ask again.
  host.waitUntil(answering.catch(() => {}))
  return answering
}

async function claimAndAnswer(
  round: RoundRpc,
  answers: Params,
  work: () => Promise<Answer>,
  report: Host['report'],
): Promise<Answer> {
  const expires = Date.now() + longestWait
  const claim = await round.claim(await digest(distinct(answers)), expires)
  switch (claim.is) {
    case 'first': {
      const answer = await work()
      try {
        await round.keep(JSON.stringify(answer), expires)
      } catch (problem) {
        // The effects of the call are done, so its client gets the answer, once.
        report(problem)
      }
      return answer
    }
    case 'answered':
      return JSON.parse(claim.text)
    case 'lost':
      throw new McpError('interrupted', 'The call was interrupted', { reason: 'interrupted', retryable: false })
    case 'other':
      throw new McpError('state_used', 'This requestState was used with other answers', { reason: 'used' })
  }
}

/** A memo is good for the same method with the same arguments only. */
async function purposeOf({ method, params }: Call): Promise<string> {
  const target = method === 'resources/read' ? params.uri : params.name
  return `memo:${method}:${await digest([target, distinct(params.arguments)])}`
}

async function digest(value: unknown): Promise<string> {
  const text = utf8(JSON.stringify(value))
  return encodeBase64(new Uint8Array(await crypto.subtle.digest('SHA-256', text)))
}

/** The same text for the same value only, whatever order a client writes its members in. */
function distinct(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(distinct)
  if (isObject(value)) {
    const members = Object.keys(value).sort()
    return Object.fromEntries(members.map((key) => [key, distinct(value[key])]))
  }
  // As a text every number is itself, those beyond all numbers too; texts are marked.
  return typeof value === 'string' ? `"${value}` : typeof value === 'number' ? `${value}` : value
}
