/** Requests that stand alone: the whole call happens in this isolate, and the client brings what was learned before. */

import type { Declarations } from '../declarations/declarations.ts'
import { serializeResult } from '../engine/answer-text.ts'
import { BatchAnswers } from '../engine/batch-answers.ts'
import type { Call, CallEnvironment } from '../engine/call.ts'
import { emptyJournal } from '../engine/journal.ts'
import { implementationOf } from '../engine/methods/discover.ts'
import { methodIn } from '../engine/methods/index.ts'
import { mirroredParameters } from '../engine/methods/tools.ts'
import { methodOf, runCall } from '../engine/run.ts'
import { wait } from '../engine/wait.ts'
import type { SubscriptionStream } from '../plugin.ts'
import { asMcpError, McpError } from '../protocol/errors.ts'
import { errorText, type Message, notificationText, type RequestMessage } from '../protocol/jsonrpc.ts'
import { type Envelope, serverInfoKey } from '../protocol/meta.ts'
import type { Principal } from '../protocol/principal.ts'
import type { Revision } from '../protocol/revision.ts'
import type { Result } from '../protocol/types.ts'
import type { IncomingRequest } from '../request-hooks.ts'
import type { AcceptedTypes } from './accept.ts'
import { errorResponse, sessionRequired } from './error-response.ts'
import { checkMirroredParameters, checkStandardHeaders } from './headers.ts'
import { type Host, sealsOf } from './host.ts'
import { openRelay } from './relay.ts'
import { type Answer, type ResponseStream, reply } from './reply.ts'
import { answerOnce, type Round, readRound, sealRound } from './request-state.ts'

export async function serveStateless(
  request: Request,
  host: Host,
  principal: Principal | undefined,
  accept: AcceptedTypes,
  { stateless: message, revision, envelope }: { stateless: RequestMessage; revision: Revision; envelope: Envelope },
  counting: Counting,
): Promise<Response> {
  const call = callOf(message, revision, principal, envelope, host)
  try {
    const { registry } = host.server
    checkStandardHeaders(request.headers, call.method, call.params, methodOf(registry, call)?.named)
    if (host.listen && methodIn(revision, call.method)?.requires === 'stream') {
      if (!accept.stream) throw new McpError('not_acceptable', 'Accept must include text/event-stream')
      const address = request.headers.get('CF-Connecting-IP') ?? undefined
      return await openSubscription(await host.listen(message, principal, address), host)
    }
    checkMirroredParameters(request.headers, await mirroredParameters(registry, call), call.params.arguments)
  } catch (thrown) {
    return errorResponse(asMcpError(thrown, host.report), message.id)
  }
  return reply(request, accept, host.limits, (stream) => answer(message, call, host, stream, counting))
}

/** @throws McpError `too_many_requests` */
async function openSubscription(stream: SubscriptionStream, host: Host): Promise<Response> {
  const response = await openRelay({ ...host.limits, ...stream })
  if (response.status !== 200) throw stream.rejection
  if (stream.onOpened) host.waitUntil(stream.onOpened().catch(host.report))
  return response
}

/** Requests of an older client without a session: each is served on its own. */
export async function serveWithoutSession(
  request: Request,
  host: Host,
  principal: Principal | undefined,
  accept: AcceptedTypes,
  { requests, batch, revision }: { requests: RequestMessage[]; batch: boolean; revision: Revision },
  counting: Counting,
): Promise<Response> {
  // Nothing was agreed on, and an answer could not find its way back here. Only a server with sessions declares `logging`.
  const envelope: Envelope = { capabilities: {}, ...(host.objects && { logLevel: 'info' }) }
  const answerTo = (message: RequestMessage, stream: ResponseStream) =>
    answer(message, callOf(message, revision, principal, envelope, host), host, stream, counting)
  const [first] = requests as [RequestMessage]
  if (!batch) return reply(request, accept, host.limits, (stream) => answerTo(first, stream))
  const answers = new BatchAnswers()
  return reply(request, accept, host.limits, async (stream) => {
    const texts = requests.map(async (message) => {
      const { text } = await answerTo(message, stream)
      return answers.fit(message.id, text, revision)
    })
    return { status: 200, text: `[${(await Promise.all(texts)).join(',')}]` }
  })
}

const callOf = (
  { id: requestId, method, params = {} }: RequestMessage,
  revision: Revision,
  principal: Principal | undefined,
  { capabilities, client, logLevel }: Envelope,
  { admitted }: Host,
): Call => ({
  method,
  params,
  revision,
  capabilities,
  client,
  principal,
  session: undefined,
  admitted,
  requestId,
  logLevel,
})

/** What limits count the calls of a POST by. */
export type Counting = { readonly caller: string | undefined; readonly incoming: IncomingRequest }

async function answer(
  message: RequestMessage,
  call: Call,
  host: Host,
  stream: ResponseStream,
  { caller, incoming }: Counting,
): Promise<Answer> {
  const { revision } = call
  const seals = sealsOf(host, call.principal)
  const environment: CallEnvironment = {
    signal: stream.signal,
    seals,
    state: { object: host.state, session: undefined },
    updates: host.listen !== undefined,
    notify(notification) {
      const written = revision.notification(notification)
      if (written) stream.send(notificationText(written))
    },
    now: Date.now,
    sleep: (untilMs) => wait(untilMs - Date.now(), stream.signal()),
    closeStream: () => {},
    completed: () => {},
    report: host.report,
  }
  let release: (() => void) | undefined
  try {
    const counting = caller === undefined ? undefined : enter(caller)
    if (counting) {
      addRefusal(incoming, message, counting)
      release = await counting
    }
    const method = methodIn(revision, message.method)
    if (method?.requires === 'connection') return done(method.result)
    if (host.objects && method?.requires === 'session') {
      throw sessionRequired(`${message.method} changes a session`)
    }
    if (!revision.stateless) return await step({ journal: emptyJournal })
    const round = await readRound(call, seals, host)
    const { name, answers, isLate } = round
    if (name === undefined || !answers) return await step(round)
    return withId(await answerOnce({ name, answers, isLate }, host, () => step(round).catch(failed)))
  } catch (thrown) {
    return failed(thrown)
  } finally {
    release?.()
  }

  /** Each round counts: a client can send the same state again. */
  function enter(caller: string): Promise<() => void> | undefined {
    const { method, params } = call
    const attempt = { method, params, caller, post: stream, isResumed: false, parked: () => [] }
    return host.limit?.enter?.({ ...attempt, signal: stream.signal, endsWithSignal: true }, host)
  }

  async function step(round: Round): Promise<Answer> {
    const outcome = await runCall(host.server, call, round.journal, environment)
    if (outcome.type === 'result') return done(outcome.result)
    return done({
      resultType: 'input_required',
      inputRequests: Object.fromEntries(
        Object.entries(outcome.inputRequests).map(([key, ask]) => [key, revision.ask(ask)]),
      ),
      requestState: await sealRound(call, round, outcome, seals, host),
    })
  }

  function failed(thrown: unknown): Answer {
    const error = asMcpError(thrown, host.report)
    const numbers = revision.error(error.kind)
    return { status: numbers.status, text: errorText(message.id, error, numbers), headers: error.headers }
  }

  /** An answer that was given before was given to another request. */
  function withId({ text, ...answer }: Answer): Answer {
    return { ...answer, text: JSON.stringify({ ...JSON.parse(text), id: message.id }) }
  }

  function done(result: Result): Answer {
    const { registry } = host.server
    const sign = revision.stateless ? signature(registry, message.method) : undefined
    return { status: 200, text: serializeResult(message.id, registry, call, result, sign) }
  }
}

/** Adds a request to `incoming.refusals` if a limit refuses it. Call this in the turn in which the POST is handed on. */
function addRefusal(incoming: IncomingRequest, message: RequestMessage, counting: Promise<unknown>): void {
  const { refusals: others } = incoming
  incoming.refusals = (async () => {
    const refusals = (await others) ?? new Map<Message, McpError>()
    try {
      await counting
    } catch (thrown) {
      if (thrown instanceof McpError) refusals.set(message, thrown)
    }
    return refusals
  })()
}

/** Puts the server's name on a result; discovery tells the rest of what there is to tell. */
const signature = (registry: Declarations, method: string) => (result: Result) => {
  const all = implementationOf(registry)
  const info = method === 'server/discover' ? all : { name: all.name, version: all.version }
  return { ...result, _meta: { ...result._meta, [serverInfoKey]: info } }
}
