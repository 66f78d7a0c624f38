import { isObject } from '../protocol/jsonrpc.ts'

/** What a client said to a question. */
export type Answer =
  | { readonly result: unknown }
  | { readonly error: { code: number; message: string; data?: unknown } }

/** What a call has learned so far. JSON, so that it can travel sealed or rest as a row. */
export type Journal = {
  readonly answers: Readonly<Record<string, Answer>>
  /** Results of `once` effects, by key; boxed, so that one without a result counts as done. */
  readonly effects: Readonly<Record<string, { readonly value?: unknown }>>
  /** How many notifications earlier rounds have sent. */
  readonly notificationsSent: number
  /** What was asked, by key: the SHA-256 of the question, so that an answer never counts for another one. */
  readonly requestFingerprints: Readonly<Record<string, string>>
  /** How many rounds have ended with questions. */
  readonly rounds: number
  /** How many of the last rounds, one after another, had no use for any answer. */
  readonly unusedRounds: number
}

/** Milliseconds that anybody may take for an answer, whoever keeps the journal meanwhile. */
export const longestWait = 24 * 60 * 60_000

export const emptyJournal: Journal = {
  answers: {},
  effects: {},
  notificationsSent: 0,
  requestFingerprints: {},
  rounds: 0,
  unusedRounds: 0,
}

/** The journal with these answers added. The latest answer to a key counts. */
export const withAnswers = (journal: Journal, answers: Readonly<Record<string, Answer>>): Journal => ({
  ...journal,
  // Spread, not assigned: a key named __proto__ stays a key.
  answers: { ...journal.answers, ...answers },
})

export const isJournal = (value: unknown): value is Journal =>
  isObject(value) && isObject(value.answers) && isObject(value.effects) && isObject(value.requestFingerprints)
