/** The outcome of one step of a call, and the data that the next step needs. */
import type { InputRequest, Result } from '../protocol/types.ts'

/** The response of a client to an input request. */
export type Answer =
  | { readonly result: unknown }
  | { readonly error: { code: number; message: string; data?: unknown } }

/** Holds what earlier rounds of a call stored. It is JSON: a client carries it sealed, or a Durable Object stores it. */
export type Journal = {
  /** Input responses, by the key of their request. */
  readonly answers: Readonly<Record<string, Answer>>
  /** Results of `once`, by key. Each is boxed, so that an effect without a result counts as done. */
  readonly effects: Readonly<Record<string, { readonly value?: unknown }>>
  /** Notifications that earlier rounds have sent. */
  readonly notificationsSent: number
  /** SHA-256 of each input request, by key, so that a response never counts for another request. */
  readonly requestFingerprints: Readonly<Record<string, string>>
  /** Rounds that have ended with input requests. */
  readonly rounds: number
  /** Latest rounds, in a row, that used no response. */
  readonly unusedRounds: number
}

/** Ends a step with a result. A tool that failed has a result, too. */
export type ResultOutcome = {
  /** Always `result`. */
  readonly type: 'result'
  /** The result of the method. */
  readonly result: Result
  /** The value that the handler of a tool threw, if the result has `isError`. */
  readonly cause?: unknown
}

/**
 * Ends a step with input requests. The call continues in another step, with the responses of the client.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr
 */
export type InputRequiredOutcome = {
  /** Always `input_required`. */
  readonly type: 'input_required'
  /** The open input requests, by key. */
  readonly inputRequests: Readonly<Record<string, InputRequest>>
  /** Input responses and results of `once` for the next step. Pass it on unchanged. */
  readonly journal: Journal
  /** Milliseconds until a response is too late. */
  readonly answerTimeoutMs: number
}

/** Ends a step of a task that sleeps. The task continues in another step. */
export type SuspendedOutcome = {
  /** Always `suspended`. */
  readonly type: 'suspended'
  /** Milliseconds since 1970: the earliest time of the next step. */
  readonly untilMs: number
}

/** Describes how a step of a call ends: with a result, with input requests, or with a sleep. */
export type Outcome = ResultOutcome | InputRequiredOutcome | SuspendedOutcome
