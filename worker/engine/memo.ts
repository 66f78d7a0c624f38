import { isObject } from '../protocol/jsonrpc.ts'

/** What a client said to a question. */
export type Answer =
  | { readonly result: unknown }
  | { readonly error: { code: number; message: string; data?: unknown } }

/** What a call has learned so far. JSON, so that it can travel sealed or rest as a row. */
export type Memo = {
  readonly answers: Readonly<Record<string, Answer>>
  /** Results of `once` effects, by key; boxed, so that one without a result counts as done. */
  readonly effects: Readonly<Record<string, { readonly value?: unknown }>>
  /** How many notifications earlier rounds have sent. */
  readonly said: number
  /** What was asked, by key: the SHA-256 of the question, so that an answer never counts for another one. */
  readonly asked: Readonly<Record<string, string>>
  /** How many rounds have ended with questions. */
  readonly rounds: number
  /** How many of the last rounds, one after another, had no use for any answer. */
  readonly strays: number
}

/** Milliseconds that anybody may take for an answer, whoever keeps the memo meanwhile. */
export const longestWait = 24 * 60 * 60_000

export const emptyMemo: Memo = { answers: {}, effects: {}, said: 0, asked: {}, rounds: 0, strays: 0 }

/** The memo with these answers added. The latest answer to a key counts. */
export const withAnswers = (memo: Memo, answers: Readonly<Record<string, Answer>>): Memo => ({
  ...memo,
  // Spread, not assigned: a key named __proto__ stays a key.
  answers: { ...memo.answers, ...answers },
})

export const isMemo = (value: unknown): value is Memo =>
  isObject(value) && isObject(value.answers) && isObject(value.effects) && isObject(value.asked)
