import type { Implementation, Params } from '../../protocol/types.ts'
import type { Trace } from './trace.ts'

/** What became of a call. */
export type CallOutcome =
  | { readonly type: 'answered' }
  /** A tool failed, and the model is told why. */
  | { readonly type: 'tool_error'; readonly message: string }
  /** The client was asked: the call goes on in another round. */
  | { readonly type: 'input_required'; readonly keys: readonly string[] }
  /** It was taken in: what answers it is not looked at. `status`: of the HTTP response. With the option `all` only. */
  | { readonly type: 'received'; readonly status: number }
  /** JSON-RPC's code. */
  | { readonly type: 'error'; readonly kind: string; readonly code: number; readonly message: string }

/** Who called. What it claims besides is left out. */
export type Who = {
  readonly issuer: string
  readonly subject: string
  readonly client?: string | undefined
  readonly tenant?: string | undefined
}

/** One round of a call of a method, or another message. It holds no credential and no result, and of arguments only what the options say. */
export type MethodEvent = {
  /** When it began, or was answered where it took no time worth telling: ISO 8601, UTC. */
  readonly at: string
  readonly milliseconds: number | undefined
  /** `response`: what a client answers to a question. */
  readonly method: string
  /** Of the tool or prompt. */
  readonly name: string | undefined
  /** Of the resource. */
  readonly uri: string | undefined
  /** The arguments, if they are wanted, without what their schema says is secret. The text `[…]` of a tool whose schema describes none. */
  readonly arguments: Params | string | undefined
  readonly outcome: CallOutcome
  /** A run of a task. It tells nothing when its handler falls asleep: the run that wakes it does. */
  readonly isTask: true | undefined
  /** The revision's date, where it is said. */
  readonly revision: string | undefined
  /** A mark of the session, the same for all its calls: its id lets whoever has it go on with it. */
  readonly session: string | undefined
  readonly principal: Who | undefined
  readonly client: Implementation | undefined
  /** Of what the call is a part of, as its client says. */
  readonly trace: Trace | undefined
}

/** Takes events. What it throws is logged, and changes nothing for the client. */
export type Sink = (event: MethodEvent) => void | Promise<void>
