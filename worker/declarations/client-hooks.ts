/** Hooks of plugins that run when a client initializes, subscribes and unsubscribes, and when a session ends. */
import type { Caller, CallerContext } from './caller.ts'
import type { Awaitable } from './context.ts'

/** Describes the client that initializes. */
export type ClientEvent = Caller & {
  /** The session, with the id of `ctx.session`; `undefined` at endpoints without sessions. */
  readonly session: { readonly id: string } | undefined
}

/** Describes a subscription to a resource. */
export type SubscriptionEvent = CallerContext & {
  /** The resource, or the template of resources. */
  readonly uri: string
}

/** Describes the end of a session. */
export type SessionEndEvent = Pick<Caller, 'client'> & {
  /** The session that has ended. */
  readonly session: { readonly id: string }
  /** The authenticated caller at the start of the session, with empty `claims`; `undefined` for an anonymous caller. */
  readonly principal: Caller['principal']
  /**
   * Why the session has ended: its client sent DELETE (`deleted`), its time is over (`expired`), or the stream of HTTP+SSE was closed
   * (`disconnected`).
   */
  readonly reason: 'deleted' | 'expired' | 'disconnected'
}

/** The hooks of all plugins of an endpoint. A member is absent if no plugin has the hook. */
export interface ClientHooks {
  readonly onInitialize?: ((event: ClientEvent) => Awaitable<void>) | undefined
  readonly onSubscribe?: ((event: SubscriptionEvent) => Awaitable<void>) | undefined
  readonly onUnsubscribe?: ((event: SubscriptionEvent) => Awaitable<void>) | undefined
  readonly onSessionEnd?: ((event: SessionEndEvent) => Awaitable<void>) | undefined
}
