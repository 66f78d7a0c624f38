import type { CountRound } from '../../worker/declarations/call-attempt.ts'
import type { Server } from '../../worker/declarations/server.ts'
import type { StateRpc } from '../../worker/declarations/state.ts'
import type { EndpointOfTenant } from '../../worker/engine/call.ts'
import type { SubscriptionsRpc } from '../rpc.ts'

/** What a session needs of its server. */
export type SessionHost = {
  readonly server: Server
  /** Milliseconds from `initialize` until a session id expires, however much it is used. */
  readonly life: number
  /** Returns `SessionTerms` of a session of this class's own endpoint, by its name, as a text. */
  termsOf(name: string): string
  /** Returns the endpoint of a tenant. */
  at(tenant: string | undefined): EndpointOfTenant
  state(name: string): StateRpc
  subscriptionsAt(shard: number): SubscriptionsRpc
  /** Returns the function that counts a round of a call of a tenant; `undefined` without limits. */
  countRoundOf(tenant: string | undefined): CountRound | undefined
  report(problem: unknown): void
}
