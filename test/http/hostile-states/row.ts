/** One row: a round that is sent, exactly what comes back, and how far a handler comes by it. */
import type { Params } from '../hostile-row.ts'
import type { Round, Stage } from './stage.ts'

export type Row = { name: string; send: (stage: Stage) => Round | Promise<Round>; outcome: Outcome }

export type Outcome = { id?: undefined; status: number; begun: number; passed: number } & (
  | { error: { code: number; message: string | RegExp; data?: unknown } }
  | { asks: readonly string[] }
  | { says: string }
  | { result: Params }
)

export const row = (name: string, send: Row['send'], outcome: Outcome): Row => ({ name, send, outcome })

/** No handler hears of it. */
export const refused = (message: string | RegExp, status = 200, code = -32602): Outcome => ({
  status,
  error: { code, message },
  begun: 0,
  passed: 0,
})

/** Nobody has read its id either. */
export const unread = (status: number, message: string | RegExp): Outcome => ({
  ...refused(message, status, -32600),
  id: undefined,
})

/** A handler runs up to its question, and no further. */
export const notTaken = (message: string | RegExp): Outcome => ({
  status: 200,
  error: { code: -32602, message },
  begun: 1,
  passed: 0,
})

export const asks = (...keys: string[]): Outcome => ({ status: 200, asks: keys, begun: 1, passed: 0 })

/** Meant to be harmless: the handler goes on with what is said here. */
export const goesOn = (says: string, passed = 1): Outcome => ({ status: 200, says, begun: 1, passed })

/** Meant to be harmless: what was answered before is answered again. */
export const answeredAgain = (says: string): Outcome => ({ status: 200, says, begun: 0, passed: 0 })

export const badState = refused('params.requestState is not valid for this request: send the request without it')
export const noWord = notTaken('The answer to "word" is not a valid elicitation/create result')
export const misfit = notTaken(/^The answer to "word" does not fit its schema: /)
export const greeted = goesOn('ada says honest')
