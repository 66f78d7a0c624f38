/**
 * What a stateless client carries between the rounds of a call: the journal, sealed for this call and this principal.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr
 */
import type { RequestStateRpc } from '../../../durable-objects/rpc.ts'
import type { Call, Outcome, Seals } from '../../engine/call.ts'
import { emptyJournal, isJournal, type Journal, maxAnswerTimeoutMs, withAnswers } from '../../engine/journal.ts'
import { isSingleUse } from '../../engine/retry-policy.ts'
import { encodeBase64 } from '../../protocol/base64.ts'
import { McpError } from '../../protocol/errors.ts'
import { isObject } from '../../protocol/jsonrpc.ts'
import type { Params } from '../../protocol/types.ts'
import { utf8 } from '../../protocol/utf8.ts'
import type { Host } from '../host.ts'
import type { HttpAnswer } from '../json-response.ts'

/** The methods that may ask; elsewhere both parameters mean nothing. */
const withRounds = new Set(['tools/call', 'prompts/get', 'resources/read'])

/** Characters of a journal that a client is given to carry; a longer one is kept for it. */
const mostCarried = 64 * 1024

/** Milliseconds after which the Worker that answers a state extends its lease, again and again. */
const leaseRenewalMs = 8000

/**
 * What is sealed: the journal, or the name it is kept under; and, of a call that is single, this state's own name and, in milliseconds, until
 * when it may be answered. Afterwards it can only be asked for its outcome.
 */
type SealedState = { journal?: Journal; kept?: string; name?: string; answerBy?: number }

/**
 * One round: what was learned before, and, of a call that is single, its state's name and what it was used with. `isLate`: the time to
 * answer is over.
 */
export type Round = { journal: Journal; name?: string; answers?: Params; isLate?: boolean }

type Asking = Extract<Outcome, { type: 'input_required' }>

/**
 * What earlier rounds learned, and the answers that came with this one.
 *
 * @throws McpError `invalid_params` when either is not what was handed out
 */
export async function readRound(call: Call, seals: Seals, host: Host): Promise<Round> {
  const { requestState, inputResponses = {} } = call.params
  if (!withRounds.has(call.method)) return { journal: emptyJournal }
  if (!isObject(inputResponses)) throw new McpError('invalid_params', 'params.inputResponses must be an object')
  const single = isSingleUse(host.server.registry, call)
  if (requestState === undefined) {
    // What nobody asked for could be used any number of times.
    return { journal: single ? emptyJournal : answeredBy(emptyJournal, inputResponses) }
  }
  const { journal, name, answerBy = Number.POSITIVE_INFINITY } = await open(call, requestState, seals, host)
  // What has been answered stays answered.
  const isNew = ([key]: [string, unknown]) =>
    !Object.hasOwn(journal.answers, key) && (!single || Object.hasOwn(journal.requestFingerprints, key))
  const answers: Params = Object.fromEntries(Object.entries(inputResponses).filter(isNew))
  const round = { journal: answeredBy(journal, answers), name }
  const isLate = Date.now() > answerBy
  if (name !== undefined && Object.keys(answers).length > 0) return { ...round, answers, isLate }
  if (isLate) throw invalidState()
  return round
}

const answeredBy = (journal: Journal, answers: Params) =>
  withAnswers(journal, Object.fromEntries(Object.entries(answers).map(([key, result]) => [key, { result }])))

type Opened = { journal: Journal; name?: string; answerBy?: number }

async function open(call: Call, state: unknown, seals: Seals, host: Host): Promise<Opened> {
  const opened = typeof state === 'string' ? await seals.open(await purposeOf(call), state) : undefined
  const { journal, kept: journalText, name, answerBy } = (opened ?? {}) as SealedState
  const sealedState =
    journalText === undefined ? journal : JSON.parse((await host.requestState(journalText).get()) ?? 'null')
  if (isJournal(sealedState)) return { journal: sealedState, name, answerBy }
  throw invalidState()
}

const invalidState = (): McpError =>
  new McpError('invalid_params', 'params.requestState is not valid for this request: start it again')

/** @param round the one that has this outcome */
export async function sealRound(
  call: Call,
  round: Round,
  { journal, answerTimeoutMs }: Asking,
  seals: Seals,
  host: Host,
): Promise<string> {
  // Asked again is not asked anew: two states with names of their own would be used twice.
  const name = round.answers ? undefined : round.name
  const isOnce = isSingleUse(host.server.registry, call)
  const sealedState: SealedState = isOnce
    ? { name: name ?? crypto.randomUUID(), answerBy: Date.now() + answerTimeoutMs }
    : {}
  // An outcome is kept for `longestWait` after its answer.
  const lifeMs = isOnce ? answerTimeoutMs + maxAnswerTimeoutMs : answerTimeoutMs
  const text = JSON.stringify(journal)
  if (text.length > mostCarried) {
    sealedState.kept = crypto.randomUUID()
    await host.requestState(sealedState.kept).put(text, Date.now() + Math.max(lifeMs, maxAnswerTimeoutMs))
  } else sealedState.journal = journal
  return seals.seal(await purposeOf(call), sealedState, lifeMs)
}

/**
 * Answers a round of a call that is single once, however often it is sent: whoever lost the answer gets the same.
 *
 * @throws McpError `state_used` when the state was used with other answers; `interrupted` with `retryable: true` while the first answer is
 * still worked on
 */
export function answerOnce(
  { name, answers, isLate = false }: Required<Pick<Round, 'name' | 'answers'>> & Pick<Round, 'isLate'>,
  host: Host,
  work: () => Promise<HttpAnswer>,
): Promise<HttpAnswer> {
  const answering = claimAndAnswer(host.requestState(name), { answers, isLate }, work, host.report)
  // Also for a client that has gone: it will ask again.
  host.waitUntil(answering.catch(() => {}))
  return answering
}

async function claimAndAnswer(
  round: RequestStateRpc,
  { answers, isLate }: { answers: Params; isLate: boolean },
  work: () => Promise<HttpAnswer>,
  report: Host['report'],
): Promise<HttpAnswer> {
  const expires = Date.now() + maxAnswerTimeoutMs
  const claim = await round.consume(await digest(distinct(answers)), expires, isLate)
  switch (claim.is) {
    case 'first': {
      const renewal = setInterval(() => round.extend().catch(report), leaseRenewalMs)
      try {
        const answer = await work()
        // The effects of the call are done: when its answer cannot be stored, its client gets it all the same, once.
        await round.put(JSON.stringify(answer), expires).catch(report)
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
      throw new McpError('interrupted', 'The call is still in progress: send the same request again for its outcome', {
        reason: 'in_progress',
        retryable: true,
      })
    case 'lost':
      throw new McpError('interrupted', 'The call was interrupted', { reason: 'interrupted', retryable: false })
    case 'other':
      throw new McpError('state_used', 'This requestState was used with other answers', { reason: 'used' })
  }
}

/** A journal is good for the same method with the same arguments only. */
async function purposeOf({ method, params }: Call): Promise<string> {
  const target = method === 'resources/read' ? params.uri : params.name
  return `journal:${method}:${await digest([target, distinct(params.arguments)])}`
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
