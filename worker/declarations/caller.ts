/** Access to tools, resources and prompts: who sees an entry, who may use it and how often. */
import type { Principal } from '../protocol/principal.ts'
import type { Implementation } from '../protocol/types.ts'
import type { Awaitable, ClientFeature } from './context.ts'
import type { HttpRequest } from './http-request.ts'
import type { RequestContext } from './request-context.ts'
import type { HandleState, KeyedState } from './state.ts'

/** Describes the caller of a request to functions such as `visibleTo`. */
export type Caller = {
  /** The authenticated caller; `undefined` for an anonymous caller. */
  readonly principal: Principal | undefined
  /** The name and version that the client reports; not authenticated. `undefined` if they are not known. */
  readonly client: Implementation | undefined
  /** Returns whether the client declared the feature. */
  supports(feature: ClientFeature): boolean
  /** What the option `requestContext` of `serve()` returned; without the option, an empty object. */
  readonly requestContext: RequestContext
  /** The HTTP request; `undefined` in a run of a task, and in a call that runs again after its Durable Object was lost. */
  readonly request: HttpRequest | undefined
  /** The protocol version of the client, such as `2025-11-25`; `undefined` if it is not known. */
  readonly protocolVersion: string | undefined
}

/** Describes the caller to `list`, `authorize` and `complete`, with access to state. */
export type CallerContext = Caller & {
  /** The session of the call; `undefined` in protocol versions without sessions. */
  readonly session: { readonly id: string } | undefined
  /** Aborted when the client cancels the request. */
  readonly signal: AbortSignal
  /**
   * Opens state that is declared with `edgemcp/state`, as `ctx.state` does. Use operations that only read: lists and checks run at any time,
   * and more than once for a request.
   *
   * @throws McpError `internal_error` when the call has no session, user or tenant
   */
  state<T>(of: KeyedState<T>): T
  state<T>(of: HandleState<T>, handle: string): T
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
   * Decides for each caller whether the entry is visible and usable, by its principal, its client or its request. A request for a hidden entry gets the same error as one for an unknown
   * entry. Default: visible to every caller.
   */
  visibleTo?: (caller: Caller) => Awaitable<boolean>
  /**
   * Lets `enable()` and `disable()` change the entry at run time, and states whether it starts enabled. Needs the plugin `subscriptions()`
   * of `edgemcp/subscriptions`; each list or use of the entry costs one request to a Durable Object, or two if it has `rateLimit`. Default: the entry is always
   * enabled.
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
