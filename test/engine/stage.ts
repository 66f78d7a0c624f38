/** A environment in memory for one call after the other, and the loop that a client or a session is. */

import type { CallerContext } from '../../worker/declarations/caller.ts'
import { jsonSchema } from '../../worker/declarations/json-schema/index.ts'
import { emptyContext, type RequestContext } from '../../worker/declarations/request-context.ts'
import { createServer, type Server } from '../../worker/declarations/server.ts'
import type { ServerOptions } from '../../worker/declarations/server-options.ts'
import type { StateHost } from '../../worker/declarations/state.ts'
import type { Call, CallEnvironment, Outcome, Seals } from '../../worker/engine/call.ts'
import { callerContextOf } from '../../worker/engine/caller.ts'
import { type Answer, emptyJournal, type Journal, withAnswers } from '../../worker/engine/journal.ts'
import { run } from '../../worker/engine/run.ts'
import { McpError } from '../../worker/protocol/errors.ts'
import type { Principal } from '../../worker/protocol/principal.ts'
import type { Revision } from '../../worker/protocol/revision.ts'
import { revisionOf } from '../../worker/protocol/revisions/index.ts'
import type {
  ClientCapabilities,
  InputRequest,
  LogLevel,
  Notification,
  Params,
  Result,
} from '../../worker/protocol/types.ts'

export const newServer = (options: Partial<ServerOptions> = {}): Server =>
  createServer({ name: 'test', version: '1', jsonSchema, ...options })

/** A client that can be asked everything. */
export const everything: ClientCapabilities = {
  elicitation: { form: {} },
  sampling: { tools: {}, context: {} },
  roots: {},
}

export type Setting = {
  date?: string
  capabilities?: ClientCapabilities
  principal?: Principal
  requestContext?: RequestContext
  logLevel?: LogLevel | undefined
  state?: StateHost
  signal?: AbortSignal
  post?: object
  makeSignal?: () => AbortSignal
  sleep?: (untilMs: number) => Promise<void>
  updates?: boolean
  seals?: Seals
  journal?: Journal
  /** Hears what the developer is told, also when the call is refused. */
  report?: CallEnvironment['report']
}

export type Played = {
  outcome: Outcome
  said: Notification[]
  reported: unknown[]
  disconnected: (number | undefined)[]
  completed: string[]
}

/** A caller that supports nothing. */
export const callerFor = (principal?: Principal): CallerContext =>
  callerContextOf(
    {
      method: 'test',
      params: {},
      revision: revisionOf('2026-07-28') as Revision,
      capabilities: {},
      client: { name: 'stage', version: '1.0.0' },
      principal,
      requestContext: emptyContext,
      session: undefined,
      logLevel: undefined,
    },
    { signal: () => new AbortController().signal, seals: memorySeals(), state: nowhere },
  )

/** Seals that keep what they seal. */
export function memorySeals(): Seals {
  const kept = new Map<string, { purpose: string; text: string }>()
  return {
    identity: 'test',
    async seal(purpose, value) {
      const name = `sealed-${kept.size}`
      kept.set(name, { purpose, text: JSON.stringify(value) })
      return name
    },
    async createId(purpose, lifetimeMs, flag = false) {
      const name = `id-${kept.size}`
      kept.set(name, { purpose, text: JSON.stringify({ name, expires: Date.now() + lifetimeMs, flag }) })
      return name
    },
    async open(purpose, sealed) {
      const found = kept.get(sealed)
      return found?.purpose === purpose ? JSON.parse(found.text) : undefined
    },
  }
}

const nowhere: StateHost = {
  object() {
    throw new Error('There is no state here')
  },
  session: undefined,
}

/** One round of a call. */
export async function play(server: Server, method: string, params: Params, setting: Setting = {}): Promise<Played> {
  const { date = '2026-07-28', capabilities = everything, journal = emptyJournal, updates = true } = setting
  const { signal = new AbortController().signal } = setting
  const played: Omit<Played, 'outcome'> = { said: [], reported: [], disconnected: [], completed: [] }
  const call: Call = {
    method,
    params,
    revision: revisionOf(date) as Revision,
    capabilities,
    client: { name: 'stage', version: '1.0.0' },
    principal: setting.principal,
    requestContext: setting.requestContext ?? emptyContext,
    session: undefined,
    logLevel: 'logLevel' in setting ? setting.logLevel : 'debug',
  }
  const environment: CallEnvironment = {
    signal: setting.makeSignal ?? (() => signal),
    ...(setting.post && { post: setting.post }),
    seals: setting.seals ?? memorySeals(),
    state: setting.state ?? nowhere,
    updates,
    notify: (notification) => void played.said.push(notification),
    now: Date.now,
    sleep: setting.sleep ?? (async () => {}),
    closeStream: (retry) => void played.disconnected.push(retry),
    completed: (key) => void played.completed.push(key),
    report(problem) {
      played.reported.push(problem)
      setting.report?.(problem)
    },
  }
  return { outcome: await run(server, call, journal, environment), ...played }
}

/** What a call that asks nothing ends with. */
export async function result(server: Server, method: string, params: Params = {}, setting?: Setting): Promise<Result> {
  const { outcome } = await play(server, method, params, setting)
  if (outcome.type !== 'result') throw new Error(`The call has no result: ${JSON.stringify(outcome)}`)
  return outcome.result
}

/** What a call is refused with. */
export async function refusal(
  server: Server,
  method: string,
  params: Params = {},
  setting?: Setting,
): Promise<McpError> {
  const thrown = await play(server, method, params, setting).catch((thrown: unknown) => thrown)
  if (thrown instanceof McpError) return thrown
  throw new Error(`The call was not refused: ${JSON.stringify(thrown)}`)
}

export type Conversation = {
  result: Result
  /** The keys asked for in each round. */
  rounds: string[][]
  asked: Record<string, InputRequest>
  /** What was said in each round. */
  said: Notification[][]
}

type Answering = Record<string, unknown> | ((key: string, request: InputRequest) => Answer | undefined)

/** Plays a call until it is done, answering what it asks. Between the rounds nothing is left but JSON. */
export async function converse(
  server: Server,
  method: string,
  params: Params,
  answering: Answering,
  setting: Setting = {},
): Promise<Conversation> {
  const conversation: Omit<Conversation, 'result'> = { rounds: [], asked: {}, said: [] }
  const answerTo = (key: string, request: InputRequest): Answer | undefined => {
    if (typeof answering === 'function') return answering(key, request)
    return key in answering ? { result: answering[key] } : undefined
  }
  let journal = setting.journal ?? emptyJournal
  for (let round = 0; round < 120; round++) {
    const { outcome, said } = await play(server, method, params, { ...setting, journal })
    conversation.said.push(said)
    if (outcome.type === 'result') return { ...conversation, result: outcome.result }
    if (outcome.type === 'suspended') throw new Error('Only a task sleeps')
    const asks = Object.entries(outcome.inputRequests)
    conversation.rounds.push(asks.map(([key]) => key))
    Object.assign(conversation.asked, outcome.inputRequests)
    const answers = asks.flatMap(([key, request]) => {
      const answer = answerTo(key, request)
      return answer ? [[key, answer] as const] : []
    })
    if (answers.length === 0) throw new Error(`Nobody answers ${asks.map(([key]) => key)}`)
    journal = JSON.parse(JSON.stringify(withAnswers(outcome.journal, Object.fromEntries(answers))))
  }
  throw new Error('The call never ends')
}

/** The text of a tool's result. */
export const textOf = (result: Result): string =>
  (result.content as { text?: string }[]).map(({ text }) => text ?? '').join('\n')

export const accept = (content: Params) => ({ action: 'accept', content })
export const decline = { action: 'decline' }
export const sampled = (text: string) => ({ role: 'assistant', model: 'm', content: { type: 'text', text } })
