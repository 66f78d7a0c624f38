/**
 * The `requestState` that a stateless client carries between the rounds of a call: the journal, sealed for this call and this principal.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr
 */
import type { Call, Outcome, Seals } from '../../engine/call.ts'
import { emptyJournal, isJournal, type Journal, maxAnswerTimeoutMs, withAnswers } from '../../engine/journal.ts'
import { handlerMethods } from '../../engine/result-size.ts'
import { encodeBase64 } from '../../protocol/base64.ts'
import { canonicalJson } from '../../protocol/canonical-json.ts'
import { McpError } from '../../protocol/errors.ts'
import { isObject } from '../../protocol/jsonrpc.ts'
import type { Params } from '../../protocol/types.ts'
import { utf8 } from '../../protocol/utf8.ts'
import type { Host } from '../host.ts'
import type { StatelessCall } from './read.ts'

/** Characters of a journal that the client carries. A longer journal is stored, and the client carries its name. */
const maxInlineCharacters = 64 * 1024

/** The sealed content. Clients carry it across deployments, so its members keep their names. */
type SealedState = {
  journal?: Journal
  /** Name under which a long journal is stored. */
  kept?: string
  /** Name of this state, for a `singleUse` tool. */
  name?: string
  /** Milliseconds since 1970 until which a state with a name may be used. After that, it only returns its outcome. */
  answerBy?: number
}

/** One round of a call. */
export type Round = {
  readonly journal: Journal
  /** Name of its request state, for a `singleUse` tool. */
  readonly name?: string | undefined
  /** The new input responses for a state with a name. */
  readonly answers?: Params
  /** Whether the time for the responses is over. */
  readonly isLate?: boolean
}

type InputRequiredOutcome = Extract<Outcome, { type: 'input_required' }>

/**
 * Reads the journal of earlier rounds, and adds the input responses of this one.
 *
 * @throws McpError `invalid_params` for a state that this server did not seal for this call and principal
 */
export async function readRound({ call, target }: StatelessCall, seals: Seals, host: Host): Promise<Round> {
  const { requestState, inputResponses = {} } = call.params
  if (!handlerMethods.has(call.method)) return { journal: emptyJournal }
  if (!isObject(inputResponses)) throw new McpError('invalid_params', 'params.inputResponses must be an object')
  const isOnce = target.found.tool?.singleUse
  if (requestState === undefined) {
    // A response without a state could be repeated any number of times.
    return { journal: isOnce ? emptyJournal : answeredBy(emptyJournal, inputResponses) }
  }
  const { journal, name, answerBy = Number.POSITIVE_INFINITY } = await open(call, requestState, seals, host)
  // The first response to an input request counts.
  const isNew = ([key]: [string, unknown]) =>
    !Object.hasOwn(journal.answers, key) && (!isOnce || Object.hasOwn(journal.requestFingerprints, key))
  const answers: Params = Object.fromEntries(Object.entries(inputResponses).filter(isNew))
  const round = { journal: answeredBy(journal, answers), name }
  const isLate = Date.now() > answerBy
  if (name !== undefined && Object.keys(answers).length > 0) return { ...round, answers, isLate }
  if (isLate) throw invalidState()
  return round
}

const answeredBy = (journal: Journal, answers: Params) =>
  withAnswers(journal, Object.fromEntries(Object.entries(answers).map(([key, result]) => [key, { result }])))

async function open(
  call: Call,
  state: unknown,
  seals: Seals,
  host: Host,
): Promise<Required<Pick<SealedState, 'journal'>> & SealedState> {
  const opened = typeof state === 'string' ? await seals.open(await purposeOf(call), state) : undefined
  // `sealRound` sealed it: the purpose has no other values.
  const { kept, name, answerBy, ...inline } = (opened ?? {}) as SealedState
  const journal = kept === undefined ? inline.journal : JSON.parse((await host.requestState(kept).get()) ?? 'null')
  if (isJournal(journal)) return { journal, name, answerBy }
  throw invalidState()
}

export const invalidState = (): McpError =>
  new McpError('invalid_params', 'params.requestState is not valid for this request: send the request without it')

/** @param round the round with this outcome */
export async function sealRound(
  { call, target }: StatelessCall,
  round: Round,
  { journal, answerTimeoutMs }: InputRequiredOutcome,
  seals: Seals,
  host: Host,
): Promise<string> {
  // A state that was not answered keeps its name: two states with names of their own could both be used.
  const name = round.answers ? undefined : round.name
  const isOnce = target.found.tool?.singleUse
  const sealedState: SealedState = isOnce
    ? { name: name ?? crypto.randomUUID(), answerBy: Date.now() + answerTimeoutMs }
    : {}
  // An outcome is stored for `maxAnswerTimeoutMs` after its answer.
  const lifeMs = isOnce ? answerTimeoutMs + maxAnswerTimeoutMs : answerTimeoutMs
  const text = JSON.stringify(journal)
  if (text.length > maxInlineCharacters) {
    sealedState.kept = crypto.randomUUID()
    await host.requestState(sealedState.kept).put(text, Date.now() + Math.max(lifeMs, maxAnswerTimeoutMs))
  } else sealedState.journal = journal
  return seals.seal(await purposeOf(call), sealedState, lifeMs)
}

const purposes = new WeakMap<Params, Promise<string>>()

/** Returns the purpose that a journal is sealed for: the method and its arguments, which can be many, so they are read once. */
function purposeOf({ method, params }: Call): Promise<string> {
  const target = method === 'resources/read' ? params.uri : params.name
  const purpose = purposes.get(params) ?? canonicalHash([target, params.arguments])
  purposes.set(params, purpose)
  return purpose.then((purpose) => `journal:${method}:${purpose}`)
}

/** Returns a hash of a value: equal for equal ones, whatever the order of their members. */
export const canonicalHash = async (value: unknown): Promise<string> =>
  encodeBase64(new Uint8Array(await crypto.subtle.digest('SHA-256', utf8(canonicalJson(value)))))
