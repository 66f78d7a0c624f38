import type { CountRound } from '../../worker/declarations/call-attempt.ts'
import type { Admitted } from '../../worker/declarations/endpoints.ts'
import type { Server } from '../../worker/declarations/server.ts'
import type { StateRpc } from '../../worker/declarations/state.ts'
import type { Seals } from '../../worker/engine/call.ts'
import type { Principal } from '../../worker/protocol/principal.ts'
import type { SubscriptionsRpc } from '../rpc.ts'
import type { Subscriptions } from '../subscriptions/session-part.ts'

/** What a session needs from the server it belongs to. */
export type SessionHost = {
  readonly server: Server
  /** Milliseconds from `initialize` until a session's id is worth nothing, however much it is used. */
  readonly life: number
  /** `SessionTerms` of a session of this class's own endpoint, by its name, as a text. */
  termsOf(name: string): string
  seals(principal: Principal | undefined, identity: string): Seals
  state(name: string): StateRpc
  /** The name under which the Worker exports the class. */
  readonly className: string
  /** The subscriptions part of a session; `undefined`: no endpoint of the server has `subscriptions()`. */
  readonly Subscriptions: typeof Subscriptions | undefined
  subscriptionsAt(shard: number): SubscriptionsRpc
  /**
   * Counts a round of a call by the limits of the endpoint that admitted it; `undefined`: it has none.
   *
   * @throws McpError when this class cannot know them
   */
  countRoundOf(admitted: Admitted | undefined): CountRound | undefined
  /**
   * The server, with the plugins of the endpoint that admitted a call.
   *
   * @throws McpError when that endpoint serves another server than that of this class, or its plugins are not known here
   */
  serverFor(admitted: Admitted | undefined): Server
  report(problem: unknown): void
}
