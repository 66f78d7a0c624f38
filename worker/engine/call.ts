/** One call: what came in, what it may touch, what comes out. */

import type { Admitted } from '../declarations/endpoints.ts'
import type { Answer, Outcome } from '../declarations/outcome.ts'
import type { StateHost } from '../declarations/state.ts'
import type { Principal } from '../protocol/principal.ts'
import type { Revision } from '../protocol/revision.ts'
import type {
  ClientCapabilities,
  Implementation,
  InputRequest,
  LogLevel,
  Notification,
  Params,
  RequestId,
} from '../protocol/types.ts'

export type { Outcome } from '../declarations/outcome.ts'

export type Call = {
  readonly method: string
  readonly params: Params
  /** What the client sent, if interceptors have changed the params. */
  readonly clientParams?: Params
  readonly revision: Revision
  /** In the newest vocabulary. */
  readonly capabilities: ClientCapabilities
  readonly client: Implementation | undefined
  readonly principal: Principal | undefined
  readonly session: { readonly id: string } | undefined
  /** What the endpoint says about it, for what is stored; `undefined`: it is no call of a client, or a Worker of an older release sent it. */
  readonly admitted?: Admitted | undefined
  /** The id of the JSON-RPC request; `undefined` in a run of a task. */
  readonly requestId?: RequestId | undefined
  /** A run of a task: it may take as long as its task may. */
  readonly isTask?: boolean
  /** The least severe log line the client wants; `undefined`: none. */
  readonly logLevel: LogLevel | undefined
}

/** Opaque texts that only this server can read, bound to a purpose and to whoever asks. */
export interface Seals {
  /** Names the endpoint whose seals these are. */
  readonly identity: string
  /** @param lifetimeMs milliseconds; left out: a day */
  seal(purpose: string, value: unknown, lifetimeMs?: number): Promise<string>
  /** `undefined` when the text was not sealed here, for this purpose and this principal, or has expired. */
  open(purpose: string, sealed: string): Promise<unknown>
}

/** Everything outside the call, handed in: the engine knows no clock, no randomness and no platform. */
export interface CallEnvironment {
  /** Asked for only when somebody wants to know: making one costs as much as a short call. */
  signal(): AbortSignal
  readonly seals: Seals
  readonly state: StateHost
  /** Does a change announced here reach anyone? */
  readonly updates: boolean
  /** @param said how many notifications the call has come to, those of replayed stretches included */
  /** What the client has said to this in another call, if that still holds. */
  known?(request: InputRequest): Answer | undefined
  notify(notification: Notification, said: number): void
  /** An effect is done: the last chance to write its result down before the handler goes on. */
  effect?(key: string, value: unknown): void
  /** Milliseconds since 1970. */
  now(): number
  /** Waits until a moment, in milliseconds since 1970. A task may end its round instead: see `ended`. @throws the reason of the signal when it is aborted */
  sleep(untilMs: number): Promise<void>
  /** Ends the round before its handler does: with the suspension of a task, or with an error. */
  readonly ended?: Promise<Outcome>
  closeStream(retryMs: number | undefined): void
  /** What the client was asked under this key happens elsewhere, and is done. @param said see `notify` */
  completed(key: string, said: number): void
  /** Somebody should look at this; the client is not told. */
  report(problem: unknown): void
}
