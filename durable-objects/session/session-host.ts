import type { CountRound } from '../../worker/declarations/call-attempt.ts'
import type { Server } from '../../worker/declarations/server.ts'
import type { StateRpc } from '../../worker/declarations/state.ts'
import type { Admitted } from '../../worker/declarations/stored-principal.ts'
import type { Seals } from '../../worker/engine/call.ts'
import type { Principal } from '../../worker/protocol/principal.ts'
import type { SubscriptionsRpc } from '../rpc.ts'
import type { Subscriptions } from '../subscriptions/session-part.ts'
import type { ClientTasks } from '../task/client-tasks.ts'

/** What `subscriptions()` adds to each session. */
export class SubscriptionsPart {
  readonly Subscriptions: typeof Subscriptions
  /** Returns the number of the Subscriptions object of a session. */
  readonly shardOf: (session: string) => number

  constructor(parts: Pick<SubscriptionsPart, 'Subscriptions' | 'shardOf'>) {
    this.Subscriptions = parts.Subscriptions
    this.shardOf = parts.shardOf
  }
}

/** What `tasks()` adds to each session: it follows tasks of the client. */
export class ClientTasksPart {
  readonly ClientTasks: typeof ClientTasks

  constructor(part: typeof ClientTasks) {
    this.ClientTasks = part
  }
}

/** What plugins add to each session. */
export type AddedParts = {
  readonly subscriptions: SubscriptionsPart | undefined
  readonly clientTasks: ClientTasksPart | undefined
}

/** @param parts what the plugins of an endpoint provide for sessions */
export const addedParts = (parts: readonly object[]): AddedParts => ({
  subscriptions: parts.find((part) => part instanceof SubscriptionsPart),
  clientTasks: parts.find((part) => part instanceof ClientTasksPart),
})

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
  readonly parts: AddedParts
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
