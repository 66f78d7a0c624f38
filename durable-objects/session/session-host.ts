import type { CountRound } from '../../worker/declarations/call-attempt.ts'
import type { Server } from '../../worker/declarations/server.ts'
import type { StateRpc } from '../../worker/declarations/state.ts'
import type { EndpointOfTenant } from '../../worker/engine/call.ts'
import type { ReplayLimits } from '../shared/event-log.ts'
import type { SubscriptionsRpc } from '../subscriptions/rpc.ts'

/** Options of `sessions()` and of its endpoint. */
export type SessionSettings = {
  /** Milliseconds without a message after which the response of a call becomes a stream. */
  readonly streamAfterMs: number
  /** Milliseconds between keep-alive comments on a stream. */
  readonly keepAliveMs: number
  /** Milliseconds after which an idle session ends. */
  readonly ttl: number
  readonly log: ReplayLimits
  /** Whether a session that expired while it was idle goes on with its next request, also if its client has lost data. */
  readonly revive: boolean
}

/** What a session needs of its server. */
export type SessionHost = {
  readonly server: Server
  /** Milliseconds from `initialize` until a session id expires, however much it is used. */
  readonly life: number
  /** What the developer chose for sessions. */
  readonly options: SessionSettings
  /** Returns the endpoint of a tenant. */
  at(tenant: string | undefined): EndpointOfTenant
  state(name: string): StateRpc
  subscriptionsAt(shard: number): SubscriptionsRpc
  /** Returns the function that counts a round of a call of a tenant; `undefined` without limits. */
  countRoundOf(tenant: string | undefined): CountRound | undefined
  report(problem: unknown): void
}
