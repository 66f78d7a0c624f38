/** When a task runs next, and when it is deleted. */
import { waitAtMost } from '../../worker/engine/wait.ts'
import { redeliveryOf } from './redelivery.ts'
import type { TaskParts } from './task-parts.ts'
import { isOver, type TaskRecord } from './task-store.ts'

/** An alarm may run for 15 minutes. The next alarm continues longer work. */
const maxAlarmMs = 14 * 60_000
/** Milliseconds until the alarm that runs the handler again if the object is lost while an alarm holds it. */
const retryAlarmMs = 3000
/** Milliseconds for which a call is stored beyond the time at which it can be resumed, because requests and alarms may be late. */
const graceMs = 60_000

/** Whether it is time for the handler to run. */
export const isDue = ({ status, due = 0 }: TaskRecord): boolean => status === 'working' && due <= Date.now()

/** Whether a sleep beside open input requests is over, so that the handler runs. */
export const isAwake = ({ status, wakes = Number.POSITIVE_INFINITY }: TaskRecord): boolean =>
  status === 'input_required' && wakes <= Date.now()

/** Milliseconds since 1970: when the task is deleted. A call that is not a task yet is stored for as long as it can be resumed. */
export const expiryOf = ({ announced, createdAt, ttl, after, resumableUntil = createdAt }: TaskRecord): number =>
  announced ? createdAt + ttl : resumableUntil + after + graceMs

/** Sets the alarm to what comes first: the next run, a status that is delivered again, or the end of the task. */
export async function schedule(task: Pick<TaskParts, 'alarms' | 'record'>, record: TaskRecord): Promise<void> {
  if (task.record !== record) return
  // A finished task needs no alarm before it expires, even while its handler goes on: the alarm could not end the handler.
  const { due = Date.now(), wakes = Number.POSITIVE_INFINITY } = record
  const run = isOver(record) ? Number.POSITIVE_INFINITY : Math.min(due, wakes)
  await task.alarms.set({ run, redelivery: redeliveryOf(record), expiry: expiryOf(record) })
}

/** Runs the handler inside an alarm, for as long as an alarm may take. */
export async function runInAlarm(task: TaskParts, record: TaskRecord): Promise<void> {
  // The platform repeats a lost alarm a few times only. This one is always repeated.
  await task.alarms.set({ retry: Date.now() + retryAlarmMs, expiry: expiryOf(record) })
  await waitAtMost(Math.min(maxAlarmMs, expiryOf(record) - Date.now()), task.runs.start(record))
  if (task.runs.isRunning) await schedule(task, record)
}

/** Ends and deletes the task. */
export async function deleteTask(task: TaskParts): Promise<void> {
  if (task.record) task.runs.stop(task.record, 'The task has expired')
  task.record = undefined
  task.status.notifyWaiting()
  await task.store.deleteAll()
}
