/** Stores how a run of the handler ends: a result, an error, input requests, a sleep, or another attempt later. */
import type { Outcome } from '../../worker/engine/call.ts'
import { noSignal, reportFailure, stepError } from '../../worker/engine/failure.ts'
import { InvalidInputResponse } from '../../worker/engine/invalid-input-response.ts'
import { type Journal, maxAnswerTimeoutMs, sleepPrefix } from '../../worker/engine/journal.ts'
import { instead, limitOf, resultTooLarge } from '../../worker/engine/result-size.ts'
import { McpError } from '../../worker/protocol/errors.ts'
import { newestRevision } from '../../worker/protocol/revisions/index.ts'
import type { Result } from '../../worker/protocol/types.ts'
import { rpcLimit } from '../shared/message-size.ts'
import { schedule } from './lifetime.ts'
import { reauthorizeFailed } from './renewed-principal.ts'
import { handlerPauseMs, maxReauthorizeAttempts, reauthorizePauseMs } from './retry-pause.ts'
import type { TaskCall, TaskEnd, TaskStatus } from './rpc.ts'
import type { RunResult, RunStart } from './runs.ts'
import { errorOf } from './task-errors.ts'
import type { TaskParts } from './task-parts.ts'
import { isOver, removeProblemMessage, type TaskRecord } from './task-store.ts'

/** Stores the outcome of a run. An outcome that cannot be stored ends the task, so that its handler does not run again. */
export async function settleRun(task: TaskParts, record: TaskRecord, result: RunResult): Promise<void> {
  try {
    await storeOutcome(task, record, result)
  } catch (problem) {
    const known = reportUnstored(task, problem)
    if (isOver(record)) throw problem
    const reason = problem instanceof Error ? problem.message : String(problem)
    const error = known ?? new McpError('internal_error', `Cannot store the outcome of the task: ${reason}`)
    await finishTask(task, record, 'failed', { error: errorOf(error) })
  }
}

/** Returns the result, or an error result if it is larger than results of the endpoint may be. */
function withinLimit({ store, host }: TaskParts, result: Result): Result {
  const step = stepOf(store.call)
  const { declarations } = host.at(store.call.tenant).server
  const tooLarge = resultTooLarge(step, jsonOf(result), limitOf(declarations, step, rpcLimit))
  if (!tooLarge) return result
  if (!reportFailure(declarations, step, noSignal, tooLarge)) host.report(tooLarge)
  return instead(step, tooLarge)
}

/** Returns the JSON of a result; an empty text for one that has none, which the store refuses. */
function jsonOf(result: Result): string {
  try {
    return JSON.stringify(result)
  } catch {
    return ''
  }
}

const stepOf = ({ params }: TaskCall) => ({
  method: 'tools/call',
  params,
  revision: newestRevision,
  principal: undefined,
  isTask: true,
})

/** Reports an outcome that cannot be stored. Returns the error for the client, unless the default applies. */
function reportUnstored({ store, host }: TaskParts, problem: unknown): McpError | undefined {
  const { call } = store
  const error = stepError(host.at(call.tenant).server.declarations, stepOf(call), noSignal, problem)
  if (error === problem) host.report(problem)
  return error instanceof McpError ? error : undefined
}

/** Ends the task. @throws McpError when its outcome cannot be stored */
export async function finishTask(
  task: TaskParts,
  record: TaskRecord,
  status: TaskStatus,
  end: TaskEnd = {},
): Promise<void> {
  task.status.setStatus(record, status, (next) => {
    task.store.finish(end)
    removeProblemMessage(next)
  })
  await schedule(task, record)
}

async function storeOutcome(task: TaskParts, record: TaskRecord, result: RunResult): Promise<void> {
  if ('reauthorizeError' in result) return retryReauthorize(task, record, result.reauthorizeError)
  if (record.reauthorizeFailures) removeProblemMessage(record)
  const { began } = result
  const unread = record.unread?.filter((key) => !began.unread.includes(key))
  Object.assign(record, { reauthorizeFailures: 0, unread: unread?.length ? unread : undefined })
  if ('thrown' in result) return storeThrown(task, record, result.thrown)
  const { outcome } = result
  if (began.asked && outcome.type !== 'result') return storeBesideInput(task, record, began, outcome)
  if (outcome.type === 'suspended') {
    record.stoppedAt = outcome.untilMs - 1
    return suspendUntil(task, record, outcome.untilMs, true)
  }
  if (outcome.type === 'result')
    return finishTask(task, record, 'completed', { result: withinLimit(task, outcome.result) })
  task.status.setStatus(record, 'input_required', (next) => {
    task.store.ask(outcome.inputRequests, outcome.journal)
    next.stoppedAt = Date.now()
    next.due = next.stoppedAt + outcome.answerTimeoutMs
    // A call that is not a task yet continues with the request that has the responses.
    if (next.announced) next.wakes = result.hasBranch ? Date.now() : endOfSleep(outcome.journal, began)
    if (!next.announced) next.resumableUntil = Math.max(next.resumableUntil ?? 0, Date.now() + maxAnswerTimeoutMs)
    next.rounds += 1
  })
  await schedule(task, record)
}

/** Stores the outcome of a run beside open input requests: they stay open, as the client knows them. */
async function storeBesideInput(
  task: TaskParts,
  record: TaskRecord,
  began: RunStart,
  outcome: Exclude<Outcome, { type: 'result' }>,
): Promise<void> {
  // All were answered meanwhile: the handler runs again.
  if (record.status !== 'input_required') return schedule(task, record)
  const stoppedAt = outcome.type === 'suspended' ? outcome.untilMs - 1 : Date.now()
  const wakes = outcome.type === 'suspended' ? outcome.untilMs : endOfSleep(outcome.journal, began)
  const asked = outcome.type === 'suspended' ? [] : Object.entries(outcome.inputRequests)
  const added = asked.filter(([key]) => !Object.hasOwn(began.asked ?? {}, key))
  if (outcome.type === 'suspended' || added.length === 0) {
    task.store.update(record, { wakes, stoppedAt, lostRuns: 0 })
    return schedule(task, record)
  }
  task.status.setStatus(record, 'input_required', (next) => {
    task.store.askMore(Object.fromEntries(added), outcome.journal)
    const due = Math.min(next.due ?? Number.POSITIVE_INFINITY, stoppedAt + outcome.answerTimeoutMs)
    Object.assign(next, { wakes, stoppedAt, due })
  })
  await schedule(task, record)
}

/** Returns when the first sleep ends that was not over when a run began, in milliseconds since 1970. */
function endOfSleep({ effects }: Journal, { at }: RunStart): number | undefined {
  const ends = Object.entries(effects).flatMap(([key, { value }]) =>
    key.startsWith(sleepPrefix) && Number(value) > at ? [Number(value)] : [],
  )
  return ends.length > 0 ? Math.min(...ends) : undefined
}

async function storeThrown(task: TaskParts, record: TaskRecord, thrown: unknown): Promise<void> {
  if (thrown instanceof InvalidInputResponse) return askAgain(task, record, thrown)
  if (thrown instanceof McpError) return finishTask(task, record, 'failed', { error: errorOf(thrown) })
  // The handler threw it: `tools/call` has reported it.
  record.failures += 1
  return suspendUntil(task, record, Date.now() + handlerPauseMs(record.failures), false)
}

/** Opens an input request again whose response the handler could not use. */
async function askAgain(task: TaskParts, record: TaskRecord, { key, message }: InvalidInputResponse): Promise<void> {
  task.store.withdrawAnswer(key)
  Object.assign(record, { statusMessage: message, hasProblemMessage: true })
  await task.runs.start(record)
}

async function retryReauthorize(task: TaskParts, record: TaskRecord, problem: unknown): Promise<void> {
  task.host.report(problem)
  const failures = (record.reauthorizeFailures ?? 0) + 1
  if (failures === maxReauthorizeAttempts) {
    return finishTask(task, record, 'failed', { error: errorOf(reauthorizeFailed(failures)) })
  }
  record.reauthorizeFailures = failures
  const pauseMs = reauthorizePauseMs(failures)
  const statusMessage = `reauthorize failed; edgemcp calls it again in ${pauseMs / 1000} s`
  Object.assign(record, { statusMessage, hasProblemMessage: true })
  return suspendUntil(task, record, Date.now() + pauseMs, record.asleep === true)
}

/** @param isSuspended whether the handler sleeps, so that the end of the task runs it */
async function suspendUntil(task: TaskParts, record: TaskRecord, due: number, isSuspended: boolean): Promise<void> {
  const pause = record.status === 'input_required' ? { wakes: due } : { due, asleep: isSuspended }
  Object.assign(record, { ...pause, lostRuns: 0 })
  task.store.save(record)
  task.status.notifyWaiting()
  await schedule(task, record)
}
