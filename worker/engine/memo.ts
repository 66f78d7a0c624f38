import { isObject } from '../protocol/jsonrpc.ts'

/** What a client said to a question. */
export type Answer = { readonly result: unknown } | { readonly error: { code: number; message: string } }

/** What a call has learned so far. JSON, so that it can travel sealed or rest as a row. */
export type Memo = {
  readonly answers: Readonly<Record<string, Answer>>
  /** Results of `once` effects, by key; boxed, so that one without a result counts as done. */
  readonly effects: Readonly<Record<string, { readonly value?: unknown }>>
  /** How many notifications earlier rounds have sent. */
  readonly said: number
}

export const emptyMemo: Memo = { answers: {}, effects: {}, said: 0 }

/** The memo with these answers added. The latest answer to a key counts. */
export const withAnswers = (memo: Memo, answers: Readonly<Record<string, Answer>>): Memo => ({
  ...memo,
  // Built from entries: a key named __proto__ stays a key.
  answers: Object.fromEntries([...Object.entries(memo.answers), ...Object.entries(answers)]),
})

export const isMemo = (value: unknown): value is Memo =>
  isObject(value) && isObject(value.answers) && isObject(value.effects) && typeof value.said === 'number'
