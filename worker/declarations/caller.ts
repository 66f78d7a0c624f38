/** Access to tools, resources and prompts: who sees an entry, who may use it and how often. */
import type { Principal } from '../protocol/principal.ts'
import type { Awaitable } from './context.ts'

/** Identifies the caller of a request to functions such as `visibleTo` and `authorize`. */
export type Caller = {
  /** The authenticated caller; `undefined` for an anonymous caller. */
  readonly principal: Principal | undefined
}

/** Decides who sees and uses a tool, a resource or a prompt. Each definition has these options. */
export type AccessOptions = {
  /**
   * OAuth scopes that the token of a caller must have, all of them. For other callers, lists omit the entry and requests for it are
   * rejected before the handler runs. On a server without `auth`, no caller has scopes. Default: none.
   */
  scopes?: readonly string[] | undefined
  /** Limits how much each caller uses the entry. Needs the plugin `rateLimit()` of `edgemcp/rate-limit`. Default: no limit of its own. */
  rateLimit?: RateLimit | undefined
  /** Lists the entry for callers that lack its scopes too, so that clients can request the scopes. Default: false. */
  listWithoutScopes?: boolean | undefined
  /**
   * Decides for each caller whether the entry is visible and usable. A request for a hidden entry gets the same error as one for an unknown
   * entry. Default: visible to every caller.
   */
  visibleTo?: (caller: Caller) => Awaitable<boolean>
  /**
   * Lets `enable()` and `disable()` change the entry at run time, and states whether it starts enabled. Needs the plugin `subscriptions()`
   * of `edgemcp/subscriptions`; each list or use of the entry costs one request to a Durable Object. Default: the entry is always enabled.
   */
  enabled?: boolean
}

/** Limits how much each caller uses an entry. A caller is a principal or, without one, an IP address. */
export type RateLimit = {
  /**
   * Approximate limit per `10s` or `m` (a minute): `60/m`, `10/10s`. The Rate Limiting binding of Workers has no other periods. Default: no
   * limit.
   */
  readonly rate?: string
  /** Exact limit per `m`, `h` or `d` (a minute, an hour, a day): `1000/d`. Default: no limit. */
  readonly quota?: string
  /**
   * Calls that run at the same time, counted in one isolate: in the Worker, or in the Durable Object of a session. Default: 50 in
   * `rateLimit()`; no limit of its own for an entry.
   */
  readonly concurrent?: number
}

/** The access options of a registered entry. */
export type Guarded = {
  readonly visibleTo: AccessOptions['visibleTo']
  readonly scopes?: AccessOptions['scopes'] | undefined
  readonly listWithoutScopes?: boolean | undefined
  readonly rateLimit?: RateLimit | undefined
  readonly enabled?: boolean | undefined
}

/**
 * Enables and disables a registered entry for all callers and in all isolates. Each change sends a list-changed notification to
 * subscribers.
 */
export interface Registration {
  /** Lists and serves the entry again. @throws Error when the entry was registered without the option `enabled` */
  enable(): Promise<void>
  /**
   * Hides the entry from lists. Requests for it get the same error as an unknown name.
   *
   * @throws Error when the entry was registered without the option `enabled`
   */
  disable(): Promise<void>
}
