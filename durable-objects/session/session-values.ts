/** The values that a session stores: the table in `object.ts` describes each. */
import type { SessionEndEvent } from '../../worker/declarations/client-hooks.ts'
import type { Answer } from '../../worker/engine/journal.ts'
import type { NegotiatedSession } from '../../worker/engine/methods/method.ts'
import type { LogLevel } from '../../worker/protocol/types.ts'
import type { Values } from '../shared/values.ts'
import type { SessionOwner } from './rpc.ts'

export type SessionValues = Values<{
  handshake: NegotiatedSession | null
  roots: Answer
  logLevel: LogLevel
  missedTimeout: true
  registration: { shard: number }
  subscribedScopes: string[]
  reader: Reader
  taskScopes: string[]
  lastSeenAt: number
  sseDisconnectedAt: number
  id: Id
  owner: SessionOwner
  stateObjects: string[]
  ended: number | Ending
}>

/** The client that reads the standing stream: see `Opening.relay`. */
export type Reader = { relay: string; scopes: readonly string[] }

/**
 * `name`: the name of the object, which an object that an alarm wakes may not know. `expires`: milliseconds since 1970. `since`: the same,
 * when the first row of this life was written. `lists`: the lists that the client knows, as `listsText`;
 * absent without `subscriptions()`.
 */
export type Id = { name: string; expires: number; since: number; lists?: string }

/** The decision that a session ends, with the arguments of `Lifetime.finish`. */
export type Ending = { reason: SessionEndEvent['reason']; expires: number | undefined }
