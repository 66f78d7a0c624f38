import type { Principal } from '../protocol/principal.ts'
import type { Awaitable } from './context.ts'

/** Who looks at a list, or calls something on it. */
export type Caller = {
  readonly principal: Principal | undefined
}

export type AccessOptions = {
  /**
   * What a token must allow to use this, all of them. Who lacks one does not see it in lists, and is refused before the
   * handler runs. Without `auth` nobody has any.
   */
  scopes?: readonly string[] | undefined
  /** How much one caller may use it. Takes a server with `rateLimit()` of `edgemcp/rate-limit`. */
  rateLimit?: RateLimit | undefined
  /** Lists show it to those too who lack its scopes, so that they know what to ask for. */
  listWithoutScopes?: boolean | undefined
  /**
   * Decides by caller, never by connection, who may see and use this. Default: every caller. A hidden entry is answered like one that does
   * not exist.
   */
  visibleTo?: (caller: Caller) => Awaitable<boolean>
  /**
   * The entry can be enabled and disabled while the server runs, by the handle that declaring it returns, and starts enabled (`true`) or
   * disabled (`false`). Needs a server with `subscriptions()` of `edgemcp/subscriptions`, and costs one object request whenever it is listed or used.
   * Default: the entry cannot be disabled.
   */
  enabled?: boolean
}

/** How much one principal may use something, or one address that nobody is signed in from. */
export type RateLimit = {
  /** How often, about: `60/m` is 60 times a minute, `10/10s` ten times in ten seconds. The platform has no other periods. */
  readonly rate?: string
  /** How often at most, exactly: `1000/d`; `m`, `h` and `d` are a minute, an hour and a day. */
  readonly quota?: string
  /** How many at a time, in the memory of one isolate: that of the Worker, or that of a session's Durable Object. */
  readonly concurrent?: number
}

/** Of something registered: who may see and use it. */
export type Guarded = {
  readonly visibleTo: AccessOptions['visibleTo']
  readonly scopes?: AccessOptions['scopes'] | undefined
  readonly listWithoutScopes?: boolean | undefined
  readonly rateLimit?: RateLimit | undefined
  readonly enabled?: boolean | undefined
}

/** Enables and disables, for everybody and on every isolate; everyone who listens hears that the list has changed. */
export interface Registration {
  enable(): Promise<void>
  /** It is not listed any more, and answered like something that does not exist. */
  disable(): Promise<void>
  /** The same as `disable`: what is declared can come back. */
  remove(): Promise<void>
}
