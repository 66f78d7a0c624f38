/** What one step of a call ends with, and what the next step needs of it. */
import type { InputRequest, Result } from '../protocol/types.ts'

/** What a client answered to an input request. */
export type Answer =
  | { readonly result: unknown }
  | { readonly error: { code: number; message: string; data?: unknown } }

/** What a call has learned so far. JSON: a client carries it sealed, or a Durable Object stores it. */
export type Journal = {
  readonly answers: Readonly<Record<string, Answer>>
  /** Results of `once` effects, by key; boxed, so that one without a result counts as done. */
  readonly effects: Readonly<Record<string, { readonly value?: unknown }>>
  /** How many notifications earlier rounds have sent. */
  readonly notificationsSent: number
  /** The SHA-256 of each input request, by key, so that an answer never counts for another one. */
  readonly requestFingerprints: Readonly<Record<string, string>>
  /** How many rounds have ended with input requests. */
  readonly rounds: number
  /** How many of the last rounds, one after another, had no use for any answer. */
  readonly unusedRounds: number
}

/** The step has a result. `cause`: what the handler of the tool threw, if the result has `isError`. */
export type ResultOutcome = { readonly type: 'result'; readonly result: Result; readonly cause?: unknown }

/** The handler needs input of the client: the call goes on with its answers, in another step. */
export type InputRequiredOutcome = {
  readonly type: 'input_required'
  /** The open input requests, by key. */
  readonly inputRequests: Readonly<Record<string, InputRequest>>
  readonly journal: Journal
  /** Milliseconds until an answer is too late. */
  readonly answerTimeoutMs: number
}

/** A task sleeps: it goes on in another step, not before `untilMs` (milliseconds since 1970). */
export type SuspendedOutcome = { readonly type: 'suspended'; readonly untilMs: number }

export type Outcome = ResultOutcome | InputRequiredOutcome | SuspendedOutcome
