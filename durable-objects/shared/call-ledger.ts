/**
 * Calls that have a stream: written down before they say anything, so that each gets an end, whatever happens to the
 * object. A call that waits for a client's answers is nothing but its row.
 *
 * | table       | column     | meaning                                                        | lifetime              |
 * |-------------|------------|----------------------------------------------------------------|-----------------------|
 * | `calls`     | `id`       | one call, never reused                                         | until it is answered or cancelled |
 * |             | `request`  | the key of its JSON-RPC id, to cancel it by                    |                       |
 * |             | `call`     | `LedgerCall` as JSON: the request, its stream, its journal        |                       |
 * |             | `due`      | milliseconds: when it is too late for its answers              |                       |
 * | `questions` | `id`       | one question; the client sees the id `ask-<id>`, never reused  | until it is answered  |
 * |             | `call`, `key` | which question of which call                                |                       |
 */

import { type Answer, type Journal, withAnswers } from '../../worker/engine/journal.ts'
import type { NegotiatedSession } from '../../worker/engine/methods/method.ts'
import type { McpError } from '../../worker/protocol/errors.ts'
import type { RequestMessage } from '../../worker/protocol/jsonrpc.ts'
import type { RequestId } from '../../worker/protocol/types.ts'
import { checkSize, maxRowBytes, tooLarge } from './message-size.ts'
import { type SkippedIds, Tables } from './tables.ts'

export type LedgerCall = {
  request: RequestMessage
  stream: number
  journal: Journal
  handshake: NegotiatedSession
  /** What `ctx.session` says. */
  session: string
  /** Of the endpoint that was called. */
  identity: string
  /** Somebody is signed in, but not written down. */
  isPersonal: boolean
  /** What a token needs to answer its input requests, or to cancel it; left out when it needs nothing. */
  scopes?: readonly string[]
  /** How often it was run again because the object was lost. */
  repeats: number
}

const schema = `
  CREATE TABLE calls (id INTEGER PRIMARY KEY AUTOINCREMENT, request TEXT, call TEXT, due INTEGER);
  CREATE TABLE questions (id INTEGER PRIMARY KEY AUTOINCREMENT, call INTEGER, key TEXT);
`

export class CallLedger {
  readonly tables: Tables
  readonly #sql: SqlStorage
  readonly #skippedIds: SkippedIds

  constructor(sql: SqlStorage, skippedIds: SkippedIds = () => 0) {
    this.#skippedIds = skippedIds
    this.#sql = sql
    this.tables = new Tables(sql, 'calls', schema)
  }

  /** Writes a call down. Returns its row. */
  begin(call: LedgerCall): number {
    if (this.tables.create()) this.tables.skipIds('questions', this.#skippedIds())
    const key = requestKey(call.request.id)
    return this.#sql
      .exec<{ id: number }>('INSERT INTO calls (request, call) VALUES (?, ?) RETURNING id', key, rowOf(call))
      .one().id
  }

  /** Whether a call fits into a row. @throws McpError when it does not */
  check(call: LedgerCall): void {
    rowOf(call)
  }

  /** @param due milliseconds: until when it waits for answers */
  rewrite(row: number, call: LedgerCall, due: number | null = null): void {
    this.#sql.exec('UPDATE calls SET call = ?, due = ifnull(?, due) WHERE id = ?', rowOf(call), due, row)
  }

  /** Calls that have waited too long. */
  overdue(now: number): { row: number; call: LedgerCall }[] {
    return this.#select('due <= ? AND id IN (SELECT call FROM questions)', now)
  }

  /** Calls that wait for answers on behalf of a task. */
  askingFor(taskId: string): { row: number; call: LedgerCall }[] {
    return this.#select(
      "call ->> '$.request.method' LIKE 'tasks/%' AND call ->> '$.request.params.taskId' = ? AND id IN (SELECT call FROM questions)",
      taskId,
    )
  }

  /** Milliseconds: when a call that waits will have waited too long; `Infinity`: none does. */
  get due(): number {
    const [first] = this.tables.query<{ due: number | null }>(
      'SELECT min(due) AS due FROM calls WHERE id IN (SELECT call FROM questions)',
    )
    return first?.due ?? Number.POSITIVE_INFINITY
  }

  /** Returns the questions that were still open, as the client knows them. */
  end(row: number): string[] {
    this.#sql.exec('DELETE FROM calls WHERE id = ?', row)
    const open = this.tables.query<{ id: number }>('DELETE FROM questions WHERE call = ? RETURNING id', row)
    return open.map(({ id }) => `ask-${id}`)
  }

  /** Opens questions of a call. Returns the id the client sees for each key. */
  ask(row: number, keys: readonly string[]): Map<string, string> {
    return new Map(
      keys.map((key) => {
        const question = this.#sql
          .exec<{ id: number }>('INSERT INTO questions (call, key) VALUES (?, ?) RETURNING id', row, key)
          .one()
        return [key, `ask-${question.id}`]
      }),
    )
  }

  /** What a token needs to answer an input request. */
  scopesOf(question: RequestId): readonly string[] {
    const id = questionRow(question)
    if (id === undefined) return []
    const [entry] = this.#select('id = (SELECT call FROM questions WHERE id = ?)', id)
    return entry?.call.scopes ?? []
  }

  /** What a token needs to cancel a call that waits. */
  scopesToCancel(request: RequestId): readonly string[] {
    const [entry] = this.#select('request = ?', requestKey(request))
    return entry?.call.scopes ?? []
  }

  /** The call and the key of an open question; `undefined` for one that is not open. */
  question(question: RequestId): { key: string; call: LedgerCall } | undefined {
    const id = questionRow(question)
    if (id === undefined) return undefined
    const [open] = this.tables.query<{ call: number; key: string }>('SELECT call, key FROM questions WHERE id = ?', id)
    const [entry] = open ? this.#select('id = ?', open.call) : []
    return open && entry && { key: open.key, call: entry.call }
  }

  /**
   * Writes an answer down. Returns the call when it was the last one it waited for; `undefined` when it waits for
   * others, or nobody asked. `problem`: with the answer it is larger than a row, so it has to end.
   */
  answer(question: RequestId, answer: Answer): { row: number; call: LedgerCall; problem?: McpError } | undefined {
    const id = questionRow(question)
    if (id === undefined) return undefined
    const [open] = this.tables.query<{ call: number; key: string }>(
      'DELETE FROM questions WHERE id = ? RETURNING call, key',
      id,
    )
    const [entry] = open ? this.#select('id = ?', open.call) : []
    if (!open || !entry) return undefined
    const { row, call } = entry
    const answered = { ...call, journal: withAnswers(call.journal, { [open.key]: answer }) }
    const problem = tooLarge('The call with its answers', JSON.stringify(answered), maxRowBytes)
    if (problem) return { row, call, problem }
    this.rewrite(row, answered)
    return this.#waits(row) ? undefined : { row, call: answered }
  }

  #waits(row: number): boolean {
    return this.tables.query('SELECT 1 FROM questions WHERE call = ? LIMIT 1', row).length > 0
  }

  /** Is any call without an answer? */
  get isOpen(): boolean {
    return this.tables.query('SELECT 1 FROM calls LIMIT 1').length > 0
  }

  has(request: RequestId): boolean {
    return this.tables.query('SELECT 1 FROM calls WHERE request = ?', requestKey(request)).length > 0
  }

  /** Forgets a call that waits. Returns its stream and the questions that were still open. */
  cancel(request: RequestId): { stream: number; questions: string[] } | undefined {
    const [entry] = this.#select('request = ?', requestKey(request))
    if (!entry || !this.#waits(entry.row)) return undefined
    return { stream: entry.call.stream, questions: this.end(entry.row) }
  }

  /** Requests of calls that wait for their client. */
  waiting(): RequestMessage[] {
    return this.#select('id IN (SELECT call FROM questions)').map(({ call }) => call.request)
  }

  /** Calls that wait for nobody: in a new instance, those that were running in the last one. */
  unasked(): { row: number; call: LedgerCall }[] {
    return this.#select('id NOT IN (SELECT call FROM questions)')
  }

  #select(where: string, ...bindings: SqlStorageValue[]): { row: number; call: LedgerCall }[] {
    return this.tables
      .query<{ row: number; call: string }>(`SELECT id AS row, call FROM calls WHERE ${where}`, ...bindings)
      .map(({ row, call }) => ({ row, call: JSON.parse(call) }))
  }
}

function questionRow(question: RequestId): number | undefined {
  const id = typeof question === 'string' ? /^ask-([1-9]\d{0,14})$/.exec(question)?.[1] : undefined
  return id === undefined ? undefined : Number(id)
}

/** @throws McpError when the call is larger than a row */
function rowOf(call: LedgerCall): string {
  const text = JSON.stringify(call)
  checkSize('The call', text, maxRowBytes)
  return text
}

/** Ids 1 and "1" are different. */
export const requestKey = (id: RequestId): string => JSON.stringify(id)
