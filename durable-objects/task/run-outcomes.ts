/** Stores how a run of the handler ends: a result, an error, input requests, a sleep, or another attempt later. */
import { noSignal, reportFailure, stepError } from '../../worker/engine/failure.ts'
import { InvalidInputResponse } from '../../worker/engine/invalid-input-response.ts'
import { maxAnswerTimeoutMs } from '../../worker/engine/journal.ts'
import { instead, limitOf, resultTooLarge } from '../../worker/engine/result-size.ts'
import { McpError } from '../../worker/protocol/errors.ts'
import { newestStateless } from '../../worker/protocol/revisions/index.ts'
import type { Result } from '../../worker/protocol/types.ts'
import type { TaskCall, TaskEnd, TaskStatus } from '../rpc.ts'
import { rpcLimit } from '../shared/message-size.ts'
import type { RunResult } from './handler-run.ts'
import { isOver, schedule } from './lifetime.ts'
import { errorOf } from './task-errors.ts'
import type { TaskParts } from './task-parts.ts'
import { removeProblemMessage, type TaskRecord } from './task-store.ts'

/** Consecutive times that `reauthorize` may throw before the task fails. */
const maxReauthorizeAttempts = 10

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
  const { declarations } = host.serverOf(store.call)
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
  revision: newestStateless,
  principal: undefined,
  isTask: true,
})

/** Reports an outcome that cannot be stored. Returns the error for the client, unless the default applies. */
function reportUnstored({ store, host }: TaskParts, problem: unknown): McpError | undefined {
  const { call } = store
  const error = stepError(host.serverOf(call).declarations, stepOf(call), noSignal, problem)
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
  Object.assign(record, { reauthorizeFailures: 0, unread: undefined })
  if ('thrown' in result) return storeThrown(task, record, result.thrown)
  const { outcome } = result
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
    if (!next.announced) next.resumableUntil = Math.max(next.resumableUntil ?? 0, Date.now() + maxAnswerTimeoutMs)
    next.rounds += 1
  })
  await schedule(task, record)
}

async function storeThrown(task: TaskParts, record: TaskRecord, thrown: unknown): Promise<void> {
  if (thrown instanceof InvalidInputResponse) return askAgain(task, record, thrown)
  if (thrown instanceof McpError) return finishTask(task, record, 'failed', { error: errorOf(thrown) })
  // The handler threw it: `tools/call` has reported it.
  record.failures += 1
  // Each pause is twice the one before.
  return suspendUntil(task, record, Date.now() + 1000 * 2 ** (record.failures - 1), false)
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
    const message = `The task was stopped: reauthorize failed ${failures} times`
    return finishTask(task, record, 'failed', { error: errorOf(new McpError('unavailable', message)) })
  }
  record.reauthorizeFailures = failures
  const pauseMs = Math.min(1000 * 2 ** (failures - 1), 60_000)
  const statusMessage = `reauthorize failed; edgemcp calls it again in ${pauseMs / 1000} s`
  Object.assign(record, { statusMessage, hasProblemMessage: true })
  return suspendUntil(task, record, Date.now() + pauseMs, record.asleep === true)
}

/** @param isSuspended whether the handler sleeps, so that the end of the task runs it */
async function suspendUntil(task: TaskParts, record: TaskRecord, due: number, isSuspended: boolean): Promise<void> {
  Object.assign(record, { due, asleep: isSuspended, lostRuns: 0 })
  task.store.save(record)
  task.status.notifyWaiting()
  await schedule(task, record)
}
