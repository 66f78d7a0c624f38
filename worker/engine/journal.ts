import type { Answer, Journal } from '../declarations/outcome.ts'
import { isObject } from '../protocol/jsonrpc.ts'

export type { Answer, Journal } from '../declarations/outcome.ts'

/** Maximum milliseconds to wait for an input response, wherever the journal is stored meanwhile. */
export const maxAnswerTimeoutMs = 24 * 60 * 60_000

/** Begins the keys of effects that are ends of sleeps. */
export const sleepPrefix = '\0sleep '

export const emptyJournal: Journal = {
  answers: {},
  effects: {},
  notificationsSent: 0,
  requestFingerprints: {},
  rounds: 0,
  unusedRounds: 0,
}

/** Returns the journal with these responses added. The latest response to a key counts. */
export const withAnswers = (journal: Journal, answers: Readonly<Record<string, Answer>>): Journal => ({
  ...journal,
  // Spread, not assigned: a key named __proto__ stays a key.
  answers: { ...journal.answers, ...answers },
})

export const isJournal = (value: unknown): value is Journal =>
  isObject(value) && isObject(value.answers) && isObject(value.effects) && isObject(value.requestFingerprints)
