/** What a session keeps in key-value storage: the table in `object.ts` says what each value means. */
import type { Answer } from '../../worker/engine/journal.ts'
import type { NegotiatedSession } from '../../worker/engine/methods/method.ts'
import type { LogLevel } from '../../worker/protocol/types.ts'
import type { Values } from '../shared/values.ts'

export type SessionValues = Values<{
  handshake: NegotiatedSession | null
  roots: Answer
  logLevel: LogLevel
  missedTimeout: true
  updatesShard: number
  terms: string
  subscribedScopes: string[]
  reader: Reader
  taskScopes: string[]
  lastSeenAt: number
  id: Id
  stateObjects: string[]
  ended: number
}>

/** Who reads the standing stream: see `Opening.relay`. */
export type Reader = { relay: string; scopes: readonly string[] }

/** `name`: the object's own, which one that is born by an alarm may not know. `expires`: milliseconds. */
export type Id = { name: string; expires: number }
