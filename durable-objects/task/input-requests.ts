/** The open input requests of a task, and the responses of its client. */
import type { Answer } from '../../worker/engine/journal.ts'
import { McpError } from '../../worker/protocol/errors.ts'
import type { TaskParts } from './task-parts.ts'
import { removeProblemMessage, type TaskRecord } from './task-store.ts'

export type Answers = Readonly<Record<string, Answer>>

/** Returns why responses to open input requests are invalid; `undefined` if they are valid. */
export function answersProblem(task: Pick<TaskParts, 'host' | 'store'>, answers: Answers): McpError | undefined {
  for (const [key, answer, request] of task.store.asked(answers)) {
    const problem = 'result' in answer && task.host.problemOf(key, request, answer.result)
    if (problem) return new McpError('invalid_params', problem)
  }
  return undefined
}

/** Stores responses. Returns true if no input request is open any more, so that the handler runs again. */
export function takeAnswers(task: Pick<TaskParts, 'store' | 'status'>, record: TaskRecord, answers: Answers): boolean {
  return task.store.transaction(() => {
    const { keys, isComplete } = task.store.answer(answers)
    const unread = [...(record.unread ?? []), ...keys]
    if (!isComplete) {
      if (keys.length > 0) task.store.update(record, { unread })
      return false
    }
    task.status.setStatus(record, 'working', (next) => {
      next.due = undefined
      next.wakes = undefined
      next.unread = unread
      removeProblemMessage(next)
    })
    return true
  })
}
