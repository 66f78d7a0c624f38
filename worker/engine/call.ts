/** A call of a client, and the environment of its steps. */

import type { HttpRequest } from '../declarations/http-request.ts'
import type { Answer, Outcome } from '../declarations/outcome.ts'
import type { RequestContext } from '../declarations/request-context.ts'
import type { Server } from '../declarations/server.ts'
import type { StateHost } from '../declarations/state.ts'
import type { Principal } from '../protocol/principal.ts'
import type { Revision } from '../protocol/revision.ts'
import type {
  ClientCapabilities,
  Implementation,
  InputRequest,
  LogLevel,
  Notification,
  Params,
  RequestId,
} from '../protocol/types.ts'

export type { Outcome } from '../declarations/outcome.ts'

/** Describes a call to the engine and to methods. */
export type Call = {
  /** The JSON-RPC method, such as `tools/call`. */
  readonly method: string
  /** The params, after the changes of interceptors. */
  readonly params: Params
  /** The params that the client sent, if interceptors have changed them. */
  readonly clientParams?: Params
  /** The protocol version of the client. */
  readonly revision: Revision
  /** Capabilities of the client, in the form of the newest protocol version. */
  readonly capabilities: ClientCapabilities
  /** The name and version that the client reports; not authenticated. */
  readonly client: Implementation | undefined
  /** The authenticated caller; `undefined` for an anonymous caller. */
  readonly principal: Principal | undefined
  /** What the option `requestContext` of `serve()` returned for the HTTP request of the call; without the option, an empty object. */
  readonly requestContext: RequestContext
  /** The HTTP request of the current round; `undefined` without one. */
  readonly request?: HttpRequest | undefined
  /** The session of the call; `undefined` in protocol versions without sessions. */
  readonly session: { readonly id: string } | undefined
  /** The id of the JSON-RPC request; `undefined` in a run of a task. */
  readonly requestId?: RequestId | undefined
  /** Whether the step is a run of a task, which may take as long as the task. */
  readonly isTask?: boolean
  /** Least severe level of log messages for the client; `undefined`: none. */
  readonly logLevel: LogLevel | undefined
}

/** Encrypts and authenticates values for one purpose and one principal. */
export interface Seals {
  /** Identity of the endpoint of the seals. */
  readonly identity: string
  /** Returns a sealed text. @param purpose must be the same to open it @param lifetimeMs milliseconds. Default: 1 day */
  seal(purpose: string, value: unknown, lifetimeMs?: number): Promise<string>
  /**
   * Returns an id of 39 characters for what a Durable Object stores. @param lifetimeMs milliseconds until `open` returns `undefined` for it;
   * `Infinity`: never @param flag one bit that `open` returns. Default: false
   */
  createId(purpose: string, lifetimeMs: number, flag?: boolean): Promise<string>
  /**
   * Returns the value, and `{ name, expires, flag }` for an id; `undefined` for a text that was not sealed by this server for this purpose
   * and this principal, or has expired.
   */
  open(purpose: string, sealed: string): Promise<unknown>
}

/** An endpoint as its Durable Objects see it or, if it has tenants, one of them. */
export type EndpointOfTenant = {
  readonly server: Server
  /** Returns the seals of a principal. */
  seals(principal: Principal | undefined): Seals
}

/** Provides a step with the services of the place where it runs: a Worker, or the Durable Object of a session or a task. */
export interface CallEnvironment {
  /** Returns the signal, and creates it at the first call: creating one costs as much as a short call. */
  signal(): AbortSignal
  /** The same object for all calls of one POST, such as those of a batch. Absent for a call without one, such as that of a task. */
  readonly post?: object
  /** Encrypts and authenticates values for the principal of the call. */
  readonly seals: Seals
  /** Finds the state that the call may open. */
  readonly state: StateHost
  /** Whether change notifications are delivered. */
  readonly updates: boolean
  /** Whether input requests may be answered with tasks of the client: see `AskOptions.task`. Default: false. */
  readonly canFollowTasks?: boolean
  /** Returns the response that the client gave to an equal request in another call, if it is still valid. */
  known?(request: InputRequest): Answer | undefined
  /** Sends a notification of the call to the client. @param count the number of notifications of the call so far, replayed ones included */
  notify(notification: Notification, count: number): void
  /** Called before an effect starts: it starts once the promise has resolved. */
  beforeEffect?(): Promise<void> | undefined
  /** Called when an effect is done, before the handler goes on, so that its result can be stored. */
  effect?(key: string, value: unknown): void
  /** Returns the time in milliseconds since 1970. */
  now(): number
  /**
   * Waits until a time, in milliseconds since 1970. A task may end its round instead: see `ended`. @throws the reason of the signal when it
   * is aborted
   */
  sleep(untilMs: number): Promise<void>
  /**
   * Returns the promise of an input request that is about to be opened. It does not settle, unless what the call belongs to ends before the
   * round: then it rejects, so that the handler cleans up. @throws the reason if that has ended. Default: a promise that never settles
   */
  inputPromise?(): Promise<never>
  /** Waits until branches of the handler beside open input requests have come as far as they can. Default: such a round ends at once. */
  waitForBranches?(): Promise<void>
  /** Ends the round before its handler does: with the suspension of a task, or with an error. */
  readonly ended?: Promise<Outcome>
  /** Closes the event stream of the call: see `Context.closeStream`. */
  closeStream(retryMs: number | undefined): void
  /**
   * Notifies the client that the user has completed the URL elicitation with this key. @param count see `notify` @param id the id of the
   * elicitation, if the handler chose it
   */
  completed(key: string, count: number, id: string | undefined): void
  /** Logs a problem. The client does not receive it. */
  report(problem: unknown): void
}
