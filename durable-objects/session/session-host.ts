import type { CountRound } from '../../worker/declarations/call-attempt.ts'
import type { Server } from '../../worker/declarations/server.ts'
import type { StateRpc } from '../../worker/declarations/state.ts'
import type { Admitted } from '../../worker/declarations/stored-principal.ts'
import type { Seals } from '../../worker/engine/call.ts'
import type { Principal } from '../../worker/protocol/principal.ts'
import type { SubscriptionsRpc } from '../rpc.ts'

/** What a session needs of its server. */
export type SessionHost = {
  readonly server: Server
  /** Milliseconds from `initialize` until a session id expires, however much it is used. */
  readonly life: number
  /** Returns `SessionTerms` of a session of this class's own endpoint, by its name, as a text. */
  termsOf(name: string): string
  seals(principal: Principal | undefined, identity: string): Seals
  state(name: string): StateRpc
  /** The name under which the Worker exports the class. */
  readonly className: string
  subscriptionsAt(shard: number): SubscriptionsRpc
  /**
   * Returns the function that counts a round of a call by the limits of the endpoint that admitted it; `undefined` without limits.
   *
   * @throws McpError when this class cannot know the limits
   */
  countRoundOf(admitted: Admitted): CountRound | undefined
  /**
   * Returns the server, with the plugins of the endpoint that admitted a call.
   *
   * @throws McpError when that endpoint has another server than this class, or plugins that this class does not have
   */
  serverFor(admitted: Admitted): Server
  report(problem: unknown): void
}
