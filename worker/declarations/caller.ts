import type { Principal } from '../protocol/principal.ts'
import type { Awaitable } from './context.ts'

/** The caller of a request. */
export type Caller = {
  readonly principal: Principal | undefined
}

export type AccessOptions = {
  /**
   * The scopes that a token needs to use this, all of them. A caller that lacks one does not see the entry in lists, and is refused before the
   * handler runs. On a server without `auth`, no caller has any.
   */
  scopes?: readonly string[] | undefined
  /** How much one caller may use it. Takes a server with `rateLimit()` of `edgemcp/rate-limit`. */
  rateLimit?: RateLimit | undefined
  /** Lists show the entry to callers that lack its scopes too, so that clients can request them. */
  listWithoutScopes?: boolean | undefined
  /**
   * Decides by caller, never by connection, whether the entry is visible and can be used. Default: every caller. A hidden entry is answered like one that does
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

/** How much one principal may use something, or one IP address without a principal. */
export type RateLimit = {
  /** How often, about: `60/m` is 60 times a minute, `10/10s` ten times in ten seconds. The platform has no other periods. */
  readonly rate?: string
  /** How often at most, exactly: `1000/d`; `m`, `h` and `d` are a minute, an hour and a day. */
  readonly quota?: string
  /** How many at a time, in the memory of one isolate: that of the Worker, or that of a session's Durable Object. */
  readonly concurrent?: number
}

/** The access options of an entry. */
export type Guarded = {
  readonly visibleTo: AccessOptions['visibleTo']
  readonly scopes?: AccessOptions['scopes'] | undefined
  readonly listWithoutScopes?: boolean | undefined
  readonly rateLimit?: RateLimit | undefined
  readonly enabled?: boolean | undefined
}

/** Enables and disables an entry, for every caller and in every isolate. Subscribers get a notification that the list has changed. */
export interface Registration {
  enable(): Promise<void>
  /** From now on the entry is not listed, and requests for it get the answer for an unknown name. */
  disable(): Promise<void>
}
