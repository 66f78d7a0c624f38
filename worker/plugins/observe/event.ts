import type { Implementation, Params } from '../../protocol/types.ts'
import type { Trace } from './trace.ts'

/** States how a call ended. */
export type CallOutcome =
  /** The call returned a result. */
  | {
      /** How the call ended. */
      readonly type: 'answered'
    }
  /** A tool failed. The model receives the message. */
  | { readonly type: 'tool_error'; readonly message: string }
  /** The client received input requests. The call continues in another round. */
  | { readonly type: 'input_required'; readonly keys: readonly string[] }
  /** A message without an observed result was received. `status` is that of the HTTP response. With the option `all` only. */
  | { readonly type: 'received'; readonly status: number }
  /**
   * The call ended with a JSON-RPC error, whose code is `code`; for `events/deliver`, the attempt ended with an HTTP status as `code`, or 0
   * without a response.
   */
  | { readonly type: 'error'; readonly kind: string; readonly code: number; readonly message: string }

/** Identifies a caller, without its claims and credentials. */
export type Who = {
  /** `iss` of the token. */
  readonly issuer: string
  /** `sub` of the token. */
  readonly subject: string
  /** `client_id` or `azp` of the token. */
  readonly client?: string | undefined
  /** The organization of the subject. */
  readonly tenant?: string | undefined
}

/** Describes one round of a call, or another message. Contains no credential and no result, and only the arguments that the options allow. */
export type MethodEvent = {
  /** Start of the round, or time of the response, in ISO 8601 and UTC. */
  readonly at: string
  /** Duration in milliseconds; `undefined` for a message that is not a call. */
  readonly milliseconds: number | undefined
  /**
   * The JSON-RPC method; `response` for an input response. Work that no request caused: `events/publish`, `events/deliver`, `events/suspend`
   * or `events/end`.
   */
  readonly method: string
  /** Name of the tool, prompt or event. */
  readonly name: string | undefined
  /** URI of the resource. */
  readonly uri: string | undefined
  /**
   * Arguments of the tool, with the option `arguments`. `[…]` replaces secret members, and all arguments of a tool whose schema describes
   * none.
   */
  readonly arguments: Params | string | undefined
  /** How the call ended. */
  readonly outcome: CallOutcome
  /** Whether the event is of a run of a task. A run that ends because its handler sleeps has no event. */
  readonly isTask: true | undefined
  /** The protocol version, if the message states it. */
  readonly revision: string | undefined
  /** `ctx.session.id`: equal for all calls of the session. It is not `Mcp-Session-Id`, which is a credential. */
  readonly session: string | undefined
  /** The authenticated caller, or the user for whom work is done; `undefined` for an anonymous caller. */
  readonly principal: Who | undefined
  /** Name and version that the client reports; not authenticated. */
  readonly client: Implementation | undefined
  /** The trace that the call belongs to, as the client states it. */
  readonly trace: Trace | undefined
  /** What else is known of work that no request caused, such as the id of a subscription and the number of an attempt. Default: none. */
  readonly details?: Readonly<Params>
}

/** Receives events. An error that it throws or rejects with is logged, and does not change the response. Its result is ignored. */
export type Sink = (event: MethodEvent) => unknown
