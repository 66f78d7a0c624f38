import type { Cancellation } from '../../worker/engine/cancellation.ts'
import type { Alarms } from '../shared/alarms.ts'
import type { CallLedger } from '../shared/call-ledger.ts'
import type { EventLog } from '../shared/event-log.ts'
import type { SessionSubscriptions, SessionTasks } from './added-parts.ts'
import type { FollowedStreams } from './followed-streams.ts'
import type { Lifetime } from './lifetime.ts'
import type { PendingPost, SessionCall } from './pending-post.ts'
import type { Registration } from './registration.ts'
import type { SessionHost } from './session-host.ts'
import type { SessionValues } from './session-values.ts'
import type { StreamAdmission } from './stream-admission.ts'
import type { SessionStreams } from './streams.ts'

/** The parts of a session. Each function names those that it needs. */
export type SessionParts = {
  readonly host: SessionHost
  readonly values: SessionValues
  readonly log: EventLog
  readonly ledger: CallLedger
  readonly alarms: Alarms
  readonly lifetime: Lifetime
  readonly streams: SessionStreams
  readonly followed: FollowedStreams
  readonly admission: StreamAdmission
  readonly registration: Registration
  /** `undefined` if the endpoint of the class has no `subscriptions()`. */
  readonly subscriptions: SessionSubscriptions | undefined
  /** `undefined` if the endpoint of the class has no `tasks()`. */
  readonly clientTasks: SessionTasks | undefined
  /** Calls that run in this instance, by the key of their request. */
  readonly running: Map<string, RunningCall>
  /** Whether the instance has not yet recovered the calls of the last one. */
  isNew: boolean
}

export type RunningCall = {
  readonly cancellation: Cancellation
  readonly work: Promise<void>
  readonly post: PendingPost
  readonly call: SessionCall
}
