import type { Alarms } from '../shared/alarms.ts'
import type { Runs } from './runs.ts'
import type { StatusPublisher } from './status-publisher.ts'
import type { TaskHost } from './task-host.ts'
import type { TaskRecord, TaskStore } from './task-store.ts'

/** The parts of a task. Each function names those that it needs. */
export type TaskParts = {
  readonly host: TaskHost
  readonly storage: DurableObjectStorage
  readonly store: TaskStore
  readonly alarms: Alarms
  readonly status: StatusPublisher
  readonly runs: Runs
  /** `undefined` before the call starts, and after the task was deleted. */
  record: TaskRecord | undefined
}
