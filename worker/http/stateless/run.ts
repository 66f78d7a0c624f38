/** Runs calls without a session in this isolate. The client sends the journal of earlier rounds. */

import type { Guarded } from '../../declarations/caller.ts'
import { BatchAnswers, batchText } from '../../engine/batch-answers.ts'
import type { CallEnvironment } from '../../engine/call.ts'
import { callerContextOf } from '../../engine/caller.ts'
import { emptyJournal } from '../../engine/journal.ts'
import { isPermitted } from '../../engine/methods/lists.ts'
import { runCall } from '../../engine/run.ts'
import { wait } from '../../engine/wait.ts'
import { notificationText } from '../../protocol/jsonrpc.ts'
import type { Access } from '../access.ts'
import { CallMessages } from '../call-messages.ts'
import { sessionRequired } from '../error-response.ts'
import { type Host, sealsOf } from '../host.ts'
import type { HttpAnswer } from '../json-response.ts'
import { answerOnce } from './answer-once.ts'
import type { StatelessCall, StatelessCalls } from './read.ts'
import { errorAnswer, outcomeAnswer, resultAnswer } from './reply.ts'
import { type Round, readRound } from './request-state.ts'

/** Runs the calls of a POST. @returns their notifications, which end with the response; errors are responses, too */
export function runStateless(
  request: Request,
  { calls, batch, revision }: StatelessCalls,
  access: Access,
  host: Host,
): CallMessages {
  const messages = new CallMessages(request, host.limits.maxBufferedBytes)
  const answer = (call: StatelessCall) => {
    const failed = (thrown: unknown) => errorAnswer(call, thrown, host)
    // A response ends also if an error cannot be converted.
    return answerCall(call, messages, access, host).catch(failed).catch(failed)
  }
  const [first] = calls
  // Neither throws.
  messages.endWith(first && !batch ? answer(first) : answerBatch())
  // The platform cancels a request whose client has disconnected. Its interceptors finish first.
  if (hasInterceptors(host)) host.waitUntil(messages.ended)
  return messages

  async function answerBatch(): Promise<HttpAnswer> {
    const bounded = new BatchAnswers()
    const texts: string[] = []
    // One after the other: one result is in memory before the bound on all responses holds.
    for (const call of calls) {
      await bounded.nextTurn()
      texts.push(bounded.fit({ id: call.message.id, ...(await answer(call)) }, revision).text)
    }
    return { status: 200, text: batchText(texts) }
  }
}

const hasInterceptors = ({ server }: Host) => server.declarations.interceptors.length > 0

/** Counts and runs one round of a call. */
async function answerCall(
  request: StatelessCall,
  messages: CallMessages,
  access: Access,
  host: Host,
): Promise<HttpAnswer> {
  const { message, call, target } = request
  const { revision, principal } = call
  const seals = sealsOf(host, principal)
  const signal = () => messages.signal
  const environment: CallEnvironment = {
    signal,
    post: messages,
    seals,
    state: { object: host.state, session: undefined },
    updates: host.updates,
    notify(notification) {
      const written = revision.notification(notification)
      if (written) messages.push(notificationText(written))
    },
    now: Date.now,
    sleep: (untilMs) => wait(untilMs - Date.now(), messages.signal),
    closeStream: () => {},
    completed: () => {},
    report: host.report,
  }
  const run = async (round: Round, ended?: Promise<never>) => {
    const within = ended ? { ...environment, ended } : environment
    const outcome = await runCall(host.server, call, round.journal, within, target)
    return outcomeAnswer(request, round, outcome, seals, host)
  }
  /** A round that ends when its client disconnects, so that its interceptors finish. */
  const step = (round: Round) => run(round, hasInterceptors(host) ? messages.whenAborted() : undefined)
  // The step reports what visibleTo throws.
  const sees = (entry: Guarded) =>
    target.isVisible(entry, { caller: callerContextOf(call, environment) }).catch(() => false)
  let release: (() => void) | undefined
  try {
    const counting = access.countRound(message, target, signal, sees)
    if (counting) release = await counting
    const method = target.methodIn(revision)
    if (method?.requires === 'connection') return resultAnswer(request, method.result, host)
    if (host.hasSessions && method?.requires === 'session') throw sessionRequired(`${message.method} changes a session`)
    if (!revision.stateless) return await step({ journal: emptyJournal })
    const round = await readRound(request, seals, host)
    const { name, answers, isLate } = round
    if (name === undefined || !answers) return await step(round)
    const { entry } = target.found
    // An outcome that is stored has the same requirements: without the state, the step rejects the call.
    if (entry && !(isPermitted(entry, call) && (await sees(entry)))) return await step({ journal: emptyJournal })
    // This round continues without its client, which repeats the request for the response.
    const { text, ...answer } = await answerOnce({ name, answers, isLate }, host, () =>
      run(round).catch((thrown) => errorAnswer(request, thrown, host)),
    )
    // The stored answer has the id of the request that came first.
    return { ...answer, text: JSON.stringify({ ...JSON.parse(text), id: message.id }) }
  } finally {
    release?.()
  }
}
